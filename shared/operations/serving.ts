import type { DeliveryRecord } from '../domain/delivery.ts';
import { OffsetOutOfRange, TopicNotFound } from '../domain/errors.ts';
import type { lastCallAt } from '../domain/lane.ts';
import { PUSH_PAGE_RECORDS, RETENTION_FOREVER } from '../domain/limits.ts';
import type { Position, PositionId, PushState } from '../domain/position.ts';
import {
  afterDeadLetter,
  afterExpiry,
  afterMove,
  judgeCall,
  type Letter,
  limitsOf,
  type Outcome,
  type Policy,
  pushOf,
  type Stop,
} from '../domain/push-retry.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Topic } from '../domain/topic.ts';
import type { Subscriber } from '../domain/wake-up.ts';
import type { CallRoom, DeliverPorts, DeliverySink } from './deliver-ports.ts';
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
  /** As it was read: nobody owns it. */
  readonly position: Position;
  /** Epoch ms at which whoever runs this is ended. */
  readonly deadline: number;
}

export type Read =
  | { readonly kind: 'read'; readonly sink: DeliverySink; readonly next: number; readonly hasMore: boolean }
  | { readonly kind: 'overtaken'; readonly logStart: number }
  | { readonly kind: 'gone' };

/** What was read for one call: at least one record. */
export interface Page {
  readonly sink: DeliverySink;
  readonly next: number;
  /** Whether there is, or may be, more behind it. */
  hasMore(): boolean | Promise<boolean>;
}

/** What one run does with a position that it owns: reads on from it, calls the target, and writes down what came of it. */
export class Serving {
  readonly lease: PositionLease;
  committed: number;
  push: PushState;
  /** Records of parked keys lay in what was passed last. */
  hasPassedOver = false;
  readonly #ports: DeliverPorts;
  readonly #of: RunOf;
  readonly #policy: Policy;
  /** What was read last: by it is counted what a commit passes. */
  #sink: DeliverySink | undefined;

  constructor(ports: DeliverPorts, of: RunOf, policy: Policy = of.subscription) {
    this.#ports = ports;
    this.#of = of;
    this.#policy = policy;
    const { subscription, id, position, deadline } = of;
    this.lease = new PositionLease(ports, id, position.epoch, subscription.timeoutMs, deadline);
    this.committed = position.committed;
    this.push = pushOf(position);
  }

  get progress(): Progress {
    return { committed: this.committed, push: this.push };
  }

  /** No other run begins while this one goes on. @returns false when the position is no longer this run's */
  renew(): Promise<boolean> {
    return this.lease.renew(this.progress);
  }

  standing(): ReturnType<typeof standingOf> {
    return standingOf(this.#ports, this.#of.subscription);
  }

  /** What comes next, for one call. @param reach `end`: offset that is not to be reached @throws {Throttled | Unavailable} */
  async read(reach: Pick<CallRoom, 'end' | 'parked' | 'lane'> = {}): Promise<Read> {
    const { subscription, topic, id, deadline } = this.#of;
    const { batch } = subscription;
    const limits = limitsOf(this.push);
    const call = { records: Math.min(batch.maxRecords, limits.records ?? Infinity), bytes: batch.maxBytes };
    const end = Math.min(limits.end ?? Infinity, reach.end ?? Infinity);
    const sink = this.#ports.openCall({ ...call, ...reach, ...(end !== Infinity && { end }) }, subscription);
    // The records of one key lie between those of others.
    const records = reach.lane !== undefined && limits.records === undefined ? PUSH_PAGE_RECORDS : call.records;
    try {
      const options = { ...call, records, deadline };
      const look = await lookAtPartition(this.#ports, topic, id.partition, this.committed, sink, options);
      this.#sink = sink;
      return { kind: 'read', sink, next: look.position, hasMore: look.isFull };
    } catch (error) {
      if (error instanceof TopicNotFound) return { kind: 'gone' };
      const logStart = error instanceof OffsetOutOfRange ? Number(error.data.logStartOffset) : 0;
      if (logStart > this.committed) return { kind: 'overtaken', logStart };
      throw error;
    }
  }

  /**
   * Calls the target with what was read. What it settled is passed; what else follows from the outcome is the caller's to do.
   *
   * @returns undefined when the position is no longer this run's @throws {Throttled | Unavailable | WriteFailed}
   */
  async call({ sink, next, hasMore }: Page): Promise<Outcome | undefined> {
    const { subscription, topic, id } = this.#of;
    const { clock } = this.#ports;
    const { records } = sink;
    if (!(await this.lease.renew(this.progress))) return undefined;
    const startedAt = clock.now();
    const { retentionMs } = topic;
    const batch = { ...id, topic: topic.name, epoch: this.lease.epoch, retentionMs, records };
    const send = this.#ports.callOf(subscription);
    const isMore = hasMore();
    const delivered = await send(batch, startedAt + subscription.timeoutMs);
    const now = clock.now();
    const call = { offsets: records.map(({ offset }) => offset), next, hasMore: await isMore, tookMs: now - startedAt };
    const outcome = judgeCall(this.push, call, delivered, this.#policy, now, this.#ports.random());
    this.#countRead(records, outcome.committed);
    if (outcome.kind === 'stop') await this.stop(outcome.stop, outcome);
    else this.pass(outcome.committed, outcome.push);
    return outcome;
  }

  /** Everything before an offset is settled; what is passed over for its key is parked is counted. */
  pass(committed: number, push: PushState = this.push): void {
    const isPassed = ({ offset }: { readonly offset: number }) => offset >= this.committed && offset < committed;
    const over = (this.#sink?.passed ?? []).filter(isPassed);
    const settled = this.#of.id.lane === undefined ? 0 : (this.#sink?.records ?? []).filter(isPassed).length;
    this.push = push;
    this.hasPassedOver = over.length > 0;
    if (settled > 0) this.push = { ...push, settled: (push.settled ?? 0) + settled };
    if (over.length > 0) {
      const passed = new Map(push.passed);
      for (const { lane } of over) passed.set(lane, (passed.get(lane) ?? 0) + 1);
      this.push = { ...this.push, passed };
    }
    this.committed = committed;
  }

  /** How long the log keeps a record: also by what its topic says now, should that be less than when it was appended. */
  life(sink: DeliverySink, offset: number): Parameters<typeof lastCallAt>[0] {
    const { since, until = Number.POSITIVE_INFINITY } = sink.life(offset);
    const { retentionMs } = this.#of.topic;
    const kept = retentionMs === RETENTION_FOREVER ? Number.POSITIVE_INFINITY : retentionMs;
    return { since, until: Math.min(until, since + kept) };
  }

  /** What was read holds nothing for the target: a range that failed, and of which the filter lets nothing through any more, is behind. */
  passNothing(next: number): void {
    const { failure, ...push } = this.push;
    this.pass(next, failure !== undefined && next >= failure.end ? push : this.push);
  }

  /** Keeps a record that was read as a dead letter, and passes it. @returns 'stopped' when it was one too many */
  async bury(sink: DeliverySink, offset: number, letter: Letter): Promise<'passed' | 'stopped'> {
    const { id, topic, subscription } = this.#of;
    const { error, attempts, firstFailedAt } = letter;
    const about = { topicId: id.topicId, partition: id.partition, offset, topic: topic.name, error, attempts };
    await keepDeadLetter(this.#ports, id.group, { ...about, firstFailedAt }, sink.keep(offset));
    const { push, stop } = afterDeadLetter(this.push, offset + 1, letter, subscription);
    if (stop !== undefined) {
      await this.stop(stop, { committed: offset + 1, push });
      return 'stopped';
    }
    this.pass(offset + 1, push);
    return 'passed';
  }

  /** A record that cannot be read, where it comes next. */
  buryUnreadable(sink: DeliverySink): Promise<'passed' | 'stopped'> {
    const { offset, reason } = sink.unreadable!;
    const error = { name: reason, message: 'the record cannot be read' };
    const letter = { error, attempts: 0, firstFailedAt: this.#ports.clock.now(), isRecordsOwnFault: true };
    return this.bury(sink, offset, letter);
  }

  /** Should it not be stopped, the record is not settled, and what counts up to the stop is not forgotten. */
  async stop(stop: Stop, { committed, push }: Progress): Promise<void> {
    const { group } = this.#of.id;
    await stopSubscription(this.#ports, group, stop);
    this.pass(committed, push);
    this.#ports.observe({ kind: 'subscription_stopped', group: group.name });
    await this.step(false, true);
  }

  /** Retention has overtaken the position. @param count of records that are lost by it, where it is known */
  passExpired(logStart: number, count = logStart - this.committed): void {
    if (count > 0) this.#ports.observe({ kind: 'records_expired', count });
    this.push = afterExpiry(this.push, logStart, count);
    this.committed = logStart;
  }

  /** @returns false when the position is no longer this run's */
  async step(keep: boolean, hasFailed = false): Promise<boolean> {
    for (;;) {
      const done = await this.lease.step(this.progress, keep, hasFailed);
      if (typeof done === 'boolean') return done;
      // What was called has settled more than it said: the failure is that of what is left.
      this.pass(done.committed, afterMove(this.push, done.committed));
    }
  }

  /** Lets go of what it still owns; where that fails, its time ends by itself. */
  async letGo(): Promise<void> {
    // In another epoch where something failed: who read it before knows nothing of when it may be tried again.
    if (this.lease.isHeld) await this.step(false, this.push.failure !== undefined).catch(() => {});
  }

  #countRead(records: readonly DeliveryRecord[], committed: number): void {
    const { topicId, partition, lane } = this.#of.id;
    const count =
      lane === undefined ? committed - this.committed : records.filter(({ offset }) => offset < committed).length;
    if (count > 0) this.#ports.observe({ kind: 'records_read', log: `${topicId}.${partition}`, count });
  }
}
