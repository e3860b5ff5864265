import { isUtf8 } from 'node:buffer';
import { EVENTS_PER_REQUEST_MAX } from '../domain/append-limits.ts';
import { InvalidRequest, RequestTooLarge, UnsupportedMediaType } from '../domain/errors.ts';
import { RECORD_BYTES_MAX } from '../domain/limits.ts';
import type { ProducedRecord } from '../domain/record.ts';
import { decodeBase64 } from './base64.ts';
import { attributesOfJson, checked, type EventAttributes, headersOf } from './cloud-event-attributes.ts';
import { fingerprintOfRecords } from './fingerprint.ts';
import { type ApiRequest, topicOf } from './http-request.ts';
import { instantOf } from './instant.ts';
import { jsonKindOf } from './json-kind.ts';
import { hasLoneSurrogateEscape, JsonCursor, spanAt } from './json-text.ts';
import { CLOUD_EVENT_TYPE, CLOUD_EVENTS_BATCH_TYPE, isJsonType, parseMediaType } from './media-type.ts';
import { parseQuery } from './query.ts';
import { FieldFault, type RecordFault, refuseRecords } from './record-fault.ts';
import { hasLoneSurrogate, textOf } from './utf8.ts';

/** An event as a record of the Kafka protocol binding's binary mode. */
export interface EventRecord {
  readonly record: ProducedRecord;
  /** The value is a JSON text, or null. */
  readonly json: boolean;
  /** Names the event for its producer, for ever: no `Idempotency-Key` is like it. */
  readonly key: string;
  /** Of all that makes two events the same: what traces its way is no part of it. */
  readonly fingerprint: string;
}

export interface EventsCall {
  readonly topic: string;
  /** In the order sent. */
  readonly events: readonly EventRecord[];
}

const BINARY_PREFIX = 'ce-';
/** Another trace may bring the same event once more. */
const TRACING: ReadonlySet<string> = new Set(['ce_traceparent', 'ce_tracestate']);

/**
 * Reads `POST …/events`: a batch, one event in the JSON format, or one whose attributes are headers. Source: CloudEvents 1.0,
 * "HTTP Protocol Binding", and "Kafka Protocol Binding" for what becomes of them.
 *
 * @throws {InvalidRequest} naming every event at fault; {RequestTooLarge | RecordTooLarge | UnsupportedMediaType}
 */
export function parseEventsCall(request: ApiRequest): EventsCall {
  parseQuery(request.rawQuery, []);
  const topic = topicOf(request);
  const type = request.headers.get('content-type');
  const { essence, charset = 'utf-8' } = parseMediaType(type ?? '');
  if (essence.startsWith('application/cloudevents') && !/^utf-?8$/.test(charset))
    throw unsupported(`${essence}; charset=${charset}`);
  if (essence === CLOUD_EVENTS_BATCH_TYPE) return { topic, events: batch(textBody(request)) };
  if (essence === CLOUD_EVENT_TYPE) return { topic, events: takeAll([wholeOf(textBody(request))], structured) };
  if (essence.startsWith('application/cloudevents')) throw unsupported(essence);
  if (!request.headers.has(`${BINARY_PREFIX}specversion`)) throw unsupported(essence === '' ? 'none' : essence);
  return { topic, events: takeAll([request], (sent) => binary(sent, type)) };
}

function unsupported(type: string): UnsupportedMediaType {
  return new UnsupportedMediaType(type, [CLOUD_EVENT_TYPE, CLOUD_EVENTS_BATCH_TYPE, 'any type with ce- headers']);
}

function textBody(request: ApiRequest): Uint8Array {
  const body = request.readBody();
  if (!isUtf8(body)) throw new InvalidRequest('The body is not valid UTF-8');
  if (jsonKindOf(body) === undefined) throw new InvalidRequest('The body is not valid JSON');
  if (hasLoneSurrogateEscape(body))
    throw new InvalidRequest('The body has half of a surrogate pair, which no UTF-8 stands for');
  return body;
}

function wholeOf(body: Uint8Array): Uint8Array {
  const { start, end } = spanAt(body, [])!;
  return body.subarray(start, end);
}

function batch(body: Uint8Array): EventRecord[] {
  const cursor = new JsonCursor(body);
  if (!cursor.atArray()) throw new InvalidRequest('A batch of events must be an array');
  cursor.enter();
  const texts: Uint8Array[] = [];
  while (cursor.nextElement()) {
    const start = cursor.position;
    cursor.skipValue();
    texts.push(body.subarray(start, cursor.position));
    if (texts.length > EVENTS_PER_REQUEST_MAX) {
      const maxRecords = EVENTS_PER_REQUEST_MAX;
      throw new RequestTooLarge(`There are more than ${maxRecords} events; send them in several requests`, {
        maxRecords,
      });
    }
  }
  if (texts.length === 0) throw new InvalidRequest('There are no events to append');
  return takeAll(texts, structured);
}

/** All events, or a refusal that names every one at fault. */
function takeAll<T>(sent: readonly T[], take: (event: T) => EventRecord): EventRecord[] {
  const events: EventRecord[] = [];
  const faults: RecordFault[] = [];
  for (const [index, event] of sent.entries()) {
    try {
      const taken = take(event);
      const bytes = bytesOf(taken.record);
      if (bytes > RECORD_BYTES_MAX) {
        const detail = `it has ${bytes} bytes; at most ${RECORD_BYTES_MAX} are allowed`;
        faults.push({ index, field: 'data', detail, bytes });
      }
      events.push(taken);
    } catch (error) {
      if (!(error instanceof FieldFault)) throw error;
      faults.push({ index, field: error.field, detail: error.message });
    }
  }
  if (faults.length > 0) refuseRecords(faults);
  return events;
}

/** One event in the JSON format. @param text of it, valid JSON */
function structured(text: Uint8Array): EventRecord {
  const event: unknown = JSON.parse(textOf(text));
  if (typeof event !== 'object' || event === null || Array.isArray(event))
    throw new FieldFault('the event', 'must be an object');
  const { data, data_base64: encoded } = event as { data?: unknown; data_base64?: unknown };
  const attributes = attributesOfJson(event);
  const declared = attributes.get('datacontenttype');
  if (encoded !== undefined && encoded !== null) {
    if (data !== undefined && data !== null)
      throw new FieldFault('data_base64', 'and data are both there: an event has one of them');
    const bytes = typeof encoded === 'string' ? decodeBase64(encoded) : undefined;
    if (bytes === undefined) throw new FieldFault('data_base64', 'must be base64 with padding');
    return recordOf(attributes, bytes);
  }
  if (data === undefined || data === null) return recordOf(attributes, null);
  // A text of another type stands there as a JSON string; whatever else does is JSON, as it was written.
  if (typeof data === 'string' && declared !== undefined && !isJsonType(parseMediaType(declared).essence)) {
    return recordOf(attributes, Buffer.from(data));
  }
  const { start, end } = spanAt(text, ['data'])!;
  return recordOf(attributes, text.subarray(start, end));
}

/** One event whose attributes are headers and whose data is the body. */
function binary(request: ApiRequest, type: string | undefined): EventRecord {
  const attributes = new Map<string, string>();
  for (const [name, value] of request.headers) {
    if (name.startsWith(BINARY_PREFIX)) attributes.set(name.slice(BINARY_PREFIX.length), decoded(name, value));
  }
  if (attributes.has('datacontenttype')) throw new FieldFault('datacontenttype', 'is the header Content-Type here');
  if (type !== undefined) attributes.set('datacontenttype', type);
  const body = request.readBody();
  return recordOf(checked(attributes), body.length === 0 && type === undefined ? null : body);
}

/** Source: CloudEvents, "HTTP Protocol Binding", "HTTP Header Values". */
function decoded(name: string, value: string): string {
  const text = value.replace(/^"(.*)"$/, (_, inner: string) => inner.replaceAll(/\\(.)/g, '$1'));
  try {
    // What is no percent-encoded octet stands for itself.
    return text.replaceAll(/(?:%[0-9a-f]{2})+/gi, (octets) => decodeURIComponent(octets));
  } catch {
    throw new FieldFault(name, 'has percent-encoded octets that are no UTF-8');
  }
}

function recordOf(attributes: EventAttributes, value: Uint8Array | null): EventRecord {
  const [source, id, partitionKey, time] = ['source', 'id', 'partitionkey', 'time'].map((name) => attributes.get(name));
  for (const [name, text] of attributes) {
    if (hasLoneSurrogate(text)) throw new FieldFault(name, 'has half of a surrogate pair, which no UTF-8 stands for');
  }
  const timestamp = time === undefined ? undefined : instantOf(time);
  const record: ProducedRecord = {
    key: partitionKey === undefined ? null : Buffer.from(partitionKey),
    value,
    headers: headersOf(attributes),
    ...(timestamp !== undefined && timestamp >= 0 && { timestamp }),
  };
  const same = { ...record, headers: record.headers.filter(({ name }) => !TRACING.has(name)) };
  return {
    record,
    json: value === null || (isUtf8(value) && jsonKindOf(value) === 'value' && !hasLoneSurrogateEscape(value)),
    key: `event\0${source}\0${id}`,
    fingerprint: fingerprintOfRecords([same]),
  };
}

function bytesOf({ key, value, headers }: ProducedRecord): number {
  const named = headers.reduce((bytes, header) => bytes + Buffer.byteLength(header.name) + header.value!.length, 0);
  return (key?.length ?? 0) + (value?.length ?? 0) + named;
}
