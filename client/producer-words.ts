import type { Encoder } from './codec.ts';
import type { VertebraError } from './errors.ts';
import type { Partitioner } from './partitioner.ts';
import type { Upload } from './upload.ts';

export type HeaderValue = string | Uint8Array | null;

/**
 * Headers of a message: an object, in which an array stands for a name that repeats, or pairs in the order that they
 * are to have. A member that is undefined is not there.
 */
export type MessageHeaders =
  | Readonly<Record<string, HeaderValue | readonly HeaderValue[] | undefined>>
  | Iterable<readonly [name: string, value: HeaderValue]>;

/** What is to be sent. Bytes are not copied: leave them alone until `send` has answered. */
export interface Message<T> {
  /** Decides on the partition, and records of one key keep their order. Empty is a key; null or absent is none. */
  readonly key?: string | Uint8Array | null;
  /** null: a tombstone. */
  readonly value: T | null | Upload;
  readonly headers?: MessageHeaders;
  /** Instead of the partitioner's choice. */
  readonly partition?: number;
  /** Epoch ms. Default: now. */
  readonly timestamp?: number;
}

export interface Sending<T> {
  readonly topic: string;
  readonly messages: readonly Message<T>[];
  /** Stops waiting. What is on its way then is delivered or not; the rest is not sent. */
  readonly signal?: AbortSignal;
}

export interface SendingBatch<T> {
  readonly topicMessages: readonly { readonly topic: string; readonly messages: readonly Message<T>[] }[];
  readonly signal?: AbortSignal;
}

export interface ProducerOptions<T = unknown> {
  /** How values become bytes. Default: `json()`. */
  readonly codec?: Encoder<T>;
  /** How long a batch waits for more records before it is sent, 0 to 60,000. Default: 5. */
  readonly lingerMs?: number;
  /** A batch is sent once it has this many bytes before compression. Default: 256 KB. */
  readonly batchBytes?: number;
  /** A batch is sent once it has this many records, 1 to 1,000. Default: 1,000. */
  readonly batchRecords?: number;
  /** Bytes that wait or are on their way; when it is full, `send` waits. Default: 32 MB. */
  readonly maxBufferBytes?: number;
  /** From `send` to its answer, waiting and retries included; at most 15 min. Default: 2 min. */
  readonly deliveryTimeoutMs?: number;
  /** Requests on their way at a time, each to another partition. Default: 32. */
  readonly maxInFlightRequests?: number;
  readonly partitioner?: Partitioner;
  /**
   * Asked once for each call of `send`: the `traceparent`, and `tracestate`, under which its messages are sent, as W3C
   * Trace Context has them. They become headers of messages that have no `traceparent` of their own; what is none is left
   * out, and what it throws is logged: nothing is kept back for it.
   */
  readonly traceContext?: () => { readonly traceparent?: string; readonly tracestate?: string } | undefined;
}

/** A message that was not delivered when its producer closed, and why. */
export interface Undelivered<T> {
  readonly topic: string;
  readonly message: Message<T>;
  readonly error: VertebraError;
}
