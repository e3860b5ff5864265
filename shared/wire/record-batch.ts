import { gzipSync } from 'node:zlib';
import { InvalidRequest } from '../domain/errors.ts';
import type { Header, ProducedRecord } from '../domain/record.ts';
import { AT, COMPRESSION_GZIP, MAGIC, readBatchHeader } from './batch-header.ts';
import { crc32c } from './crc32c.ts';
import { GZIP_LEVEL, GZIP_MEMORY_LEVEL, GzipPieces, PIECE_BYTES } from './gzip-pieces.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { openBatch, type RecordSpans } from './record-spans.ts';
import { type RecordPlace, sizeOfRecord, writeAfterValue, writeBeforeValue, writeRecord } from './record-writer.ts';
import { sizeOfVarint } from './varint.ts';

/** Below this compression gains no write unit: a slot of up to 1 KB costs one in any case. */
const GZIP_ABOVE_BYTES = 256;
const NOTHING = new Uint8Array(0);

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
  const places = records.map((record, offsetDelta): RecordPlace => {
    const timestamp = record.timestamp ?? now;
    if (timestamp > maxTimestamp) maxTimestamp = timestamp;
    const timestampDelta = timestamp - baseTimestamp;
    const size = sizeOfRecord(record, offsetDelta, timestampDelta);
    total += sizeOfVarint(size) + size;
    return { size, offsetDelta, timestampDelta };
  });
  const { batch, attributes } = total > PIECE_BYTES ? large(records, places, total) : small(records, places, total);
  writeHeader(batch, records.length, attributes, baseTimestamp, maxTimestamp);
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

/** A batch, but for its header. */
interface Body {
  readonly batch: Buffer;
  readonly attributes: number;
}

function small(records: readonly ProducedRecord[], places: readonly RecordPlace[], total: number): Body {
  const body = plain(records, places, total);
  if (total - AT.records < GZIP_ABOVE_BYTES) return body;
  const bytes = body.batch.subarray(AT.records);
  const packed = gzipSync(bytes, { level: GZIP_LEVEL, memLevel: GZIP_MEMORY_LEVEL, chunkSize: bytes.length });
  if (packed.length >= bytes.length) return body;
  const batch = Buffer.allocUnsafe(AT.records + packed.length);
  batch.set(packed, AT.records);
  return { batch, attributes: COMPRESSION_GZIP };
}

/** Never whole but in the form that is stored: what the request says is in memory already. */
function large(records: readonly ProducedRecord[], places: readonly RecordPlace[], total: number): Body {
  const gzip = new GzipPieces(total, AT.records);
  const piece = Buffer.allocUnsafe(PIECE_BYTES);
  let at = 0;
  for (const [i, record] of records.entries()) {
    const place = places[i]!;
    const bytes = sizeOfVarint(place.size) + place.size;
    if (at + bytes > PIECE_BYTES) {
      gzip.add(piece.subarray(0, at));
      at = 0;
    }
    if (bytes <= PIECE_BYTES) at = writeRecord(piece, at, record, place);
    else addLarge(gzip, bytes, record, place);
  }
  gzip.add(piece.subarray(0, at));
  const batch = gzip.finish();
  return batch.length < total ? { batch, attributes: COMPRESSION_GZIP } : plain(records, places, total);
}

/** A record that is larger than a piece: its value is not copied. */
function addLarge(gzip: GzipPieces, bytes: number, record: ProducedRecord, place: RecordPlace): void {
  const value = record.value ?? NOTHING;
  const around = Buffer.allocUnsafe(bytes - value.length);
  const before = writeBeforeValue(around, 0, record, place);
  writeAfterValue(around, before, record.headers);
  gzip.add(around.subarray(0, before));
  gzip.add(value);
  gzip.add(around.subarray(before));
}

function plain(records: readonly ProducedRecord[], places: readonly RecordPlace[], total: number): Body {
  const batch = Buffer.allocUnsafe(total);
  let at: number = AT.records;
  for (let i = 0; i < records.length; i++) at = writeRecord(batch, at, records[i]!, places[i]!);
  return { batch, attributes: 0 };
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
