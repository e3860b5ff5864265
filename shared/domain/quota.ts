import { HAND_LIFE_MS, HAND_MS_MAX, TAKE_MS_MAX, TAKE_MS_MIN, TAKES_AHEAD } from './quota-limits.ts';

/** How much may be appended, of at least one kind. */
export interface Rates {
  /** Of batches as they are stored. */
  readonly bytesPerSecond?: number;
  readonly recordsPerSecond?: number;
}

/** Of a topic, by all together; and of each caller alone. */
export interface Quota extends Rates {
  readonly perCaller?: Rates;
}

/** Appends to a topic wait for groups that read it. */
export interface MaxLag {
  /** Names. One that does not exist holds nobody up. */
  readonly groups: readonly string[];
  /** Offsets that each may be behind, over all partitions together. */
  readonly records: number;
}

/** What a quota is drawn from. */
export interface Bucket {
  readonly topicId: string;
  readonly rates: Rates;
  /** Whose it is alone; absent: the whole topic's. */
  readonly caller?: string;
}

/** What a request appends. */
export interface Load {
  readonly bytes: number;
  readonly records: number;
}

/**
 * A quota shares out time: who takes 100 ms of a bucket may append what its rates allow in 100 ms, of each kind. So one
 * number tells how much of a bucket is taken, whatever its rates limit.
 */
export interface Share {
  readonly bytesMs: number;
  readonly recordsMs: number;
}

/** What somebody has taken of a bucket and not spent yet. */
export interface Hand extends Share {
  /** Epoch ms at which it took something last. */
  readonly takenAt: number;
}

export const EMPTY_HAND: Hand = { bytesMs: 0, recordsMs: 0, takenAt: 0 };

/** How much of a bucket's time a load takes. */
export function costOf({ bytes, records }: Load, { bytesPerSecond, recordsPerSecond }: Rates): Share {
  return {
    bytesMs: bytesPerSecond === undefined ? 0 : (bytes * 1_000) / bytesPerSecond,
    recordsMs: recordsPerSecond === undefined ? 0 : (records * 1_000) / recordsPerSecond,
  };
}

/** @returns what is left in the hand; undefined when there is too little in it */
export function spend(hand: Hand, cost: Share, now: number): Hand | undefined {
  const held = heldAt(hand, now);
  const bytesMs = held.bytesMs - cost.bytesMs;
  const recordsMs = held.recordsMs - cost.recordsMs;
  return bytesMs < 0 || recordsMs < 0 ? undefined : { ...held, bytesMs, recordsMs };
}

/**
 * How much to take for something that the hand cannot pay: also for what will follow it, but little of the bucket's time,
 * because others want some, too. Whole ms.
 */
export function toTake(hand: Hand, cost: Share, now: number): number {
  const held = heldAt(hand, now);
  const missingMs = Math.max(cost.bytesMs - held.bytesMs, cost.recordsMs - held.recordsMs);
  const aheadMs = Math.max(cost.bytesMs, cost.recordsMs) * TAKES_AHEAD;
  return Math.ceil(Math.max(missingMs, Math.min(Math.max(aheadMs, TAKE_MS_MIN), TAKE_MS_MAX)));
}

export function taken(hand: Hand, ms: number, now: number): Hand {
  const held = heldAt(hand, now);
  return {
    bytesMs: Math.min(held.bytesMs, HAND_MS_MAX) + ms,
    recordsMs: Math.min(held.recordsMs, HAND_MS_MAX) + ms,
    takenAt: now,
  };
}

/** Puts back what was spent for something that did not come to be. */
export function givenBack(hand: Hand, cost: Share): Hand {
  return { ...hand, bytesMs: hand.bytesMs + cost.bytesMs, recordsMs: hand.recordsMs + cost.recordsMs };
}

function heldAt(hand: Hand, now: number): Hand {
  return now - hand.takenAt > HAND_LIFE_MS ? EMPTY_HAND : hand;
}

export function isSameQuota(a: Quota | undefined, b: Quota | undefined): boolean {
  return isSame(a, b) && isSame(a?.perCaller, b?.perCaller);
}

export function isSameMaxLag(a: MaxLag | undefined, b: MaxLag | undefined): boolean {
  return a?.records === b?.records && a?.groups.join() === b?.groups.join(); // names have no comma
}

function isSame(a: Rates | undefined, b: Rates | undefined): boolean {
  return a?.bytesPerSecond === b?.bytesPerSecond && a?.recordsPerSecond === b?.recordsPerSecond;
}
