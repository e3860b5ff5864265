import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bundle, bundleFloor, bundleFunction } from '../../bench/bundle.ts';
import { FUNCTIONS, type FunctionSource } from '../../infra/constructs/bundling.ts';
import { queueEvent, streamEvent } from '../../local/events.ts';
import { ENV } from '../../shared/env.ts';
import { encodeWakeUp } from '../../shared/store/wake-queue.ts';
import { type EmbeddedTables, embeddedTables } from '../support/embedded.ts';
import { gatewayEvent } from '../support/gateway-call.ts';
import { callTwice, cpuToLoad, reachedBy } from './fresh-process.ts';

/**
 * Largest package, kB: a tenth more than it was when the bound was set. Each holds the SDK clients that it calls, which are
 * seven to nine tenths of it; who needs more says here what for.
 */
const KB_MAX: Readonly<Record<FunctionSource, number>> = {
  produce: 660, // DynamoDB, S3 with its presigner, SQS for the doorbell
  fetch: 610, // DynamoDB, S3 with its presigner
  topics: 440, // DynamoDB; the OpenAPI page
  groups: 710, // DynamoDB, S3 with its presigner, SQS for dead letters; all of the group protocol
  subscriptions: 570, // DynamoDB, SQS, Lambda to look at targets and to switch event sources
  whole: 920, // what all those five have
  dispatch: 585, // DynamoDB, S3, SQS
  deliver: 785, // DynamoDB, S3 with its presigner, and a client for each kind of target
  check: 390, // a client for each kind of target, no table
  provision: 580, // what subscriptions has
  sweep: 685, // DynamoDB, S3, SQS, Lambda for its event sources
};

/** Processor time to load a package, of that of a bundle of the bare SDK clients and commands in it. */
const LOAD_RATIO_MAX = 1.3;
/** A comparison that a busy machine has spoilt is made anew: only what is slow each time is too slow. */
const COMPARISONS_MAX = 3;
/** Starts of either per comparison, in turns. */
const STARTS = 5;

const folder = mkdtempSync(join(tmpdir(), 'vertebra-cold-start-'));
const packages = new Map<FunctionSource, { readonly bundle: Bundle; readonly floor: string }>();

beforeAll(async () => {
  for (const name of FUNCTIONS) {
    const bundle = await bundleFunction(name, folder);
    packages.set(name, { bundle, floor: (await bundleFloor(bundle, folder, `floor-of-${name}`)).file });
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** The smallest ratio of median times to load two modules, of comparisons until one is good enough. */
async function loadRatio(file: string, floor: string, comparisons = COMPARISONS_MAX, starts = STARTS): Promise<number> {
  let best = Number.POSITIVE_INFINITY;
  for (let comparison = 0; comparison < comparisons && best > LOAD_RATIO_MAX; comparison++) {
    const [own, bare]: [number[], number[]] = [[], []];
    for (let start = 0; start < starts; start++) {
      own.push(await cpuToLoad(file));
      bare.push(await cpuToLoad(floor));
    }
    best = Math.min(best, median(own) / median(bare));
  }
  return best;
}

const median = (values: readonly number[]) => [...values].sort((a, b) => a - b)[values.length >> 1]!;

describe.each(FUNCTIONS)('the package of %s', (name) => {
  it('is no larger than its bound', () => {
    expect(packages.get(name)!.bundle.bytes).toBeLessThanOrEqual(KB_MAX[name] * 1_000);
  });

  it('is loaded in hardly more time than the bare SDK clients in it', async () => {
    const { bundle, floor } = packages.get(name)!;
    expect(await loadRatio(bundle.file, floor)).toBeLessThanOrEqual(LOAD_RATIO_MAX);
  });

  it('reaches for nobody while it is loaded, and has nothing left to do then', async () => {
    expect(await reachedBy(packages.get(name)!.bundle.file)).toEqual([]);
  });
});

describe('a package like none of these', () => {
  const moduleOf = (name: string, source: string) => {
    const file = join(folder, `${name}.mjs`);
    writeFileSync(file, source);
    return file;
  };

  it('is found out when it works for long while it is loaded', async () => {
    const working = (us: number) =>
      `const end = process.cpuUsage().user + ${us}; while (process.cpuUsage().user < end);`;
    const [busy, idle] = [moduleOf('busy', working(80_000)), moduleOf('idle', working(40_000))];
    expect(await loadRatio(busy, idle, 1, 3)).toBeGreaterThan(LOAD_RATIO_MAX);
  });

  it.each([
    ['at once', "await fetch('http://127.0.0.1:65000/').catch(() => {});"],
    ['a while later', "setTimeout(() => fetch('http://127.0.0.1:65000/').catch(() => {}), 50);"],
    ['by a name', "import dns from 'node:dns'; try { dns.lookup('example.test', () => {}); } catch {}"],
  ])('is found out when it reaches for somebody %s', async (when, source) => {
    expect(await reachedBy(moduleOf(`reaching ${when}`, source))).toHaveLength(1);
  });
});

describe('a function whose first call met a broken environment', () => {
  let tables: EmbeddedTables;
  let variables: Record<string, string>;
  /** What was told to a URL of CloudFormation's. */
  const told: string[] = [];
  const stack = createServer(async (request, response) => {
    const { Status, Reason } = JSON.parse(await text(request)) as Readonly<Record<string, string>>;
    told.push(`${Status} ${Reason}`);
    response.end();
  });

  beforeAll(async () => {
    tables = await embeddedTables();
    const sqs = new SQSClient(tables.aws.clientConfig());
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'any' }));
    sqs.destroy();
    variables = {
      ...Object.fromEntries(WIRED.map((name) => [ENV[name], 'any'])),
      ...{ [ENV.logTable]: tables.logTable, [ENV.stateTable]: tables.stateTable, [ENV.bucket]: tables.bucket },
      ...{ [ENV.wakeQueueUrl]: QueueUrl!, [ENV.deadLetterQueueUrl]: QueueUrl! },
      ...{ AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_ENDPOINT_URL: tables.aws.endpoint },
    };
    stack.listen(0, '127.0.0.1');
    await once(stack, 'listening');
  });
  afterAll(async () => {
    stack.close();
    await tables.close();
  });

  /** The rest of what wires functions. */
  const WIRED = ['asideArn', 'checkFunction', 'deliveryMappings', 'role', 'ownNames'] as const;

  it.each([
    ['produce', 'POST', '/v1/topics/none/records', 404],
    ['fetch', 'GET', '/v1/topics/none/partitions/0/records?offset=0', 404],
    ['topics', 'GET', '/v1/topics', 200],
    ['groups', 'GET', '/v1/groups', 200],
    ['subscriptions', 'GET', '/v1/subscriptions', 200],
    ['whole', 'GET', '/v1/topics', 200],
  ] as const)('%s answers the next one', async (name, method, target, status) => {
    const { event } = gatewayEvent(method, target, method === 'POST' ? { body: { records: [{ value: 1 }] } } : {});
    const calls = await callTwice(packages.get(name)!.bundle.file, event, variables);
    expect(calls).toMatchObject({ before: { answer: { statusCode: 500 } }, after: { answer: { statusCode: status } } });
  });

  const TOPIC = '0'.repeat(26);
  const removal = { eventName: 'REMOVE' as const, dynamodb: { Keys: { log: { S: `${TOPIC}.0` }, last: { N: '0' } } } };
  const wakeUp = encodeWakeUp({ topicId: TOPIC, partition: 0, last: 0, hop: 0 });

  it.each([
    ['dispatch', streamEvent([removal]), { batchItemFailures: [] }],
    ['deliver', queueEvent([{ MessageId: 'm', ReceiptHandle: 'r', Body: wakeUp }], 'any'), { batchItemFailures: [] }],
    ['check', { check: { http: { url: 'https://127.0.0.1/' } } }, { refused: expect.anything() }],
    ['sweep', {}, undefined],
  ] as const)('%s does what the next one asks', async (name, event, answer) => {
    const { before, after } = await callTwice(packages.get(name)!.bundle.file, event, variables);
    expect(before).toMatchObject({ error: expect.stringContaining('VERTEBRA_') });
    expect(after).toEqual(answer === undefined ? {} : { answer });
  });

  it('provision tells the stack of the failure, and of the success of the next one', async () => {
    const { port } = stack.address() as AddressInfo;
    const event = {
      ...{ RequestType: 'Create', RequestId: 'one', ResponseURL: `http://127.0.0.1:${port}/`, StackId: 'stack' },
      ...{ ResourceType: 'Custom::VertebraTopic', LogicalResourceId: 'Topic', ServiceToken: 'any' },
      ResourceProperties: { ServiceToken: 'any', name: 'orders', settings: '{"partitions":1}', onRemoval: 'retain' },
    };
    await callTwice(packages.get('provision')!.bundle.file, event, variables);
    expect(told).toEqual([expect.stringMatching(/^FAILED .*VERTEBRA_/), 'SUCCESS undefined']);
  });
});
