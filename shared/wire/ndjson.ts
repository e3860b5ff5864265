import { RequestTooLarge } from '../domain/errors.ts';
import { RECORDS_PER_REQUEST_MAX } from '../domain/limits.ts';
import type { Header, ProducedRecord } from '../domain/record.ts';
import { jsonKindOf } from './json-kind.ts';
import { parseJsonPointer } from './json-pointer.ts';
import { hasLoneSurrogateEscape, spanAt } from './json-text.ts';
import { FieldFault } from './record-fault.ts';
import { textOf } from './utf8.ts';

const NEWLINE = 0x0a;
const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const SPACE = 0x20;
const NO_HEADERS: readonly Header[] = [];

/** A line that is not blank, without the whitespace around it. */
export interface Line {
  /** From 1, blank ones counted. */
  readonly number: number;
  readonly bytes: Uint8Array;
}

/** @throws {RequestTooLarge} when there are more than `RECORDS_PER_REQUEST_MAX` */
export function splitLines(body: Uint8Array): Line[] {
  const lines: Line[] = [];
  for (let start = 0, number = 1; start < body.length; number++) {
    const newline = body.indexOf(NEWLINE, start);
    const end = newline < 0 ? body.length : newline;
    const bytes = trimmed(body, start, end);
    if (bytes.length > 0) lines.push({ number, bytes });
    if (lines.length > RECORDS_PER_REQUEST_MAX) {
      const maxRecords = RECORDS_PER_REQUEST_MAX;
      throw new RequestTooLarge(`There are more than ${maxRecords} lines; send them in several requests`, {
        maxRecords,
      });
    }
    start = end + 1;
  }
  return lines;
}

/**
 * A line as a record: the line is the value (`null` a tombstone), the key is what `keyPath` leads to in it.
 * @throws {FieldFault} when it is not JSON, has no UTF-8, or its key is an object or array
 */
export function parseLine(line: Uint8Array, keyPath: readonly string[] | undefined, escapes: boolean): ProducedRecord {
  const kind = jsonKindOf(line);
  if (kind === undefined) throw new FieldFault('value', 'is not JSON');
  if (escapes && hasLoneSurrogateEscape(line)) {
    throw new FieldFault('value', 'has half of a surrogate pair, which no UTF-8 stands for');
  }
  const key = keyPath === undefined ? null : keyAt(line, keyPath);
  return { key, value: kind === 'null' ? null : line, headers: NO_HEADERS };
}

/** The pointer that `?key=` gives. @throws {InvalidRequest} */
export function keyPathOf(pointer: string | undefined): string[] | undefined {
  return pointer === undefined ? undefined : parseJsonPointer(pointer, 'key');
}

/** A string's UTF-8, a number's or boolean's source text; null and nothing are no key. */
function keyAt(line: Uint8Array, path: readonly string[]): Uint8Array | null {
  const span = spanAt(line, path);
  if (span === undefined) return null;
  const source = line.subarray(span.start, span.end);
  const first = source[0];
  if (first === OPEN_BRACE || first === OPEN_BRACKET) throw new FieldFault('key', 'is an object or an array');
  const text = textOf(source);
  if (first === QUOTE) return Buffer.from(JSON.parse(text) as string);
  return text === 'null' ? null : source;
}

function trimmed(body: Uint8Array, from: number, to: number): Uint8Array {
  let [start, end] = [from, to];
  while (start < end && isBlank(body[start]!)) start++;
  while (end > start && isBlank(body[end - 1]!)) end--;
  return new Uint8Array(body.buffer, body.byteOffset + start, end - start);
}

/** JSON's whitespace. */
function isBlank(byte: number): boolean {
  return byte === SPACE || byte === 0x09 || byte === 0x0d;
}
