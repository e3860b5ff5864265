import { LATE_MAX_MS, SETTLE_AFTER_MS } from './limits.ts';
import type { Reserved } from './slot.ts';
import { isExpired, type Topic } from './topic.ts';

/** Offsets from `from` up to, not including, `to` for which no slot was found, and who follows them. */
export interface Gap {
  readonly from: number;
  readonly to: number;
  /** The reservations just before `to`, newest first, as the slot at `to` (or the head) tells them. */
  readonly previous: readonly Reserved[];
  /** Epoch ms: when the reservation that begins at `to` had been made; absent at the tail, where there is none. */
  readonly followerTime?: number;
}

/** What the head says of the partition; both only ever grow. */
export interface Progress {
  /** Every offset below it is settled. */
  readonly settled: number;
  readonly logStart: number;
}

/** A void to be put: on a slot's key when `count` came from a reservation, on a single offset otherwise. */
export interface VoidOrder {
  readonly last: number;
  readonly count: number;
  readonly previous: readonly Reserved[];
  readonly reservedBy: number;
}

export type GapVerdict =
  /** Nothing can be stored there any more: go on at `to`. `expired`: the log starts there. */
  | { readonly act: 'pass'; readonly to: number; readonly expired: boolean }
  /** Its writer may still be at work: go no further. */
  | { readonly act: 'wait' }
  /** Put these voids in this order; the first that finds a batch ends the round. Then look again. */
  | { readonly act: 'void'; readonly orders: readonly VoidOrder[] };

/**
 * What a reader may do about the first part of a gap. Pure; invariant A3 and the rules under it rest here.
 * Safety never rests on the clock alone: what is not provably gone is passed only after a conditional void.
 *
 * @param now epoch ms on the reader's clock
 * @param ordersMax how many voids the caller may still put
 */
export function judgeGap(
  gap: Gap,
  progress: Progress,
  topic: Pick<Topic, 'retentionMs' | 'hiddenUntil'>,
  now: number,
  ordersMax: number,
): GapVerdict {
  const missing = missingReservations(gap);
  const expiredTo = endOfExpired(missing, topic, now);
  if (expiredTo > gap.from) return { act: 'pass', to: expiredTo, expired: true };
  if (progress.logStart > gap.from) return { act: 'pass', to: Math.min(progress.logStart, gap.to), expired: true };
  if (progress.settled > gap.from) return { act: 'pass', to: Math.min(progress.settled, gap.to), expired: false };

  const oldest = missing.at(-1);
  const unknownTo = oldest === undefined ? gap.to : oldest.base;
  if (unknownTo > gap.from) return judgeUnknown(gap, unknownTo, missing, now, ordersMax);

  // Everything that is missing is known. Oldest first: void what is abandoned, stop at the first that is in flight.
  const orders: VoidOrder[] = [];
  for (const reservation of missing.toReversed()) {
    if (now - reservation.time <= reservation.settleMs || orders.length === ordersMax) break;
    const { last, count, previous, time } = reservation;
    orders.push({ last, count, previous, reservedBy: time });
  }
  return orders.length === 0 ? { act: 'wait' } : { act: 'void', orders };
}

interface MissingReservation extends Reserved {
  readonly base: number;
  readonly last: number;
  readonly previous: readonly Reserved[];
}

/** The reservations inside the gap that its follower remembers, newest first. The oldest may begin below the gap. */
function missingReservations({ from, to, previous }: Gap): MissingReservation[] {
  const missing: MissingReservation[] = [];
  let last = to - 1;
  for (const [i, reserved] of previous.entries()) {
    if (last < from) break;
    missing.push({ ...reserved, last, base: last - reserved.count + 1, previous: previous.slice(i + 1) });
    last -= reserved.count;
  }
  return missing;
}

/**
 * The offset up to which every known reservation, oldest first, is expired: a younger one below an expired one would
 * be settled as usual. What is unknown below an expired reservation is older still: it was reserved before it, so the
 * last write of it landed within 2 × `LATE_MAX_MS` of that time, which the shortest retention exceeds.
 */
function endOfExpired(
  missing: readonly MissingReservation[],
  topic: Pick<Topic, 'retentionMs' | 'hiddenUntil'>,
  now: number,
): number {
  let end = -1;
  for (const reservation of missing.toReversed()) {
    if (!isExpired(topic, reservation, now)) break;
    end = reservation.last + 1;
  }
  return end;
}

/**
 * A range that its follower does not remember. Where its reservations begin and end is unknown, so it is voided offset
 * by offset **from the highest down**: the highest is a slot's key for certain, and below a void every offset is a key
 * or lies in a batch whose key was met. Ascending voids would leave a batch readable in part.
 */
function judgeUnknown(
  { from, followerTime }: Gap,
  to: number,
  missing: readonly MissingReservation[],
  now: number,
  ordersMax: number,
): GapVerdict {
  const times = missing.map(({ time }) => time);
  if (followerTime !== undefined) times.push(followerTime);
  if (times.length === 0) return { act: 'wait' };
  if (now - Math.max(...times) > 2 * LATE_MAX_MS) return { act: 'pass', to, expired: false };

  const oldest = missing.at(-1);
  const reservedBy = oldest?.time ?? followerTime!;
  if (now - reservedBy <= (oldest?.settleMs ?? SETTLE_AFTER_MS)) return { act: 'wait' };
  const orders: VoidOrder[] = [];
  for (let last = to - 1; last >= from && orders.length < ordersMax; last--) {
    orders.push({ last, count: 1, previous: [], reservedBy });
  }
  return orders.length === 0 ? { act: 'wait' } : { act: 'void', orders };
}
