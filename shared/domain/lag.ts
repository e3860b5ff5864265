import { type Gap, judgeGap, type Progress } from './gap.ts';
import { baseOf, type Reserved, reservedBy, type Slot } from './slot.ts';
import type { PartitionId, Topic } from './topic.ts';

/** What waits for less is on its way: it is no lag to tell of. A metric is paid by the hour in which it is told. */
export const LAG_REPORTED_AFTER_MS = 10_000;
/** Subscriptions whose lag is told in one hour: each takes two metrics. */
export const LAGS_REPORTED_MAX = 10;
/** Positions of which one run of the sweep finds out how long they have waited; each is a Query for one slot. */
export const LAG_LOOKS_MAX = 50;

/** Positions in back-off that one run of the sweep looks at before their time, for their lag alone. */
export const LAG_LOOKS_AHEAD_MAX = 1_000;

/** A subscription's position in a partition that holds more. */
export interface Behind extends PartitionId {
  readonly subscription: string;
  /** Name of the topic. */
  readonly topic: string;
  readonly committed: number;
  readonly head: LagHead;
}

/** What lag is measured by of a partition's head. */
export interface LagHead extends Progress {
  readonly next: number;
  readonly register: readonly Reserved[];
}

/** How far a subscription is behind. */
export interface Lag {
  readonly subscription: string;
  /** Offsets that are reserved and that it has not passed: also those that its filter will pass over. */
  readonly records: number;
  /** Since when the oldest of them waits. */
  readonly ageMs: number;
}

/** How the first offset stands that a position has not passed. */
export interface Waiting {
  readonly ageMs: number;
  /** No slot settles it, so that nobody may read past it. */
  readonly isUnsettled: boolean;
}

/** The least time for which a position has waited, as the head's last reservations tell. */
export function waitsAtLeastMs({ committed, head }: Pick<Behind, 'committed' | 'head'>, now: number): number {
  const time = timeOf({ from: committed, to: head.next, previous: head.register });
  return time === undefined ? 0 : Math.max(0, now - time);
}

/**
 * @param slot the first one that holds an offset not below `committed`; undefined: there is none
 * @param now epoch ms
 */
export function judgeWaiting(
  { committed, head }: Pick<Behind, 'committed' | 'head'>,
  slot: Slot | undefined,
  topic: Pick<Topic, 'retentionMs' | 'hiddenUntil'>,
  now: number,
): Waiting {
  const since = (time: number | undefined) => (time === undefined ? 0 : Math.max(0, now - time));
  if (slot !== undefined && baseOf(slot) <= committed) return { ageMs: since(reservedBy(slot)), isUnsettled: false };
  const gap =
    slot === undefined
      ? { from: committed, to: head.next, previous: head.register }
      : { from: committed, to: baseOf(slot), previous: slot.previous, followerTime: reservedBy(slot) };
  if (judgeGap(gap, head, topic, now, 1).act !== 'pass') return { ageMs: since(timeOf(gap)), isUnsettled: true };
  return { ageMs: slot === undefined ? 0 : since(reservedBy(slot)), isUnsettled: false };
}

/** When the first offset of a gap was reserved, or at the latest had been. Undefined: nothing is known. */
function timeOf({ from, to, previous, followerTime }: Gap): number | undefined {
  let time = followerTime;
  let last = to - 1;
  for (const reserved of previous) {
    if (last < from) break;
    time = reserved.time;
    last -= reserved.count;
  }
  return time;
}
