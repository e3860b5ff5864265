import type { Clock } from '../domain/clock.ts';
import { TopicNotFound } from '../domain/errors.ts';
import {
  type Behind,
  judgeWaiting,
  LAG_LOOKS_MAX,
  LAG_REPORTED_AFTER_MS,
  LAGS_REPORTED_MAX,
  type Lag,
  waitsAtLeastMs,
} from '../domain/lag.ts';
import { RETENTION_FOREVER, SLOW_SETTLE_AFTER_MS } from '../domain/limits.ts';
import { settleAll } from '../domain/parallel.ts';
import type { Slot } from '../domain/slot.ts';
import type { PartitionId, Topic } from '../domain/topic.ts';

export interface LagPorts {
  readonly lags: Lags;
  readonly log: {
    read(
      p: PartitionId,
      offset: number,
      options: { limit: number; outline: boolean },
    ): Promise<{ readonly slots: readonly Slot[] }>;
  };
  readonly topics: { get(name: string): Promise<Topic> };
  readonly clock: Clock;
}

/** How far subscriptions are behind, those alone for which something has waited for a while. */
export interface LagReport {
  /** Longest wait first, few in an hour. */
  readonly worst: readonly Lag[];
  /** Of all subscriptions, also those that are not among the worst. */
  readonly oldestMs?: number;
  /** Longest wait as a share of the time for which its topic keeps records; 1: they are lost. */
  readonly retentionUsed?: number;
  /** Age of the oldest offset that nobody has settled, for which a subscription waits. */
  readonly unsettledMs?: number;
}

/** For how long keys have been parked, also those of subscriptions that are paused or halted. */
export interface ParkedReport {
  /** The oldest key of a subscription, longest first, few in an hour. */
  readonly worst: readonly ParkedAge[];
  /** Of all subscriptions, also those that are not among the worst. */
  readonly oldestMs?: number;
}

export interface ParkedAge {
  readonly subscription: string;
  readonly ageMs: number;
}

const HOUR_MS = 3_600_000;

/** Subscriptions of which this process has told in this hour: what is told of each are metrics, which are paid by the hour. */
class Told {
  #names = new Set<string>();
  #hour = 0;

  /** Whether one of the hour's places is left for it, or is its own. */
  has(subscription: string, now: number): boolean {
    const hour = Math.floor(now / HOUR_MS);
    if (hour !== this.#hour) [this.#hour, this.#names] = [hour, new Set()];
    if (this.#names.size < LAGS_REPORTED_MAX) this.#names.add(subscription);
    return this.#names.has(subscription);
  }
}

/** What a sweep saw of positions that are behind and of keys that are parked, and of whom this process has told. */
export class Lags {
  #behind = new Map<string, Behind>();
  #parked = new Map<string, number>();
  readonly told = new Told();
  /** Apart: a key that stays parked must not take the place of a subscription that is behind. */
  readonly toldParked = new Told();

  note(behind: Behind): void {
    this.#behind.set(`${behind.subscription}#${behind.topicId}.${behind.partition}`, behind);
  }

  /** @param at epoch ms since which a key of the subscription is parked */
  notePark(subscription: string, at: number): void {
    this.#parked.set(subscription, Math.min(at, this.#parked.get(subscription) ?? at));
  }

  /** What was noted since the last time. */
  take(): readonly Behind[] {
    const taken = [...this.#behind.values()];
    this.#behind = new Map();
    return taken;
  }

  /** Since when the oldest key of each subscription is parked, as it was noted since the last time. */
  takeParked(): ReadonlyMap<string, number> {
    const taken = this.#parked;
    this.#parked = new Map();
    return taken;
  }
}

/**
 * Measures how long those have waited that the sweep saw behind: one Query each, for the `LAG_LOOKS_MAX` that are worst by
 * what is known of them. Where nobody is behind it costs nothing.
 *
 * @returns the report, and what kept it from looking at single positions
 */
export async function measureLag({ lags, log, topics, clock }: LagPorts): Promise<{
  readonly report: LagReport;
  readonly failures: readonly unknown[];
}> {
  const behind = lags.take();
  const now = clock.now();
  const found = new Map(behind.map((each) => [each, waitsAtLeastMs(each, now)]));
  let [unsettledMs, retentionUsed] = [0, 0];
  const outcomes = await settleAll(worstOf(found), async (each) => {
    const [topic, { slots }] = await Promise.all([
      topics.get(each.topic),
      log.read(each, each.committed, { limit: 1, outline: true }),
    ]);
    if (topic.id !== each.topicId) return void found.delete(each);
    const { ageMs, isUnsettled } = judgeWaiting(each, slots[0], topic, now);
    found.set(each, ageMs);
    if (isUnsettled && ageMs > SLOW_SETTLE_AFTER_MS) unsettledMs = Math.max(unsettledMs, ageMs);
    if (topic.retentionMs !== RETENTION_FOREVER) retentionUsed = Math.max(retentionUsed, ageMs / topic.retentionMs);
  });
  const failures = outcomes.flatMap((outcome) =>
    outcome.status === 'rejected' && !(outcome.reason instanceof TopicNotFound) ? [outcome.reason] : [],
  );
  const all = bySubscription(found).filter(({ ageMs }) => ageMs >= LAG_REPORTED_AFTER_MS);
  const worst = all.filter(({ subscription }) => lags.told.has(subscription, now));
  const oldest = all.length === 0 ? {} : { oldestMs: all[0]!.ageMs, ...(retentionUsed > 0 && { retentionUsed }) };
  return { report: { worst, ...oldest, ...(unsettledMs > 0 && { unsettledMs }) }, failures };
}

/** Measures how long keys have been parked whose marks the sweep saw: it costs nothing. */
export function measureParked({ lags, clock }: Pick<LagPorts, 'lags' | 'clock'>): ParkedReport {
  const now = clock.now();
  const all = [...lags.takeParked()]
    .map(([subscription, at]) => ({ subscription, ageMs: Math.max(0, now - at) }))
    .sort((a, b) => b.ageMs - a.ageMs);
  const worst = all.filter(({ subscription }) => lags.toldParked.has(subscription, now));
  return { worst, ...(all.length > 0 && { oldestMs: all[0]!.ageMs }) };
}

/** Half of them by the least time that they have waited, half by the number of records: either may hide the other. */
function worstOf(found: ReadonlyMap<Behind, number>): Behind[] {
  const byAge = [...found].sort(([, a], [, b]) => b - a).map(([behind]) => behind);
  const byRecords = [...found.keys()].sort((a, b) => recordsOf(b) - recordsOf(a));
  const half = LAG_LOOKS_MAX / 2;
  return [...new Set([...byAge.slice(0, half), ...byRecords.slice(0, half)])];
}

function bySubscription(found: ReadonlyMap<Behind, number>): Lag[] {
  const sums = new Map<string, Lag>();
  for (const [behind, ageMs] of found) {
    const { subscription } = behind;
    const sum = sums.get(subscription) ?? { subscription, records: 0, ageMs: 0 };
    sums.set(subscription, {
      subscription,
      records: sum.records + recordsOf(behind),
      ageMs: Math.max(sum.ageMs, ageMs),
    });
  }
  return [...sums.values()].sort((a, b) => b.ageMs - a.ageMs);
}

function recordsOf({ committed, head }: Behind): number {
  return head.next - committed;
}
