import { RECORDS_PER_REQUEST_MAX } from '../domain/limits.ts';
import { crc32c } from './crc32c.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';

/*
 * Kafka record batch v2, numbers big-endian. Source: Kafka documentation, "Record Batch".
 *
 *    0  int64   base offset              0 as stored, patched on read
 *    8  int32   batch length             bytes from 12 on
 *   12  int32   partition leader epoch   −1: none
 *   16  int8    magic                    2
 *   17  uint32  CRC-32C                  of everything from 21 on
 *   21  int16   attributes               bits 0–2 compression, 3 timestamp type, 4 transactional, 5 control
 *   23  int32   last offset delta        records − 1
 *   27  int64   base timestamp           epoch ms, −1: none
 *   35  int64   max timestamp            epoch ms; with bit 3 the timestamp of every record
 *   43  int64   producer id              −1: none
 *   51  int16   producer epoch           −1: none
 *   53  int32   base sequence            −1: none
 *   57  int32   records
 *   61          the records, compressed as one
 */
export const AT = {
  baseOffset: 0,
  length: 8,
  leaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  count: 57,
  records: 61,
} as const;

export const MAGIC = 2;
export const COMPRESSION_GZIP = 1;
const COMPRESSION_BITS = 0b111;
const LOG_APPEND_TIME = 1 << 3;
const TRANSACTIONAL = 1 << 4;
const CONTROL = 1 << 5;
const KNOWN_BITS = COMPRESSION_BITS | LOG_APPEND_TIME | TRANSACTIONAL | CONTROL;

export interface BatchHeader {
  /** Number of records, 1 to `RECORDS_PER_REQUEST_MAX`. */
  readonly count: number;
  /** Whether what follows the header is gzip; else it is plain. */
  readonly gzip: boolean;
  /** Every record has `maxTimestamp`; else each has `baseTimestamp` plus its own delta. */
  readonly logAppendTime: boolean;
  /** Epoch ms, −1: none. */
  readonly baseTimestamp: number;
  /** Epoch ms, −1: none. */
  readonly maxTimestamp: number;
}

/**
 * The header of the one batch that `bytes` are. What the records hold is not looked at.
 * @throws {PayloadCorrupt} unless length, magic, CRC and counts agree and it is a batch that this log can hold
 */
export function readBatchHeader(bytes: Uint8Array): BatchHeader {
  if (bytes.length < AT.records)
    throw new PayloadCorrupt(`it has ${bytes.length} bytes, its header alone has ${AT.records}`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, AT.records);
  const magic = view.getInt8(AT.magic);
  if (magic !== MAGIC) throw new PayloadCorrupt(`its magic is ${magic}, not ${MAGIC}`);
  const length = AT.leaderEpoch + view.getInt32(AT.length);
  if (length !== bytes.length)
    throw new PayloadCorrupt(`its length field says ${length} bytes in all, there are ${bytes.length}`);
  if (view.getUint32(AT.crc) !== crc32c(bytes, AT.attributes)) throw new PayloadCorrupt('its CRC does not match');
  const attributes = view.getInt16(AT.attributes);
  checkAttributes(attributes);
  return {
    count: countOf(view),
    gzip: (attributes & COMPRESSION_BITS) === COMPRESSION_GZIP,
    logAppendTime: (attributes & LOG_APPEND_TIME) !== 0,
    baseTimestamp: timestampAt(view, AT.baseTimestamp, 'base timestamp'),
    maxTimestamp: timestampAt(view, AT.maxTimestamp, 'max timestamp'),
  };
}

function checkAttributes(attributes: number): void {
  if ((attributes & TRANSACTIONAL) !== 0) throw new PayloadCorrupt('it belongs to a transaction');
  if ((attributes & CONTROL) !== 0) throw new PayloadCorrupt('it is a control batch');
  if ((attributes & ~KNOWN_BITS) !== 0)
    throw new PayloadCorrupt(`its attributes ${attributes} have bits without a meaning here`);
  const compression = attributes & COMPRESSION_BITS;
  if (compression > COMPRESSION_GZIP)
    throw new PayloadCorrupt(`its compression is ${compression}; none (0) and gzip (1) are taken`);
}

function countOf(view: DataView): number {
  const count = view.getInt32(AT.count);
  const lastOffsetDelta = view.getInt32(AT.lastOffsetDelta);
  if (count !== lastOffsetDelta + 1) {
    throw new PayloadCorrupt(`it counts ${count} records and its last offset delta is ${lastOffsetDelta}`);
  }
  if (count >= 1 && count <= RECORDS_PER_REQUEST_MAX) return count;
  throw new PayloadCorrupt(`it has ${count} records; 1 to ${RECORDS_PER_REQUEST_MAX} are taken`);
}

function timestampAt(view: DataView, at: number, name: string): number {
  const timestamp = view.getInt32(at) * 2 ** 32 + view.getUint32(at + 4);
  if (timestamp >= -1 && timestamp <= Number.MAX_SAFE_INTEGER) return timestamp;
  throw new PayloadCorrupt(`its ${name} is outside −1 to 2^53 − 1`);
}
