import type { Placement } from '../domain/claim.ts';
import { InvalidRequest, RequestTooLarge } from '../domain/errors.ts';
import { partitionOf } from '../domain/partition.ts';
import type { Batch, BatchUpload, ProducedRecord } from '../domain/record.ts';
import type { Payload, UploadReference } from '../domain/upload.ts';
import { ANSWER_BODY_BYTES_MAX } from './http-answer.ts';
import { encodeRecordBatch } from './record-batch.ts';
import { encodeUploadValue } from './upload-value.ts';

/** The records of one request that go to one partition. */
export interface PartitionShare {
  readonly records: ProducedRecord[];
  /** Where each stands in the request, in the same order. */
  readonly indexes: number[];
}

/**
 * Sorts a request's records by partition; within one, the order sent is kept. A record goes where it says, or where its
 * key puts it; those without either all go to one partition of this request.
 *
 * @throws {InvalidRequest} naming every record whose partition the topic does not have
 */
export function shareOut(
  records: readonly ProducedRecord[],
  { partitions, keyless }: Placement,
): Map<number, PartitionShare> {
  refuseUnknownPartitions(records, partitions);
  const shares = new Map<number, PartitionShare>();
  for (const [index, record] of records.entries()) {
    const partition = record.partition ?? (record.key === null ? keyless : partitionOf(record.key, partitions));
    const share = shares.get(partition) ?? { records: [], indexes: [] };
    shares.set(partition, share);
    share.records.push(record);
    share.indexes.push(index);
  }
  return shares;
}

/** The records of a request whose values are uploads; undefined when there are none. */
export function uploadsOf(records: readonly ProducedRecord[]): UploadReference[] | undefined {
  if (!records.some(({ upload }) => upload !== undefined)) return undefined;
  return records.flatMap(({ upload }, index) => (upload === undefined ? [] : { index, uploadId: upload }));
}

/**
 * Encodes each partition's share for storage.
 * @param now epoch ms, the timestamp of records that bring none
 * @param json every value is known to be a JSON text, an upload or null
 * @param payloads of the uploads that are values, by upload id
 * @throws {RequestTooLarge} when one has more bytes than a reader of stored batches can be given
 */
export function encodeShares(
  shares: ReadonlyMap<number, PartitionShare>,
  now: number,
  json: boolean,
  payloads: ReadonlyMap<string, Payload>,
): Map<number, Batch> {
  const batches = new Map<number, Batch>();
  for (const [partition, { records, indexes }] of shares) {
    const uploads: BatchUpload[] = [];
    const store = (record: ProducedRecord, position: number): ProducedRecord => {
      if (record.upload === undefined) return record;
      uploads.push({ position, index: indexes[position]!, uploadId: record.upload });
      return { ...record, value: encodeUploadValue(record.upload, payloads.get(record.upload)!) };
    };
    const bytes = encodeRecordBatch(payloads.size === 0 ? records : records.map(store), now);
    if (bytes.length > ANSWER_BODY_BYTES_MAX) throw tooLarge(partition, bytes.length);
    batches.set(partition, { count: records.length, bytes, json, ...(uploads.length > 0 && { uploads }) });
  }
  return batches;
}

/** Keys that are taken out of values come on top of them, so a batch may have more bytes than its request. */
function tooLarge(partition: number, bytes: number): RequestTooLarge {
  const maxBytes = ANSWER_BODY_BYTES_MAX;
  const detail = `The records for partition ${partition}, with their keys, have ${bytes} bytes compressed; at most ${maxBytes} are stored at once`;
  return new RequestTooLarge(detail, { maxBytes });
}

function refuseUnknownPartitions(records: readonly ProducedRecord[], partitions: number): void {
  const indexes = [...records.keys()].filter((index) => (records[index]!.partition ?? 0) >= partitions);
  const [index] = indexes;
  if (index === undefined) return;
  const more = indexes.length === 1 ? '' : `, and ${indexes.length - 1} more name unknown ones`;
  throw new InvalidRequest(
    `Record ${index}: the topic has partitions 0 to ${partitions - 1}, not ${records[index]!.partition}${more}`,
    { index, indexes, field: 'partition', partitions },
  );
}
