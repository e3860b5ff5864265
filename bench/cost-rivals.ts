import { HOURS_PER_MONTH } from './cost-model.ts';
import { type Part, totalOf } from './prices.ts';

/** Records of 1 KB, at a steady rate, that each of some subscribers is to have. */
export interface Workload {
  readonly recordsPerS: number;
  readonly subscribers: number;
}

const SECONDS_PER_MONTH = HOURS_PER_MONTH * 3_600;
/** Source: AWS, Kinesis Data Streams quotas: per shard, in and out, the latter for all readers together. */
const SHARD_IN_KB_PER_S = 1_000;
const SHARD_OUT_KB_PER_S = 2_000;
/** Messages in one call of SNS and of SQS, at most. */
const BATCH = 10;
const PARTITIONS = 8;
const KB_PER_GB = 1e6;

export function recordsPerMonth({ recordsPerS }: Workload): number {
  return recordsPerS * SECONDS_PER_MONTH;
}

/** Dollars a month of what else AWS has, for the same records; functions that take them not included. */
export function rivals(workload: Workload): Record<'kinesis' | 'snsAndSqs' | 'eventBridge' | 'mskServerless', number> {
  const { recordsPerS, subscribers } = workload;
  const records = recordsPerMonth(workload);
  const shards = Math.ceil(
    Math.max(1, recordsPerS / SHARD_IN_KB_PER_S, (recordsPerS * subscribers) / SHARD_OUT_KB_PER_S),
  );
  const kinesis: Part[] = [
    { what: 'shards', price: 'shardHour', count: shards * HOURS_PER_MONTH },
    { what: 'puts', price: 'payloadUnit', count: records },
  ];
  const snsAndSqs: Part[] = [
    { what: 'publishes', price: 'notification', count: records / BATCH },
    { what: 'sent to queues, one by one', price: 'queueRequest', count: records * subscribers },
    { what: 'received and deleted', price: 'queueRequest', count: (2 * records * subscribers) / BATCH },
  ];
  const eventBridge: Part[] = [{ what: 'events', price: 'busEvent', count: records }];
  const mskServerless: Part[] = [
    { what: 'cluster', price: 'kafkaClusterHour', count: HOURS_PER_MONTH },
    { what: 'partitions', price: 'kafkaPartitionHour', count: PARTITIONS * HOURS_PER_MONTH },
    { what: 'in', price: 'kafkaIn', count: records / KB_PER_GB },
    { what: 'out', price: 'kafkaOut', count: (records * subscribers) / KB_PER_GB },
  ];
  return {
    kinesis: totalOf(kinesis),
    snsAndSqs: totalOf(snsAndSqs),
    eventBridge: totalOf(eventBridge),
    mskServerless: totalOf(mskServerless),
  };
}
