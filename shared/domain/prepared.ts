import type { Placement } from './claim.ts';
import type { Batch } from './record.ts';
import type { Reservation } from './slot.ts';
import type { AppendTopic, Topic } from './topic.ts';

/** A slot that is kept for a batch until somebody puts it there, or settles it. */
export interface PreparedSlot {
  readonly partition: number;
  readonly reservation: Reservation;
}

/** The slots of one prepared append: filled together, in one transaction, or not at all. */
export interface PreparedSlots {
  /** The incarnation in which they are. */
  readonly topic: AppendTopic;
  /** At least one. */
  readonly slots: readonly PreparedSlot[];
}

/** What is to be put there. */
export interface PreparedAppend {
  readonly topic: Topic;
  readonly placement: Placement;
  /** By partition. */
  readonly slots: readonly (PreparedSlot & { readonly batch: Batch })[];
  /** ms from now in which they may be put: readers wait longer than that for them. */
  readonly lifeMs: number;
}
