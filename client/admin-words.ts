/** What the admin is given and gives. Offsets, counts and times (epoch ms) are numbers. */

export interface AdminOptions {
  /** Aborts every call of this admin. */
  readonly signal?: AbortSignal;
}

export interface NewTopic {
  readonly topic: string;
  /** 1 to 1,024. Default: the backbone's, 8. */
  readonly numPartitions?: number;
  /** At least an hour; −1: for ever. Default: a week. */
  readonly retentionMs?: number;
}

export interface TopicDescription {
  readonly name: string;
  /** Of this incarnation: a topic that is deleted and made again has another one. */
  readonly id: string;
  readonly partitions: number;
  readonly retentionMs: number;
  readonly createdAt: number;
}

export interface TopicChange extends TopicDescription {
  /** Partitions were added: keyed records go elsewhere from now on. */
  readonly keysMoved?: boolean;
  /** Retention became longer: what was appended before leaves as it would have. */
  readonly retentionAppliesTo?: 'later_appends';
}

/** Where a partition's log begins and ends. `offset` equals `high`. */
export interface PartitionOffsets {
  readonly partition: number;
  readonly offset: number;
  /** Every offset below it can be read. */
  readonly high: number;
  /** The first one that retention has left. */
  readonly low: number;
  /** The next one to be given out; above `high` while appends are under way. */
  readonly logEndOffset: number;
}

/** An end of the log, or the first record appended at or after a time (epoch ms, or a Date). */
export type OffsetTime = 'earliest' | 'latest' | number | Date;

/** Where a group is to go on. */
export type OffsetTarget = 'earliest' | 'latest' | { readonly at: number | Date } | { readonly offset: number };

export interface GroupOffset {
  readonly topic: string;
  readonly partition: number;
  /** The next one to read; absent: nothing was committed. */
  readonly committed?: number | null;
  readonly highWatermark: number;
  readonly lag: number;
  readonly metadata?: string;
}

export interface GroupDescription {
  readonly group: string;
  readonly members: readonly {
    readonly memberId: string;
    readonly instanceId?: string;
    readonly lastSeenAt: number;
    readonly assigned: readonly { readonly topic: string; readonly partition: number }[];
  }[];
  readonly offsets: readonly GroupOffset[];
}

export interface DeadLetter {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly error: { readonly name: string; readonly message: string };
  readonly attempts: number;
  readonly deadLetteredAt: number;
  /** Key, value, headers and the rest, as the API tells them. */
  readonly [field: string]: unknown;
}

export interface DeadLetterQuery {
  readonly groupId: string;
  readonly topic?: string;
  readonly partition?: number;
  readonly limit?: number;
  readonly nextToken?: string;
}
