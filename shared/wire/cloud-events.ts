import { isUtf8 } from 'node:buffer';
import { type DeliveryBatch, type DeliveryRecord, recordName } from '../domain/delivery.ts';
import type { Header } from '../domain/record.ts';
import { isAttributeText, ownAttributes } from './cloud-event-headers.ts';
import { hasLoneSurrogateEscape } from './json-text.ts';
import { isJsonType, JSON_TYPE, parseMediaType } from './media-type.ts';
import { traceContextOf } from './trace-context.ts';
import { textOf } from './utf8.ts';

/*
 * One CloudEvents 1.0 event in the JSON format. Source: CNCF, CloudEvents "JSON Event Format", and its extensions
 * "Partitioning", "Sequence" and "Dataref".
 *
 *   id, source, type, time, …   the event's own, when the record came in as one; else made from its place in the log
 *   sequence                    the offset, 16 digits, so that texts sort as numbers do
 *   recordheaders               [[name, value], …] as a JSON text, values as a fetch shows them; absent when there are none
 *   traceparent, tracestate     of the record's headers of these names, unless the event has its own; source: extension
 *                               "Distributed Tracing"
 *   recordkeybase64             a key that no attribute can hold
 *   data | data_base64          the value; neither, and "tombstone": true, when it is null
 *   dataref, datasize, datasha256   in place of a value that does not go with its record
 */

const TEXT_TYPE = 'text/plain; charset=utf-8';
const BINARY_TYPE = 'application/octet-stream';

/** Where a record is. */
type Place = Pick<DeliveryBatch, 'topic' | 'partition'>;

/** A type whose values are members of the event as they are. */
type Attributes = Record<string, string | number | boolean>;

const SEQUENCE_DIGITS = 16;
/** Greatest epoch ms that a date can be made of. Source: ECMAScript, "Time Values and Time Range". */
const TIME_MAX = 8.64e15;

/** The record as an event, a JSON text. It holds none of the characters that a queue refuses. */
export function cloudEvent(batch: Place, record: DeliveryRecord): string {
  const own = ownAttributes(record.headers);
  const attributes: Attributes = own === undefined ? madeAttributes(batch, record) : { ...own.attributes };
  attributes.sequence ??= sequenceOf(record.offset);
  if (own !== undefined) attributes.recordid = recordName(batch, record.offset);
  if (attributes.traceparent === undefined) Object.assign(attributes, traceContextOf(record.headers));
  const headers = own?.others ?? record.headers;
  if (headers.length > 0) attributes.recordheaders = headersText(headers);
  else delete attributes.recordheaders;
  const event = withData(attributes, record, own === undefined);
  // Both can only stand within strings.
  return event.replaceAll('\ufffe', '\\ufffe').replaceAll('\uffff', '\\uffff');
}

/** @param events each by `cloudEvent` */
export function cloudEventBatch(events: readonly string[]): string {
  return `[${events.join(',')}]`;
}

function madeAttributes(batch: Place, { offset, timestamp, key }: DeliveryRecord): Attributes {
  const attributes: Attributes = {
    specversion: '1.0',
    id: recordName(batch, offset),
    source: `/topics/${batch.topic}/partitions/${batch.partition}`,
    type: 'vertebra.record',
  };
  if (timestamp >= 0 && timestamp <= TIME_MAX) attributes.time = new Date(timestamp).toISOString();
  if (key === null) return attributes;
  const text = isUtf8(key) ? textOf(key) : '';
  if (isAttributeText(text)) Object.assign(attributes, { subject: text, partitionkey: text });
  else attributes.recordkeybase64 = base64(key);
  return attributes;
}

function withData(attributes: Attributes, record: DeliveryRecord, made: boolean): string {
  const { value, link } = record;
  if (link !== undefined) {
    const { url, size, sha256 } = link;
    return JSON.stringify({ ...attributes, dataref: url, datasize: String(size), datasha256: sha256 });
  }
  if (value === null) return JSON.stringify({ ...attributes, tombstone: true });
  const declared = attributes.datacontenttype;
  const found = formOf(value, record.json === true, typeof declared === 'string' ? declared : undefined);
  const named = made ? { ...attributes, datacontenttype: found.type } : attributes;
  return `${JSON.stringify(named).slice(0, -1)},${found.member}}`;
}

interface Form {
  readonly type: string;
  /** `"data": …` or `"data_base64": …` */
  readonly member: string;
}

/** As JSON, as it was sent; as text; or as base64, also when the escaped text would be longer. */
function formOf(value: Uint8Array, json: boolean, declared: string | undefined): Form {
  const essence = declared === undefined ? undefined : parseMediaType(declared).essence;
  const [mayBeJson, mayBeText] = [
    essence === undefined || isJsonType(essence),
    essence === undefined || /^text\//.test(essence),
  ];
  if (mayBeJson && (json || isJson(value))) return { type: JSON_TYPE, member: `"data":${textOf(value)}` };
  const encoded = `"${base64(value)}"`;
  if (mayBeText && isUtf8(value)) {
    const escaped = JSON.stringify(textOf(value));
    if (Buffer.byteLength(escaped) <= encoded.length) return { type: TEXT_TYPE, member: `"data":${escaped}` };
  }
  return { type: BINARY_TYPE, member: `"data_base64":${encoded}` };
}

/** JSON readers disagree about half of a surrogate pair. */
function isJson(value: Uint8Array): boolean {
  if (!isUtf8(value)) return false;
  try {
    JSON.parse(textOf(value));
    return !hasLoneSurrogateEscape(value);
  } catch {
    return false;
  }
}

function headersText(headers: readonly Header[]): string {
  const shown = headers.map(({ name, value }) => {
    if (value === null) return [name, null];
    return [name, isUtf8(value) ? textOf(value) : { base64: base64(value) }];
  });
  return JSON.stringify(shown).replace(
    /[\x7f-\x9f\ufffe\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

function sequenceOf(offset: number): string {
  return String(offset).padStart(SEQUENCE_DIGITS, '0');
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
