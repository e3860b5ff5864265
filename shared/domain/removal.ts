import type { PartitionId } from './topic.ts';
import type { UploadId } from './upload.ts';

interface Known {
  /** It is known that its time was up, rather than that somebody deleted it. */
  readonly expired: boolean;
}

/** An item that is gone from a partition's log, as its key alone tells. */
export interface SlotRemoval extends PartitionId, Known {
  /** `intent`: what was put before a payload, and expires so that somebody looks what became of it. */
  readonly kind: 'slot' | 'intent';
  /** Of the slot. */
  readonly last: number;
}

/** The watch of an upload is gone: somebody must look after it. */
export interface UploadRemoval extends UploadId, Known {
  readonly kind: 'upload';
}

export type Removal = SlotRemoval | UploadRemoval;
