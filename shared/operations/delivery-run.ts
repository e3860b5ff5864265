import type { DeliveryRecord } from '../domain/delivery.ts';
import { OffsetOutOfRange, TopicNotFound } from '../domain/errors.ts';
import { PUSH_WAIT_MS_MAX, WAKE_DELAY_MS_MAX } from '../domain/limits.ts';
import type { Position, PositionId, PushState } from '../domain/position.ts';
import {
  afterDeadLetter,
  afterExpiry,
  afterMove,
  judgeCall,
  type Letter,
  limitsOf,
  type Stop,
} from '../domain/push-retry.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Topic } from '../domain/topic.ts';
import type { Subscriber } from '../domain/wake-up.ts';
import type { DeliverPorts, DeliverySink } from './deliver-ports.ts';
import { keepDeadLetter } from './keep-dead-letter.ts';
import { lookAtPartition } from './partition-look.ts';
import { PositionLease, type Progress } from './position-lease.ts';
import { standingOf, stopSubscription } from './stop-subscription.ts';

/** What a run is about. */
export interface RunOf {
  readonly subscription: Subscription;
  readonly topic: Topic;
  readonly id: PositionId;
  readonly to: Subscriber;
  /** As it was read, strongly: nobody owns it. */
  readonly position: Position;
  /** Epoch ms at which whoever runs this is ended. */
  readonly deadline: number;
}

/**
 * How a run ended. `taken`: somebody else is faster, look again. `later`: there is more to do, then. `aside`: where it
 * holds up nobody. `unsettled`: a slot is in flight.
 */
export type RunEnd =
  | { readonly kind: 'idle' | 'taken' | 'unsettled' | 'aside' }
  | { readonly kind: 'later'; readonly waitMs: number };

type Read =
  | { readonly kind: 'read'; readonly sink: DeliverySink; readonly next: number; readonly hasMore: boolean }
  | { readonly kind: 'overtaken'; readonly logStart: number }
  | { readonly kind: 'gone' };

/** What a step leads to; `look`: the position was released, and whether something came meanwhile is to be seen. */
type Went = 'on' | 'look' | RunEnd;

const IDLE: RunEnd = { kind: 'idle' };
const AT_ONCE: RunEnd = { kind: 'later', waitMs: 0 };

/** One delivery at work on one position: it owns it while it calls, and looks once more when it has let go. */
export class DeliveryRun {
  readonly #ports: DeliverPorts;
  readonly #of: RunOf;
  readonly #lease: PositionLease;
  #committed: number;
  #push: PushState;

  constructor(ports: DeliverPorts, of: RunOf) {
    this.#ports = ports;
    this.#of = of;
    const { subscription, id, position, deadline } = of;
    this.#lease = new PositionLease(ports, id, position.epoch, subscription.timeoutMs, deadline);
    this.#committed = position.committed;
    this.#push = position.push ?? {};
  }

  /**
   * @param isCertain a record is known to be there: the position is taken while it is read
   * @throws {Throttled | Unavailable | WriteFailed} the position is released, if that could be
   */
  async run(isCertain: boolean): Promise<RunEnd> {
    try {
      for (let mustTake = isCertain; ; mustTake = false) {
        if (!this.#lease.hasTime()) return AT_ONCE;
        const end = await this.#runOnce(mustTake);
        if (end !== 'look') return end;
        // What came while this run was at it was dropped: whoever lets go looks.
        const head = await this.#ports.heads.read(this.#of.id);
        if (head === undefined || head.next <= this.#committed) return IDLE;
        const standing = await this.#standing();
        if (standing !== 'same') return standing === 'over' ? IDLE : AT_ONCE;
      }
    } catch (error) {
      if (this.#lease.isHeld) await this.#step(false).catch(() => {}); // then its time ends by itself
      throw error;
    }
  }

  async #runOnce(mustTake: boolean): Promise<'look' | RunEnd> {
    const reading = this.#read();
    if (!mustTake) {
      const read = await reading;
      if (read.kind === 'gone') return IDLE;
      if (read.kind === 'read' && isNothing(read, this.#committed)) return this.#nothing();
    }
    const [taken, first, stood] = await Promise.allSettled([
      this.#lease.take(this.#committed),
      reading,
      // Whoever let go of it may have stopped the subscription, which was read at the same time as the position.
      this.#push.isSlow ? this.#standing() : ('same' as const),
    ]);
    if (taken.status === 'rejected') throw taken.reason;
    if (first.status === 'rejected') throw first.reason;
    if (stood.status === 'rejected') throw stood.reason;
    if (!taken.value) return { kind: 'taken' };
    if (stood.value !== 'same') return this.#letGo(stood.value);
    for (let read = first.value; ; ) {
      const went = await this.#advance(read);
      if (went !== 'on') return went;
      const [next, standing] = await Promise.all([this.#read(), this.#standing()]);
      if (standing !== 'same' || !this.#lease.hasTime()) return this.#letGo(standing);
      read = next;
    }
  }

  #standing(): ReturnType<typeof standingOf> {
    return standingOf(this.#ports, this.#of.subscription);
  }

  async #letGo(standing: Awaited<ReturnType<typeof standingOf>>): Promise<RunEnd> {
    return (await this.#step(false)) && standing !== 'over' ? AT_ONCE : IDLE;
  }

  /** Nothing that is settled: is there anything at all? */
  async #nothing(): Promise<RunEnd> {
    const head = await this.#ports.heads.read(this.#of.id);
    return head !== undefined && head.next > this.#committed ? { kind: 'unsettled' } : IDLE;
  }

  async #advance(read: Read): Promise<Went> {
    if (read.kind === 'gone') {
      await this.#step(false);
      return IDLE;
    }
    if (read.kind === 'overtaken') return this.#overtaken(read.logStart);
    const { sink, next, hasMore } = read;
    if (sink.unreadable !== undefined) {
      const { offset, reason } = sink.unreadable;
      const error = { name: reason, message: 'the record cannot be read' };
      const letter = { error, attempts: 0, firstFailedAt: this.#ports.clock.now(), isRecordsOwnFault: true };
      return this.#bury(sink, offset, letter);
    }
    if (sink.records.length > 0) return this.#call(sink.records, sink, next, hasMore);
    this.#committed = next;
    const { failure, ...push } = this.#push;
    // A range of which the filter lets nothing through any more is behind.
    if (failure !== undefined && next >= failure.end) this.#push = push;
    return this.#proceed(hasMore);
  }

  async #call(records: readonly DeliveryRecord[], sink: DeliverySink, next: number, hasMore: boolean): Promise<Went> {
    const { subscription, topic, id } = this.#of;
    const { clock } = this.#ports;
    if (!(await this.#lease.renew({ committed: this.#committed, push: this.#push }))) return IDLE;
    const startedAt = clock.now();
    const { retentionMs } = topic;
    const batch = { ...id, topic: topic.name, epoch: this.#lease.epoch, retentionMs, records };
    const send = this.#ports.callOf(subscription);
    const isMore = hasMore ? this.#isBehind(next) : false;
    const delivered = await send(batch, startedAt + subscription.timeoutMs);
    const now = clock.now();
    const call = { offsets: records.map(({ offset }) => offset), next, hasMore: await isMore, tookMs: now - startedAt };
    const outcome = judgeCall(this.#push, call, delivered, subscription, now, this.#ports.random());
    this.#count(outcome.committed);
    if (outcome.kind === 'stop') return this.#stop(outcome.stop, outcome);
    this.#committed = outcome.committed;
    this.#push = outcome.push;
    if (outcome.kind === 'went') return this.#proceed(outcome.hasMore);
    if (outcome.kind === 'dead') return this.#bury(sink, outcome.committed, outcome.letter);
    return this.#retry(outcome.push.failure!.retryAt - now);
  }

  /** A call that was full: whether its commit is the last is found out beside it. */
  async #isBehind(next: number): Promise<boolean> {
    const head = await this.#ports.heads.read(this.#of.id, false).catch(() => undefined);
    return head === undefined || head.next > next;
  }

  #count(committed: number): void {
    const count = committed - this.#committed;
    if (count > 0) {
      const { topicId, partition } = this.#of.id;
      this.#ports.observe({ kind: 'records_read', log: `${topicId}.${partition}`, count });
    }
  }

  /** Keeps the record as a dead letter, and passes it. */
  async #bury(sink: DeliverySink, offset: number, letter: Letter): Promise<Went> {
    const { id, topic, subscription } = this.#of;
    const { error, attempts, firstFailedAt } = letter;
    const about = { topicId: id.topicId, partition: id.partition, offset, topic: topic.name, error, attempts };
    await keepDeadLetter(this.#ports, id.group, { ...about, firstFailedAt }, sink.keep(offset));
    const committed = offset + 1;
    const { push, stop } = afterDeadLetter(this.#push, committed, letter, subscription);
    if (stop !== undefined) return this.#stop(stop, { committed, push });
    this.#committed = committed;
    this.#push = push;
    return this.#proceed(true);
  }

  /** Commits, and goes on owning the position while there is more; the release rides on the last commit. */
  async #proceed(hasMore: boolean): Promise<Went> {
    if (!(await this.#step(hasMore))) return IDLE;
    if (!hasMore) return 'look';
    if (this.#ports.aside === undefined || !this.#push.isSlow) return 'on';
    return (await this.#step(false)) ? { kind: 'aside' } : IDLE;
  }

  /** Waits in place where that is short; else it is the position that knows when to go on. */
  async #retry(waitMs: number): Promise<Went> {
    const { clock, pending, aside } = this.#ports;
    const isShort = waitMs < PUSH_WAIT_MS_MAX;
    if (isShort && aside === undefined && this.#lease.hasTime(waitMs)) {
      if (!(await this.#step(true, true))) return IDLE;
      await this.#ports.sleep(waitMs);
      return 'on';
    }
    const { to, id } = this.#of;
    const mark = { to, topicId: id.topicId, partition: id.partition, dueAt: clock.now() + waitMs };
    // Before it is let go: then whatever becomes of wake-ups, the sweep finds it.
    await pending.put(mark);
    if (!(await this.#step(false, true))) return IDLE;
    if (isShort && aside !== undefined) return { kind: 'aside' };
    return waitMs <= WAKE_DELAY_MS_MAX ? { kind: 'later', waitMs } : IDLE;
  }

  /** Should it not be stopped, the record is not settled, and what counts up to the stop is not forgotten. */
  async #stop(stop: Stop, { committed, push }: Progress): Promise<Went> {
    const { subscription, id } = this.#of;
    await stopSubscription(this.#ports, id.group, stop);
    this.#committed = committed;
    this.#push = push;
    this.#ports.observe({ kind: 'subscription_stopped', group: subscription.group.name });
    await this.#step(false, true);
    return IDLE;
  }

  async #overtaken(logStart: number): Promise<Went> {
    const count = logStart - this.#committed;
    this.#ports.observe({ kind: 'records_expired', count });
    this.#push = afterExpiry(this.#push, this.#committed, logStart);
    this.#committed = logStart;
    return this.#proceed(true);
  }

  async #read(): Promise<Read> {
    const { subscription, topic, id, deadline } = this.#of;
    const { batch } = subscription;
    const { records = Infinity, end } = limitsOf(this.#push);
    const call = { records: Math.min(batch.maxRecords, records), bytes: batch.maxBytes };
    const sink = this.#ports.openCall({ ...call, ...(end !== undefined && { end }) }, subscription);
    try {
      const options = { ...call, deadline };
      const look = await lookAtPartition(this.#ports, topic, id.partition, this.#committed, sink, options);
      return { kind: 'read', sink, next: look.position, hasMore: look.isFull };
    } catch (error) {
      if (error instanceof TopicNotFound) return { kind: 'gone' };
      const logStart = error instanceof OffsetOutOfRange ? Number(error.data.logStartOffset) : 0;
      if (logStart > this.#committed) return { kind: 'overtaken', logStart };
      throw error;
    }
  }

  /** @returns false when the position is no longer this run's */
  async #step(keep: boolean, hasFailed = false): Promise<boolean> {
    const isMine = await this.#lease.step({ committed: this.#committed, push: this.#push }, keep, hasFailed);
    const { committed } = this.#lease;
    if (isMine && committed > this.#committed) {
      this.#push = afterMove(this.#push, committed);
      this.#committed = committed;
    }
    return isMine;
  }
}

/** Neither a record nor anything that is to be passed. */
function isNothing({ sink, next }: { readonly sink: DeliverySink; readonly next: number }, committed: number): boolean {
  return sink.records.length === 0 && sink.unreadable === undefined && next === committed;
}
