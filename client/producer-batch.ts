import { randomUUID } from 'node:crypto';
import { JSON_TYPE, RECORD_BATCH_TYPE } from '../shared/wire/media-type.ts';
import { encodeRecordBatch } from '../shared/wire/record-batch.ts';
import { type EntryProblem, entryError } from './api-error.ts';
import { type Delivery, MalformedAnswer } from './errors.ts';
import type { EncodedRecord } from './producer-record.ts';
import type { Tally } from './producer-tally.ts';
import { type Answer, type Call, pathOf } from './transport.ts';

/** A record that waits for its batch, or is in one. */
export interface BufferedRecord<T> {
  readonly encoded: EncodedRecord;
  /** What it takes of the buffer. */
  readonly bytes: number;
  /** Epoch ms at which it came, and at which it is given up. */
  readonly since: number;
  readonly until: number;
  readonly tally: Tally<T>;
  /** Its place in the tally. */
  readonly index: number;
}

/** One request that stores records in one partition: the same, byte by byte, however often it is sent. */
export interface BatchRequest {
  readonly call: Call;
  /** @throws {MalformedAnswer} @throws {ApiError} for what was refused within the answer */
  deliveries(answer: Answer): Delivery[];
}

/**
 * @param records of one kind: with values, or with uploads
 * @param key under which it is repeated
 */
export function batchRequest(
  topic: string,
  partition: number,
  records: readonly EncodedRecord[],
  key: string = randomUUID(),
): BatchRequest {
  const headers = { 'idempotency-key': key };
  if (records[0]!.upload === undefined) {
    const path = pathOf('topics', topic, 'partitions', partition, 'records');
    const body = { type: RECORD_BATCH_TYPE, bytes: encodeRecordBatch(records, records[0]!.timestamp) };
    const timestamps = records.map(({ timestamp }) => timestamp);
    return {
      call: { method: 'POST', path, headers, body },
      deliveries: (answer) => rawDeliveries(answer, partition, timestamps),
    };
  }
  const body = { type: JSON_TYPE, bytes: JSON.stringify({ records: records.map((one) => jsonOf(one, partition)) }) };
  return {
    call: { method: 'POST', path: pathOf('topics', topic, 'records'), headers, body },
    deliveries: (answer) => jsonDeliveries(answer, records.length),
  };
}

function rawDeliveries(answer: Answer, partition: number, timestamps: readonly number[]): Delivery[] {
  const { baseOffset } = answer.json<{ baseOffset?: unknown }>();
  if (!Number.isSafeInteger(baseOffset)) throw new MalformedAnswer('The answer has no base offset', 'unknown');
  return timestamps.map((timestamp, i) => ({ partition, offset: (baseOffset as number) + i, timestamp }));
}

function jsonDeliveries(answer: Answer, count: number): Delivery[] {
  const { offsets } = answer.json<{ offsets?: readonly (Delivery | { readonly error: EntryProblem })[] }>();
  if (offsets?.length !== count) throw new MalformedAnswer('The answer has not one offset per record', 'unknown');
  return offsets.map((entry) => {
    if ('error' in entry) throw entryError(entry.error); // all go to one partition: all or none are stored
    return { partition: entry.partition, offset: entry.offset, timestamp: entry.timestamp };
  });
}

/** A record whose value is an upload: only the JSON path takes those. */
function jsonOf({ key, headers, timestamp, upload }: EncodedRecord, partition: number): object {
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
  return {
    ...(key !== null && { key: base64(key), keyEncoding: 'base64' }),
    value: { uploadId: upload },
    valueEncoding: 'upload',
    headers: headers.map(({ name, value }) => [name, value === null ? null : { base64: base64(value) }]),
    ...{ partition, timestamp },
  };
}
