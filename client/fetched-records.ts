import { JsonCursor, type Span } from '../shared/wire/json-text.ts';
import type { FetchedRecord, FetchedValue, MessageHeader } from './messages.ts';
import type { UploadLink } from './payload.ts';

type WireText = string | { readonly base64: string };

/** A record of a JSON answer; a poll's names its topic and partition too. */
export interface WireRecord {
  readonly topic?: string;
  readonly partition?: number;
  readonly offset: number;
  readonly timestamp?: number;
  readonly key?: string | null;
  readonly keyEncoding?: 'utf8' | 'base64';
  readonly value?: unknown;
  readonly valueEncoding?: 'json' | 'utf8' | 'base64' | 'url';
  readonly headers?: readonly (readonly [WireText, WireText | null])[];
  readonly error?: { readonly code: string };
  /** Of one that came back from the dead letters. */
  readonly redriven?: number;
  readonly deadLetter?: string;
}

/**
 * The records of an answer. Values that are JSON come as the very bytes that were stored, cut out of the answer: a
 * parser would round numbers beyond 2^53.
 *
 * @param records what `JSON.parse` made of the answer's `records`
 * @param place of records that do not name it themselves
 */
export function fetchedRecords(
  records: readonly WireRecord[],
  answer: Uint8Array,
  place: { readonly topic: string; readonly partition: number },
): FetchedRecord[] {
  const spans = valueSpans(answer);
  return records.map((record, i) => ({
    topic: record.topic ?? place.topic,
    partition: record.partition ?? place.partition,
    offset: record.offset,
    timestamp: record.timestamp ?? -1,
    key: keyOf(record),
    value: fetchedValue(record, answer, spans[i]),
    headers: (record.headers ?? []).map(headerOf),
    ...(record.redriven && { redriven: { id: record.deadLetter!, times: record.redriven } }),
  }));
}

function keyOf({ key, keyEncoding }: WireRecord): Uint8Array | null {
  if (key === undefined || key === null) return null;
  return bytesOf(key, keyEncoding === 'base64' ? 'base64' : 'utf8');
}

function fetchedValue(
  { value, valueEncoding, error }: WireRecord,
  answer: Uint8Array,
  span: Span | undefined,
): FetchedValue {
  if (error !== undefined) return { kind: 'unreadable', code: error.code };
  if (value === undefined || value === null || span === undefined) return { kind: 'tombstone' };
  if (valueEncoding === 'url') return { kind: 'upload', link: value as UploadLink };
  if (valueEncoding === 'utf8' || valueEncoding === 'base64') {
    return { kind: 'bytes', bytes: bytesOf(value as string, valueEncoding) };
  }
  return { kind: 'bytes', bytes: answer.subarray(span.start, span.end) };
}

function headerOf([name, value]: readonly [WireText, WireText | null]): MessageHeader {
  const shown = typeof name === 'string' ? name : new TextDecoder().decode(bytesOf(name.base64, 'base64'));
  return [shown, value === null || typeof value === 'string' ? value : bytesOf(value.base64, 'base64')];
}

const bytesOf = (text: string, encoding: 'utf8' | 'base64'): Uint8Array => new Uint8Array(Buffer.from(text, encoding));

/** Where the `value` of each of the answer's records lies; `undefined` where there is none. */
function valueSpans(answer: Uint8Array): (Span | undefined)[] {
  const spans: (Span | undefined)[] = [];
  const cursor = new JsonCursor(answer);
  cursor.peek();
  cursor.enter();
  while (cursor.nextMember()) {
    if (!cursor.nameIs('records')) cursor.skipValue();
    else for (cursor.enter(); cursor.nextElement(); ) spans.push(valueSpan(cursor));
  }
  return spans;
}

function valueSpan(cursor: JsonCursor): Span | undefined {
  let span: Span | undefined;
  for (cursor.enter(); cursor.nextMember(); ) {
    const isValue = cursor.nameIs('value');
    const start = cursor.position;
    cursor.skipValue();
    if (isValue) span = { start, end: cursor.position };
  }
  return span;
}
