import { PARTITIONS_MAX } from './limits.ts';
import { LANE_KEY_BYTES_MAX, LANE_LAST_SHARE } from './park-limits.ts';
import type { Position, PositionId } from './position.ts';
import type { PartitionId } from './topic.ts';

/** A key that waits behind a record of its own that failed: the rest of its partition goes on without it. */
export interface LaneId extends PositionId {
  /** 8 bytes that follow from the key, in hex: keys that share them are parked together. */
  readonly lane: string;
}

/** What a lane shows of the key that it was made for. */
export interface LaneAbout {
  /** The first `LANE_KEY_BYTES_MAX` bytes of the key. */
  readonly key: Uint8Array;
  /** Bytes of the whole key. */
  readonly keyBytes: number;
  /** Epoch ms. */
  readonly parkedAt: number;
  /** Offset of a record that is to be a dead letter, should it fail once more; one that is passed means nothing. */
  readonly giveUp?: number;
}

/** How far a parked key is: a position of its own, in the same log. */
export interface Lane extends Position {
  readonly about: LaneAbout;
}

/** Names a parked key to users. */
export interface ParkedKeyId extends PartitionId {
  readonly lane: string;
}

export function aboutKey(key: Uint8Array, parkedAt: number): LaneAbout {
  return { key: key.subarray(0, LANE_KEY_BYTES_MAX), keyBytes: key.length, parkedAt };
}

export function parkedKeyIdText({ topicId, partition, lane }: ParkedKeyId): string {
  return `${topicId}.${partition}.${lane}`;
}

/** The parked key that a text names. @returns undefined when it names none */
export function parseParkedKeyId(text: string): ParkedKeyId | undefined {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})\.(0|[1-9]\d{0,3})\.([0-9a-f]{16})$/.exec(text);
  if (match === null) return undefined;
  const [topicId, partition, lane] = [match[1]!, Number(match[2]), match[3]!];
  return partition < PARTITIONS_MAX ? { topicId, partition, lane } : undefined;
}

/** A parked key, as it is shown. */
export interface ParkedKey extends ParkedKeyId {
  /** Name of the topic. */
  readonly topic: string;
  /** The beginning of the key. */
  readonly key: Uint8Array;
  /** Bytes of the whole key. */
  readonly keyBytes: number;
  /** Of the record that is next: the one that failed. */
  readonly offset: number;
  /** Records of the key that are there and not settled, this one among them. */
  readonly waiting: number;
  readonly attempts: number;
  readonly error?: { readonly name: string; readonly message: string };
  /** Epoch ms. */
  readonly parkedAt: number;
  /** Epoch ms; absent: it is being delivered, or will be at once. */
  readonly nextRetryAt?: number;
}

/** What becomes of the record that fails: it is tried again now, or is a dead letter. */
export type ParkedAct = 'resume' | 'dead-letter';

/**
 * From when on a record that fails is kept as a dead letter, because the log will let it go; `finalAt`: from when on also where its
 * target is only away, or nobody knows which record of several it was.
 *
 * @param life since when, and until when the log keeps the record: epoch ms; `Infinity`: for ever
 */
export function lastCallAt({ since, until }: { readonly since: number; readonly until: number }): {
  readonly lastAt: number;
  readonly finalAt: number;
} {
  const before = (share: number) => Math.ceil(share * since + (1 - share) * until);
  return { lastAt: before(LANE_LAST_SHARE), finalAt: before(LANE_LAST_SHARE / 2) };
}

/**
 * Records of a parked key that are there and not settled, at most: what retention took, or drops out by another filter, was counted
 * when its partition passed it over.
 *
 * @param at where the lane is @param partition the position that passes the key over
 */
export function waitingOf(at: Progress, lane: string, partition: Progress): number {
  const counted = (partition.push?.passed?.get(lane) ?? 0) - (at.push?.settled ?? 0);
  return Math.max(0, Math.min(counted, partition.committed - at.committed));
}

type Progress = Pick<Position, 'committed' | 'push'>;

/** Whether the record that a lane is at is to be a dead letter, should it not be settled yet. */
export function isGivenUp({ committed, about }: Pick<Lane, 'committed'> & { readonly about?: LaneAbout }): boolean {
  return about?.giveUp === committed;
}

/** From when on a position that nobody is at may be served: epoch ms; 0: at once, as what is given up is. */
export function dueAtOf(position: Position): number {
  return isGivenUp(position) ? 0 : (position.push?.failure?.retryAt ?? 0);
}
