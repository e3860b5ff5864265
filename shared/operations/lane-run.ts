import { type LaneId, lastCallAt } from '../domain/lane.ts';
import { PUSH_WAIT_MS_MAX, WAKE_DELAY_MS_MAX } from '../domain/limits.ts';
import type { Letter } from '../domain/push-retry.ts';
import type { DeliverPorts, DeliverySink } from './deliver-ports.ts';
import type { RunEnd } from './delivery-run.ts';
import { type Read, type RunOf, Serving } from './serving.ts';
import { wakeLane } from './wake-lane.ts';

export type LaneRunOf = RunOf & { readonly id: LaneId };

/** What a step leads to. */
type Went = 'on' | RunEnd;

const IDLE: RunEnd = { kind: 'idle' };
const AT_ONCE: RunEnd = { kind: 'later', waitMs: 0 };
/** Reads of nothing but others' records that an owner of the partition makes at most, to take a key back. */
const REST_PAGES_MAX = 16;
/** Calls that it makes at most: its partition waits meanwhile. */
const REST_CALLS_MAX = 4;
/** Nothing passes its last attempt by itself, and nobody can look at it any more. */
const LET_GO = { name: 'parked_too_long', message: 'the key was parked until the log was about to let the record go' };

/**
 * One delivery at work on one parked key: it reads the same log for this key alone, from the record that failed, and no
 * further than its partition is. Once it is there it says so; whoever owns the partition then takes the key back.
 */
export class LaneRun {
  readonly #ports: DeliverPorts;
  readonly #of: LaneRunOf;
  readonly #serving: Serving;
  #calls = 0;

  constructor(ports: DeliverPorts, of: LaneRunOf) {
    this.#ports = ports;
    this.#of = of;
    const { subscription } = of;
    // Who no longer parks says what is to become of keys that still are.
    const onFailure = subscription.onFailure === 'park' ? ('insist' as const) : subscription.onFailure;
    this.#serving = new Serving(ports, of, { ...subscription, onFailure });
    const { isReady: _, ...push } = this.#serving.push;
    this.#serving.push = { ...push, isSlow: true };
  }

  /** @throws {Throttled | Unavailable | WriteFailed} the lane is released, if that could be */
  async run(): Promise<RunEnd> {
    const { lease } = this.#serving;
    if (!lease.hasTime()) return AT_ONCE;
    if (!(await lease.take(this.#serving.committed))) return { kind: 'taken' };
    const { group, topicId, partition, lane } = this.#of.id;
    try {
      for (;;) {
        const position = await this.#ports.positions.read({ group, topicId, partition }, true);
        // One that passes the key no more has removed the lane in the same write, unless it was removed itself.
        if (!position?.parked?.has(lane)) return await this.#remove();
        const before = this.#calls;
        const end = await this.#deliverUpTo(position.committed);
        if (end !== 'there') return end;
        // Where one call was enough, no more than about one is needed for what was passed over meanwhile.
        if (this.#calls - before <= 1) return await this.#tellReady();
      }
    } catch (error) {
      await this.#serving.letGo();
      throw error;
    }
  }

  /**
   * Delivers what is left, where that is no more than a few calls, and gives the key back to its partition, whose owner this is.
   * The position has another epoch then: whoever read it before, and is about to take it, would pass the key over.
   *
   * @returns whether the key is back; if not, the lane goes on by itself @throws {Throttled | Unavailable | WriteFailed}
   */
  async handBack(partition: Serving): Promise<boolean> {
    const { lease } = this.#serving;
    if (!(await lease.take(this.#serving.committed))) return false;
    try {
      const isThere = await this.#deliverRest(partition);
      const giveBack = () =>
        partition.lease.stepBy(partition.progress, (by, step) =>
          this.#ports.lanes.handBack(this.#of.id, by, step, lease.holder),
        );
      if (isThere && (await giveBack())) return true;
      if (lease.isHeld) await this.#serving.step(false);
    } catch (error) {
      await this.#serving.letGo();
      throw error;
    }
    const waitMs = (this.#serving.push.failure?.retryAt ?? 0) - this.#ports.clock.now();
    await wakeLane(this.#ports, this.#of.to, this.#of.id, waitMs);
    return false;
  }

  /** @param partition stays where it is, for whoever calls this owns it @returns whether the lane is there, too */
  async #deliverRest(partition: Serving): Promise<boolean> {
    const serving = this.#serving;
    const end = partition.committed;
    for (let pages = 0; serving.committed < end; pages++) {
      const read = await this.#read(end);
      if (read.kind !== 'read' || read.sink.unreadable !== undefined || pages === REST_PAGES_MAX) return false;
      const { sink, next } = read;
      if (sink.records.length === 0) {
        serving.passNothing(next);
        continue;
      }
      if (this.#calls === REST_CALLS_MAX || !serving.lease.hasTime() || !(await partition.renew())) return false;
      this.#calls += 1;
      const outcome = await serving.call({ sink, next, hasMore: () => true });
      if (outcome?.kind === 'retry' || outcome?.kind === 'dead') await serving.step(false, true);
      if (outcome?.kind !== 'went') return false;
      if (serving.committed < end && !(await serving.step(true))) return false;
    }
    return true;
  }

  async #deliverUpTo(end: number): Promise<'there' | RunEnd> {
    const serving = this.#serving;
    while (serving.committed < end) {
      const [read, standing] = await Promise.all([this.#read(end), serving.standing()]);
      if (standing !== 'same' || !serving.lease.hasTime()) {
        return (await serving.step(false)) && standing !== 'over' ? AT_ONCE : IDLE;
      }
      const went = await this.#advance(read, end);
      if (went !== 'on') return went;
    }
    return 'there';
  }

  #read(end: number): Promise<Read> {
    return this.#serving.read({ end, lane: this.#of.id.lane });
  }

  async #advance(read: Read, end: number): Promise<Went> {
    const serving = this.#serving;
    if (read.kind === 'gone') return this.#remove();
    if (read.kind === 'overtaken') {
      // How many of them were of this key, nobody knows any more: at least the one that failed.
      serving.passExpired(Math.min(read.logStart, end), serving.push.failure === undefined ? 0 : 1);
      return this.#keep();
    }
    const { sink, next } = read;
    if (sink.unreadable !== undefined) return this.#after(await serving.buryUnreadable(sink));
    const [first] = sink.records;
    if (first === undefined) {
      serving.passNothing(next);
      // Between the records of a key may lie millions of others: nobody else begins meanwhile, and what was read is known.
      return (await serving.renew()) ? 'on' : IDLE;
    }
    if (this.#of.position.about?.giveUp === first.offset) return this.#giveUp(sink, first.offset);
    const { failure } = serving.push;
    const now = this.#ports.clock.now();
    if (failure === undefined || failure.retryAt <= now) return this.#call(sink, next);
    // Behind one that was given up: what failed with it waits on, unless the log is about to let it go, too.
    const { finalAt } = lastCallAt(sink.life(first.offset));
    return finalAt <= now ? this.#giveUp(sink, first.offset, true) : this.#wait(Math.min(failure.retryAt, finalAt));
  }

  async #call(sink: DeliverySink, next: number): Promise<Went> {
    const serving = this.#serving;
    this.#calls += 1;
    const outcome = await serving.call({ sink, next, hasMore: () => true });
    if (outcome === undefined || outcome.kind === 'stop') return IDLE;
    if (outcome.kind === 'dead') return this.#after(await serving.bury(sink, outcome.committed, outcome.letter));
    if (outcome.kind === 'went') return this.#keep();
    const failure = outcome.push.failure!;
    const now = this.#ports.clock.now();
    const { lastAt, finalAt } = lastCallAt(sink.life(outcome.committed));
    const hasFailedAlone = failure.attempts > 0 && failure.absences === 0;
    const isLast = now >= finalAt || (now >= lastAt && hasFailedAlone);
    // Somebody may have given it up meanwhile.
    if (isLast || (await this.#ports.positions.read(this.#of.id, true))?.about?.giveUp === outcome.committed) {
      return this.#giveUp(sink, outcome.committed, isLast);
    }
    const retryAt = Math.min(failure.retryAt, now < lastAt ? lastAt : finalAt);
    serving.push = { ...serving.push, failure: { ...failure, retryAt } };
    return this.#wait(retryAt);
  }

  /** In place where that is short; else its position knows when to go on. */
  async #wait(until: number): Promise<Went> {
    const serving = this.#serving;
    const waitMs = until - this.#ports.clock.now();
    // Of one that has used its attempts there is no end: nobody is kept busy by it.
    const { attempts = 0 } = serving.push.failure ?? {};
    const isShort = waitMs < PUSH_WAIT_MS_MAX && attempts < this.#of.subscription.retry.maxAttempts;
    if (isShort && serving.lease.hasTime(waitMs)) {
      if (!(await serving.step(true, true))) return IDLE;
      await this.#ports.sleep(Math.max(0, waitMs));
      return 'on';
    }
    if (!(await serving.step(false, true))) return IDLE;
    return waitMs <= WAKE_DELAY_MS_MAX ? { kind: 'later', waitMs } : IDLE;
  }

  /** Commits, and goes on. */
  async #keep(): Promise<Went> {
    return (await this.#serving.step(true)) ? 'on' : IDLE;
  }

  #after(buried: 'passed' | 'stopped'): Went | Promise<Went> {
    return buried === 'stopped' ? IDLE : this.#keep();
  }

  async #remove(): Promise<RunEnd> {
    const { id, position } = this.#of;
    await this.#ports.lanes.remove(id, position.about!.parkedAt);
    return IDLE;
  }

  /** The record is a dead letter, and its key goes on. */
  async #giveUp(sink: DeliverySink, offset: number, isLast = false): Promise<Went> {
    const { failure, lastError } = this.#serving.push;
    const { now } = this.#ports.clock;
    const error = lastError === undefined || isLast ? LET_GO : { name: lastError.name, message: lastError.message };
    const { attempts = 0, firstFailedAt = now() } = failure ?? {};
    const letter: Letter = { error, attempts, firstFailedAt, isRecordsOwnFault: true };
    // Fenced first: what may still be under way must not settle what somebody corrects then.
    if (!(await this.#serving.step(true, true))) return IDLE;
    // It has been settled by whoever was called, as `processOnce` does, though the call failed.
    if (this.#serving.committed > offset) return 'on';
    return this.#after(await this.#serving.bury(sink, offset, letter));
  }

  /** Where its partition was when it looked, it is now: what was passed over since is no more than its owner can deliver. */
  async #tellReady(): Promise<RunEnd> {
    const serving = this.#serving;
    serving.push = { ...serving.push, isReady: true };
    if (!(await serving.step(false))) return IDLE;
    const { to, id } = this.#of;
    const { topicId, partition } = id;
    await this.#ports.wakeQueue.wake([{ topicId, partition, to, hop: 0 }]).catch(() => {}); // the sweep looks after it
    return IDLE;
  }
}
