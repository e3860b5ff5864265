import { textOf } from './utf8.ts';

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const SPACE = 0x20;

/** A value's place in a JSON text, without the whitespace around it. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/**
 * Finds source text in a JSON text (UTF-8) that `JSON.parse` has accepted: it looks for ends, not for faults. Nothing
 * recurses, so depth does not matter. On any other text it ends too, and its answers mean nothing.
 */
export class JsonCursor {
  position: number;
  /** The current member's name, quotes excluded. */
  #nameStart = 0;
  #nameEnd = 0;
  #nameEscaped = false;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array, position = 0) {
    this.#bytes = bytes;
    this.position = position;
  }

  /** Passes whitespace. @returns the byte that a value or mark begins with, `undefined` at the end */
  peek(): number | undefined {
    while (this.#bytes[this.position]! <= SPACE) this.position++;
    return this.#bytes[this.position];
  }

  /** Whether the next value is an object, an array. */
  atObject(): boolean {
    return this.peek() === OPEN_BRACE;
  }
  atArray(): boolean {
    return this.peek() === OPEN_BRACKET;
  }
  atString(): boolean {
    return this.peek() === QUOTE;
  }

  /** Steps into the object or array that is next. */
  enter(): void {
    this.position++;
  }

  /** Goes to the value of the next member; behind the object when there is none. */
  nextMember(): boolean {
    if (!this.nextElement()) return false;
    this.#nameStart = this.position + 1;
    this.#nameEscaped = this.skipString();
    this.#nameEnd = this.position - 1;
    if (this.peek() === COLON) this.position++;
    return this.peek() !== undefined;
  }

  /** Goes to the next element; behind the array when there is none. */
  nextElement(): boolean {
    if (this.peek() === COMMA) this.position++;
    const next = this.peek();
    if (next !== CLOSE_BRACKET && next !== CLOSE_BRACE) return next !== undefined;
    this.position++;
    return false;
  }

  /** Whether the current member has this name, however it is spelt. */
  nameIs(name: string): boolean {
    const length = this.#nameEnd - this.#nameStart;
    if (this.#nameEscaped || length !== name.length) return this.#slowName(name);
    for (let i = 0; i < length; i++) {
      if (this.#bytes[this.#nameStart + i] !== name.charCodeAt(i)) return this.#slowName(name);
    }
    return true;
  }

  /** Passes the string that is next. @returns whether it has escapes */
  skipString(): boolean {
    const bytes = this.#bytes;
    let escaped = false;
    let i = this.position + 1;
    for (; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (byte === QUOTE) break;
      if (byte !== BACKSLASH) continue;
      escaped = true;
      i++;
    }
    this.position = i + 1;
    return escaped;
  }

  /** Passes the value that is next, however deep. */
  skipValue(): void {
    const first = this.peek();
    if (first === QUOTE) this.skipString();
    else if (first === OPEN_BRACE || first === OPEN_BRACKET) this.#skipContainer();
    else this.#skipWord();
  }

  #skipContainer(): void {
    const bytes = this.#bytes;
    const length = bytes.length;
    let depth = 0;
    let i = this.position;
    while (i < length) {
      const byte = bytes[i++]!;
      if (byte === QUOTE) {
        for (; i < length && bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++;
        i++;
      } else if (byte >= OPEN_BRACKET) {
        // Brackets and braces differ in one bit, and no letter of true, false, null or an exponent is either.
        const mark = byte | 0x20;
        if (mark === OPEN_BRACE) depth++;
        else if (mark === CLOSE_BRACE && --depth === 0) break;
      }
    }
    this.position = i;
  }

  #skipWord(): void {
    const bytes = this.#bytes;
    let i = this.position;
    for (; i < bytes.length; i++) {
      const byte = bytes[i]!;
      if (byte <= SPACE || byte === COMMA || byte === CLOSE_BRACKET || byte === CLOSE_BRACE) break;
    }
    this.position = i;
  }

  /** Names with escapes, and names that are not ASCII. */
  #slowName(name: string): boolean {
    const source = textOf(this.#bytes.subarray(this.#nameStart, this.#nameEnd));
    if (!this.#nameEscaped) return source === name;
    try {
      return JSON.parse(`"${source}"`) === name;
    } catch {
      return false; // an escape that is none: the text is no JSON, and says so elsewhere
    }
  }
}

/**
 * Where the value lies that a path of member names and array indexes leads to; of equal names the last one counts, as
 * in `JSON.parse`. @returns undefined when the path leads nowhere
 */
export function spanAt(bytes: Uint8Array, path: readonly string[], start = 0): Span | undefined {
  const cursor = new JsonCursor(bytes, start);
  for (const step of path) {
    const found = cursor.atObject() ? lastMember(cursor, step) : cursor.atArray() ? element(cursor, step) : undefined;
    if (found === undefined) return undefined;
    cursor.position = found;
  }
  cursor.peek();
  const from = cursor.position;
  cursor.skipValue();
  return { start: from, end: cursor.position };
}

function lastMember(cursor: JsonCursor, name: string): number | undefined {
  let found: number | undefined;
  cursor.enter();
  while (cursor.nextMember()) {
    if (cursor.nameIs(name)) found = cursor.position;
    cursor.skipValue();
  }
  return found;
}

function element(cursor: JsonCursor, index: string): number | undefined {
  if (!/^(0|[1-9]\d*)$/.test(index)) return undefined;
  cursor.enter();
  for (let i = 0; cursor.nextElement(); i++) {
    if (i === Number(index)) return cursor.position;
    cursor.skipValue();
  }
  return undefined;
}

/** Whether a string in this JSON text (UTF-8) has half of a surrogate pair, which only an escape can write. */
export function hasLoneSurrogateEscape(bytes: Uint8Array): boolean {
  for (let i = bytes.indexOf(BACKSLASH); i >= 0; i = bytes.indexOf(BACKSLASH, i)) {
    const unit = escapedUnit(bytes, i);
    i += unit === undefined ? 2 : 6;
    if (unit === undefined || (unit & 0xf800) !== 0xd800) continue;
    const next = escapedUnit(bytes, i);
    if (unit >= 0xdc00 || next === undefined || (next & 0xfc00) !== 0xdc00) return true;
    i += 6;
  }
  return false;
}

/** The UTF-16 unit that `\uXXXX` at this place writes. */
function escapedUnit(bytes: Uint8Array, at: number): number | undefined {
  if (bytes[at] !== BACKSLASH || bytes[at + 1] !== LOWER_U) return undefined;
  return Number.parseInt(String.fromCharCode(bytes[at + 2]!, bytes[at + 3]!, bytes[at + 4]!, bytes[at + 5]!), 16);
}
