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

const HOUR_MS = 3_600_000;

/** What a sweep saw of positions that are behind, and which subscriptions this process has told of in this hour. */
export class Lags {
  #behind = new Map<string, Behind>();
  #told = new Set<string>();
  #hour = 0;

  note(behind: Behind): void {
    this.#behind.set(`${behind.subscription}#${behind.topicId}.${behind.partition}`, behind);
  }

  /** What was noted since the last time. */
  take(): readonly Behind[] {
    const taken = [...this.#behind.values()];
    this.#behind = new Map();
    return taken;
  }

  /** Whether one of the hour's places is left for it, or is its own: each is a metric, which is paid by the hour. */
  mayTell(subscription: string, now: number): boolean {
    const hour = Math.floor(now / HOUR_MS);
    if (hour !== this.#hour) [this.#hour, this.#told] = [hour, new Set()];
    if (this.#told.size < LAGS_REPORTED_MAX) this.#told.add(subscription);
    return this.#told.has(subscription);
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
  const worst = all.filter(({ subscription }) => lags.mayTell(subscription, now));
  const oldest = all.length === 0 ? {} : { oldestMs: all[0]!.ageMs, ...(retentionUsed > 0 && { retentionUsed }) };
  return { report: { worst, ...oldest, ...(unsettledMs > 0 && { unsettledMs }) }, failures };
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
