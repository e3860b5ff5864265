import { textOf } from './utf8.ts';

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const MINUS = 0x2d;
const DIGIT_0 = 0x30;
/** Up to here a loop is faster than a view and a call. */
const SHORT_BYTES_MAX = 48;
const GROUP = 100_000_000;
const GROUP_DIGITS = 8;

/** The letter after the backslash of a short escape, by byte; 0: none. */
const SHORT_ESCAPE = new Uint8Array(128);
for (const [byte, letter] of ['""', '\\\\', '\bb', '\ff', '\nn', '\rr', '\tt'].map((pair) => Buffer.from(pair))) {
  SHORT_ESCAPE[byte!] = letter!;
}

/** Bytes that each byte of a UTF-8 text takes in a JSON string: 1, 2 (`\n`) or 6 (`\u0000`). */
const ESCAPED_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => (SHORT_ESCAPE[byte] ? 2 : byte < 0x20 ? 6 : 1));
const HEX = Buffer.from('0123456789abcdef');

const NO_BYTES: Buffer = Buffer.alloc(0);
/** A larger buffer is not kept, and its text stays in it. */
const SPARE_BYTES_MAX = 1024 * 1024;
/** Growth of a buffer that holds more than it was to, as one large record may need: little, but not by every write. */
const GROWTH_WHEN_FULL = 1.25;
/** The largest buffer that writers are done with: memory that was just used is faster than new memory. */
let spare = NO_BYTES;

/** What a part of the bytes takes as the inside of a JSON string. */
export interface StringMeasure {
  /** Without the quotes. */
  readonly bytes: number;
  readonly ascii: boolean;
}

/** Measures bytes as text without deciding whether they are: ASCII they are for certain, else UTF-8 is to be checked. */
export function measureString(data: Uint8Array, start: number, end: number): StringMeasure {
  let bytes = 0;
  let bits = 0;
  for (let i = start; i < end; i++) {
    const byte = data[i]!;
    bytes += ESCAPED_BYTES[byte]!;
    bits |= byte;
  }
  return { bytes, ascii: bits < 0x80 };
}

/** Writes JSON into one growing buffer, taking bytes as they are wherever it can. */
export class JsonWriter {
  readonly #room: number;
  readonly #full: number;
  #bytes: Buffer;
  #at: number;

  /**
   * @param roomBytes for what is to stand before all that is written
   * @param fullBytes up to which the buffer is grown generously for what may come
   */
  constructor(roomBytes = 0, fullBytes = Number.POSITIVE_INFINITY) {
    this.#room = roomBytes;
    this.#full = fullBytes;
    this.#bytes = Buffer.allocUnsafe(roomBytes);
    this.#at = roomBytes;
  }

  /** Bytes written; setting it back takes what was written since away. */
  get length(): number {
    return this.#at - this.#room;
  }
  set length(length: number) {
    this.#at = this.#room + length;
  }

  /** What was written: a view, good until the next write. */
  written(): Buffer {
    return this.#bytes.subarray(this.#room, this.#at);
  }

  /**
   * It all, with something before it, for which there is room, and behind it. Nothing is written after that.
   * @returns a text; its bytes, when they are so many that a copy of them costs more than it gains
   */
  finish(before: Uint8Array, after: Uint8Array): string | Buffer {
    this.piece(after);
    const start = this.#room - before.length;
    const bytes = this.#bytes;
    this.#bytes = NO_BYTES;
    bytes.set(before, start);
    const written = bytes.subarray(start, this.#at);
    if (bytes.length > SPARE_BYTES_MAX) return written;
    const text = textOf(written);
    if (bytes.length > spare.length) spare = bytes;
    return text;
  }

  /** Makes room for `bytes` more. */
  reserve(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    const { length } = this.#bytes;
    const generous = needed > this.#full ? length * GROWTH_WHEN_FULL : Math.min(2 * length, this.#full);
    const grown = takeSpare(needed) ?? Buffer.allocUnsafe(Math.max(needed, Math.floor(generous)));
    this.#bytes.copy(grown, this.#room, this.#room, this.#at);
    this.#bytes = grown;
  }

  /** A piece of JSON that is written often. */
  piece(piece: Uint8Array): void {
    this.reserve(piece.length);
    copyShort(piece, 0, piece.length, this.#bytes, this.#at);
    this.#at += piece.length;
  }

  /** A JSON text, as it is. */
  copy(data: Uint8Array, start: number, end: number): void {
    this.reserve(end - start);
    if (end - start <= SHORT_BYTES_MAX) copyShort(data, start, end, this.#bytes, this.#at);
    else this.#bytes.set(new Uint8Array(data.buffer, data.byteOffset + start, end - start), this.#at);
    this.#at += end - start;
  }

  /** A safe integer. */
  integer(value: number): void {
    this.reserve(24);
    if (value < 0) this.#bytes[this.#at++] = MINUS;
    const rest = Math.abs(value);
    const high = Math.floor(rest / GROUP);
    const low = rest - high * GROUP;
    if (high > 0) this.#digits(high, digitsOf(high));
    this.#digits(low, high > 0 ? GROUP_DIGITS : digitsOf(low));
  }

  /** A JSON string of valid UTF-8 that `measureString` has measured. */
  string(data: Uint8Array, start: number, end: number, measured: number): void {
    this.reserve(measured + 2);
    this.#bytes[this.#at++] = QUOTE;
    if (measured === end - start) this.copy(data, start, end);
    else this.#escape(data, start, end);
    this.#bytes[this.#at++] = QUOTE;
  }

  /** A JSON string of the bytes' base64. */
  base64(data: Buffer, start: number, end: number): void {
    this.reserve(base64Bytes(end - start) + 2);
    this.#bytes[this.#at++] = QUOTE;
    this.#at += this.#bytes.write(data.toString('base64', start, end), this.#at, 'latin1');
    this.#bytes[this.#at++] = QUOTE;
  }

  #escape(data: Uint8Array, start: number, end: number): void {
    const bytes = this.#bytes;
    let at = this.#at;
    for (let i = start; i < end; i++) {
      const byte = data[i]!;
      const escaped = ESCAPED_BYTES[byte]!;
      if (escaped === 1) {
        bytes[at++] = byte;
        continue;
      }
      bytes[at] = BACKSLASH;
      if (escaped === 2) bytes[at + 1] = SHORT_ESCAPE[byte]!;
      else {
        bytes.write('u00', at + 1, 'latin1');
        bytes[at + 4] = HEX[byte >>> 4]!;
        bytes[at + 5] = HEX[byte & 0xf]!;
      }
      at += escaped;
    }
    this.#at = at;
  }

  #digits(value: number, count: number): void {
    const bytes = this.#bytes;
    const start = this.#at;
    let rest = value | 0;
    for (let i = start + count - 1; i >= start; i--) {
      const tenth = (rest / 10) | 0;
      bytes[i] = DIGIT_0 + rest - tenth * 10;
      rest = tenth;
    }
    this.#at = start + count;
  }
}

function takeSpare(bytes: number): Buffer | undefined {
  if (spare.length < bytes) return undefined;
  const taken = spare;
  spare = NO_BYTES;
  return taken;
}

function copyShort(from: Uint8Array, start: number, end: number, into: Uint8Array, at: number): void {
  for (let i = start; i < end; i++) into[at + i - start] = from[i]!;
}

/** Characters that so many bytes take in base64, padding included. */
export function base64Bytes(bytes: number): number {
  return Math.ceil(bytes / 3) * 4;
}

function digitsOf(value: number): number {
  let digits = 1;
  for (let rest = value; rest >= 10; rest = (rest / 10) | 0) digits++;
  return digits;
}
