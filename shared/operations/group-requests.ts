import type { BackboneError } from '../domain/errors.ts';
import type { LinkingSink } from './link-uploads.ts';

/** One partition, by the name of its topic. */
export interface NamedPartition {
  readonly topic: string;
  readonly partition: number;
}

/** A partition that a member says it owns. */
export interface OwnedPartition extends NamedPartition {
  readonly epoch: number;
}

/** Where a member goes on in a partition. */
export interface OwnedOffset extends OwnedPartition {
  readonly offset: number;
}

/** The offset to be committed: that of the next record to be handled. */
export interface OffsetToCommit extends NamedPartition {
  readonly offset: number;
  /** Absent: allowed while the group has no live member. */
  readonly epoch?: number;
  readonly metadata?: string;
}

/** What a member says of what it owns and has done. No list names a partition twice. */
export interface Report {
  readonly positions: readonly OwnedOffset[];
  readonly commit: readonly (OwnedOffset & { readonly metadata?: string })[];
  readonly release: readonly OwnedPartition[];
}

/** What a member says of a redriven record: that it holds it, or is done with it. */
export interface RedrivenReport {
  /** Of the dead letter. */
  readonly id: string;
  /** Of the partition, as it was when the record was given. */
  readonly epoch: number;
  readonly done?: boolean;
}

/** How it ended that a member is done with a redriven record; `error`: `Fenced`, it was given to another. */
export interface RedrivenOutcome {
  readonly id: string;
  readonly error?: BackboneError;
}

export interface HeartbeatRequest extends Report {
  readonly group: string;
  readonly memberId: string;
  readonly redriven?: readonly RedrivenReport[];
  /** Epoch ms by which to answer. */
  readonly deadline: number;
}

/** How partitions are read. */
export interface Reading {
  readonly paused: readonly NamedPartition[];
  /** Where a partition begins that the group never had. */
  readonly autoOffsetReset: 'earliest' | 'latest' | 'none';
  /** Where a partition goes on whose offset is out of range; absent: nowhere. */
  readonly reset?: 'earliest' | 'latest';
  /** As the last answer told it; which of many partitions are looked at. */
  readonly turn?: number;
}

export interface PollRequest extends Report, Reading {
  readonly group: string;
  /** Absent: the caller joins. */
  readonly memberId?: string;
  /** ULID by which whoever joins wants to be known, so that a repeated join is the same member. */
  readonly proposed?: string;
  /** Of whoever joins: its place is kept for the next session with the same. */
  readonly instanceId?: string;
  /** Who joins names at least one; absent: as before. */
  readonly topics?: readonly string[];
  /** Who joins names it; absent: as before. */
  readonly sessionTimeoutMs?: number;
  /** All that the member holds or is done with; absent: it knows nothing of redrives, or has not said. */
  readonly redriven?: readonly RedrivenReport[];
  readonly waitMs: number;
  /** Epoch ms by which to answer. */
  readonly deadline: number;
}

export interface CommitsRequest {
  readonly group: string;
  readonly memberId?: string;
  /** No partition twice. */
  readonly offsets: readonly OffsetToCommit[];
}

/** How one commit ended; `error`: it was refused, for one of `Fenced`, `CommitRegressed`, `OffsetOutOfRange`, … */
export interface CommitOutcome extends NamedPartition {
  readonly offset: number;
  readonly error?: BackboneError;
}

/** A partition that the member owns, and where it goes on after this answer. */
export interface Assigned extends OwnedOffset {
  /** It yields nothing until this is mended: `OffsetOutOfRange`. */
  readonly error?: BackboneError;
}

/** Something that went wrong with a topic, or a partition of it, without spoiling the rest. */
export interface TopicError {
  readonly topic: string;
  readonly partition?: number;
  readonly error: BackboneError;
}

/** What a member is told. Lists are sorted by topic, then partition; `commits` are in the order sent. */
export interface Told {
  readonly memberId: string;
  readonly assigned: readonly Assigned[];
  /** To be finished, committed and released. */
  readonly revoked: readonly OwnedPartition[];
  readonly commits: readonly CommitOutcome[];
  readonly errors: readonly TopicError[];
  /** Of those that the member was done with, in the order sent; absent: it said nothing of redrives. */
  readonly redriven?: readonly RedrivenOutcome[];
}

export interface PollResult extends Told {
  /** To be sent back as it is; absent while every partition is looked at in every poll. */
  readonly turn?: number;
}

/** How much may be taken in all. */
export interface Room {
  readonly records: number;
  /** Of the encoded records, separators included. */
  readonly bytes: number;
}

/** Where a poll's records go: a part of the answer for each partition that has some, whatever the order. */
export interface GroupSink {
  /** For the records of all partitions. */
  readonly room: Room;
  /** Opens the part of one partition, at most once. */
  open(partition: NamedPartition, room: Room): PartSink;
}

/** A record that comes back from the dead letters, and how often it has. */
export interface Redriven extends NamedPartition {
  readonly offset: number;
  /** Id of the dead letter. */
  readonly deadLetter: string;
  readonly redriven: number;
}

/** Where redriven records go beside: they take their part of the room. */
export interface PollSink extends GroupSink {
  /**
   * The first one fits whatever its size.
   *
   * @param payload as its encoding is for whoever kept it to know; undefined: it is gone
   * @param link makes the URL of a payload that was uploaded
   * @returns what takes it out again; undefined: there is no room for it
   */
  takeRedriven(
    of: Redriven,
    payload: Uint8Array | undefined,
    link: (uploadId: string) => Promise<string>,
  ): Promise<(() => void) | undefined>;
}

/**
 * The records of one partition. It takes what fits its room, and no record that does not: `take` then returns that
 * record's offset.
 */
export interface PartSink extends LinkingSink {
  /** Records in it. */
  readonly count: number;
  /** Encoded bytes in it, separators included. */
  readonly bytes: number;
  /**
   * Sets its room anew, what is in it included.
   * @param orFirst while it is empty it takes one record whatever its size, as a fetch does
   */
  widen(room: Room, orFirst?: boolean): void;
}
