import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Batch, BatchUpload } from '../domain/record.ts';
import type { Reservation, Slot, Spilled } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { UploadId } from '../domain/upload.ts';
import { readVarint, writeVarint } from '../domain/varint.ts';
import { LAYOUT_VERSION, logKey, parseLogKey, refuseUnknownLayout } from './keys.ts';
import { decodePrevious, encodePrevious } from './reservation-layout.ts';

const NOTHING = new Uint8Array(0);

/**
 * The item of a batch in the slot that was reserved for it.
 *
 * @param spilled where the batch's bytes are, if they are not to be stored in the slot
 */
export function writeSlot(
  partition: PartitionId,
  { id, last, count, time, expiresAt, previous }: Reservation,
  batch: Batch,
  spilled?: Spilled,
): Record<string, AttributeValue> {
  return {
    log: { S: logKey(partition) },
    last: { N: String(last) },
    v: { N: LAYOUT_VERSION },
    count: { N: String(count) },
    ...(spilled === undefined ? { batch: { B: batch.bytes } } : { spill: { B: encodeSpilled(spilled) } }),
    at: { N: String(time) },
    append: { B: Buffer.from(id, 'hex') },
    previous: { B: encodePrevious(previous, time) },
    ...(batch.json ? { json: { BOOL: true } } : {}),
    ...(batch.uploads === undefined ? {} : { uploads: { B: encodeUploads(batch.uploads) } }),
    ...(expiresAt === 0 ? {} : { expiresAt: { N: String(expiresAt) } }),
  };
}

/**
 * A slot from its item in the Log table; one that was read in outline has an empty batch.
 *
 * @throws {UnknownLayout}; {Error} when the item is no slot: the table was written by something else
 */
export function readSlot(item: Record<string, AttributeValue>): Slot {
  refuseUnknownLayout(item);
  const at = number(item, 'at');
  const outline = {
    last: number(item, 'last'),
    count: number(item, 'count'),
    at,
    previous: decodePrevious(item.previous?.B ?? NOTHING, at),
    expiresAt: item.expiresAt === undefined ? 0 : number(item, 'expiresAt'),
  };
  if (item.void?.BOOL === true) return { kind: 'void', ...outline, reservedBy: number(item, 'reservedBy') };
  return {
    kind: 'batch',
    ...outline,
    append: Buffer.from(item.append?.B ?? NOTHING).toString('hex'),
    batch: item.batch?.B ?? NOTHING,
    json: item.json?.BOOL === true,
    ...(item.spill?.B === undefined ? {} : { spilled: decodeSpilled(item.spill.B) }),
    ...(item.uploads?.B === undefined ? {} : { uploads: decodeUploads(item.uploads.B, topicIdOf(item)) }),
  };
}

/*
 * Attribute `spill`: the payload's SHA-256 (32 bytes), then its size in bytes (varint).
 */
const SHA256_BYTES = 32;

function encodeSpilled({ sha256, size }: Spilled): Uint8Array {
  const bytes = [...Buffer.from(sha256, 'hex')];
  writeVarint(bytes, size);
  return Uint8Array.from(bytes);
}

function decodeSpilled(bytes: Uint8Array): Spilled {
  const sha256 = Buffer.from(bytes.subarray(0, SHA256_BYTES)).toString('hex');
  return { sha256, size: readVarint({ bytes, offset: SHA256_BYTES }) };
}

/*
 * Attribute `uploads`, for each record whose value is an upload, ascending: its place in the batch (varint), then the
 * upload's id (26 bytes, ASCII). Only what stands here is an upload, whatever a value looks like.
 */
const ID_BYTES = 26;

function encodeUploads(uploads: readonly BatchUpload[]): Uint8Array {
  const bytes: number[] = [];
  for (const { position, uploadId } of uploads) {
    writeVarint(bytes, position);
    bytes.push(...Buffer.from(uploadId, 'latin1'));
  }
  return Uint8Array.from(bytes);
}

function decodeUploads(bytes: Uint8Array, topicId: string): Map<number, UploadId> {
  const uploads = new Map<number, UploadId>();
  const cursor = { bytes, offset: 0 };
  while (cursor.offset < bytes.length) {
    const position = readVarint(cursor);
    const uploadId = Buffer.from(bytes.subarray(cursor.offset, cursor.offset + ID_BYTES)).toString('latin1');
    cursor.offset += ID_BYTES;
    uploads.set(position, { topicId, uploadId });
  }
  return uploads;
}

function topicIdOf(item: Record<string, AttributeValue>): string {
  return parseLogKey(item.log!.S!).topicId;
}

function number(item: Record<string, AttributeValue>, name: string): number {
  const value = Number(item[name]?.N);
  if (!Number.isSafeInteger(value)) throw new Error(`slot ${item.log?.S} ${item.last?.N} has no valid '${name}'`);
  return value;
}
