import { gzipSync } from 'node:zlib';
import { InvalidRequest } from '../domain/errors.ts';
import type { Header, ProducedRecord } from '../domain/record.ts';
import { AT, COMPRESSION_GZIP, MAGIC, readBatchHeader } from './batch-header.ts';
import { crc32c } from './crc32c.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { openBatch, type RecordSpans } from './record-spans.ts';
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

/** Below this compression gains no write unit: a slot of up to 1 KB costs one in any case. */
const GZIP_ABOVE_BYTES = 256;
/** The fastest level; higher ones cost twice the time for a tenth of the size. */
const GZIP_LEVEL = 1;
/** All the memory that deflate can use: a seventh faster than the default, and no larger. */
const GZIP_MEMORY_LEVEL = 9;

/** A record as a batch holds it. Key, value and header values are views of the batch's (inflated) bytes. */
export interface StoredRecord {
  readonly offset: number;
  /** Epoch ms, −1: none. */
  readonly timestamp: number;
  readonly key: Uint8Array | null;
  readonly value: Uint8Array | null;
  readonly headers: readonly Header[];
}

/**
 * One batch with base offset 0 and no producer id. Records without a timestamp get `now` (epoch ms). It is compressed
 * only when that makes it smaller. The same records give the same bytes.
 * @param records 1 to `RECORDS_PER_REQUEST_MAX`
 */
export function encodeRecordBatch(records: readonly ProducedRecord[], now: number): Uint8Array {
  const baseTimestamp = records[0]!.timestamp ?? now;
  let maxTimestamp = baseTimestamp;
  let total: number = AT.records;
  const sizes = records.map((record, i) => {
    const timestamp = record.timestamp ?? now;
    if (timestamp > maxTimestamp) maxTimestamp = timestamp;
    const size = sizeOf(record, i, timestamp - baseTimestamp);
    total += sizeOfVarint(size) + size;
    return size;
  });
  const plain = Buffer.allocUnsafe(total);
  let position: number = AT.records;
  for (let i = 0; i < records.length; i++) {
    const record = records[i]!;
    position = writeVarint(plain, position, sizes[i]!);
    position = writeRecord(plain, position, record, i, (record.timestamp ?? now) - baseTimestamp);
  }
  const packed = total - AT.records < GZIP_ABOVE_BYTES ? undefined : compressed(plain);
  const batch = packed ?? plain;
  writeHeader(batch, records.length, packed === undefined ? 0 : COMPRESSION_GZIP, baseTimestamp, maxTimestamp);
  return batch;
}

/**
 * The records of a stored batch whose first one has `baseOffset`.
 * @throws {PayloadCorrupt} when it is not, in every byte, a batch that this log can hold
 */
export function decodeRecordBatch(bytes: Uint8Array, baseOffset: number): StoredRecord[] {
  const batch = openBatch(bytes);
  return Array.from({ length: batch.count }, (_, i) => ({
    offset: baseOffset + i,
    timestamp: batch.timestamps[i]!,
    key: view(batch, batch.keyStart(i), batch.keyEnd(i)),
    value: view(batch, batch.valueStart(i), batch.valueEnd(i)),
    headers: headersOf(batch, i),
  }));
}

/**
 * Checks a batch that a producer sends to be stored as it is, by its header alone: nothing is inflated.
 * @throws {InvalidRequest} naming what is wrong with it
 */
export function checkRawBatch(bytes: Uint8Array): { readonly count: number } {
  try {
    return { count: readBatchHeader(bytes).count };
  } catch (error) {
    if (error instanceof PayloadCorrupt)
      throw new InvalidRequest(`The body is not one record batch to store: ${error.message}`);
    throw error;
  }
}

/** A copy of a batch that begins at `baseOffset`. The CRC does not cover that field. */
export function withBaseOffset(bytes: Uint8Array, baseOffset: number): Uint8Array {
  const copy = new Uint8Array(bytes); // a Buffer's own slice() would be a view
  new DataView(copy.buffer).setBigInt64(AT.baseOffset, BigInt(baseOffset));
  return copy;
}

function headersOf(batch: RecordSpans, i: number): Header[] {
  const spans = batch.headers(i);
  return Array.from({ length: spans.length / 4 }, (_, k) => ({
    name: view(batch, spans[4 * k]!, spans[4 * k + 1]!)!.toString(),
    value: view(batch, spans[4 * k + 2]!, spans[4 * k + 3]!),
  }));
}

function view(batch: RecordSpans, start: number, end: number): Buffer | null {
  return start < 0 ? null : batch.data.subarray(start, end);
}

function compressed(plain: Buffer): Buffer | undefined {
  const records = plain.subarray(AT.records);
  const packed = gzipSync(records, { level: GZIP_LEVEL, memLevel: GZIP_MEMORY_LEVEL, chunkSize: records.length });
  if (packed.length >= records.length) return undefined;
  const batch = Buffer.allocUnsafe(AT.records + packed.length);
  batch.set(packed, AT.records);
  return batch;
}

function writeHeader(batch: Buffer, count: number, attributes: number, baseTimestamp: number, maxTimestamp: number) {
  batch.fill(0xff, 0, AT.records); // −1 in every field that has no value here
  batch.writeBigInt64BE(0n, AT.baseOffset);
  batch.writeInt32BE(batch.length - AT.leaderEpoch, AT.length);
  batch.writeInt8(MAGIC, AT.magic);
  batch.writeInt16BE(attributes, AT.attributes);
  batch.writeInt32BE(count - 1, AT.lastOffsetDelta);
  batch.writeBigInt64BE(BigInt(baseTimestamp), AT.baseTimestamp);
  batch.writeBigInt64BE(BigInt(maxTimestamp), AT.maxTimestamp);
  batch.writeInt32BE(count, AT.count);
  batch.writeUInt32BE(crc32c(batch, AT.attributes), AT.crc);
}

function sizeOf(record: ProducedRecord, offsetDelta: number, timestampDelta: number): number {
  let size = ATTRIBUTES_BYTES + sizeOfVarlong(timestampDelta) + sizeOfVarint(offsetDelta);
  size += sizeOfBytes(record.key) + sizeOfBytes(record.value) + sizeOfVarint(record.headers.length);
  for (const header of record.headers) {
    const nameBytes = Buffer.byteLength(header.name);
    size += sizeOfVarint(nameBytes) + nameBytes + sizeOfBytes(header.value);
  }
  return size;
}

function sizeOfBytes(bytes: Uint8Array | null): number {
  return bytes === null ? 1 : sizeOfVarint(bytes.length) + bytes.length;
}

function writeRecord(into: Buffer, at: number, record: ProducedRecord, offsetDelta: number, timestampDelta: number) {
  into[at] = 0;
  let position = writeVarlong(into, at + ATTRIBUTES_BYTES, timestampDelta);
  position = writeVarint(into, position, offsetDelta);
  position = writeBytes(into, position, record.key);
  position = writeBytes(into, position, record.value);
  position = writeVarint(into, position, record.headers.length);
  for (const header of record.headers) {
    position = writeVarint(into, position, Buffer.byteLength(header.name));
    position += into.write(header.name, position);
    position = writeBytes(into, position, header.value);
  }
  return position;
}

function writeBytes(into: Buffer, at: number, bytes: Uint8Array | null): number {
  if (bytes === null) return writeVarint(into, at, -1);
  const position = writeVarint(into, at, bytes.length);
  into.set(bytes, position);
  return position + bytes.length;
}
