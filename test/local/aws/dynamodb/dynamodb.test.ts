import type { MemoryLevel } from 'memory-level';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Database } from '../../../../local/aws/dynamodb/database.ts';
import { DynamoDb } from '../../../../local/aws/dynamodb/dynamodb.ts';
import { openLevel } from '../../../../local/aws/storage/level.ts';

const NOW = Date.UTC(2026, 0, 31);
const SECONDS = NOW / 1_000;

let level: MemoryLevel<string, unknown>;
let dynamodb: DynamoDb;

beforeEach(async () => {
  level = (await openLevel(undefined)) as MemoryLevel<string, unknown>;
  dynamodb = new DynamoDb(new Database(level), () => NOW);
  await ask('CreateTable', {
    TableName: 'table',
    AttributeDefinitions: ['pk', 'color'].map((AttributeName) => ({ AttributeName, AttributeType: 'S' })),
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
    BillingMode: 'PAY_PER_REQUEST',
    GlobalSecondaryIndexes: [
      {
        IndexName: 'by-color',
        KeySchema: [{ AttributeName: 'color', KeyType: 'HASH' }],
        Projection: { ProjectionType: 'ALL' },
      },
    ],
  });
  const TimeToLiveSpecification = { Enabled: true, AttributeName: 'expiresAt' };
  await ask('UpdateTimeToLive', { TableName: 'table', TimeToLiveSpecification });
});
afterEach(async () => {
  vi.restoreAllMocks();
  await level.close();
});

async function ask(operation: string, body: object): Promise<Record<string, unknown>> {
  const answer = await dynamodb.run(operation, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body as Record<string, unknown>;
}

const item = (pk: string, expiresAt: number) => ({
  pk: { S: pk },
  color: { S: 'red' },
  expiresAt: { N: String(expiresAt) },
});

function watchWrites() {
  return { batch: vi.spyOn(level, 'batch'), put: vi.spyOn(level, 'put'), del: vi.spyOn(level, 'del') };
}

it('stores an item, its index entries and its expiry at one stroke', async () => {
  await ask('PutItem', { TableName: 'table', Item: item('a', SECONDS + 1) });
  const writes = watchWrites();
  await ask('PutItem', { TableName: 'table', Item: { ...item('a', SECONDS + 2), color: { S: 'blue' } } });
  await ask('DeleteItem', { TableName: 'table', Key: { pk: { S: 'a' } } });
  expect([writes.batch, writes.put, writes.del].map(({ mock }) => mock.calls.length)).toEqual([2, 0, 0]);
});

it('stores a transaction and its token at one stroke, so that no kill can leave a part', async () => {
  await ask('PutItem', { TableName: 'table', Item: item('removed', SECONDS + 1) });
  const writes = watchWrites();
  await ask('TransactWriteItems', {
    ClientRequestToken: 'token',
    TransactItems: [
      { Put: { TableName: 'table', Item: item('one', SECONDS + 1) } },
      { Put: { TableName: 'table', Item: item('two', SECONDS + 1) } },
      { Delete: { TableName: 'table', Key: { pk: { S: 'removed' } } } },
    ],
  });
  expect([writes.batch, writes.put, writes.del].map(({ mock }) => mock.calls.length)).toEqual([1, 0, 0]);
});

it('does not remove an item by an expiry that it no longer has, and drops such an entry', async () => {
  await ask('PutItem', { TableName: 'table', Item: item('a', SECONDS - 10) });
  const entries = await level.keys({ gte: 'expiry-table~', lt: 'expiry-table~~' }).all();
  await ask('PutItem', { TableName: 'table', Item: item('a', SECONDS + 10) });
  await level.put(entries[0]!, '');
  expect(await dynamodb.expire()).toBe(0);
  expect((await ask('GetItem', { TableName: 'table', Key: { pk: { S: 'a' } } })).Item).toEqual(item('a', SECONDS + 10));
  expect(await level.get(entries[0]!)).toBeUndefined();
  expect(await dynamodb.expire(NOW + 11_000)).toBe(1);
});

it('leaves no trace of a table that was deleted', async () => {
  await ask('PutItem', { TableName: 'table', Item: item('a', SECONDS + 10) });
  await ask('DeleteTable', { TableName: 'table' });
  expect(await level.keys().all()).toEqual([]);
});

it('forgets tokens after ten minutes', async () => {
  const later = new DynamoDb(new Database(level), () => NOW + 10 * 60_000);
  const TransactItems = [{ Put: { TableName: 'table', Item: item('a', 0) } }];
  await ask('TransactWriteItems', { ClientRequestToken: 'token', TransactItems });
  const tokens = () => level.keys({ gte: 'token~', lt: 'token~~' }).all();
  await dynamodb.expire();
  expect(await tokens()).toHaveLength(1);
  await later.expire();
  expect(await tokens()).toEqual([]);
});

it('answers a fault of its own with 500, and lets the next request in', async () => {
  const logged = vi.spyOn(console, 'error').mockImplementation(() => {});
  const broken = vi.spyOn(level, 'batch').mockRejectedValueOnce(new Error('disk full'));
  const body = { TableName: 'table', Item: item('a', SECONDS + 10) };
  expect(await dynamodb.run('PutItem', body)).toMatchObject({
    status: 500,
    body: { __type: expect.stringContaining('InternalServerError') },
  });
  expect(logged).toHaveBeenCalled();
  broken.mockRestore();
  await ask('PutItem', body);
});
