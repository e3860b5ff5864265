import { isUtf8 } from 'node:buffer';
import { RECORD_BYTES_MAX } from '../shared/domain/limits.ts';
import { parseLine } from '../shared/wire/ndjson.ts';
import { FieldFault } from '../shared/wire/record-fault.ts';

/** A record as the input has it. */
export interface InputRecord {
  /** From 1; of a record of several lines, the last one. */
  readonly line: number;
  readonly key: Uint8Array | null;
  /** `null`: a tombstone. */
  readonly value: Uint8Array | null;
}

/** Part of the input that is no record. */
export interface BadInput {
  readonly line: number;
  readonly fault: string;
  /** Where the next record would begin is not known: it is the last entry. */
  readonly final?: true;
}

export type InputEntry = InputRecord | BadInput;

interface Line {
  readonly number: number;
  /** Without its end; `null` when it is too long to be kept. */
  readonly bytes: Uint8Array | null;
}

const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.from('\ufeff');
const TOO_LONG = `it is longer than ${RECORD_BYTES_MAX} bytes, the most that a record may have`;

/** Each line as a value, bytes as they are; an empty line is an empty value. Some at a time. */
export async function* textRecords(input: AsyncIterable<Uint8Array>): AsyncGenerator<InputEntry[]> {
  for await (const lines of linesOf(input)) {
    yield lines.map(({ number, bytes }) =>
      bytes === null ? { line: number, fault: TOO_LONG } : { line: number, key: null, value: bytes },
    );
  }
}

/**
 * Each line as a JSON value, its text as it is; `null` is a tombstone. Blank lines are passed over.
 * @param keyPath leads to the key within the value
 */
export async function* jsonRecords(
  input: AsyncIterable<Uint8Array>,
  keyPath: readonly string[] | undefined,
): AsyncGenerator<InputEntry[]> {
  for await (const lines of linesOf(input)) {
    yield lines.flatMap(({ number, bytes }) => {
      if (bytes === null) return { line: number, fault: TOO_LONG };
      const text = trimmed(bytes);
      return text.length === 0 ? [] : jsonRecord(number, text, keyPath);
    });
  }
}

/** A record of one JSON text, as the API makes it of a line of NDJSON. */
export function jsonRecord(line: number, text: Uint8Array, keyPath: readonly string[] | undefined): InputEntry {
  if (!isUtf8(text)) return { line, fault: 'it is not UTF-8' };
  try {
    const { key, value } = parseLine(text, keyPath, true);
    if ((key?.length ?? 0) + (value?.length ?? 0) > RECORD_BYTES_MAX) return { line, fault: TOO_LONG };
    return { line, key, value };
  } catch (error) {
    if (!(error instanceof FieldFault)) throw error;
    return { line, fault: `the ${error.message}` };
  }
}

/** Lines, some at a time. The last one needs no end; what is too long is never held whole. */
async function* linesOf(input: AsyncIterable<Uint8Array>): AsyncGenerator<Line[]> {
  let number = 0;
  let rest: Uint8Array[] = [];
  let restBytes = 0;
  const take = (piece: Uint8Array) => {
    restBytes += piece.length;
    if (restBytes <= RECORD_BYTES_MAX + 1)
      rest.push(piece); // a line may end with one more byte, `\r`
    else rest = [];
  };
  const finish = (): Line => {
    number++;
    const whole = restBytes > RECORD_BYTES_MAX + 1 ? null : rest.length === 1 ? rest[0]! : Buffer.concat(rest);
    rest = [];
    restBytes = 0;
    const bytes = whole && ended(number === 1 ? withoutMark(whole) : whole);
    return { number, bytes: bytes && bytes.length > RECORD_BYTES_MAX ? null : bytes };
  };
  for await (const chunk of input) {
    const lines: Line[] = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      take(chunk.subarray(start, end));
      lines.push(finish());
      start = end + 1;
    }
    if (start < chunk.length) take(chunk.subarray(start));
    if (lines.length > 0) yield lines;
  }
  if (restBytes > 0) yield [finish()];
}

function ended(line: Uint8Array): Uint8Array {
  return line.at(-1) === RETURN ? line.subarray(0, -1) : line;
}

function withoutMark(line: Uint8Array): Uint8Array {
  return BYTE_ORDER_MARK.equals(line.subarray(0, BYTE_ORDER_MARK.length))
    ? line.subarray(BYTE_ORDER_MARK.length)
    : line;
}

/** Without JSON's whitespace around it. */
function trimmed(bytes: Uint8Array): Uint8Array {
  let [start, end] = [0, bytes.length];
  while (start < end && isBlank(bytes[start]!)) start++;
  while (end > start && isBlank(bytes[end - 1]!)) end--;
  return bytes.subarray(start, end);
}

const isBlank = (byte: number) => byte === 0x20 || byte === 0x09 || byte === RETURN;
