/** What callers saw, and what the log has held: all that a checker needs to know. Times in ms on one clock. */
export interface History {
  readonly appends: readonly AppendCall[];
  readonly reads: readonly ReadCall[];
  readonly bounds: readonly BoundsCall[];
  readonly topics: readonly TopicCall[];
  /** Every batch that was ever stored, also those that are gone by now. */
  readonly stored: readonly StoredBatch[];
  readonly payloads: readonly PayloadRead[];
}

/** One partition's part of an answer. */
export type AppendPart =
  | { readonly partition: number; readonly base: number; readonly at: number; readonly records: readonly string[] }
  | { readonly partition: number; readonly error: string; readonly records: readonly string[] };

/** One call of an append, as its caller saw it. */
export interface AppendCall {
  readonly topic: string;
  /** Ids of the records. A repeat of a call has the same ones; nobody else has. */
  readonly records: readonly string[];
  /** Ids of the uploads that its records name as their values, by record. */
  readonly uploads?: ReadonlyMap<string, string>;
  readonly begin: number;
  /** When the answer was there. Absent: none came, and the call may be going on. */
  readonly end?: number;
  readonly answer?:
    | { readonly duplicate: boolean; readonly parts: readonly AppendPart[] }
    /** A refusal of the whole, by its code. */
    | { readonly error: string };
  readonly once?: {
    readonly key: string;
    readonly fingerprint: string;
    /** For how long the key is remembered, at least, ms. */
    readonly lifeMs: number;
  };
}

/** One answered read: the reader goes on at `to`, having been given what lies between. */
export interface ReadCall {
  readonly reader: string;
  readonly topicId: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly begin: number;
  readonly end: number;
  readonly records: readonly { readonly offset: number; readonly record: string }[];
}

/** One partition in an answer of `GET …/partitions`, or an offset that was handed out as the latest. */
export interface BoundsCall {
  readonly of: 'partitions' | 'latest';
  readonly topicId: string;
  readonly partition: number;
  readonly begin: number;
  readonly end: number;
  readonly logStart: number;
  readonly highWatermark: number;
}

export interface TopicCall {
  readonly topic: string;
  readonly begin: number;
  readonly end?: number;
  /** The incarnation that was made, or `deleted`. Absent: the call was not answered with success. */
  readonly made?: string;
  readonly deleted?: boolean;
}

export interface StoredBatch {
  readonly topicId: string;
  readonly partition: number;
  readonly base: number;
  readonly records: readonly string[];
  /** Ids of uploads that are values, by place in the batch. */
  readonly uploads?: ReadonlyMap<number, string>;
  /** When it was stored; absent where nobody can know. */
  readonly storedAt?: number;
  /** From when on retention may have taken it, by any clock; absent: never. */
  readonly goneFrom?: number;
}

/** An uploaded value that a reader of a topic which is there fetched by the URL in its answer, while that is good. */
export interface PayloadRead {
  readonly reader: string;
  readonly topicId: string;
  readonly partition: number;
  readonly offset: number;
  readonly at: number;
  readonly uploadId: string;
  /** What was announced and uploaded under that id. */
  readonly expected: string;
  /** Absent: there was nothing. */
  readonly got?: string;
}

/** Errors that say "nothing was stored by this call". */
export const NOTHING_STORED: ReadonlySet<string> = new Set([
  'invalid_request',
  'topic_not_found',
  'partition_not_found',
  'upload_invalid',
  'throttled',
  'unavailable',
  'idempotency_in_progress',
  'idempotency_key_reused',
]);

/** Errors that any append may meet. Others, `internal` above all, are faults of the backbone. */
export const EXPECTED_ERRORS: ReadonlySet<string> = new Set([...NOTHING_STORED, 'outcome_unknown']);

/** A promise that was broken, and by what. */
export interface Violation {
  readonly kind:
    | 'lost acknowledgement'
    | 'phantom'
    | 'refused yet stored'
    | 'overlap'
    | 'duplicate'
    | 'reorder'
    | 'step-over'
    | 'torn batch'
    | 'changed'
    | 'log start above a record'
    | 'watermark went back'
    | 'stored below the watermark'
    | 'stored after delete'
    | 'answers differ'
    | 'key refused without reason'
    | 'key reuse not noticed'
    | 'upload used twice'
    | 'lost payload'
    | 'orphan'
    | 'left over'
    | 'live topic purged'
    | 'unexpected error'
    | 'no end';
  readonly what: string;
}

/** What the log holds of one record. */
export interface Place {
  readonly batch: StoredBatch;
  readonly offset: number;
}

/** The history, and where each record is. */
export interface Indexed extends History {
  readonly places: ReadonlyMap<string, readonly Place[]>;
  readonly callsOf: ReadonlyMap<string, readonly AppendCall[]>;
}

export const logOf = ({ topicId, partition }: { topicId: string; partition: number }) => `${topicId}.${partition}`;
export const partsOf = ({ answer }: AppendCall) => (answer !== undefined && 'parts' in answer ? answer.parts : []);

export function nameOf(call: AppendCall): string {
  return `${call.records[0]}${call.once === undefined ? '' : ` (key ${call.once.key})`}`;
}
