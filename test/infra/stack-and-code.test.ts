import { randomBytes } from 'node:crypto';
import { DescribeTableCommand, DescribeTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Backbone, openBackbone } from '../../functions/backbone.ts';
import { fetchHandler } from '../../functions/fetch.ts';
import { groupsHandler } from '../../functions/groups.ts';
import { openGroups } from '../../functions/groups-backbone.ts';
import { produceHandler } from '../../functions/produce.ts';
import { openSubscriptions, subscriptionsHandler } from '../../functions/subscriptions.ts';
import { openSweep } from '../../functions/sweep.ts';
import { topicsHandler } from '../../functions/topics.ts';
import { streamEvent } from '../../local/events.ts';
import type { Group } from '../../shared/domain/group.ts';
import {
  INLINE_DEAD_LETTER_BYTES_MAX,
  LATE_MAX_MS,
  RECORDS_PER_REQUEST_MAX,
  SETTLE_AFTER_MS,
  SWEEP_LEASE_MS,
} from '../../shared/domain/limits.ts';
import { hourOf } from '../../shared/operations/doorbell.ts';
import { sweep } from '../../shared/operations/sweep.ts';
import { sweepWakeUps } from '../../shared/operations/sweep-wake-ups.ts';
import { deleteTopic } from '../../shared/operations/topics.ts';
import type { ApiFunction } from '../../shared/wire/routes.ts';
import { SUBSCRIPTION_DEFAULTS } from '../../shared/wire/subscription-requests.ts';
import { CONTEXT, openBackgroundBench } from '../support/background-bench.ts';
import { type EmbeddedTables, embeddedTables } from '../support/embedded.ts';
import { send } from '../support/gateway-call.ts';
import { append, type Host, makeTopic } from '../support/log-bench.ts';
import { allowedActions, resourcesOf, synthesise } from '../support/synthesise.ts';
import { clientsThatTell } from '../support/telling-clients.ts';
import { upload } from '../support/upload.ts';

// The stack and the code that runs on it, each held against the other.
const { template } = synthesise();
let tables: EmbeddedTables;
let queueUrl = '';

beforeAll(async () => {
  tables = await embeddedTables();
  const sqs = new SQSClient(tables.aws.clientConfig());
  queueUrl = (await sqs.send(new CreateQueueCommand({ QueueName: 'dead-letters' }))).QueueUrl!;
  sqs.destroy();
});
afterAll(() => tables.close());

it('has the tables that the code is tested on', async () => {
  const deployed = Object.values(resourcesOf(template, 'AWS::DynamoDB::Table')).map(({ Properties: table }) => [
    table.KeySchema,
    table.AttributeDefinitions,
    (table.StreamSpecification as { StreamViewType: string } | undefined)?.StreamViewType,
    (table.TimeToLiveSpecification as { AttributeName: string }).AttributeName,
  ]);
  const tested = [];
  for (const TableName of [tables.logTable, tables.stateTable]) {
    const { Table } = await tables.dynamodb.send(new DescribeTableCommand({ TableName }));
    const ttl = await tables.dynamodb.send(new DescribeTimeToLiveCommand({ TableName }));
    tested.push([
      Table!.KeySchema,
      Table!.AttributeDefinitions,
      Table!.StreamSpecification?.StreamViewType,
      ttl.TimeToLiveDescription?.AttributeName,
    ]);
  }
  expect(deployed).toEqual(tested);
});

it('allows each function what it does, and nothing that it never does', async () => {
  const used: Used = {
    produce: new Set(),
    fetch: new Set(),
    topics: new Set(),
    groups: new Set(),
    subscriptions: new Set(),
  };
  const backbones = {
    produce: backboneThatTells(used.produce),
    fetch: backboneThatTells(used.fetch),
    topics: backboneThatTells(used.topics),
  };
  const handlers = {
    produce: produceHandler(backbones.produce),
    fetch: fetchHandler(backbones.fetch),
    topics: topicsHandler(backbones.topics),
    groups: groupsThatTell(used.groups),
    subscriptions: subscriptionsThatTell(used.subscriptions),
  };
  const call = async (method: string, target: string, body?: object, headers?: Record<string, string>) => {
    const reply = await send(handlers, method, target, { ...(body && { body }), ...(headers && { headers }) });
    expect(reply.status, `${method} ${target}: ${reply.text}`).toBeLessThan(300);
    return reply.bytes.length === 0 ? { id: '' } : reply.json<{ id: string }>();
  };

  const { id: topicId } = await call('PUT', '/v1/topics/orders', { partitions: 2 });
  const abandon = (partition: number, id = 'ab') =>
    openBackbone(tables, tables).heads.reserve(
      { topicId, partition },
      id.repeat(12),
      { count: 1, time: Date.now() - 2 * SETTLE_AFTER_MS, expiresAt: 0, settleMs: SETTLE_AFTER_MS },
      () => false,
    );
  await abandon(0);
  const records = Array.from({ length: RECORDS_PER_REQUEST_MAX }, (_, value) => ({ value, partition: 0 }));
  await call('POST', '/v1/topics/orders/records', { records });
  await call('GET', '/v1/topics/orders/partitions/0/records?offset=0&maxRecords=1000');
  await call('GET', '/v1/topics/orders/partitions/0/records?offset=1000'); // moves `settled` meanwhile
  const large = { records: [{ value: randomBytes(60_000).toString('base64'), partition: 1 }] };
  for (let times = 0; times < 2; times++) {
    await call('POST', '/v1/topics/orders/records', large, { 'idempotency-key': 'once' });
  }
  const post = (target: string, body: object) => send(handlers, 'POST', target, { body });
  const uploadId = await upload({ post }, '/v1/topics/orders', Buffer.from('payload'));
  const uploaded = { records: [{ value: { uploadId }, valueEncoding: 'upload', partition: 1 }] };
  await call('POST', '/v1/topics/orders/records', uploaded);
  await call('GET', '/v1/topics/orders/partitions/1/records?offset=earliest');
  await abandon(1);
  await call('GET', '/v1/topics/orders/partitions');
  await call('GET', '/v1/topics/orders/offsets?at=latest');
  await call('PUT', '/v1/topics/orders', { partitions: 3 });
  await call('GET', '/v1/topics');
  await call('GET', '/v1/topics?deleted=true');

  const tooLarge = { value: randomBytes(INLINE_DEAD_LETTER_BYTES_MAX).toString('base64'), partition: 1 };
  await call('PUT', '/v1/topics/handled', { partitions: 2 });
  await call('POST', '/v1/topics/handled/records', { records: [{ value: 1, partition: 0 }, tooLarge] });
  const group = '/v1/groups/billing';
  const poll = (body: object) =>
    send(handlers, 'POST', `${group}/poll`, { body }).then((reply) => reply.json<Polled>());
  const { memberId, assigned } = await poll({ topics: ['handled'] });
  const [first, second] = assigned;
  await call('POST', `${group}/heartbeat`, { memberId, commit: [{ ...first, offset: 1 }] });
  const error = { name: 'Error', message: 'no' };
  const { id } = await call('POST', `${group}/dead-letters`, { memberId, ...second, offset: 0, error, attempts: 1 });
  await call('GET', `${group}/dead-letters`);
  await call('DELETE', `${group}/dead-letters/${id}`);
  await call('GET', group);
  await call('POST', `${group}/leave`, { memberId });
  await abandon(0, 'cd');
  await call('PUT', `${group}/offsets`, { topic: 'orders', to: 'latest' });
  await call('GET', '/v1/groups');
  await call('DELETE', group);

  await abandon(2);
  const subscription = '/v1/subscriptions/invoices';
  const target = { http: { url: 'http://127.0.0.1:9009' } };
  await call('PUT', subscription, { topics: ['orders'], target });
  await call('PUT', subscription, { topics: ['handled', 'orders'] });
  await call('POST', `${subscription}/seek`, { to: 'earliest' });
  await call('GET', subscription);
  await call('DELETE', subscription);

  expect(withRare(used)).toEqual(grantedTo(Object.keys(RARE)));
});

it('allows the functions in the background what they do, and nothing that they never do', async () => {
  const bench = await openBackgroundBench({ spillAboveBytes: 50 });
  try {
    const dispatchUsed = new Set<string>();
    const sweepUsed = new Set<string>();
    const dispatch = bench.dispatchHost(clientsThatTell(bench.tables, dispatchUsed));
    const sweeper = openSweep(clientsThatTell(bench.tables, sweepUsed), bench.tables, undefined, bench.clock);
    const host = bench.host();
    await makeTopic(host, 'orders');
    await append(host, 'orders', 'x'.repeat(100));
    host.faults.next('TransactWriteItems', 'lose-request', 3);
    await expect(makeTopic(host, 'abandoned')).rejects.toThrow();
    const { id: topicId } = await host.backbone.topics.get('orders');
    const intent = { dynamodb: { Keys: { log: { S: `${topicId}.0#spill` }, last: { N: '7' } } }, eventName: 'REMOVE' };
    await dispatch.handler(streamEvent([intent as never]), CONTEXT);
    const uploadId = 'A'.repeat(26);
    const watch = { dynamodb: { Keys: { log: { S: `${topicId}#upload.${uploadId}` }, last: { N: '0' } } } };
    await dispatch.handler(streamEvent([{ ...watch, eventName: 'REMOVE' } as never]), CONTEXT);
    await dispatch.handler(streamEvent([intent as never]), { getRemainingTimeInMillis: () => 0 });
    await deleteTopic(host.backbone, 'orders');
    const group = { name: 'billing', id: uploadId, createdAt: 0, version: 0, checkAt: 0, busyUntil: 0 };
    await leaveGroupBehind(host, group, topicId);
    for (let minutes = 0; minutes < 3; minutes++) {
      bench.clock.pass(LATE_MAX_MS);
      expect(await sweep(sweeper, bench.clock.now() + 10 * SWEEP_LEASE_MS)).toEqual([]);
    }
    expect(await bench.items('state')).toEqual([]);
    await leaveBehind(host, bench.clock.now() - 3_600_000);
    const wakeQueue = { wake: async () => {} };
    expect(await sweepWakeUps({ ...sweeper, wakeQueue }, bench.clock.now() + SWEEP_LEASE_MS)).toEqual([]);
    // Lambda reads the stream, and sends to the dead letters, on the function's behalf.
    const lambdas = /stream |DeadLetters/;
    const granted = grantedTo(['dispatch', 'sweep']);
    // There is nobody to ask for: the stream tells of removals alone.
    const asked = [...dispatchUsed, 'State dynamodb:Query'].sort();
    expect(asked).toEqual(granted.dispatch!.filter((action) => !lambdas.test(action)));
    // There is nobody to wake here, and no event source to be switched.
    const wake = ['DeliveryWake sqs:GetQueueAttributes', 'DeliveryWake sqs:SendMessage'];
    expect([...sweepUsed, ...SWITCHING, ...wake].sort()).toEqual(granted.sweep);
  } finally {
    await bench.close();
  }
});

/** A subscription with a record in a partition that has grown, when given, and not since. @param at epoch ms */
async function leaveBehind(host: Host, at: number): Promise<void> {
  const { backbone } = host;
  await makeTopic(host, 'behind');
  await append(host, 'behind', 'x');
  const { id: topicId } = await backbone.topics.get('behind');
  const partition = { topicId, partition: 0 };
  const group = { name: 'late', id: 'B'.repeat(26) };
  await backbone.subscriptions.create({
    ...{ group, ...SUBSCRIPTION_DEFAULTS, topics: ['behind'], target: { lambda: { functionArn: 'f' } } },
    ...{ timeoutMs: 1_000, state: 'active', createdAt: at, updatedAt: at, revision: 0 },
  });
  await backbone.positions.create({ group, ...partition }, { epoch: 1, committed: 0 });
  await backbone.subscribers.put(topicId, { group, topic: 'behind', known: 1 });
  await backbone.touched.note(partition, hourOf(at), at);
}

/** A deleted group with all that one may hold. */
async function leaveGroupBehind({ backbone }: Host, group: Group, topicId: string): Promise<void> {
  const partition = { topicId, partition: 0 };
  await backbone.groups.create(group);
  await backbone.groupTopics.note(group, { id: topicId, name: 'orders', partitions: 1 });
  await backbone.positions.create({ group, ...partition }, { epoch: 1, committed: 0 });
  const session = { lastSeenAt: backbone.clock.now(), sessionTimeoutMs: 6_000, topics: ['orders'], joinedAt: 0 };
  await backbone.members.join(group, { key: group.id, memberId: group.id, ...session });
  const letter = { topic: 'orders', error: { name: 'Error', message: '' }, attempts: 1, redrives: 0 };
  const payload = { object: { size: 1, sha256: 'ab'.repeat(32) } };
  await backbone.deadLetters.put(group, {
    ...{ ...partition, offset: 0, ...letter, payload },
    ...{ firstFailedAt: 0, deadLetteredAt: 0 },
  });
  await backbone.groups.delete(group, backbone.clock.now());
}

type Used = Record<ApiFunction, Set<string>>;

interface Polled {
  readonly memberId: string;
  readonly assigned: readonly {
    readonly topic: string;
    readonly partition: number;
    readonly epoch: number;
    readonly offset: number;
  }[];
}

/** Of both event sources that wake deliveries. */
const SWITCHING = ['Inserts', 'WakeUps'].flatMap((name) =>
  ['GetEventSourceMapping', 'UpdateEventSourceMapping'].map((verb) => `Delivery${name} lambda:${verb}`),
);

/** What happens only when a condition fails and the store does not tell who was there, or what is never called. */
const RARE: Record<ApiFunction, string[]> = {
  // It rings for topics that somebody subscribed to.
  produce: ['Log dynamodb:GetItem', 'Bucket s3:ListBucket', 'DeliveryWake sqs:SendMessage'],
  // The right to list makes S3 say "not found" instead of "denied"; nothing is ever listed.
  fetch: ['Log dynamodb:GetItem', 'Bucket s3:ListBucket'],
  topics: ['Log dynamodb:GetItem'],
  // It wakes those alone that dead letters are delivered to.
  groups: ['Log dynamodb:GetItem', 'Bucket s3:ListBucket', 'DeliveryWake sqs:SendMessage'],
  // Asking about targets and switching event sources are left out here.
  subscriptions: ['Log dynamodb:GetItem', 'Check lambda:InvokeFunction', ...SWITCHING],
};

function withRare(used: Used): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(used).map(([name, set]) => [name, [...new Set([...set, ...RARE[name as ApiFunction]])].sort()]),
  );
}

function grantedTo(functions: readonly string[]): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(allowedActions(template))
      .filter(([name]) => functions.includes(name))
      .map(([name, resources]) => {
        const actions = Object.entries(resources).flatMap(([resource, list]) =>
          list.map((verb) => `${resource} ${verb}`),
        );
        return [name, actions.filter((action) => !action.includes('Logs ')).sort()];
      }),
  );
}

function groupsThatTell(used: Set<string>) {
  const clients = clientsThatTell(tables, used);
  const queues = { deadLetterQueueUrl: queueUrl, wakeQueueUrl: queueUrl };
  return groupsHandler(openGroups(openBackbone(clients, tables), clients, { ...tables, ...queues }));
}

function subscriptionsThatTell(used: Set<string>) {
  const clients = clientsThatTell(tables, used);
  const of = { targets: { check: async () => ({}) }, deliveries: { switch: async () => {} } };
  const wakeQueueUrl = queueUrl.replace('dead-letters', 'wake');
  return subscriptionsHandler(openSubscriptions(openBackbone(clients, tables), clients.sqs, { wakeQueueUrl }, of));
}

function backboneThatTells(used: Set<string>): Backbone {
  return openBackbone(clientsThatTell(tables, used), tables);
}
