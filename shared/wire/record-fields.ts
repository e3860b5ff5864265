import type { Header, ProducedRecord } from '../domain/record.ts';
import { decodeBase64 } from './base64.ts';
import { hasLoneSurrogateEscape } from './json-text.ts';
import { FieldFault, quoted } from './record-fault.ts';
import type { RecordText } from './record-text.ts';
import { hasLoneSurrogate } from './utf8.ts';

export interface ParsedRecord {
  readonly record: ProducedRecord;
  /** Its value is a JSON text or null. */
  readonly json: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

const NO_HEADERS: readonly Header[] = [];

/**
 * One record of a produce request. Nothing is guessed: a field that is unknown or of another type is a fault.
 * @param sent what `JSON.parse` made of it
 * @param source the request's text, in which it is record `index`
 * @throws {FieldFault} naming the field
 */
export function parseRecord(sent: unknown, source: RecordText, index: number): ParsedRecord {
  if (!isObject(sent)) throw new FieldFault('record', `must be an object, not ${quoted(sent)}`);
  for (const name in sent) {
    if (!isField(name)) throw new FieldFault(quoted(name), 'is not a field of a record');
  }
  const upload = sent.valueEncoding === 'upload' ? uploadOf(sent.value) : undefined;
  const value = upload === undefined ? valueFrom(sent, source, index) : null;
  const record: { -readonly [Field in keyof ProducedRecord]: ProducedRecord[Field] } = {
    key: keyOf(sent, source, index),
    value,
    headers: sent.headers === undefined ? NO_HEADERS : headersOf(sent.headers, source, index),
  };
  if (sent.timestamp !== undefined) record.timestamp = integer(sent.timestamp, 'timestamp');
  if (sent.partition !== undefined) record.partition = integer(sent.partition, 'partition');
  if (upload !== undefined) record.upload = upload;
  return { record, json: value === null || sent.valueEncoding === undefined || sent.valueEncoding === 'json' };
}

function isField(name: string): boolean {
  switch (name) {
    case 'key':
    case 'value':
    case 'headers':
    case 'partition':
    case 'timestamp':
    case 'keyEncoding':
    case 'valueEncoding':
      return true;
    default:
      return false;
  }
}

function valueFrom(sent: Fields, source: RecordText, index: number): Uint8Array | null {
  const { value, valueEncoding = 'json' } = sent;
  if (valueEncoding !== 'json' && valueEncoding !== 'utf8' && valueEncoding !== 'base64') {
    throw new FieldFault('valueEncoding', `must be json, utf8, base64 or upload, not ${quoted(valueEncoding)}`);
  }
  if (value === undefined) throw new FieldFault('value', 'is missing; null is a tombstone');
  if (value === null) return null;
  if (valueEncoding !== 'json') return bytesOf(value, valueEncoding, 'value', source);
  const text = source.value(index);
  if (source.encoding === 'utf8' && hasLoneSurrogateEscape(text)) throw loneSurrogate('value');
  return text;
}

/** The id of an upload, as it was given: whether there is such a one is not known here. */
function uploadOf(value: unknown): string {
  if (isObject(value) && Object.keys(value).length === 1 && typeof value.uploadId === 'string') return value.uploadId;
  throw new FieldFault('value', 'must be {"uploadId": "…"}, a text and no other field, when it is an upload');
}

function keyOf(sent: Fields, source: RecordText, index: number): Uint8Array | null {
  const { key, keyEncoding = 'utf8' } = sent;
  if (keyEncoding !== 'utf8' && keyEncoding !== 'base64') {
    throw new FieldFault('keyEncoding', `must be utf8 or base64, not ${quoted(keyEncoding)}`);
  }
  if (key === undefined || key === null) return null;
  const bytes = keyEncoding === 'utf8' ? source.key(index) : undefined;
  return bytes ?? bytesOf(key, keyEncoding, 'key', source);
}

function headersOf(sent: unknown, source: RecordText, index: number): Header[] {
  const entries = Array.isArray(sent) ? sent : isObject(sent) ? source.headers(index, sent) : undefined;
  if (entries === undefined) throw new FieldFault('headers', 'must be an object or an array of [name, value]');
  return entries.map((entry: unknown) => {
    if (!Array.isArray(entry) || entry.length !== 2 || typeof entry[0] !== 'string') {
      throw new FieldFault('headers', `must hold pairs of a name and a value, not ${quoted(entry)}`);
    }
    const [name, value]: [string, unknown] = [entry[0], entry[1]];
    return { name: nameOf(name, source), value: headerValue(name, value, source) };
  });
}

function nameOf(name: string, source: RecordText): string {
  if (source.encoding === 'latin1') return Buffer.from(name, 'latin1').toString();
  if (hasLoneSurrogate(name)) throw loneSurrogate('a header name');
  return name;
}

function headerValue(name: string, value: unknown, source: RecordText): Uint8Array | null {
  if (value === null) return null;
  const field = `header ${quoted(name)}`;
  if (typeof value === 'string') return bytesOf(value, 'utf8', field, source);
  if (isObject(value) && Object.keys(value).length === 1) return bytesOf(value.base64, 'base64', field, source);
  throw new FieldFault(field, 'must be a string, null or {"base64": "…"}');
}

function bytesOf(text: unknown, encoding: 'utf8' | 'base64', field: string, source: RecordText): Uint8Array {
  if (typeof text !== 'string') throw new FieldFault(field, `must be a string when it is ${encoding}`);
  if (encoding === 'utf8') {
    if (source.encoding === 'utf8' && hasLoneSurrogate(text)) throw loneSurrogate(field);
    return Buffer.from(text, source.encoding);
  }
  const bytes = decodeBase64(text);
  if (bytes === undefined) throw new FieldFault(field, 'must be base64 with padding (RFC 4648 §4)');
  return bytes;
}

function integer(value: unknown, field: string): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return (value as number) + 0; // −0 becomes 0
  throw new FieldFault(field, `must be an integer of 0 to 2^53 − 1, not ${quoted(value)}`);
}

function loneSurrogate(field: string): FieldFault {
  return new FieldFault(field, 'has half of a surrogate pair, which no UTF-8 stands for');
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
