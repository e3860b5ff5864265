import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import type { Context } from 'aws-lambda';
import { API_FUNCTION_TIMEOUT_MS } from '../shared/domain/limits.ts';
import { gatewayEvent, handlersOver, type Sent } from './backbone.ts';
import { answerParent } from './child.ts';
import { inUse, MemoryProbe } from './memory-probe.ts';
import { openMemorySampler } from './memory-sampler.ts';

/*
 * Runs in a process of its own that holds the functions and nothing else: the AWS services are in another one.
 */

export interface MemoryQuestion {
  /** Of the AWS services. */
  readonly endpoint: string;
  /** Small requests of the same kind. */
  readonly warmUp: readonly FiledRequest[];
  readonly request: FiledRequest;
}
export interface MemoryAnswer {
  /** Most that was in use at a time beyond what the idle process has in use, the request's body included. */
  readonly neededBytes: number;
  /** Largest resident set beyond that of the idle process, the request's body and all garbage included. */
  readonly tookBytes: number;
  readonly answerBytes: number;
}
/** A request whose body is in a file: what comes over the channel between processes would be measured, too. */
export interface FiledRequest extends Omit<Sent, 'body'> {
  readonly bodyFile?: string;
}

/** Within so much of what it had in use before, a process is idle again. */
const IDLE_BYTES = 512 * 1024;
const LOOK_EVERY_MS = 50;
const LOOKS_MAX = 100;

type Next = (args: object) => Promise<object>;
interface Probed {
  readonly middlewareStack: { add(look: (next: Next) => Next, options: { step: 'initialize'; name: string }): void };
}

const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

async function eventOf({ bodyFile, ...sent }: FiledRequest) {
  return gatewayEvent(bodyFile === undefined ? sent : { ...sent, body: await readFile(bodyFile) });
}

/** Calls the function itself: what a gateway does with events and answers takes memory of its own. */
async function run({ route, event }: ReturnType<typeof gatewayEvent>, handlers: ReturnType<typeof handlersOver>) {
  const end = Date.now() + API_FUNCTION_TIMEOUT_MS;
  const context = { getRemainingTimeInMillis: () => end - Date.now() } as Context;
  const { statusCode, body = '', isBase64Encoded } = await handlers[route.function](event, context);
  if (statusCode !== 200) throw new Error(`${event.rawPath} was answered with ${statusCode}`);
  return Buffer.byteLength(body, isBase64Encoded ? 'base64' : 'utf8');
}

async function measure({ endpoint, warmUp, request }: MemoryQuestion): Promise<MemoryAnswer> {
  const configuration = { region: 'us-east-1', credentials: CREDENTIALS, endpoint };
  const [dynamodb, s3] = [new DynamoDBClient(configuration), new S3Client(configuration)];
  const container = () => handlersOver(dynamodb, Date, s3);
  const handlers = container();
  for (const sent of warmUp) await run(await eventOf(sent), handlers);
  const event = await eventOf(request);
  const bodyBytes = event.event.body?.length ?? 0;
  const sampler = await openMemorySampler();
  const idleInUse = inUse();
  const idleBytes = process.memoryUsage.rss();
  await sampler.start();
  const answerBytes = await run(event, handlers);
  const tookBytes = (await sampler.stop()) - idleBytes;
  await sampler.close();
  await untilIdle(idleInUse);

  // A container that knows as little as the first did.
  const probe = new MemoryProbe();
  for (const client of [dynamodb, s3]) {
    const look = (next: Next) => (args: object) => {
      probe.look();
      return next(args);
    };
    (client as Probed).middlewareStack.add(look, { step: 'initialize', name: 'benchProbe' });
  }
  const neededBytes = await probe.peakBytesOf(() => run(event, container()));
  return { neededBytes: neededBytes + bodyBytes, tookBytes: tookBytes + bodyBytes, answerBytes };
}

/** A read does not wait for what it fetched ahead in vain: that comes in later, and goes. */
async function untilIdle(idleInUse: number): Promise<void> {
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    if (inUse() - idleInUse < IDLE_BYTES) return;
    await setTimeout(LOOK_EVERY_MS);
  }
  throw new Error('the request still holds memory after its end');
}

answerParent<MemoryQuestion>(measure);
