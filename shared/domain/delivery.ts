import type { GroupId } from './group.ts';
import { TARGET_ERROR_CHARS_MAX } from './limits.ts';
import type { Header } from './record.ts';
import type { Payload } from './upload.ts';

/** Where a payload is to be had that does not go with its record. */
export interface PayloadLink extends Payload {
  /** Presigned GET of exactly its bytes. */
  readonly url: string;
}

/** A record on its way to a target. */
export interface DeliveryRecord {
  readonly offset: number;
  /** Epoch ms, −1: none. */
  readonly timestamp: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: readonly Header[];
  /** The value is known to be a JSON text; false or absent: to be found out. */
  readonly json?: boolean;
  /** Stands for the value: an upload, or one that is too large for the target. */
  readonly link?: PayloadLink;
  /** Times it was taken back from the dead letters; absent: 0. */
  readonly redrives?: number;
}

/** Records of one partition, in order, for one call: at least one. Offsets may be missing between them. */
export interface DeliveryBatch {
  readonly group: GroupId;
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** The parked key's that it is of, if it is (`lane.ts`). */
  readonly lane?: string;
  /** Of the position's ownership, or the lane's: a target that keeps the highest one it saw can tell a late call. */
  readonly epoch: number;
  /** How long the topic keeps its records: ms, −1: for ever. */
  readonly retentionMs: number;
  readonly records: readonly DeliveryRecord[];
}

/** What went wrong, in the target's words or ours: short, and of printable characters alone. */
export interface DeliveryError {
  readonly name: string;
  readonly message: string;
}

/**
 * What became of a batch. `at`: everything before this offset is done, and the record with it is the one concerned.
 *
 * - `done`: all of it.
 * - `part`: everything before `next` is done, and the rest was not sent, for want of room: go on from there.
 * - `failed`: the target refused it, threw, or did not answer in time; without `at` it named no record.
 * - `away`: nobody was there to take it; no attempt is spent.
 * - `cannot`: it will not get better by itself; nothing more is to be sent.
 * - `gone`: the target wants no more.
 * - `too_large`: the record does not fit a call of this target, even alone.
 */
export type Delivered =
  | { readonly kind: 'done' }
  | { readonly kind: 'part'; readonly next: number }
  | { readonly kind: 'failed'; readonly at?: number; readonly error: DeliveryError }
  | { readonly kind: 'away'; readonly at?: number; readonly retryAfterMs?: number; readonly error: DeliveryError }
  | { readonly kind: 'cannot'; readonly at?: number; readonly error: DeliveryError }
  | { readonly kind: 'gone'; readonly error: DeliveryError }
  | { readonly kind: 'too_large'; readonly at: number };

/** Whoever records are pushed to. */
export interface Target {
  /**
   * Sends a batch, or as much of it as one call takes. Throws nothing that a target could cause.
   * @param deadline epoch ms by which it answers
   */
  send(batch: DeliveryBatch, deadline: number): Promise<Delivered>;
}

/** Puts a record's value where the target can get it. @returns undefined when that cannot be */
export type LinkPayload = (batch: DeliveryBatch, record: DeliveryRecord) => Promise<PayloadLink | undefined>;

/** What the answer to a batch says of it. */
export type Verdict = Extract<Delivered, { kind: 'done' | 'failed' }>;

/** @param message anything; it is cut, and what cannot be printed is left out */
export function deliveryError(name: string, message: string): DeliveryError {
  return { name: printable(name), message: printable(message) };
}

/** At most `TARGET_ERROR_CHARS_MAX` printable characters on one line. */
export function printable(text: string): string {
  const line = text
    .slice(0, 4 * TARGET_ERROR_CHARS_MAX)
    .replace(/[\p{C}\p{Z}\ufffd]+/gu, ' ')
    .trim();
  return Array.from(line).slice(0, TARGET_ERROR_CHARS_MAX).join('');
}

/** `orders-3`, as Kafka names a partition. */
export function partitionName({ topic, partition }: Pick<DeliveryBatch, 'topic' | 'partition'>): string {
  return `${topic}-${partition}`;
}

/** `orders-3:41`: names a record in its topic, the same however often it is sent. */
export function recordName(batch: Pick<DeliveryBatch, 'topic' | 'partition'>, offset: number): string {
  return `${partitionName(batch)}:${offset}`;
}

/** A record as a text that goes into a call. */
export type RecordText = (batch: DeliveryBatch, record: DeliveryRecord) => string;

/** What a parsed answer (undefined: none) says of the batch. */
export type ReadAnswer = (answer: unknown, batch: DeliveryBatch) => Verdict;
