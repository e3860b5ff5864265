import { RECORD_BYTES_MAX } from '../shared/domain/limits.ts';
import type { Header, ProducedRecord } from '../shared/domain/record.ts';
import { type Encoder, encodeUtf8 } from './codec.ts';
import { RecordTooLarge, ValidationError, VertebraError } from './errors.ts';
import { HEADER_FRAME_BYTES, RECORD_FRAME_BYTES } from './limits.ts';
import type { HeaderValue, Message, MessageHeaders } from './producer-words.ts';
import { Upload } from './upload.ts';

/** A message as it is sent. */
export interface EncodedRecord extends ProducedRecord {
  readonly timestamp: number;
  /** What it takes in a batch at most. */
  readonly frameBytes: number;
}

const NO_HEADERS: readonly Header[] = [];

/** Where and when a message is sent, and within which trace. */
interface Place {
  readonly topic: string;
  readonly index: number;
  readonly now: number;
  readonly traceHeaders?: readonly Header[];
}

/**
 * @param index its place in the call, for refusals
 * @param now epoch ms, for a message without a time
 * @param traceHeaders for a message that has no `traceparent`
 * @throws {ValidationError} @throws {RecordTooLarge}
 */
export function encodeMessage<T>(
  codec: Encoder<T>,
  message: Message<T>,
  { topic, index, now, traceHeaders = NO_HEADERS }: Place,
): EncodedRecord | Promise<EncodedRecord> {
  const refuse = (error: unknown): never => {
    if (error instanceof VertebraError && !(error instanceof ValidationError)) throw error;
    const [reason, issues] = error instanceof ValidationError ? [error.message, error.issues] : [String(error), []];
    throw new ValidationError(`Message ${index} for '${topic}': ${reason}`, issues, { data: { index }, cause: error });
  };
  const finish = (value: unknown): EncodedRecord =>
    encoded(message, bytesOrNull(value), { topic, index, now, traceHeaders });
  try {
    if (typeof message !== 'object' || message === null) throw new ValidationError('a message must be an object');
    const { value } = message;
    if (value === undefined) throw new ValidationError('it has no value; null is a tombstone');
    const bytes = value === null || value instanceof Upload ? null : codec.encode(value);
    return bytes instanceof Promise ? bytes.then(finish).catch(refuse) : finish(bytes);
  } catch (error) {
    return refuse(error);
  }
}

function encoded<T>(
  message: Message<T>,
  value: Uint8Array | null,
  { topic, index, now, traceHeaders = NO_HEADERS }: Place,
): EncodedRecord {
  const upload = message.value instanceof Upload ? message.value : undefined;
  if (upload !== undefined && upload.topic !== topic) {
    throw new ValidationError(`the upload was made for '${upload.topic}'`);
  }
  const key = keyOf(message.key);
  const own = message.headers === undefined ? NO_HEADERS : headersOf(message.headers);
  const headers = own.some(({ name }) => name === 'traceparent') ? own : [...own, ...traceHeaders];
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  for (const header of headers) bytes += Buffer.byteLength(header.name) + (header.value?.length ?? 0);
  if (bytes > RECORD_BYTES_MAX) throw new RecordTooLarge(bytes, RECORD_BYTES_MAX, index);
  return {
    key,
    value,
    headers,
    timestamp: integerOf(message.timestamp, 'timestamp') ?? now,
    ...partitionIn(message),
    ...(upload !== undefined && { upload: upload.uploadId }),
    frameBytes: bytes + RECORD_FRAME_BYTES + headers.length * HEADER_FRAME_BYTES,
  };
}

function partitionIn({ partition }: Message<unknown>): { partition?: number } {
  const given = integerOf(partition, 'partition');
  return given === undefined ? {} : { partition: given };
}

function keyOf(key: string | Uint8Array | null | undefined): Uint8Array | null {
  if (key === null || key === undefined) return null;
  return bytesOf(key, 'key');
}

function headersOf(headers: MessageHeaders): Header[] {
  return pairsOf(headers).map((pair: unknown) => {
    if (!Array.isArray(pair) || pair.length !== 2) throw new ValidationError('headers must be pairs of name and value');
    const [name, value]: [string, HeaderValue] = [pair[0], pair[1]];
    encodeUtf8(name, 'header name');
    return { name, value: value === null ? null : bytesOf(value, `header ${JSON.stringify(name)}`) };
  });
}

function pairsOf(headers: MessageHeaders): readonly unknown[] {
  if (typeof headers !== 'object' || headers === null)
    throw new ValidationError('headers must be an object or an array');
  if (isIterable(headers)) return [...headers]; // a Map or Headers, too, in which an object's names would find nothing
  return Object.entries(headers).flatMap(([name, value]: [string, unknown]) => {
    if (value === undefined) return [];
    return Array.isArray(value) ? value.map((one): [string, unknown] => [name, one]) : [[name, value]];
  });
}

function isIterable(headers: object): headers is Iterable<unknown> {
  return Symbol.iterator in headers;
}

function bytesOf(value: string | Uint8Array, what: string): Uint8Array {
  return value instanceof Uint8Array ? value : encodeUtf8(value, what);
}

function bytesOrNull(value: unknown): Uint8Array | null {
  if (value === null || value instanceof Uint8Array) return value;
  throw new ValidationError('the codec did not give a Uint8Array');
}

function integerOf(value: number | undefined, what: string): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && value >= 0)) return value;
  throw new ValidationError(`its ${what} must be an integer of 0 to 2^53 − 1`);
}
