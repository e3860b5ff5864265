import { nextEpoch } from '../domain/group.ts';
import { aboutKey, lastCallAt, waitingOf } from '../domain/lane.ts';
import { PUSH_WAIT_MS_MAX, WAKE_DELAY_MS_MAX } from '../domain/limits.ts';
import { HAND_BACK_EVERY_MS, PARKED_KEYS_MAX, PARKED_RECORDS_MAX } from '../domain/park-limits.ts';
import { afterParking, insistentWaitMs, type Letter, pushOf, withoutAttempts } from '../domain/push-retry.ts';
import type { DeliverPorts, DeliverySink } from './deliver-ports.ts';
import { LaneRun } from './lane-run.ts';
import { type Read, type RunOf, Serving } from './serving.ts';
import { wakeLane } from './wake-lane.ts';

/**
 * How a run ended. `taken`: somebody else is faster, look again. `later`: there is more to do, then. `aside`: where it
 * holds up nobody. `unsettled`: a slot is in flight.
 */
export type RunEnd =
  | { readonly kind: 'idle' | 'taken' | 'unsettled' | 'aside' }
  | { readonly kind: 'later'; readonly waitMs: number };

/** What a step leads to; `look`: the position was released, and whether something came meanwhile is to be seen. */
type Went = 'on' | 'look' | RunEnd;

type Lanes = Awaited<ReturnType<DeliverPorts['lanes']['list']>>;

/** Times that a run takes a position once more for keys that could come back: what it sees of them may be a little old. */
const ROUNDS_FOR_LANES_MAX = 3;
const IDLE: RunEnd = { kind: 'idle' };
const AT_ONCE: RunEnd = { kind: 'later', waitMs: 0 };

/** One delivery at work on one position: it owns it while it calls, and looks once more when it has let go. */
export class DeliveryRun {
  readonly #ports: DeliverPorts;
  readonly #of: RunOf;
  readonly #serving: Serving;
  /** Lanes whose keys are passed over. */
  readonly #parked: Set<string>;
  #lanesSeenAt = 0;

  constructor(ports: DeliverPorts, of: RunOf) {
    this.#ports = ports;
    this.#of = of;
    this.#serving = new Serving(ports, of);
    this.#parked = new Set(of.position.parked);
    this.#forgetPassed();
  }

  /**
   * @param isCertain a record is known to be there: the position is taken while it is read
   * @throws {Throttled | Unavailable | WriteFailed} the position is released, if that could be
   */
  async run(isCertain: boolean): Promise<RunEnd> {
    const { lease } = this.#serving;
    try {
      let lanes = isCertain ? undefined : await this.#lanes();
      for (let [rounds, mustTake] = [0, isCertain || isAwaited(lanes)]; ; rounds++) {
        if (!lease.hasTime()) return AT_ONCE;
        const end = await this.#runOnce(mustTake, lanes);
        if (end !== 'look') return end;
        // What came while this run was at it was dropped: whoever lets go looks. So were lanes' words that they are ready.
        const [head, seen] = await Promise.all([this.#ports.heads.read(this.#of.id), this.#lanes()]);
        lanes = seen;
        mustTake = rounds < ROUNDS_FOR_LANES_MAX && isAwaited(lanes);
        if (head === undefined || (head.next <= this.#serving.committed && !mustTake)) return IDLE;
        const standing = await this.#serving.standing();
        if (standing !== 'same') return standing === 'over' ? IDLE : AT_ONCE;
      }
    } catch (error) {
      await this.#serving.letGo();
      throw error;
    }
  }

  /** @param lanes as they were seen just now; absent: they are to be looked at */
  async #runOnce(mustTake: boolean, lanes?: Lanes): Promise<'look' | RunEnd> {
    const { lease, push, committed } = this.#serving;
    const reading = this.#read();
    if (!mustTake) {
      const read = await reading;
      if (read.kind === 'gone') return IDLE;
      if (read.kind === 'read' && isNothing(read, committed)) return this.#nothing();
    }
    const [taken, first, stood, seen] = await Promise.allSettled([
      lease.take(committed),
      reading,
      // Whoever let go of it may have stopped the subscription, which was read at the same time as the position.
      push.isSlow ? this.#serving.standing() : ('same' as const),
      lanes ?? this.#lanes(),
    ]);
    if (taken.status === 'rejected') throw taken.reason;
    if (first.status === 'rejected') throw first.reason;
    if (stood.status === 'rejected') throw stood.reason;
    if (seen.status === 'rejected') throw seen.reason;
    if (!taken.value) return { kind: 'taken' };
    if (stood.value !== 'same') return this.#letGo(stood.value);
    const keys = await this.#takeKeysBack(seen.value);
    if (keys !== 'none') {
      // A call to its target was made, which may have said that it wants no more.
      const standing = await this.#serving.standing();
      if (standing !== 'same' || !lease.hasTime()) return this.#letGo(standing);
    }
    for (let read = keys === 'back' ? await this.#read() : first.value; ; ) {
      const went = await this.#advance(read);
      if (went !== 'on') return went;
      if (this.#ports.clock.now() - this.#lanesSeenAt >= HAND_BACK_EVERY_MS)
        await this.#takeKeysBack(await this.#lanes());
      const [next, standing] = await Promise.all([this.#read(), this.#serving.standing()]);
      if (standing !== 'same' || !lease.hasTime()) return this.#letGo(standing);
      read = next;
    }
  }

  #read(): Promise<Read> {
    return this.#serving.read({ parked: this.#parked });
  }

  async #letGo(standing: Awaited<ReturnType<Serving['standing']>>): Promise<RunEnd> {
    return (await this.#serving.step(false)) && standing !== 'over' ? AT_ONCE : IDLE;
  }

  /** Nothing that is settled: is there anything at all? */
  async #nothing(): Promise<RunEnd> {
    const head = await this.#ports.heads.read(this.#of.id);
    return head !== undefined && head.next > this.#serving.committed ? { kind: 'unsettled' } : IDLE;
  }

  async #advance(read: Read): Promise<Went> {
    const serving = this.#serving;
    if (read.kind === 'gone') {
      await serving.step(false);
      return IDLE;
    }
    if (read.kind === 'overtaken') {
      serving.passExpired(read.logStart);
      return this.#proceed(true);
    }
    const { sink, next, hasMore } = read;
    if (sink.unreadable !== undefined) return this.#after(await serving.buryUnreadable(sink));
    if (sink.records.length > 0) return this.#call(sink, next, hasMore);
    serving.passNothing(next);
    return this.#proceed(hasMore);
  }

  async #call(sink: DeliverySink, next: number, hasMore: boolean): Promise<Went> {
    const outcome = await this.#serving.call({ sink, next, hasMore: () => (hasMore ? this.#isBehind(next) : false) });
    if (outcome === undefined || outcome.kind === 'stop') return IDLE;
    if (outcome.kind === 'went') return this.#proceed(outcome.hasMore);
    if (outcome.kind === 'retry') return this.#retry(outcome.push.failure!.retryAt - this.#ports.clock.now());
    const { committed: offset, letter } = outcome;
    const { key } = sink.records.find((record) => record.offset === offset)!;
    const parks = this.#of.subscription.onFailure === 'park' && !letter.isRecordsOwnFault;
    if (parks && key !== null) return this.#park(sink, offset, key, letter);
    return this.#after(await this.#serving.bury(sink, offset, letter));
  }

  /** A call that was full: whether its commit is the last is found out beside it. */
  async #isBehind(next: number): Promise<boolean> {
    const head = await this.#ports.heads.read(this.#of.id, false).catch(() => undefined);
    return head === undefined || head.next > next;
  }

  #after(buried: 'passed' | 'stopped'): Promise<Went> | Went {
    return buried === 'stopped' ? IDLE : this.#proceed(true);
  }

  /** The key waits in a lane of its own from this record on; the partition goes on without it. */
  async #park(sink: DeliverySink, offset: number, key: Uint8Array, letter: Letter): Promise<Went> {
    const { subscription, id, to } = this.#of;
    const serving = this.#serving;
    if (this.#parked.size >= PARKED_KEYS_MAX) {
      const reason = `${PARKED_KEYS_MAX} keys are parked on one partition, and another one fails`;
      const push = withoutAttempts(serving.push);
      await serving.stop({ state: 'halted', reason, error: letter.error }, { committed: offset, push });
      return IDLE;
    }
    const now = this.#ports.clock.now();
    const lane = sink.laneOf(key);
    const { error, attempts, firstFailedAt } = letter;
    const waitMs = insistentWaitMs(subscription.retry, this.#ports.random());
    const retryAt = Math.min(now + waitMs, lastCallAt(serving.life(sink, offset)).lastAt);
    const failure = { retryAt, attempts, absences: 0, span: 1, end: offset + 1, firstFailedAt };
    const push = { failure, isSlow: true, lastError: { ...error, at: now } };
    const made = { epoch: nextEpoch(serving.lease.epoch, now), committed: offset, push, about: aboutKey(key, now) };
    // Not before it is written: what is let go of after a write that failed is still at this record.
    const progress = { committed: offset + 1, push: afterParking(serving.push, offset + 1, lane) };
    const parking = serving.lease.stepBy(progress, (by, step) =>
      this.#ports.lanes.park(to, { ...id, lane }, by, step, made),
    );
    if (!(await parking)) {
      // It has been settled by whoever was called, as `processOnce` does, though the call failed; or the position is lost.
      return (await serving.step(true, true)) ? this.#goOn() : IDLE;
    }
    serving.pass(progress.committed, progress.push);
    this.#parked.add(lane);
    this.#ports.observe({ kind: 'keys_parked', count: 1 });
    await wakeLane(this.#ports, to, { ...id, lane }, retryAt - now);
    return this.#goOn();
  }

  /** Commits, and goes on owning the position while there is more; the release rides on the last commit. */
  async #proceed(hasMore: boolean): Promise<Went> {
    const overfull = await this.#overfull();
    if (overfull !== undefined) {
      const error = { name: 'parked_too_long', message: `${overfull} records of one parked key wait` };
      const reason = `${PARKED_RECORDS_MAX} records of a key that is parked wait behind the one that fails`;
      await this.#serving.stop({ state: 'halted', reason, error }, this.#serving.progress);
      return IDLE;
    }
    if (!(await this.#serving.step(hasMore))) return IDLE;
    return hasMore ? this.#goOn() : 'look';
  }

  async #goOn(): Promise<Went> {
    if (this.#ports.aside === undefined || !this.#serving.push.isSlow) return 'on';
    return (await this.#serving.step(false)) ? { kind: 'aside' } : IDLE;
  }

  /** Waits in place where that is short; else it is the position that knows when to go on. */
  async #retry(waitMs: number): Promise<Went> {
    const { clock, pending, aside } = this.#ports;
    const isShort = waitMs < PUSH_WAIT_MS_MAX;
    if (isShort && aside === undefined && this.#serving.lease.hasTime(waitMs)) {
      if (!(await this.#serving.step(true, true))) return IDLE;
      await this.#ports.sleep(waitMs);
      return 'on';
    }
    const { to, id } = this.#of;
    const mark = { to, topicId: id.topicId, partition: id.partition, dueAt: clock.now() + waitMs };
    // Before it is let go: then whatever becomes of wake-ups, the sweep finds it.
    await pending.put(mark);
    if (!(await this.#serving.step(false, true))) return IDLE;
    if (isShort && aside !== undefined) return { kind: 'aside' };
    return waitMs <= WAKE_DELAY_MS_MAX ? { kind: 'later', waitMs } : IDLE;
  }

  /** Of the keys that are passed over: a look that costs nothing where there are none. */
  async #lanes(): Promise<Lanes> {
    if (this.#parked.size === 0) return [];
    this.#lanesSeenAt = this.#ports.clock.now();
    return this.#ports.lanes.list(this.#of.id);
  }

  /** Takes keys back whose lanes are ready. @returns `back`: there was one, and what was read passes it over */
  async #takeKeysBack(lanes: Lanes): Promise<'none' | 'tried' | 'back'> {
    const { lease } = this.#serving;
    let came: 'none' | 'tried' | 'back' = 'none';
    for (const { lane, ...position } of lanes) {
      if (!position.push?.isReady || !this.#parked.has(lane)) continue;
      if (!lease.hasTime() || !(await lease.renew(this.#serving.progress))) return came;
      const run = new LaneRun(this.#ports, { ...this.#of, id: { ...this.#of.id, lane }, position });
      if (came === 'none') came = 'tried';
      if (!(await run.handBack(this.#serving))) continue;
      this.#parked.delete(lane);
      this.#forgetPassed();
      came = 'back';
    }
    // One that was too far behind is so again if it has to wait for its next turn.
    if (came === 'tried') this.#lanesSeenAt = 0;
    return came;
  }

  /** Records that wait behind one that fails, where they are too many. A lane that is on its way, or was just resumed, has as many as it has. */
  async #overfull(): Promise<number | undefined> {
    const { push, progress, hasPassedOver } = this.#serving;
    const isMany = (count: number) => count >= PARKED_RECORDS_MAX;
    if (!hasPassedOver || ![...(push.passed?.values() ?? [])].some(isMany)) return undefined;
    const failing = (await this.#lanes()).filter((lane) => {
      const { attempts = 0, absences = 0 } = pushOf(lane).failure ?? {};
      return attempts + absences > 0;
    });
    return failing.map(({ lane, ...position }) => waitingOf(position, lane, progress)).find(isMany);
  }

  /** What was counted of keys that are back. */
  #forgetPassed(): void {
    const { passed, ...push } = this.#serving.push;
    if (passed === undefined) return;
    const left = new Map([...passed].filter(([lane]) => this.#parked.has(lane)));
    this.#serving.push = left.size === 0 ? push : { ...push, passed: left };
  }
}

/** Whether a lane has come to where its position was: somebody has to take the position for the key to come back. */
function isAwaited(lanes: Lanes = []): boolean {
  return lanes.some(({ push }) => push?.isReady);
}

/** Neither a record nor anything that is to be passed. */
function isNothing({ sink, next }: { readonly sink: DeliverySink; readonly next: number }, committed: number): boolean {
  return sink.records.length === 0 && sink.unreadable === undefined && next === committed;
}
