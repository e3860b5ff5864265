import type { WriterClock } from '../domain/clock.ts';
import type { Observe } from '../domain/observation.ts';
import type { Batch } from '../domain/record.ts';
import type { Reservation, Reserved, Slot, Spilled } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { UploadPorts } from './use-uploads.ts';

/** What an append needs of stores, time and chance. */
export interface AppendPorts extends UploadPorts {
  readonly heads: {
    /** @returns undefined when the head is closed or missing */
    reserve(p: PartitionId, id: string, what: Reserved, isLate: () => boolean): Promise<Reservation | undefined>;
  };
  readonly log: UploadPorts['log'] & {
    /** @returns who holds the slot, undefined for this very batch */
    fill(
      p: PartitionId,
      reservation: Reservation,
      batch: Batch,
      isLate: () => boolean,
      spilled?: Spilled,
    ): Promise<Slot | undefined>;
    /** @param expiresAt epoch s */
    putIntent(p: PartitionId, last: number, at: number, expiresAt: number, isLate: () => boolean): Promise<void>;
  };
  readonly spill: {
    put(p: PartitionId, last: number, bytes: Uint8Array, isLate: () => boolean): Promise<Spilled>;
  };
  /** Batches larger than this go to S3. */
  readonly spillAboveBytes: number;
  readonly writerClock: WriterClock;
  /** A new reservation id each time, 12 random bytes in hex. */
  newReservationId(): string;
  readonly observe: Observe;
}
