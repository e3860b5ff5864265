import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { GetQueueAttributesCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { SQSEvent, SQSRecord } from 'aws-lambda';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBackbone } from '../../functions/backbone.ts';
import type { DeliverHandler } from '../../functions/deliver.ts';
import { type DispatchHandler, dispatchHandler } from '../../functions/dispatch.ts';
import { openSweep, type SweepHandler, sweepHandler } from '../../functions/sweep.ts';
import { type EmbeddedAws, openEmbeddedAws } from '../../local/aws/embedded-aws.ts';
import { createBackboneResources } from '../../local/aws/tables.ts';
import { type Background, startBackground } from '../../local/background.ts';
import { LATE_MAX_MS } from '../../shared/domain/limits.ts';
import { deleteTopic, putTopic } from '../../shared/operations/topics.ts';
import { WakeQueue } from '../../shared/store/wake-queue.ts';
import { append } from '../support/log-bench.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const NAMES = { logTable: 'log', stateTable: 'state', bucket: 'payloads', wakeQueue: 'wake', deadLetterQueue: 'dead' };
const HOUR = 3_600_000;

let aws: EmbeddedAws | undefined;
let clients: { dynamodb: DynamoDBClient; s3: S3Client; sqs: SQSClient };
let wakeQueueUrl: string;
let now = Date.now();
let background: Background | undefined;
const failures: string[] = [];

async function reopen(path?: string): Promise<void> {
  await aws?.close();
  aws = await openEmbeddedAws({ expireEveryMs: 0, ...(path && { path }) });
  const config = { ...aws.clientConfig(), maxAttempts: 1 };
  clients = { dynamodb: new DynamoDBClient(config), s3: new S3Client(config), sqs: new SQSClient(config) };
  ({ wakeQueueUrl } = await createBackboneResources(clients, NAMES));
}

beforeEach(async () => {
  await reopen();
  failures.length = 0;
  now = Date.now();
});
afterEach(async () => {
  await background?.close();
  background = undefined;
  for (const client of Object.values(clients)) client.destroy();
  await aws?.close();
  aws = undefined;
});

const backbone = () => openBackbone(clients, { ...NAMES, spillAboveBytes: 50 }, undefined, { now: () => now });

/** @param around what happens around the real function, when something is removed */
function start(
  around: (dispatch: DispatchHandler) => DispatchHandler = (dispatch) => dispatch,
  sweep?: SweepHandler,
  deliver: DeliverHandler = async () => ({ batchItemFailures: [] }),
) {
  const ports = { ...backbone(), wakeQueue: new WakeQueue(clients.sqs, wakeQueueUrl) };
  const dispatch = dispatchHandler(() => ports);
  const removing = around(dispatch);
  background = startBackground({
    ...{ aws: aws!, sqs: clients.sqs, wakeQueueUrl, logTable: NAMES.logTable, sweepEveryMs: 50 },
    dispatch: (event, context) =>
      (event.Records.some(({ eventName }) => eventName === 'REMOVE') ? removing : dispatch)(event, context),
    deliver,
    sweep: sweep ?? sweepHandler(() => ({ ...openSweep(clients, NAMES, undefined, { now: () => now }), ...ports })),
    onFailure: (name, error) => failures.push(`${name}: ${(error as Error).message}`),
  });
}

async function appendLarge(name: string): Promise<void> {
  const host = { backbone: backbone() } as Parameters<typeof append>[0];
  await putTopic(host.backbone, name, { partitions: 1, retentionMs: HOUR });
  await append(host, name, 'x'.repeat(100));
}

async function objects(): Promise<number> {
  return (await clients.s3.send(new ListObjectsV2Command({ Bucket: NAMES.bucket }))).KeyCount!;
}

async function expire(): Promise<void> {
  now += HOUR + 2_000;
  await aws!.expireNow(now);
}

describe('in one process', () => {
  it('a payload goes after its slot has expired', async () => {
    start();
    await appendLarge('orders');
    expect(await objects()).toBe(1);
    await expire();
    await expect.poll(objects).toBe(0);
    expect(failures).toEqual([]);
  });

  it('a deleted topic is purged by the clock, payloads and all', async () => {
    start();
    await appendLarge('orders');
    await deleteTopic(backbone(), 'orders');
    now += LATE_MAX_MS;
    const items = async () => {
      const scans = [NAMES.logTable, NAMES.stateTable].map((TableName) =>
        clients.dynamodb.send(new ScanCommand({ TableName })),
      );
      return (await Promise.all(scans)).reduce((sum, { Count }) => sum + Count!, 0);
    };
    await expect.poll(items).toBe(0);
    await expect.poll(objects).toBe(0);
  });

  it('what the function could not take is handed to it again', async () => {
    let calls = 0;
    start((dispatch) => async (event, context) => {
      if (++calls === 1) throw new Error('not now');
      return dispatch(event, context);
    });
    await appendLarge('orders');
    await expire();
    await expect.poll(objects, { timeout: 5_000 }).toBe(0);
    expect(failures).toEqual(['dispatch: not now']);
  });

  it('messages of the wake queue are worked off, none waits for another, and they stay while they fail', async () => {
    const bodies: string[] = [];
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    start(undefined, undefined, async (event) => {
      const [{ body, messageId }] = (event as SQSEvent).Records as [SQSRecord];
      if (body === 'slow') await held;
      bodies.push(body);
      return { batchItemFailures: body === 'bad' ? [{ itemIdentifier: messageId }] : [] };
    });
    for (const MessageBody of ['slow', 'good', 'bad']) {
      await clients.sqs.send(new SendMessageCommand({ QueueUrl: wakeQueueUrl, MessageBody }));
    }
    await expect.poll(() => bodies.sort()).toEqual(['bad', 'good']);
    release();
    await expect.poll(() => bodies).toContain('slow');
    const left = async () => {
      const { Attributes } = await clients.sqs.send(
        new GetQueueAttributesCommand({ QueueUrl: wakeQueueUrl, AttributeNames: ['All'] }),
      );
      return Number(Attributes!.ApproximateNumberOfMessagesNotVisible);
    };
    await expect.poll(left).toBe(1);
  });

  it('a sweep that throws is told of, and called again', async () => {
    let calls = 0;
    start(undefined, async () => {
      calls += 1;
      if (calls === 1) throw new Error('no store');
    });
    await expect.poll(() => calls).toBeGreaterThan(1);
    expect(failures).toEqual(['sweep: no store']);
  });
});

describe('a process that was killed', () => {
  it('leaves what it had not followed to the next one', async () => {
    const path = temporaryFolder();
    await reopen(path);
    let kill = () => {};
    const killed = new Promise<never>((_, reject) => {
      kill = () => reject(new Error('killed'));
    });
    start(() => () => killed);
    await appendLarge('orders');
    await expire();
    const ended = background!.close();
    kill();
    await ended;
    await reopen(path);
    expect(await objects()).toBe(1);
    start();
    await expect.poll(objects).toBe(0);
    await background!.close();
    background = undefined;
    await reopen(path);
    const calls: unknown[] = [];
    start(() => async ({ Records }) => {
      calls.push(...Records);
      return { batchItemFailures: [] };
    });
    await background!.close();
    expect(calls).toEqual([]);
  });
});

describe('the end', () => {
  it('waits for what is under way, and follows what the stream has told before', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let begun = false;
    start((dispatch) => async (event, context) => {
      begun = true;
      await held;
      return dispatch(event, context);
    });
    await appendLarge('a');
    await expire();
    await expect.poll(() => begun).toBe(true);
    await appendLarge('b');
    await expire();
    const closed = background!.close();
    release();
    await closed;
    expect(await objects()).toBe(0);
  });

  it('comes though the function fails', async () => {
    start(() => async () => {
      throw new Error('never');
    });
    await appendLarge('a');
    await expire();
    await background!.close();
    expect(await objects()).toBe(1);
    expect(new Set(failures)).toEqual(new Set(['dispatch: never']));
  });
});
