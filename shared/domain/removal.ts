import type { PartitionId } from './topic.ts';

/** An item that is gone from a partition's log, as its key alone tells. */
export interface Removal extends PartitionId {
  /** `intent`: what was put before a payload, and expires so that somebody looks what became of it. */
  readonly kind: 'slot' | 'intent';
  /** Of the slot. */
  readonly last: number;
  /** It is known that its time was up, rather than that somebody deleted it. */
  readonly expired: boolean;
}
