/** Every public error code. Codes are added, never renamed. The HTTP status of each is in `wire/problem.ts`. */
export type ErrorCode =
  | 'invalid_request'
  | 'unsupported_media_type'
  | 'not_found'
  | 'unauthenticated'
  | 'forbidden'
  | 'api_key_not_found'
  | 'method_not_allowed'
  | 'topic_not_found'
  | 'partition_not_found'
  | 'partitions_cannot_shrink'
  | 'record_too_large'
  | 'request_too_large'
  | 'offset_out_of_range'
  | 'upload_invalid'
  | 'target_not_allowed'
  | 'idempotency_key_reused'
  | 'idempotency_in_progress'
  | 'group_not_found'
  | 'member_not_found'
  | 'dead_letter_not_found'
  | 'parked_key_not_found'
  | 'subscription_not_found'
  | 'group_is_subscription'
  | 'group_is_pull'
  | 'too_many_subscriptions'
  | 'target_forbidden'
  | 'instance_fenced'
  | 'fenced'
  | 'commit_regressed'
  | 'group_active'
  | 'group_full'
  | 'no_committed_offset'
  | 'payload_missing'
  | 'payload_corrupt'
  | 'throttled'
  | 'unavailable'
  | 'outcome_unknown'
  | 'internal';

/** Facts that the caller can act on; they appear beside `code` in the problem. */
export type ErrorData = Readonly<
  Record<string, string | number | boolean | readonly string[] | readonly number[] | readonly object[]>
>;

/** A refusal with a name. Anything else that is thrown is a bug or an outage and becomes `internal`. */
export abstract class BackboneError extends Error {
  abstract readonly code: ErrorCode;
  /** Whether the same request may succeed when it is sent again. */
  readonly retryable: boolean = false;
  /** Public facts, shown to the caller. */
  readonly data: ErrorData = {};

  constructor(detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.name = new.target.name;
  }
}

/** The request is malformed. Nothing was written. */
export class InvalidRequest extends BackboneError {
  readonly code = 'invalid_request';
  constructor(
    detail: string,
    override readonly data: ErrorData = {},
  ) {
    super(detail);
  }
}

/** The body's media type, or its coding, is not one that this route reads. Nothing was written. */
export class UnsupportedMediaType extends BackboneError {
  readonly code = 'unsupported_media_type';
  override readonly data: ErrorData;
  constructor(got: string, accepted: readonly string[], header: 'Content-Type' | 'Content-Encoding' = 'Content-Type') {
    super(`${header} '${got}' is not supported here; send ${accepted.join(' or ')}`);
    this.data = { accepted };
  }
}

/** No route has this path. */
export class RouteNotFound extends BackboneError {
  readonly code = 'not_found';
  constructor(path: string) {
    super(`There is nothing at ${path}`);
  }
}

/** The path exists, with other methods. */
export class MethodNotAllowed extends BackboneError {
  readonly code = 'method_not_allowed';
  override readonly data: ErrorData;
  constructor(
    method: string,
    path: string,
    readonly allowed: readonly string[],
  ) {
    super(`${method} is not allowed at ${path}; use ${allowed.join(', ')}`);
    this.data = { allowed };
  }
}

/** No topic has this name, or the incarnation that the request began with was deleted. Nothing was stored. */
export class TopicNotFound extends BackboneError {
  readonly code = 'topic_not_found';
  override readonly data: ErrorData;
  constructor(topic: string) {
    super(`Topic '${topic}' does not exist`);
    this.data = { topic };
  }
}

/** The path names a partition that the topic does not have. */
export class PartitionNotFound extends BackboneError {
  readonly code = 'partition_not_found';
  override readonly data: ErrorData;
  constructor(topic: string, partition: number, partitions: number) {
    super(`Topic '${topic}' has partitions 0 to ${partitions - 1}; ${partition} is not one of them`);
    this.data = { topic, partition, partitions };
  }
}

/** Partitions can be added to a topic, never taken away. Nothing was changed. */
export class PartitionsCannotShrink extends BackboneError {
  readonly code = 'partitions_cannot_shrink';
  override readonly data: ErrorData;
  constructor(topic: string, current: number, asked: number) {
    super(`Topic '${topic}' has ${current} partitions and cannot go back to ${asked}`);
    this.data = { topic, partitions: current };
  }
}

/** One record alone is larger than the backbone takes. Nothing was written. */
export class RecordTooLarge extends BackboneError {
  readonly code = 'record_too_large';
  override readonly data: ErrorData;
  constructor(index: number, bytes: number, maxBytes: number) {
    super(`Record ${index} has ${bytes} bytes; at most ${maxBytes} are allowed`);
    this.data = { index, bytes, maxBytes };
  }
}

/** The request as a whole is larger than the backbone takes. Nothing was written. */
export class RequestTooLarge extends BackboneError {
  readonly code = 'request_too_large';
  constructor(
    detail: string,
    override readonly data: ErrorData,
  ) {
    super(detail);
  }
}

/** The offset is below the log start or above the log end. */
export class OffsetOutOfRange extends BackboneError {
  readonly code = 'offset_out_of_range';
  override readonly data: ErrorData;
  /** @param partition where the request names several */
  constructor(offset: number, logStartOffset: number, highWatermark: number, partition?: number) {
    const where = partition === undefined ? '' : ` of partition ${partition}`;
    super(`Offset ${offset} is outside ${logStartOffset} to ${highWatermark}${where}`);
    this.data = { ...(partition !== undefined && { partition }), logStartOffset, highWatermark };
  }
}

/** The store refuses more load for now. Nothing was stored: try again after `retryAfterMs`. */
export class Throttled extends BackboneError {
  readonly code = 'throttled';
  override readonly retryable = true;
  override readonly data: ErrorData;
  constructor(detail: string, retryAfterMs = 1_000, options?: ErrorOptions) {
    super(detail, options);
    this.data = { retryAfterMs };
  }
}

/** The store could not be reached in time, or others were faster every time. Nothing was stored: try again. */
export class Unavailable extends BackboneError {
  readonly code = 'unavailable';
  override readonly retryable = true;
  override readonly data: ErrorData;
  constructor(detail: string, retryAfterMs = 1_000, options?: ErrorOptions) {
    super(detail, options);
    this.data = { retryAfterMs };
  }
}

/** Whether the records were stored could not be found out. A repeat without an `Idempotency-Key` may store them twice. */
export class OutcomeUnknown extends BackboneError {
  readonly code = 'outcome_unknown';
  override readonly retryable = true;
}

/** A stored batch is missing from storage, or damaged. The reader may go on at `nextOffset`. */
export class PayloadUnreadable extends BackboneError {
  override readonly data: ErrorData;
  constructor(
    readonly code: 'payload_missing' | 'payload_corrupt',
    offset: number,
    nextOffset: number,
  ) {
    super(`The batch at offset ${offset} cannot be read; the log goes on at ${nextOffset}`);
    this.data = { nextOffset };
  }
}

/** Why an upload cannot be the value of a record. */
export type UploadFault = keyof typeof UPLOAD_FAULTS;

const UPLOAD_FAULTS = {
  unknown: 'this topic has no such upload',
  expired: 'the upload has expired',
  not_uploaded: 'nothing was uploaded',
  wrong_size: 'what was uploaded has another size than was announced',
  wrong_checksum: 'what was uploaded has another SHA-256 than was announced',
  used: 'the upload is the value of another record',
};

/** Records name uploads that cannot be their values. Nothing was stored in their partitions. */
export class UploadInvalid extends BackboneError {
  readonly code = 'upload_invalid';
  override readonly data: ErrorData;
  /** @param faults at least one; `index`: the record's place in the request */
  constructor(faults: readonly { readonly index: number; readonly reason: UploadFault }[]) {
    const { index, reason } = faults[0]!;
    const more = faults.length === 1 ? '' : `, and ${faults.length - 1} more cannot be taken`;
    super(`Record ${index}: ${UPLOAD_FAULTS[reason]}${more}`);
    this.data = { index, indexes: faults.map((fault) => fault.index), reason };
  }
}

/** The key stands for another request to this topic. Nothing was stored. */
export class IdempotencyKeyReused extends BackboneError {
  readonly code = 'idempotency_key_reused';
  constructor() {
    super(
      'This Idempotency-Key (of a CloudEvent, its source and id) was used for another request to this topic; nothing was stored',
    );
  }
}

/** The first request with this key is still at work: repeat it after `retryAfterMs` to get its answer. */
export class IdempotencyInProgress extends BackboneError {
  readonly code = 'idempotency_in_progress';
  override readonly retryable = true;
  override readonly data: ErrorData;
  constructor(retryAfterMs: number) {
    super('The first request with this Idempotency-Key is still at work');
    this.data = { retryAfterMs };
  }
}

/**
 * Somebody else's append lies in a slot that this append reserved: the head went back, or there is a bug. Nothing of
 * this request was stored there. Alarm; callers are told no more than `internal`.
 */
export class StrangerInSlot extends BackboneError {
  readonly code = 'internal';
  constructor(log: string, last: number, append: string, found: string) {
    super(`slot ${last} of ${log} was reserved by ${append} and is held by ${found}`);
  }
}

/**
 * A stored item has a layout that this version does not know: a newer one wrote it, or it is none of ours. It was neither
 * read nor changed. Alarm; callers are told no more than `internal`.
 */
export class UnknownLayout extends BackboneError {
  readonly code = 'internal';
  constructor(item: string, found: string | undefined, known: string) {
    super(
      `item '${item}' has ${found === undefined ? 'no layout version' : `layout ${found}`}; this version knows ${known}`,
    );
  }
}
