import { PayloadCorrupt } from './payload-corrupt.ts';

/*
 * Kafka's varint and varlong: a signed integer, zigzag (0, −1, 1, −2, … → 0, 1, 2, 3, …), 7 bits a byte, lowest first,
 * the high bit set on every byte but the last. At most 5 bytes for 32 bits, 10 for 64.
 */

/** A varlong is handled with 32-bit arithmetic while |value| is below this. */
const SMALL = 2 ** 30;

/** Bytes that a 32-bit integer takes as varint. */
export function sizeOfVarint(value: number): number {
  const zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  if (zigzag < 0x80) return 1;
  if (zigzag < 0x4000) return 2;
  if (zigzag < 0x200000) return 3;
  return zigzag < 0x10000000 ? 4 : 5;
}

/** Bytes that a safe integer takes as varlong. */
export function sizeOfVarlong(value: number): number {
  if (value > -SMALL && value < SMALL) return sizeOfVarint(value);
  let size = 1;
  for (let rest = zigzag64(value) >> 7n; rest > 0n; rest >>= 7n) size++;
  return size;
}

/** Writes a 32-bit integer as varint. @returns the position behind it */
export function writeVarint(into: Uint8Array, at: number, value: number): number {
  let zigzag = ((value << 1) ^ (value >> 31)) >>> 0;
  let position = at;
  for (; zigzag >= 0x80; zigzag >>>= 7) into[position++] = zigzag | 0x80;
  into[position++] = zigzag;
  return position;
}

/** Writes a safe integer as varlong. @returns the position behind it */
export function writeVarlong(into: Uint8Array, at: number, value: number): number {
  if (value > -SMALL && value < SMALL) return writeVarint(into, at, value);
  let zigzag = zigzag64(value);
  let position = at;
  for (; zigzag >= 0x80n; zigzag >>= 7n) into[position++] = Number(zigzag & 0x7fn) | 0x80;
  into[position++] = Number(zigzag);
  return position;
}

/** Reads varints from bytes that nobody vouches for: it never passes their end. */
export class VarintReader {
  position = 0;

  constructor(readonly bytes: Uint8Array) {}

  /** @throws {PayloadCorrupt} when it is cut off or has more than 32 bits */
  varint(): number {
    let zigzag = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte();
      zigzag |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (zigzag >>> 1) ^ -(zigzag & 1);
    }
    const last = this.byte();
    if (last > 0x0f) throw new PayloadCorrupt('a varint has more than 32 bits');
    zigzag |= last << 28;
    return (zigzag >>> 1) ^ -(zigzag & 1);
  }

  /** @throws {PayloadCorrupt} when it is cut off, has more than 64 bits, or is no safe integer */
  varlong(): number {
    const start = this.position;
    let zigzag = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte();
      zigzag |= (byte & 0x7f) << shift;
      if (byte < 0x80) return (zigzag >>> 1) ^ -(zigzag & 1);
    }
    this.position = start;
    return this.#longVarlong();
  }

  byte(): number {
    if (this.position >= this.bytes.length) throw new PayloadCorrupt('a record is cut off');
    return this.bytes[this.position++]!;
  }

  /** Passes over a part of this length; a null's is negative. */
  skip(length: number): void {
    if (length > 0) this.position += length;
  }

  #longVarlong(): number {
    let zigzag = 0n;
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte();
      zigzag |= BigInt(byte & 0x7f) << shift;
      if (byte < 0x80) return safe((zigzag >> 1n) ^ -(zigzag & 1n));
    }
    throw new PayloadCorrupt('a varlong has more than 64 bits');
  }
}

function zigzag64(value: number): bigint {
  const big = BigInt(value);
  return BigInt.asUintN(64, (big << 1n) ^ (big >> 63n));
}

function safe(value: bigint): number {
  const number = Number(value);
  if (Number.isSafeInteger(number)) return number;
  throw new PayloadCorrupt('a timestamp is beyond 2^53');
}
