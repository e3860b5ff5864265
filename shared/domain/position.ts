import type { GroupId } from './group.ts';
import type { PartitionId } from './topic.ts';

/** What a group holds of one partition: the key of it. */
export interface PositionId extends PartitionId {
  readonly group: GroupId;
}

/** How far a group is in one partition, and whose it is now. */
export interface Position {
  /** Fencing number: grows with every take and every foreign change. */
  readonly epoch: number;
  /** Offset of the next record to read: everything before it is done. */
  readonly committed: number;
  /** Member id of the session that took it and has not released it; absent: free. */
  readonly owner?: string;
  /** Given with the last commit. At most 255 bytes. */
  readonly metadata?: string;
}

/** Who writes to a position that it holds. */
export interface Holder {
  /** Member id; absent: whoever knows the epoch. */
  readonly owner?: string;
  readonly epoch: number;
}
