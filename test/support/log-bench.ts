import { DeleteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { openProduce, type ProduceBackbone } from '../../functions/produce-backbone.ts';
import type { Observation } from '../../shared/domain/observation.ts';
import type { Batch } from '../../shared/domain/record.ts';
import type { BatchSlot } from '../../shared/domain/slot.ts';
import type { PartitionId } from '../../shared/domain/topic.ts';
import type { Env } from '../../shared/env.ts';
import { appendBatches } from '../../shared/operations/append-batches.ts';
import { type ReadRequest, type ReadResult, readBatches } from '../../shared/operations/read-batches.ts';
import { putTopic, type TopicSettings } from '../../shared/operations/topics.ts';
import { logKey } from '../../shared/store/keys.ts';
import { type EmbeddedTables, embeddedTables } from './embedded.ts';
import { FaultHandler } from './fault-handler.ts';

/** A clock that tests move by hand; `skewMs` makes hosts that run fast or slow. */
export class HandClock {
  #nowMs = Date.now();
  now(): number {
    return this.#nowMs;
  }
  pass(ms: number): void {
    this.#nowMs += ms;
  }
}

/** One process of the backbone, with a clock and a network of its own. */
export interface Host {
  readonly backbone: ProduceBackbone;
  readonly faults: FaultHandler;
  readonly seen: Observation[];
}

export interface LogBench {
  readonly clock: HandClock;
  /** Another process over the same tables and bucket, whose clock is `skewMs` ahead. */
  host(skewMs?: number): Host;
  /** Deletes a slot, as its expiry does. */
  removeSlot(partition: PartitionId, last: number): Promise<void>;
  /** Keys of all objects in the bucket. */
  objects(): Promise<string[]>;
  readonly tables: EmbeddedTables;
  close(): Promise<void>;
}

/** Processes of a backbone over one embedded engine in memory, under a clock that stands still unless it is moved. */
export async function openLogBench(options: Partial<Env> = {}): Promise<LogBench> {
  const clock = new HandClock();
  const tables = await embeddedTables();
  const env = { ...tables, ...options };
  const clients: (DynamoDBClient | S3Client)[] = [];
  const host = (skewMs = 0): Host => {
    const config = tables.aws.clientConfig();
    const faults = new FaultHandler(config.requestHandler);
    const dynamodb = new DynamoDBClient({ ...config, requestHandler: faults, maxAttempts: 3 });
    const s3 = new S3Client({ ...config, requestHandler: faults, maxAttempts: 3 });
    clients.push(dynamodb, s3);
    const seen: Observation[] = [];
    const opened = openProduce({ dynamodb, s3 }, env, (observation) => seen.push(observation), {
      now: () => clock.now() + skewMs,
    });
    const sleep = async (ms: number) => clock.pass(ms);
    return { backbone: { ...opened, sleep }, faults, seen };
  };
  const close = async () => {
    for (const client of clients) client.destroy();
    await tables.close();
  };
  const objects = async () => {
    const { Contents } = await tables.s3.send(new ListObjectsV2Command({ Bucket: tables.bucket }));
    return (Contents ?? []).map(({ Key }) => Key!);
  };
  const removeSlot = async (partition: PartitionId, last: number) => {
    const Key = { log: { S: logKey(partition) }, last: { N: String(last) } };
    await tables.dynamodb.send(new DeleteItemCommand({ TableName: tables.logTable, Key }));
  };
  return { clock, host, objects, removeSlot, tables, close };
}

/** A batch whose bytes are a name, so that a test sees what it reads. */
export function batchOf(name: string, count = 1): Batch {
  return { count, bytes: Buffer.from(name), json: false };
}

export async function makeTopic(host: Host, name: string, settings: TopicSettings = {}): Promise<void> {
  await putTopic(host.backbone, name, { partitions: 1, ...settings });
}

/** Appends to one partition. @returns the base offset */
export async function append(host: Host, topic: string, name: string, count = 1, partition = 0): Promise<number> {
  const { outcomes } = await appendBatches(host.backbone, {
    topic,
    build: () => new Map([[partition, batchOf(name, count)]]),
  });
  const [outcome] = outcomes;
  if (outcome === undefined || 'error' in outcome) throw outcome?.error ?? new Error('no outcome');
  return outcome.baseOffset;
}

export interface Read extends ReadResult {
  /** `name@from..last` of every slot that was delivered. */
  readonly got: readonly string[];
}

/** Reads a partition once. */
export async function read(
  host: Host,
  topic: string,
  offset: ReadRequest['offset'],
  options: Partial<ReadRequest> = {},
): Promise<Read> {
  const got: string[] = [];
  const take = (slot: BatchSlot, from: number) => {
    got.push(`${Buffer.from(slot.batch)}@${from}..${slot.last}`);
    return slot.last + 1;
  };
  const deadline = host.backbone.clock.now() + 20_000;
  const request = { topic, partition: 0, offset, waitMs: 0, slotsMax: 500, deadline, ...options };
  const isFull = () => got.length >= request.slotsMax;
  return { ...(await readBatches(host.backbone, request, { take, isFull })), got };
}
