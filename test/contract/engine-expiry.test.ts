import {
  type AttributeValue,
  DescribeTimeToLiveCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
} from '@aws-sdk/client-dynamodb-streams';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONTRACT_ENDPOINT, contractEngine, type Engine, fresh, freshTable } from '../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await contractEngine();
});
afterAll(() => engine.close());

const setExpiry = (TableName: string, Enabled: boolean, AttributeName = 'expiresAt') =>
  engine.dynamodb.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: { Enabled, AttributeName } }));
const expiryOf = async (TableName: string) =>
  (await engine.dynamodb.send(new DescribeTimeToLiveCommand({ TableName }))).TimeToLiveDescription;

describe('the expiry of a table', () => {
  it('is off at first, is set to one attribute, and is told', async () => {
    const table = await freshTable(engine);
    expect(await expiryOf(table)).toEqual({ TimeToLiveStatus: 'DISABLED' });
    await setExpiry(table, true);
    expect(await expiryOf(table)).toEqual({ TimeToLiveStatus: 'ENABLED', AttributeName: 'expiresAt' });
  });

  it('is not set twice, nor for a table that does not exist', async () => {
    const table = await freshTable(engine);
    await setExpiry(table, true);
    await expect(setExpiry(table, true)).rejects.toMatchObject({ name: 'ValidationException' });
    await expect(setExpiry(fresh('absent'), true)).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
    await expect(expiryOf(fresh('absent'))).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
  });
});

// AWS removes expired items within days, other engines when they like: only the embedded engine can be told to.
describe.skipIf(CONTRACT_ENDPOINT)('expired items', () => {
  const NOW = Date.now();
  const SECONDS = Math.floor(NOW / 1_000);

  async function expiringTable() {
    const StreamSpecification = { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' as const };
    const TableName = await freshTable(engine, { StreamSpecification });
    const put = (sk: number, expiresAt: AttributeValue) =>
      engine.dynamodb.send(
        new PutItemCommand({ TableName, Item: { pk: { S: 'a' }, sk: { N: String(sk) }, expiresAt } }),
      );
    const isThere = async (sk: number) => {
      const Key = { pk: { S: 'a' }, sk: { N: String(sk) } };
      return (
        (await engine.dynamodb.send(new GetItemCommand({ TableName, Key, ConsistentRead: true }))).Item !== undefined
      );
    };
    return { TableName, put, isThere };
  }

  it('are removed, and others stay: not yet expired, no number, more than five years past', async () => {
    const { TableName, put, isThere } = await expiringTable();
    await setExpiry(TableName, true);
    await put(1, { N: String(SECONDS - 1) });
    await put(2, { N: String(SECONDS) });
    await put(3, { S: String(SECONDS - 1) });
    await put(4, { N: String(SECONDS - 5 * 366 * 24 * 3_600) });
    await put(5, { N: '0' });
    expect(await engine.embedded!.expireNow(NOW)).toBe(1);
    expect(await Promise.all([1, 2, 3, 4, 5].map(isThere))).toEqual([false, true, true, true, true]);
    expect(await engine.embedded!.expireNow(NOW + 1_000)).toBe(1);
    expect(await isThere(2)).toBe(false);
  });

  it('leave the stream as removals by the service', async () => {
    const { TableName, put } = await expiringTable();
    const told: unknown[] = [];
    const stop = engine.embedded!.onChange(TableName, ({ eventName, userIdentity }) =>
      told.push([eventName, userIdentity]),
    );
    await setExpiry(TableName, true);
    await put(1, { N: String(SECONDS - 1) });
    await engine.embedded!.expireNow(NOW);
    stop();
    await put(2, { N: String(SECONDS) });
    expect(told).toEqual([
      ['INSERT', undefined],
      ['REMOVE', { type: 'Service', principalId: 'dynamodb.amazonaws.com' }],
    ]);

    const { Streams } = await engine.streams.send(new ListStreamsCommand({ TableName }));
    const { StreamArn } = Streams![0]!;
    const { StreamDescription } = await engine.streams.send(new DescribeStreamCommand({ StreamArn }));
    const { ShardId } = StreamDescription!.Shards![0]!;
    const input = { StreamArn, ShardId, ShardIteratorType: 'TRIM_HORIZON' as const };
    const { ShardIterator } = await engine.streams.send(new GetShardIteratorCommand(input));
    const { Records } = await engine.streams.send(new GetRecordsCommand({ ShardIterator }));
    expect(Records![1]).toMatchObject({
      eventName: 'REMOVE',
      userIdentity: { Type: 'Service', PrincipalId: 'dynamodb.amazonaws.com' },
      dynamodb: { OldImage: { expiresAt: { N: String(SECONDS - 1) } } },
    });
  });

  it('follow the item: an expiry that was moved or taken away removes nothing', async () => {
    const { TableName, put, isThere } = await expiringTable();
    await setExpiry(TableName, true);
    await put(1, { N: String(SECONDS - 1) });
    await put(2, { N: String(SECONDS - 1) });
    await put(1, { N: String(SECONDS + 60) });
    await engine.dynamodb.send(
      new UpdateItemCommand({
        TableName,
        Key: { pk: { S: 'a' }, sk: { N: '2' } },
        UpdateExpression: 'REMOVE expiresAt',
      }),
    );
    expect(await engine.embedded!.expireNow(NOW)).toBe(0);
    expect(await Promise.all([1, 2].map(isThere))).toEqual([true, true]);
  });

  it('include what was there before the expiry was switched on, and none once it is off', async () => {
    const { TableName, put, isThere } = await expiringTable();
    await put(1, { N: String(SECONDS - 1) });
    expect(await engine.embedded!.expireNow(NOW)).toBe(0);
    await setExpiry(TableName, true);
    expect(await engine.embedded!.expireNow(NOW)).toBe(1);
    await put(2, { N: String(SECONDS - 1) });
    await setExpiry(TableName, false);
    expect(await engine.embedded!.expireNow(NOW)).toBe(0);
    expect(await isThere(2)).toBe(true);
  });

  it('all go in one sweep, however many', async () => {
    const { TableName, put } = await expiringTable();
    await setExpiry(TableName, true);
    await Promise.all(Array.from({ length: 1_201 }, (_, sk) => put(sk, { N: String(SECONDS - 10 + (sk % 9)) })));
    expect(await engine.embedded!.expireNow(NOW)).toBe(1_201);
  });
});
