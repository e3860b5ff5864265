import type { Claim, Pin } from '../domain/claim.ts';
import { type ByteCursor, readVarint, writeVarint } from '../domain/varint.ts';
import { RESERVATION_ID_BYTES } from './reservation-layout.ts';

/*
 * A claim, as attribute `claim` of its item holds it: 62 bytes and about 25 for each partition.
 *
 *   fingerprint   32 bytes, SHA-256 of the canonical request
 *   takenAt       varint, epoch ms
 *   partitions    varint: how many keys were spread over
 *   keyless       varint: the partition of records without key and partition
 *   pins          to the end, ascending by partition, each:
 *     partition   varint
 *     id          12 bytes
 *     base        varint
 *     count       varint
 *     delay       varint, zigzag: time − takenAt, ms
 */

const FINGERPRINT_BYTES = 32;

export function encodeClaim({ fingerprint, placement, pins }: Omit<Claim, 'expiresAt'>): Uint8Array {
  const bytes = [...Buffer.from(fingerprint, 'hex')];
  writeVarint(bytes, placement.takenAt);
  writeVarint(bytes, placement.partitions);
  writeVarint(bytes, placement.keyless);
  for (const { partition, id, base, count, time } of pins) {
    const delay = time - placement.takenAt;
    writeVarint(bytes, partition);
    bytes.push(...Buffer.from(id, 'hex'));
    writeVarint(bytes, base);
    writeVarint(bytes, count);
    writeVarint(bytes, delay < 0 ? -delay * 2 - 1 : delay * 2);
  }
  return Uint8Array.from(bytes);
}

/** @throws {Error} when the bytes are no claim */
export function decodeClaim(bytes: Uint8Array): Omit<Claim, 'expiresAt'> {
  const cursor = { bytes, offset: 0 };
  const fingerprint = takeHex(cursor, FINGERPRINT_BYTES);
  const takenAt = readVarint(cursor);
  const placement = { takenAt, partitions: readVarint(cursor), keyless: readVarint(cursor) };
  const pins: Pin[] = [];
  while (cursor.offset < bytes.length) {
    const partition = readVarint(cursor);
    const id = takeHex(cursor, RESERVATION_ID_BYTES);
    const base = readVarint(cursor);
    const count = readVarint(cursor);
    const zigzag = readVarint(cursor);
    const time = takenAt + (zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2);
    pins.push({ partition, id, base, count, time });
  }
  return { fingerprint, placement, pins };
}

function takeHex(cursor: ByteCursor, length: number): string {
  const taken = cursor.bytes.subarray(cursor.offset, cursor.offset + length);
  if (taken.length < length) throw new Error('a stored claim ends too early');
  cursor.offset += length;
  return Buffer.from(taken).toString('hex');
}
