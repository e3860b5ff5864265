import type { MaxLag, Quota } from '../shared/domain/quota.ts';

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
  /** How much may be appended. Default: as much as comes. */
  readonly quota?: Quota;
  /** Appends wait while one of these groups is further behind. Default: for nobody. */
  readonly maxLag?: MaxLag;
}

/** What is absent stays as it is. */
export interface TopicSettings {
  readonly topic: string;
  /** How many there are to be in all. Keyed records go elsewhere from then on. */
  readonly numPartitions?: number;
  readonly retentionMs?: number;
  /** null: none any more. */
  readonly quota?: Quota | null;
  readonly maxLag?: MaxLag | null;
}

export interface TopicDescription {
  readonly name: string;
  /** Of this incarnation: a topic that is deleted and made again has another one. */
  readonly id: string;
  readonly partitions: number;
  readonly retentionMs: number;
  readonly createdAt: number;
  readonly quota?: Quota;
  readonly maxLag?: MaxLag;
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
  /** The next one to read; null or absent: the group has never had this partition. */
  readonly committed?: number | null;
  readonly highWatermark: number;
  readonly lag: number;
  /** Of a subscription: keys that are parked; absent: none. */
  readonly parked?: number;
  readonly metadata?: string;
}

export interface GroupSummary {
  readonly group: string;
  /** Of this incarnation: a group that is deleted and made again has another one. */
  readonly id?: string;
  readonly createdAt?: number;
}

export interface GroupMember {
  readonly memberId: string;
  readonly instanceId?: string;
  readonly joinedAt?: number;
  readonly lastSeenAt: number;
  readonly sessionTimeoutMs?: number;
  readonly topics?: readonly string[];
  readonly assigned: readonly { readonly topic: string; readonly partition: number; readonly epoch?: number }[];
}

export interface GroupDescription extends GroupSummary {
  readonly members: readonly GroupMember[];
  readonly offsets: readonly GroupOffset[];
  /** Redrives to its members; absent: there were none of late. */
  readonly redrives?: {
    /** Those that failed one after another; absent: none. */
    readonly failed?: number;
    /** When so many had that the others were taken back, epoch ms; absent: never. */
    readonly stoppedAt?: number;
  };
}

/** What a group has committed in one topic. */
export interface CommittedOffsets {
  readonly topic: string;
  readonly partitions: readonly { readonly partition: number; readonly offset: number; readonly metadata?: string }[];
}

export interface DeadLetter {
  readonly id: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly error: { readonly name: string; readonly message: string };
  readonly attempts: number;
  /** Times it was given back, and failed again. */
  readonly redrives: number;
  readonly deadLetteredAt: number;
  readonly state: 'stored' | 'redriving';
  /** Key, value, headers and the rest, as the API tells them. */
  readonly [field: string]: unknown;
}

export interface DeadLetterQuery {
  readonly groupId: string;
  readonly topic?: string;
  readonly partition?: number;
  /** The record's key, as text. */
  readonly key?: string;
  /** Those dead-lettered then or later: epoch ms, or a Date. */
  readonly since?: number | Date;
  readonly state?: 'stored' | 'redriving';
  readonly limit?: number;
  readonly nextToken?: string;
}

/**
 * Which dead letters are to be given back: `ids` and `records`, at most 100 together, or those that a filter finds.
 */
export interface Redrive {
  /** Of a group, or a subscription: its name is its group's. */
  readonly groupId: string;
  readonly ids?: readonly string[];
  /** With what is to be different in them; with an id alone: as they were, whatever they were corrected to before. */
  readonly records?: readonly RedriveCorrection[];
  /** `{}`: all. It passes those that came back three times. */
  readonly filter?: {
    readonly topic?: string;
    readonly partition?: number;
    /** The record's key, as text. */
    readonly key?: string;
    readonly state?: 'stored' | 'redriving';
    /** Those dead-lettered then or later: epoch ms, or a Date. */
    readonly since?: number | Date;
  };
  /** Absent: as fast as they are taken. */
  readonly ratePerSecond?: number;
  /** Counts, and does nothing. */
  readonly dryRun?: boolean;
}

/** What may be done with what these name together. In a pattern `*` stands for any characters; what is absent is not meant. */
export interface AccessRights {
  readonly topics?: string;
  /** Of consumer groups, and of subscriptions. */
  readonly groups?: string;
  /** Kind, colon, address, such as `lambda:*` or `http:https://example.com/*`. */
  readonly targets?: string;
  readonly allow: readonly ('produce' | 'consume' | 'subscribe' | 'admin')[];
}

export interface NewApiKey {
  readonly name: string;
  readonly rights: readonly AccessRights[];
  /** Default: never. */
  readonly expiresAt?: number | Date;
}

export interface ApiKeyDescription {
  readonly id: string;
  readonly name: string;
  readonly rights: readonly AccessRights[];
  readonly createdAt: number;
  /** Who made it: an IAM role or user, or another key. */
  readonly createdBy: string;
  readonly expiresAt?: number;
}

/** A dead letter's record as it is to be given back. What is absent stays as it was. */
export interface RedriveCorrection {
  readonly id: string;
  /** Any JSON value, unless `valueEncoding` says otherwise; null: a tombstone. */
  readonly value?: unknown;
  readonly valueEncoding?: 'json' | 'utf8' | 'base64';
  readonly headers?:
    | Readonly<Record<string, string | null | { readonly base64: string }>>
    | readonly (readonly [name: string, value: string | null | { readonly base64: string }])[];
}
