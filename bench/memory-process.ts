import { readFile } from 'node:fs/promises';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
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
  /** Of the event's body and of the function's, as Lambda carries them, or decompressed where that is more. */
  readonly requestBytes: number;
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
  const answer = await handlers[route.function](event, context);
  if (answer.statusCode !== 200) throw new Error(`${event.rawPath} was answered with ${answer.statusCode}`);
  return answer;
}

function sizeOf(headers: Readonly<Record<string, unknown>> = {}, body = ''): number {
  const carried = Buffer.byteLength(body);
  if (headers['content-encoding'] !== 'gzip') return carried;
  return Math.max(carried, gunzipSync(Buffer.from(body, 'base64')).length);
}

/** Makes the event. @returns also what it takes */
async function heldEventOf(request: FiledRequest) {
  const before = inUse();
  const event = await eventOf(request);
  return { event, heldBytes: inUse() - before };
}

/** Runs it as it is, garbage and all. */
async function sample(request: FiledRequest, handlers: ReturnType<typeof handlersOver>) {
  const { event, heldBytes } = await heldEventOf(request);
  const requestBytes = sizeOf(event.event.headers, event.event.body);
  const sampler = await openMemorySampler();
  inUse(); // what was garbage before is not of this request
  const idleBytes = process.memoryUsage.rss();
  await sampler.start();
  const { headers, body } = await run(event, handlers);
  const tookBytes = (await sampler.stop()) - idleBytes + heldBytes;
  await sampler.close();
  return { tookBytes, requestBytes, answerBytes: sizeOf(headers, body) };
}

async function measure({ endpoint, warmUp, request }: MemoryQuestion): Promise<MemoryAnswer> {
  const configuration = { region: 'us-east-1', credentials: CREDENTIALS, endpoint };
  const [dynamodb, s3] = [new DynamoDBClient(configuration), new S3Client(configuration)];
  const container = () => handlersOver(dynamodb, Date, s3);
  const handlers = container();
  for (const sent of warmUp) await run(await eventOf(sent), handlers);
  const idleInUse = inUse();
  const sampled = await sample(request, handlers);
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
  const again = await heldEventOf(request);
  const neededBytes = again.heldBytes + (await probe.peakBytesOf(() => run(again.event, container())));
  return { ...sampled, neededBytes };
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
