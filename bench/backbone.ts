import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Clients } from '../functions/backbone.ts';
import { fetchHandler } from '../functions/fetch.ts';
import { groupsHandler } from '../functions/groups.ts';
import { openGroups } from '../functions/groups-backbone.ts';
import { produceHandler } from '../functions/produce.ts';
import { openProduce } from '../functions/produce-backbone.ts';
import { openSubscriptions, subscriptionsHandler } from '../functions/subscriptions.ts';
import { topicsHandler } from '../functions/topics.ts';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { createBackboneTables, createBucket } from '../local/aws/tables.ts';
import type { Answer } from '../local/gateway-answer.ts';
import { type RoutedEvent, toEvent } from '../local/gateway-event.ts';
import { invoke } from '../local/invocation.ts';
import type { Clock } from '../shared/domain/clock.ts';
import { INLINE_BATCH_BYTES_MAX, SPILL_ABOVE_BYTES_DEFAULT } from '../shared/domain/limits.ts';
import type { ApiFunction } from '../shared/wire/routes.ts';
import { type BenchEvent, orderEvents } from './event.ts';
import { Meter } from './meter.ts';

/** A request as a client makes it. */
export interface Sent {
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Buffer;
}

/** Calls the functions as the gateway does. @throws {Error} when the answer is no success */
export type Container = (sent: Sent) => Promise<Answer>;

export interface BenchBackbone {
  /** Sees every call that a container makes. */
  readonly meter: Meter;
  /** The functions anew, as after a cold start: nothing is cached. */
  container(): Container;
  close(): Promise<void>;
}

export const TABLES = { logTable: 'log', stateTable: 'state' };
export const BUCKET = 'payloads';
/** Nothing is sent there: no section makes dead letters. */
const QUEUE = 'http://127.0.0.1/dead-letters';
const ENVIRONMENT = { ...TABLES, bucket: BUCKET, spillAboveBytes: SPILL_ABOVE_BYTES_DEFAULT };
const TIMEOUT_MS = 30_000;

/**
 * The backbone in memory, without a gateway's socket, its clients metered. Its clock stands still: no deadline passes and
 * no cached copy grows old, so that what is counted does not depend on how fast the machine is.
 */
export async function openBenchBackbone(): Promise<BenchBackbone> {
  const aws = await openEmbeddedAws();
  const dynamodb = new DynamoDBClient(aws.clientConfig());
  const s3 = new S3Client(aws.clientConfig());
  await createBackboneResources({ dynamodb, s3 });
  const meter = new Meter();
  meter.watch(dynamodb);
  meter.watch(s3);
  const openedAt = Date.now();
  return {
    meter,
    container: () => containerOf(dynamodb, { now: () => openedAt }, s3),
    async close() {
      dynamodb.destroy();
      s3.destroy();
      await aws.close();
    },
  };
}

/** What the functions store things in, under the names by which `handlersOver` knows them. */
export async function createBackboneResources({ dynamodb, s3 }: Clients): Promise<void> {
  await Promise.all([createBackboneTables(dynamodb, TABLES), createBucket(s3, BUCKET)]);
}

/** The functions over AWS clients, called as the gateway does. */
export function containerOf(dynamodb: DynamoDBClient, host?: Clock, s3?: S3Client): Container {
  const handlers = handlersOver(dynamodb, host, s3);
  const { signal } = new AbortController();
  return async (sent) => {
    const { route, event } = gatewayEvent(sent);
    const { answer } = await invoke(handlers[route.function], route.function, event, { timeoutMs: TIMEOUT_MS, signal });
    if (answer.statusCode < 300) return answer;
    throw new Error(`${sent.method} ${sent.target}: ${answer.statusCode} ${answer.body}`);
  };
}

/** The functions over AWS clients, as they are deployed; without an S3 client no batch leaves its slot. */
export function handlersOver(dynamodb: DynamoDBClient, host: Clock = Date, s3?: S3Client) {
  const beside = clientsBeside(dynamodb);
  const backbone =
    s3 === undefined
      ? openProduce(
          { dynamodb, s3: beside.s3 },
          { ...ENVIRONMENT, spillAboveBytes: INLINE_BATCH_BYTES_MAX },
          () => {},
          host,
        )
      : openProduce({ dynamodb, s3 }, ENVIRONMENT, () => {}, host);
  return {
    produce: produceHandler(backbone),
    fetch: fetchHandler(backbone),
    topics: topicsHandler(backbone),
    groups: groupsHandler(
      openGroups(
        backbone,
        { ...beside, ...(s3 && { s3 }) },
        { bucket: BUCKET, deadLetterQueueUrl: QUEUE, wakeQueueUrl: QUEUE },
      ),
    ),
    subscriptions: subscriptionsHandler(
      openSubscriptions(
        backbone,
        beside.sqs,
        { wakeQueueUrl: QUEUE },
        {
          targets: { check: async () => ({}) },
          deliveries: { switch: async () => {} },
        },
      ),
    ),
  } satisfies Record<ApiFunction, unknown>;
}

/** The same network and the same credentials; the host's name is of no account to an engine in this process. */
function clientsBeside(dynamodb: DynamoDBClient): { readonly s3: S3Client; readonly sqs: SQSClient } {
  const { region, credentials, requestHandler } = dynamodb.config;
  const config = { region, credentials, requestHandler, endpoint: 'http://127.0.0.1' };
  return { s3: new S3Client(config), sqs: new SQSClient(config) };
}

/** What the gateway makes of a request. */
export function gatewayEvent({ method, target, headers = {}, body = Buffer.alloc(0) }: Sent): RoutedEvent {
  const rawHeaders = Object.entries({ host: 'bench.local', ...headers }).flat();
  const socket = { httpVersion: '1.1', sourceIp: '127.0.0.1', port: 443 };
  const routed = toEvent({
    method,
    target,
    rawHeaders,
    body,
    ...socket,
    requestId: randomUUID(),
    receivedAt: Date.now(),
  });
  if (routed === null) throw new Error(`the gateway refuses ${target} itself`);
  return routed;
}

/** Makes a topic, of one partition unless it is told otherwise. */
export function putTopic(name: string, partitions = 1): Sent {
  return json('PUT', `/v1/topics/${name}`, { partitions });
}

/** Appends `count` orders, keyed, in JSON. Another seed: other orders. */
export function produceOrders(topic: string, count: number, seed: number): Sent {
  return produceEvents(topic, orderEvents(count, seed));
}

/** Appends events in JSON, once if there is an `Idempotency-Key`. */
export function produceEvents(topic: string, records: readonly BenchEvent[], idempotencyKey?: string): Sent {
  const sent = json('POST', `/v1/topics/${topic}/records`, { records });
  if (idempotencyKey === undefined) return sent;
  return { ...sent, headers: { ...sent.headers, 'idempotency-key': idempotencyKey } };
}

/** Reads partition 0 from an offset on. */
export function fetchRecords(topic: string, offset: number, maxRecords: number): Sent {
  const query = `offset=${offset}&maxRecords=${maxRecords}&maxBytes=5242880`;
  return { method: 'GET', target: `/v1/topics/${topic}/partitions/0/records?${query}` };
}

function json(method: string, target: string, value: object): Sent {
  return { method, target, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}
