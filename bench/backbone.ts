import { randomUUID } from 'node:crypto';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { openBackbone } from '../functions/backbone.ts';
import { fetchHandler } from '../functions/fetch.ts';
import { produceHandler } from '../functions/produce.ts';
import { topicsHandler } from '../functions/topics.ts';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { createBackboneTables } from '../local/aws/tables.ts';
import type { Answer } from '../local/gateway-answer.ts';
import { type RoutedEvent, toEvent } from '../local/gateway-event.ts';
import { invoke } from '../local/invocation.ts';
import type { Clock } from '../shared/domain/clock.ts';
import { SPILL_ABOVE_BYTES_DEFAULT } from '../shared/domain/limits.ts';
import type { ApiFunction } from '../shared/wire/routes.ts';
import { orderEvents } from './event.ts';
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
  readonly dynamodb: DynamoDBClient;
  /** Sees every call that a container makes. */
  readonly meter: Meter;
  /** The functions anew, as after a cold start: nothing is cached. */
  container(): Container;
  close(): Promise<void>;
}

export const TABLES = { logTable: 'log', stateTable: 'state' };
const ENVIRONMENT = { ...TABLES, bucket: 'payloads', spillAboveBytes: SPILL_ABOVE_BYTES_DEFAULT };
const TIMEOUT_MS = 30_000;

/**
 * The backbone in memory, without a gateway's socket, its clients metered. Its clock stands still: no deadline passes and
 * no cached copy grows old, so that what is counted does not depend on how fast the machine is.
 */
export async function openBenchBackbone(): Promise<BenchBackbone> {
  const aws = await openEmbeddedAws();
  const dynamodb = new DynamoDBClient(aws.clientConfig());
  await createBackboneTables(dynamodb, TABLES);
  const meter = new Meter();
  meter.watch(dynamodb);
  const openedAt = Date.now();
  return {
    dynamodb,
    meter,
    container: () => containerOf(dynamodb, { now: () => openedAt }),
    async close() {
      dynamodb.destroy();
      await aws.close();
    },
  };
}

/** The functions over a client, called as the gateway does. */
export function containerOf(dynamodb: DynamoDBClient, host?: Clock): Container {
  const handlers = handlersOver(dynamodb, host);
  const { signal } = new AbortController();
  return async (sent) => {
    const { route, event } = gatewayEvent(sent);
    const { answer } = await invoke(handlers[route.function], route.function, event, { timeoutMs: TIMEOUT_MS, signal });
    if (answer.statusCode < 300) return answer;
    throw new Error(`${sent.method} ${sent.target}: ${answer.statusCode} ${answer.body}`);
  };
}

/** The functions over a client, as they are deployed. */
export function handlersOver(dynamodb: DynamoDBClient, host: Clock = Date) {
  // The same network and the same credentials; the host's name is of no account to an engine in this process.
  const { region, credentials, requestHandler } = dynamodb.config;
  const s3 = new S3Client({ region, credentials, requestHandler, endpoint: 'http://127.0.0.1' });
  const backbone = openBackbone({ dynamodb, s3 }, ENVIRONMENT, () => {}, host);
  return {
    produce: produceHandler(backbone),
    fetch: fetchHandler(backbone),
    topics: topicsHandler(backbone),
  } satisfies Record<ApiFunction, unknown>;
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

/** Makes a topic of one partition. */
export function putTopic(name: string): Sent {
  return json('PUT', `/v1/topics/${name}`, { partitions: 1 });
}

/** Appends `count` orders, keyed, in JSON. Another seed: other orders. */
export function produceOrders(topic: string, count: number, seed: number): Sent {
  return json('POST', `/v1/topics/${topic}/records`, { records: orderEvents(count, seed) });
}

/** Reads partition 0 from an offset on. */
export function fetchRecords(topic: string, offset: number, maxRecords: number): Sent {
  const query = `offset=${offset}&maxRecords=${maxRecords}&maxBytes=5242880`;
  return { method: 'GET', target: `/v1/topics/${topic}/partitions/0/records?${query}` };
}

function json(method: string, target: string, value: object): Sent {
  return { method, target, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}
