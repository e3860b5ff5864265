import type { Header, ProducedRecord } from '../domain/record.ts';
import { sizeOfVarint, sizeOfVarlong, writeVarint, writeVarlong } from './varint.ts';

/*
 * One record. Source: Kafka documentation, "Record".
 *
 *   varint   length             bytes that follow
 *   int8     attributes         0
 *   varlong  timestamp delta    to the batch's base timestamp
 *   varint   offset delta       0, 1, 2, …
 *   varint   key length         −1: null          then the key
 *   varint   value length       −1: null          then the value
 *   varint   headers            then for each:    varint name length, name, varint value length (−1: null), value
 */
const ATTRIBUTES_BYTES = 1;

/** A record's place in its batch. */
export interface RecordPlace {
  /** What `sizeOfRecord` says. */
  readonly size: number;
  readonly offsetDelta: number;
  readonly timestampDelta: number;
}

/** Bytes of the record behind its length. */
export function sizeOfRecord(record: ProducedRecord, offsetDelta: number, timestampDelta: number): number {
  let size = ATTRIBUTES_BYTES + sizeOfVarlong(timestampDelta) + sizeOfVarint(offsetDelta);
  size += sizeOfBytes(record.key) + sizeOfBytes(record.value) + sizeOfVarint(record.headers.length);
  for (const header of record.headers) {
    const nameBytes = Buffer.byteLength(header.name);
    size += sizeOfVarint(nameBytes) + nameBytes + sizeOfBytes(header.value);
  }
  return size;
}

/** Writes all of a record up to its value, whose bytes come next. @returns the position behind it */
export function writeBeforeValue(into: Buffer, at: number, { key, value }: ProducedRecord, place: RecordPlace): number {
  let position = writeVarint(into, at, place.size);
  into[position] = 0;
  position = writeVarlong(into, position + ATTRIBUTES_BYTES, place.timestampDelta);
  position = writeVarint(into, position, place.offsetDelta);
  position = writeBytes(into, position, key);
  return writeVarint(into, position, value === null ? -1 : value.length);
}

/** Writes what follows the value. @returns the position behind it */
export function writeAfterValue(into: Buffer, at: number, headers: readonly Header[]): number {
  let position = writeVarint(into, at, headers.length);
  for (const header of headers) {
    position = writeVarint(into, position, Buffer.byteLength(header.name));
    position += into.write(header.name, position);
    position = writeBytes(into, position, header.value);
  }
  return position;
}

/** Writes a record. @returns the position behind it */
export function writeRecord(into: Buffer, at: number, record: ProducedRecord, place: RecordPlace): number {
  let position = writeBeforeValue(into, at, record, place);
  if (record.value !== null) {
    into.set(record.value, position);
    position += record.value.length;
  }
  return writeAfterValue(into, position, record.headers);
}

function sizeOfBytes(bytes: Uint8Array | null): number {
  return bytes === null ? 1 : sizeOfVarint(bytes.length) + bytes.length;
}

function writeBytes(into: Buffer, at: number, bytes: Uint8Array | null): number {
  if (bytes === null) return writeVarint(into, at, -1);
  const position = writeVarint(into, at, bytes.length);
  into.set(bytes, position);
  return position + bytes.length;
}
