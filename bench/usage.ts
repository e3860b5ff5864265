import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { openBackbone } from '../functions/backbone.ts';
import { fetchHandler } from '../functions/fetch.ts';
import { openTables } from '../functions/tables.ts';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { invoke } from '../local/invocation.ts';
import { INLINE_BATCH_BYTES_MAX } from '../shared/domain/limits.ts';
import { keepDeliveries } from '../shared/operations/keep-deliveries.ts';
import type { Act, Usage } from './acts.ts';
import {
  BUCKET,
  containerOf,
  createBackboneResources,
  fetchRecords,
  gatewayEvent,
  produceOrders,
  putTopic,
  type Sent,
  TABLES,
} from './backbone.ts';
import { GroupBench } from './groups.ts';
import { type Call, Meter, sum } from './meter.ts';
import { PushBench } from './push-bench.ts';
import { sweepRows } from './sweep.ts';

const TOPIC = 'orders';
const PARTITIONS = 8;
const WAIT_MS = 20_000;
const TIMEOUT_MS = 30_000;

/** Counts what each act consumes, once everything that a container remembers is known to it. */
export async function countUsage(): Promise<Record<Act, Usage>> {
  return { ...(await sweeps()), ...(await appendsAndFetches()), ...(await polls()), ...(await pushes()) };
}

function usageOf(calls: readonly Call[]): Usage {
  return {
    readUnits: sum(calls, 'readUnits'),
    writeUnits: sum(calls, 'writeUnits'),
    messages: calls.filter(({ operation }) => operation === 'SendMessageBatch').length,
  };
}

async function sweeps() {
  const [atRest] = await sweepRows([0], 1);
  const { readUnits, writeUnits } = atRest!;
  const aws = await openEmbeddedAws();
  const dynamodb = new DynamoDBClient(aws.clientConfig());
  const s3 = new S3Client(aws.clientConfig());
  try {
    await createBackboneResources({ dynamodb, s3 });
    const meter = new Meter();
    meter.watch(dynamodb);
    await keepDeliveries({
      ...openTables(dynamodb, TABLES),
      wakeQueue: { isEmpty: async () => true },
      deliveries: { switch: async () => {}, is: async () => true },
    });
    return { sweep: { readUnits, writeUnits, messages: 0 }, keep: usageOf(meter.take()) };
  } finally {
    for (const client of [dynamodb, s3]) client.destroy();
    await aws.close();
  }
}

async function appendsAndFetches() {
  const aws = await openEmbeddedAws();
  const dynamodb = new DynamoDBClient(aws.clientConfig());
  const s3 = new S3Client(aws.clientConfig());
  const meter = new Meter();
  for (const client of [dynamodb, s3]) meter.watch(client);
  try {
    await createBackboneResources({ dynamodb, s3 });
    const call = containerOf(dynamodb, undefined, s3);
    const counted = async (sent: Sent, by: (sent: Sent) => Promise<unknown> = call) => {
      await meter.takeAll();
      await by(sent);
      return usageOf(await meter.takeAll());
    };
    await call(putTopic(TOPIC));
    for (let seed = 1; seed <= 10; seed++) await call(produceOrders(TOPIC, 100, seed));
    const appendHundred = await counted(produceOrders(TOPIC, 100, 11));
    await call(fetchRecords(TOPIC, 0, 100));
    await call(fetchRecords(TOPIC, 100, 100));
    const fetchHundred = await counted(fetchRecords(TOPIC, 200, 100));
    await call(fetchRecords(TOPIC, 1_100, 100));
    const fetchNothing = await counted(fetchRecords(TOPIC, 1_100, 100));
    const waiting = waitingFetch(dynamodb, s3);
    await waiting(fetchRecords(TOPIC, 1_100, 100));
    const forMore = fetchRecords(TOPIC, 1_100, 100);
    const fetchWaiting = await counted({ ...forMore, target: `${forMore.target}&waitMs=${WAIT_MS}` }, waiting);
    for (let seed = 1; seed <= 10; seed++) await call(produceOrders(TOPIC, 1, seed));
    const appendOne = await counted(produceOrders(TOPIC, 1, 11));
    return { appendOne, appendHundred, fetchHundred, fetchNothing, fetchWaiting };
  } finally {
    for (const client of [dynamodb, s3]) client.destroy();
    await aws.close();
  }
}

/** Fetches whose time passes as they wait. */
function waitingFetch(dynamodb: DynamoDBClient, s3: S3Client) {
  let now = Date.now();
  const env = { ...TABLES, bucket: BUCKET, spillAboveBytes: INLINE_BATCH_BYTES_MAX };
  const backbone = openBackbone({ dynamodb, s3 }, env, () => {}, { now: () => now });
  const sleep = async (ms: number) => {
    now += ms;
  };
  const handler = fetchHandler({ ...backbone, sleep });
  const { signal } = new AbortController();
  return async (sent: Sent) => {
    const { route, event } = gatewayEvent(sent);
    const { answer } = await invoke(handler, route.function, event, { timeoutMs: TIMEOUT_MS, signal });
    if (answer.statusCode !== 200) throw new Error(`${sent.target}: ${answer.statusCode} ${answer.body}`);
  };
}

async function polls() {
  const bench = await GroupBench.open('group', TOPIC, PARTITIONS);
  try {
    const container = bench.container();
    const first = await bench.call(container, 'poll', { topics: [TOPIC] });
    const { memberId, assigned: positions } = first.answer;
    const poll = () => bench.call(container, 'poll', { memberId, topics: [TOPIC], positions });
    await poll();
    const { cost } = await poll();
    return { pollNothing: { readUnits: cost.readUnits, writeUnits: cost.writeUnits, messages: 0 } };
  } finally {
    await bench.close();
  }
}

async function pushes() {
  const bench = await PushBench.open();
  const counted = async (act: () => Promise<void>) => {
    await bench.meter.takeAll();
    await act();
    return usageOf(await bench.meter.takeAll());
  };
  try {
    await bench.topic(TOPIC);
    await bench.subscribe('s', TOPIC, async () => ({ kind: 'done' }));
    const produce = bench.producer();
    const step = async (records: number, last: number) => ({
      append: await counted(() => produce(produceOrders(TOPIC, records, last))),
      dispatch: await counted(() => bench.dispatch(TOPIC, last)),
      deliver: await counted(() => bench.deliver(TOPIC, last)),
      dropped: await counted(() => bench.deliver(TOPIC, last)),
    });
    // Less than 1,000: every so many offsets a head is written to.
    for (const last of [99, 199, 299]) await step(100, last);
    const hundred = await step(100, 399);
    for (let last = 400; last < 410; last++) await step(1, last);
    const one = await step(1, 410);
    return {
      ...{ appendSubscribed: one.append, appendHundredSubscribed: hundred.append, dispatch: one.dispatch },
      ...{ deliverOne: one.deliver, deliverHundred: hundred.deliver, wakeUpDropped: one.dropped },
    };
  } finally {
    await bench.close();
  }
}
