import type { GroupId } from './group.ts';
import type { LaneAbout } from './lane.ts';
import type { PartitionId } from './topic.ts';

/** What a group holds of one partition: the key of it. */
export interface PositionId extends PartitionId {
  readonly group: GroupId;
  /** Of one parked key alone (`lane.ts`); absent: of the partition. */
  readonly lane?: string;
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
  /** Epoch ms up to which the owner may be at it: of subscriptions. */
  readonly until?: number;
  /** Of subscriptions. */
  readonly push?: PushState;
  /** Lanes of the keys that are parked: their records are passed over here, each has a position of its own. Absent: none. */
  readonly parked?: ReadonlySet<string>;
  /** Of a lane. */
  readonly about?: LaneAbout;
}

/** Whether a delivery is, or may be, at a position of a subscription. @param now epoch ms */
export function isServed({ owner, until = 0 }: Pick<Position, 'owner' | 'until'>, now: number): boolean {
  return owner !== undefined && until >= now;
}

/** What a subscription remembers of a partition beside how far it is. */
export interface PushState {
  /** What has gone wrong at `committed`, and is not settled. */
  readonly failure?: Failure;
  /** Dead letters one after another, with nothing delivered in between; absent: none. */
  readonly deadLettersInARow?: number;
  /** Redriven dead letters that failed one after another; absent: none. */
  readonly redrivesFailed?: number;
  /** The last call was slow, failed or met nobody: the next one is made where it holds up none that are quick. */
  readonly isSlow?: boolean;
  /** Offsets that retention has overtaken, all in all; absent: none. */
  readonly expired?: number;
  /** Records of parked keys that were passed over, by lane, the one that failed among them. */
  readonly passed?: ReadonlyMap<string, number>;
  /** Of a lane: records of its key that are settled since it was parked. */
  readonly settled?: number;
  /** Of a lane: it has come to where its partition was. */
  readonly isReady?: boolean;
  /** What went wrong last, settled or not. */
  readonly lastError?: { readonly name: string; readonly message: string /** Epoch ms. */; readonly at: number };
}

/** How a delivery that failed goes on: always from `committed`. */
export interface Failure {
  /** Epoch ms before which it is not tried again. */
  readonly retryAt: number;
  /** Times that the record at `committed` has failed by itself. */
  readonly attempts: number;
  /** Calls in a row that met nobody. */
  readonly absences: number;
  /** Records of one call at most, while the batch that failed is not behind. */
  readonly span: number;
  /** Where that batch ended: no call goes past it. */
  readonly end: number;
  /** Epoch ms. */
  readonly firstFailedAt: number;
}

/** Who writes to a position that it holds. */
export interface Holder {
  /** Member id; absent: whoever knows the epoch. */
  readonly owner?: string;
  readonly epoch: number;
}
