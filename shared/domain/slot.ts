import { FILL_DEADLINE_MS, SETTLE_AFTER_MS, SLOW_FILL_DEADLINE_MS } from './limits.ts';
import type { UploadId } from './upload.ts';

/** What a head and a slot remember of one reservation. */
export interface Reserved {
  /** Number of offsets. */
  readonly count: number;
  /** Epoch ms on the writer's clock. */
  readonly time: number;
  /** Epoch s at which it expires, 0: never. */
  readonly expiresAt: number;
  /** ms after which it is abandoned if it was not filled. */
  readonly settleMs: number;
}

/** A reservation that its writer holds: offsets `base` to `last`, to be filled once. */
export interface Reservation extends Reserved {
  /** Id of this reservation alone, 12 bytes in hex; a second reservation of the same request has another. */
  readonly id: string;
  readonly base: number;
  readonly last: number;
  /** The reservations just before it, newest first. Empty or short means unknown, never none. */
  readonly previous: readonly Reserved[];
}

interface SlotKey {
  /** Offset of the last record: the slot's sort key. */
  readonly last: number;
  readonly count: number;
  /** Epoch ms: when it was reserved, or, of a void, the settler's clock when it was put. */
  readonly at: number;
  /** The reservations just before it, newest first. Empty or short means unknown, never none. */
  readonly previous: readonly Reserved[];
  /** Epoch s, 0: never. */
  readonly expiresAt: number;
}

/** A payload that is kept in S3, under the slot's own key. */
export interface Spilled {
  /** Bytes. */
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
}

/** A stored batch of records. */
export interface BatchSlot extends SlotKey {
  readonly kind: 'batch';
  /** Id of the reservation that it fills. */
  readonly append: string;
  /** A Kafka record batch v2 with base offset 0; empty in an outline, or while it is in S3, or when it is unreadable. */
  readonly batch: Uint8Array;
  /** Where the batch is, unless it is in the slot. */
  readonly spilled?: Spilled;
  /** Why the batch cannot be read. */
  readonly unreadable?: 'payload_missing' | 'payload_corrupt';
  /** Every value is known to be a JSON text or null. */
  readonly json: boolean;
  /** Records whose values are uploads, by their place in the batch, ascending; absent: none, or an outline. */
  readonly uploads?: ReadonlyMap<number, UploadId>;
}

/** A slot that was settled without records: no reader stops there, and no append can fill it any more. */
export interface VoidSlot extends SlotKey {
  readonly kind: 'void';
  /** Epoch ms: a time at which what it settles had been reserved already. */
  readonly reservedBy: number;
}

export type Slot = BatchSlot | VoidSlot;

/** ms after the time of a reservation in which its writer may still write. */
export function fillDeadlineOf({ settleMs }: Pick<Reserved, 'settleMs'>): number {
  return settleMs === SETTLE_AFTER_MS ? FILL_DEADLINE_MS : SLOW_FILL_DEADLINE_MS;
}

/** First offset of a slot or reservation. */
export function baseOf(slot: { readonly last: number; readonly count: number }): number {
  return slot.last - slot.count + 1;
}

/** A time by which the slot's offsets had been reserved, on the clock of whoever wrote it. */
export function reservedBy(slot: Slot): number {
  return slot.kind === 'void' ? slot.reservedBy : slot.at;
}
