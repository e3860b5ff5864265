/*
 * Unsigned LEB128: 7 bits a byte, lowest first, the high bit set on all but the last. Numbers reach 2^53, so shifts and
 * masks of 32 bits will not do.
 */

export interface ByteCursor {
  readonly bytes: Uint8Array;
  offset: number;
}

/** @param value 0 to 2^53 − 1 */
export function writeVarint(bytes: number[], value: number): void {
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
}

/** @throws {Error} when the bytes end in the middle of a number, or it is longer than any that is written */
export function readVarint(cursor: ByteCursor): number {
  let value = 0;
  for (let factor = 1; ; factor *= 128) {
    const byte = cursor.bytes[cursor.offset++];
    if (byte === undefined || factor > 2 ** 49) throw new Error('a stored layout ends in the middle of a number');
    value += (byte % 128) * factor;
    if (byte < 128) return value;
  }
}
