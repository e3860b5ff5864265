import { deliveryError } from '../domain/delivery.ts';
import { type LaneId, lastCallAt, waitingOf } from '../domain/lane.ts';
import { PUSH_WAIT_MS_MAX, WAKE_DELAY_MS_MAX } from '../domain/limits.ts';
import type { Position } from '../domain/position.ts';
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
/** Why a record is a dead letter that nobody gave up. */
const LET_GO = 'parked_too_long';
/** Why it failed, where that was forgotten. */
const UNKNOWN = { name: 'unknown', message: 'it is not known any more why the record failed' };

/**
 * One delivery at work on one parked key: it reads the same log for this key alone, from the record that failed, and no
 * further than its partition is. Once it is there it says so; whoever owns the partition then takes the key back.
 */
export class LaneRun {
  readonly #ports: DeliverPorts;
  readonly #of: LaneRunOf;
  readonly #serving: Serving;
  #calls = 0;
  /** Offset of a record that was given up. */
  #givenUp: number | undefined;

  constructor(ports: DeliverPorts, of: LaneRunOf) {
    this.#ports = ports;
    this.#of = of;
    this.#givenUp = of.position.about?.giveUp;
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
        const end = await this.#deliverUpTo(position);
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
      const { expired = 0 } = this.#serving.push;
      const { committed, push: before } = partition.progress;
      // What is told of its partition is told of its keys, too.
      const push = expired === 0 ? before : { ...before, expired: (before.expired ?? 0) + expired };
      const giveBack = () =>
        partition.lease.stepBy(
          { committed, push },
          (by, step) => this.#ports.lanes.handBack(this.#of.id, by, step, lease.holder),
          // A target may keep the highest epoch that a key has come with.
          lease.epoch,
        );
      if (isThere && (await giveBack())) {
        partition.push = push;
        return true;
      }
      if (lease.isHeld) await this.#serving.step(false);
    } catch (error) {
      await this.#serving.letGo();
      throw error;
    }
    const { failure } = this.#serving.push;
    const waits = failure !== undefined && !(await this.#isGivenUp());
    await wakeLane(this.#ports, this.#of.to, this.#of.id, waits ? failure.retryAt - this.#ports.clock.now() : 0);
    return false;
  }

  /** @param partition stays where it is, for whoever calls this owns it @returns whether the lane is there, too */
  async #deliverRest(partition: Serving): Promise<boolean> {
    const serving = this.#serving;
    const end = partition.committed;
    for (let pages = 0; serving.committed < end; pages++) {
      const [read, standing] = await Promise.all([this.#read(end), serving.standing()]);
      if (standing !== 'same') return false;
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

  /** @param partition whose position it is, as it was read */
  async #deliverUpTo(partition: Position): Promise<'there' | RunEnd> {
    const serving = this.#serving;
    const end = partition.committed;
    while (serving.committed < end) {
      const [read, standing] = await Promise.all([this.#read(end), serving.standing()]);
      if (standing !== 'same' || !serving.lease.hasTime()) {
        return (await serving.step(false)) && standing !== 'over' ? AT_ONCE : IDLE;
      }
      const went =
        read.kind === 'overtaken' ? await this.#passExpired(read.logStart, partition) : await this.#advance(read);
      if (went !== 'on') return went;
    }
    return 'there';
  }

  #read(end: number): Promise<Read> {
    return this.#serving.read({ end, lane: this.#of.id.lane });
  }

  /** How many of the key are lost by it is known where none of it is left; else it is the one that failed, at least. */
  async #passExpired(logStart: number, partition: Position): Promise<Went> {
    const serving = this.#serving;
    const { failure, settled = 0 } = serving.push;
    const left = logStart < partition.committed ? 0 : waitingOf(serving.progress, this.#of.id.lane, partition);
    const count = Math.max(failure === undefined ? 0 : 1, left);
    serving.passExpired(Math.min(logStart, partition.committed), count);
    serving.push = { ...serving.push, settled: settled + count };
    return this.#keep();
  }

  async #advance(read: Exclude<Read, { kind: 'overtaken' }>): Promise<Went> {
    const serving = this.#serving;
    if (read.kind === 'gone') return this.#remove();
    const { sink, next } = read;
    if (sink.unreadable !== undefined) return this.#after(await serving.buryUnreadable(sink));
    const [first] = sink.records;
    if (first === undefined) {
      serving.passNothing(next);
      // Between the records of a key may lie millions of others: nobody else begins meanwhile, and what was read is known.
      return (await serving.renew()) ? 'on' : IDLE;
    }
    if (this.#givenUp === first.offset) return this.#giveUp(sink, first.offset);
    const { failure } = serving.push;
    const now = this.#ports.clock.now();
    if (failure === undefined || failure.retryAt <= now) return this.#call(sink, next);
    // Behind one that was given up: what failed with it waits on, unless the log is about to let it go, too.
    const { finalAt } = lastCallAt(serving.life(sink, first.offset));
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
    const { lastAt, finalAt } = lastCallAt(serving.life(sink, outcome.committed));
    const hasFailedAlone = failure.attempts > 0 && failure.absences === 0;
    const isLast = now >= finalAt || (now >= lastAt && hasFailedAlone);
    if (isLast) return this.#giveUp(sink, outcome.committed, true);
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
    const staysHere = isShort && serving.lease.hasTime(waitMs);
    if (!(await serving.step(staysHere, true))) return IDLE;
    const isGivenUp = await this.#isGivenUp();
    if (!staysHere && isGivenUp) return AT_ONCE;
    if (!staysHere) return waitMs <= WAKE_DELAY_MS_MAX ? { kind: 'later', waitMs } : IDLE;
    if (!isGivenUp) await this.#ports.sleep(Math.max(0, waitMs));
    return 'on';
  }

  /** Asked once it is written that the record has failed: whoever gives it up later finds nobody at it. The sweep asks, too. */
  async #isGivenUp(): Promise<boolean> {
    const seen = await this.#ports.positions.read(this.#of.id, true).catch(() => undefined);
    this.#givenUp = seen?.about?.giveUp ?? this.#givenUp;
    return this.#givenUp === this.#serving.committed;
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
    const { name, message } = lastError ?? UNKNOWN;
    const error = isLast
      ? deliveryError(LET_GO, `the log is about to let the record go; ${name}: ${message}`)
      : { name, message };
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
