/** The same record batches as two other implementations write and read them. */
import { createRequire } from 'node:module';
import { createRecordsBatch, type MessageRecord, Reader, readRecordsBatch } from '@platformatic/kafka';
import type { ProducedRecord } from '../../../shared/domain/record.ts';

const NONE = -1;
const require = createRequire(import.meta.url);

interface KafkaJsRecord {
  timestamp: string;
  offset: string;
  key: Buffer | null;
  value: Buffer | null;
  headers: Record<string, Buffer | Buffer[] | null>;
}

interface Encoded {
  buffer: Buffer;
}

const { RecordBatch } = require('kafkajs/src/protocol/recordBatch/v0/index.js') as {
  RecordBatch(batch: object): Promise<Encoded>;
};
const encodeRecord = require('kafkajs/src/protocol/recordBatch/record/v0/index.js') as (record: object) => Encoded;
const decodeBatch = require('kafkajs/src/protocol/recordBatch/v0/decoder.js') as (
  decoder: object,
) => Promise<{ maxTimestamp: string; records: KafkaJsRecord[] }>;
const Decoder = require('kafkajs/src/protocol/decoder.js') as new (bytes: Buffer) => object;

export type Compression = 'none' | 'gzip';

/** Header values must not be null and equal names must stand together: kafkajs cannot say otherwise. */
export async function encodeByKafkaJs(records: readonly ProducedRecord[], compression: Compression = 'none') {
  const timestamps = records.map((record) => record.timestamp!);
  const batch = await RecordBatch({
    compression: compression === 'gzip' ? 1 : 0,
    firstTimestamp: timestamps[0],
    maxTimestamp: Math.max(...timestamps),
    partitionLeaderEpoch: NONE,
    producerEpoch: NONE,
    firstSequence: NONE,
    lastOffsetDelta: records.length - 1,
    records: records.map((record, i) =>
      encodeRecord({
        offsetDelta: i,
        timestampDelta: timestamps[i]! - timestamps[0]!,
        key: record.key,
        value: record.value,
        headers: headersByName(record),
      }),
    ),
  });
  return batch.buffer;
}

export async function decodeByKafkaJs(bytes: Uint8Array): Promise<KafkaJsRecord[]> {
  return (await decodeBatch(new Decoder(Buffer.from(bytes)))).records;
}

export function encodeByPlatformatic(records: readonly ProducedRecord[], compression: Compression = 'none'): Buffer {
  const messages = records.map((record) => ({
    topic: 't',
    key: record.key,
    value: record.value,
    timestamp: BigInt(record.timestamp!),
    headers: pairs(record),
  }));
  const sequences = { getWithDefault: () => NONE } as never;
  const options = { compression, partitionLeaderEpoch: NONE, producerEpoch: NONE, sequences };
  return createRecordsBatch(messages as unknown as MessageRecord[], options).buffer;
}

export function decodeByPlatformatic(bytes: Uint8Array) {
  return readRecordsBatch(Reader.from(Buffer.from(bytes)));
}

/** What platformatic's writer takes for a map, with names that repeat. */
function pairs(record: ProducedRecord) {
  const entries = record.headers.map(({ name, value }) => [Buffer.from(name), value]);
  return { size: entries.length, [Symbol.iterator]: () => entries[Symbol.iterator]() };
}

function headersByName(record: ProducedRecord): Record<string, Buffer[]> {
  const headers = Object.create(null) as Record<string, Buffer[]>;
  for (const { name, value } of record.headers) {
    headers[name] ??= [];
    headers[name].push(Buffer.from(value!));
  }
  return headers;
}
