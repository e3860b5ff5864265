import { SETTLE_AFTER_MS } from '../domain/limits.ts';
import type { Reserved } from '../domain/slot.ts';
import { type ByteCursor, readVarint, writeVarint } from '../domain/varint.ts';

/*
 * One reservation, as a head's register (r0…r7) and a slot's `previous` keep it. All numbers are unsigned LEB128
 * varints, except that the age may be negative and is zigzag-coded:
 *
 *   count     offsets reserved
 *   age       reference − time, ms; the reference is the slot's `at`, and 0 in a register
 *   lifetime  0: never expires; else 1 + expiresAt − ⌊time / 1000⌋, s
 *   settle    0: SETTLE_AFTER_MS; else the settle time, ms
 *
 * register entry: the reservation's id (12 bytes), then one reservation; a single 00 where there is none yet.
 * previous:       reservations, newest first, end to end.
 */

export const RESERVATION_ID_BYTES = 12;
/** Stands in the register of a new head where no reservation is remembered: `SET r1 = r0` needs every attribute. */
export const NO_RESERVATION = Uint8Array.of(0);

export function encodePrevious(previous: readonly Reserved[], at: number): Uint8Array {
  const bytes: number[] = [];
  for (const reserved of previous) write(bytes, reserved, at);
  return Uint8Array.from(bytes);
}

/** @throws {Error} when the bytes are not such a list. */
export function decodePrevious(bytes: Uint8Array, at: number): Reserved[] {
  const cursor = { bytes, offset: 0 };
  const previous: Reserved[] = [];
  while (cursor.offset < bytes.length) previous.push(read(cursor, at));
  return previous;
}

/** @param id 12 bytes in hex */
export function encodeRegisterEntry(id: string, reserved: Reserved): Uint8Array {
  const bytes = [...Buffer.from(id, 'hex')];
  if (bytes.length !== RESERVATION_ID_BYTES) throw new Error(`'${id}' is not a reservation id`);
  write(bytes, reserved, 0);
  return Uint8Array.from(bytes);
}

/** @returns undefined where none is remembered */
export function decodeRegisterEntry(bytes: Uint8Array): (Reserved & { readonly id: string }) | undefined {
  if (bytes.length <= RESERVATION_ID_BYTES) return undefined;
  const id = Buffer.from(bytes.subarray(0, RESERVATION_ID_BYTES)).toString('hex');
  return { id, ...read({ bytes, offset: RESERVATION_ID_BYTES }, 0) };
}

function write(bytes: number[], { count, time, expiresAt, settleMs }: Reserved, reference: number): void {
  const age = reference - time;
  writeVarint(bytes, count);
  writeVarint(bytes, age < 0 ? -age * 2 - 1 : age * 2);
  writeVarint(bytes, expiresAt === 0 ? 0 : Math.max(1, 1 + expiresAt - Math.floor(time / 1_000)));
  writeVarint(bytes, settleMs === SETTLE_AFTER_MS ? 0 : settleMs);
}

function read(cursor: ByteCursor, reference: number): Reserved {
  const count = readVarint(cursor);
  const zigzag = readVarint(cursor);
  const time = reference - (zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2);
  const lifetime = readVarint(cursor);
  const settleMs = readVarint(cursor);
  return {
    count,
    time,
    expiresAt: lifetime === 0 ? 0 : lifetime - 1 + Math.floor(time / 1_000),
    settleMs: settleMs === 0 ? SETTLE_AFTER_MS : settleMs,
  };
}
