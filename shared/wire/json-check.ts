const TAB = 0x09;
const LINE_FEED = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const QUOTE = 0x22;
const PLUS = 0x2b;
const COMMA = 0x2c;
const MINUS = 0x2d;
const POINT = 0x2e;
const DIGIT_0 = 0x30;
const DIGIT_9 = 0x39;
const COLON = 0x3a;
const OPEN_BRACKET = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_BRACKET = 0x5d;
const LOWER_E = 0x65;
const LOWER_U = 0x75;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;

/** Containers within each other that are followed: one bit each. */
const DEPTH_MAX = 31;
const HEX_DIGITS = 4;

const [TRUE, FALSE, NULL] = ['true', 'false', 'null'].map((word) => Buffer.from(word)) as [Buffer, Buffer, Buffer];
/** 1 for what may follow a backslash in a string; `u` wants four digits more. */
const ESCAPABLE = new Uint8Array(256);
for (const letter of Buffer.from('"\\/bfnrtu')) ESCAPABLE[letter] = 1;

/*
 * Passes over JSON (RFC 8259) in bytes known to be UTF-8. Each function takes where something begins and returns the place
 * behind it, or `NO_JSON`: then it is none, or one that only `JSON.parse` can tell, because it is nested very deep. What is
 * passed `JSON.parse` accepts.
 */
export const NO_JSON = -1;

/** Whitespace, which may be none. */
export function passSpace(bytes: Uint8Array, at: number): number {
  let i = at;
  for (; i < bytes.length; i++) {
    const byte = bytes[i]!;
    if (byte > SPACE || (byte !== SPACE && byte !== LINE_FEED && byte !== CARRIAGE_RETURN && byte !== TAB)) break;
  }
  return i;
}

/** A string, from its quote on. */
export function passString(bytes: Uint8Array, at: number): number {
  if (bytes[at] !== QUOTE) return NO_JSON;
  let i = at + 1;
  while (i < bytes.length) {
    const byte = bytes[i]!;
    if (byte === QUOTE) return i + 1;
    if (byte < SPACE) return NO_JSON;
    if (byte !== BACKSLASH) i++;
    else if (!isEscape(bytes, i)) return NO_JSON;
    else i += 2;
  }
  return NO_JSON;
}

/** A member's name, the colon, and the whitespace around it: the value begins there. */
export function passName(bytes: Uint8Array, at: number): number {
  const behind = passString(bytes, at);
  if (behind < 0) return NO_JSON;
  const colon = bytes[behind] === COLON ? behind : passSpace(bytes, behind);
  return bytes[colon] === COLON ? passSpace(bytes, colon + 1) : NO_JSON;
}

/** A value. */
export function passValue(bytes: Uint8Array, at: number): number {
  let i = at;
  let depth = 0;
  let objects = 0; // a bit for each container that is open, the innermost lowest: 1 for an object
  for (;;) {
    const first = bytes[i];
    if (first === QUOTE) i = passString(bytes, i);
    else if (first === OPEN_BRACE || first === OPEN_BRACKET) {
      if (++depth > DEPTH_MAX) return NO_JSON;
      const object = first === OPEN_BRACE ? 1 : 0;
      objects = (objects << 1) | object;
      i = passSpace(bytes, i + 1);
      if (bytes[i] !== first + 2) {
        if (object) i = passName(bytes, i);
        if (i < 0) return NO_JSON;
        continue;
      }
    } else i = passWord(bytes, i);
    if (i < 0) return NO_JSON;
    // Behind a value: containers may end, until another value begins.
    for (;;) {
      if (depth === 0) return i;
      if (bytes[i]! <= SPACE) i = passSpace(bytes, i);
      const mark = bytes[i++];
      if (mark === COMMA) break;
      if (mark !== (objects & 1 ? CLOSE_BRACE : CLOSE_BRACKET)) return NO_JSON;
      depth--;
      objects >>>= 1;
    }
    if (bytes[i]! <= SPACE) i = passSpace(bytes, i);
    if (objects & 1) i = passName(bytes, i);
    if (i < 0) return NO_JSON;
  }
}

/** A number, `true`, `false` or `null`. */
function passWord(bytes: Uint8Array, at: number): number {
  const first = bytes[at];
  if (first === TRUE[0]) return passLiteral(bytes, at, TRUE);
  if (first === FALSE[0]) return passLiteral(bytes, at, FALSE);
  if (first === NULL[0]) return passLiteral(bytes, at, NULL);
  return passNumber(bytes, at);
}

function passLiteral(bytes: Uint8Array, at: number, word: Uint8Array): number {
  for (let i = 1; i < word.length; i++) if (bytes[at + i] !== word[i]) return NO_JSON;
  return at + word.length;
}

function passNumber(bytes: Uint8Array, at: number): number {
  const whole = bytes[at] === MINUS ? at + 1 : at;
  let i = bytes[whole] === DIGIT_0 ? whole + 1 : passDigits(bytes, whole);
  if (i >= 0 && bytes[i] === POINT) i = passDigits(bytes, i + 1);
  if (i < 0 || (bytes[i]! | 0x20) !== LOWER_E) return i;
  const sign = bytes[i + 1];
  return passDigits(bytes, sign === PLUS || sign === MINUS ? i + 2 : i + 1);
}

/** One or more. */
function passDigits(bytes: Uint8Array, at: number): number {
  let i = at;
  while (bytes[i]! >= DIGIT_0 && bytes[i]! <= DIGIT_9) i++;
  return i > at ? i : NO_JSON;
}

function isEscape(bytes: Uint8Array, at: number): boolean {
  const letter = bytes[at + 1];
  if (letter === undefined || ESCAPABLE[letter] === 0) return false;
  if (letter !== LOWER_U) return true;
  for (let i = at + 2; i < at + 2 + HEX_DIGITS; i++) if (!isHexDigit(bytes[i])) return false;
  return true;
}

function isHexDigit(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  const lower = byte | 0x20;
  return (byte >= DIGIT_0 && byte <= DIGIT_9) || (lower >= 0x61 && lower <= 0x66);
}
