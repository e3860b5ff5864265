import { randomUUID } from 'node:crypto';
import {
  type AttributeValue,
  DeleteItemCommand,
  DeleteTableCommand,
  DescribeTableCommand,
  PutItemCommand,
  type StreamViewType,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  UpdateTableCommand,
} from '@aws-sdk/client-dynamodb';
import {
  DescribeStreamCommand,
  GetRecordsCommand,
  GetShardIteratorCommand,
  ListStreamsCommand,
  type ShardIteratorType,
  type _Record as StreamRecord,
} from '@aws-sdk/client-dynamodb-streams';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CONTRACT_ENDPOINT, contractEngine, type Engine, fresh, freshTable } from '../support/engine.ts';

let engine: Engine;
let now = Date.now();

beforeAll(async () => {
  engine = await contractEngine(() => now);
});
afterAll(() => engine.close());

type Item = Record<string, AttributeValue>;

async function streamedTable(view: StreamViewType) {
  const TableName = await freshTable(engine, { StreamSpecification: { StreamEnabled: true, StreamViewType: view } });
  const { Table } = await engine.dynamodb.send(new DescribeTableCommand({ TableName }));
  const StreamArn = Table!.LatestStreamArn!;
  return {
    TableName,
    StreamArn,
    key: () => ({ pk: { S: fresh('pk') }, sk: { N: '1' } }),
    put: (item: Item) => engine.dynamodb.send(new PutItemCommand({ TableName, Item: item })),
    remove: (Key: Item) => engine.dynamodb.send(new DeleteItemCommand({ TableName, Key })),
    update: (Key: Item, value: AttributeValue) =>
      engine.dynamodb.send(
        new UpdateItemCommand({
          TableName,
          Key,
          UpdateExpression: 'SET v = :v',
          ExpressionAttributeValues: { ':v': value },
        }),
      ),
    iterator: (ShardIteratorType: ShardIteratorType, SequenceNumber?: string) =>
      shardIterator(StreamArn, ShardIteratorType, SequenceNumber),
    all: async () => records(await shardIterator(StreamArn, 'TRIM_HORIZON')),
  };
}

async function shardIterator(StreamArn: string, ShardIteratorType: ShardIteratorType, SequenceNumber?: string) {
  const { StreamDescription } = await engine.streams.send(new DescribeStreamCommand({ StreamArn }));
  const { ShardId } = StreamDescription!.Shards![0]!;
  const input = { StreamArn, ShardId, ShardIteratorType, ...(SequenceNumber && { SequenceNumber }) };
  return (await engine.streams.send(new GetShardIteratorCommand(input))).ShardIterator!;
}

async function records(ShardIterator: string): Promise<StreamRecord[]> {
  return (await engine.streams.send(new GetRecordsCommand({ ShardIterator }))).Records!;
}

const names = (found: StreamRecord[]) => found.map(({ eventName }) => eventName);
const numbers = (found: StreamRecord[]) => found.map(({ dynamodb }) => dynamodb!.SequenceNumber!);

describe('the stream of a table', () => {
  it.each([
    ['KEYS_ONLY', false, false],
    ['NEW_IMAGE', true, false],
    ['OLD_IMAGE', false, true],
    ['NEW_AND_OLD_IMAGES', true, true],
  ] as const)('%s tells what was inserted, modified and removed', async (view, hasNew, hasOld) => {
    const table = await streamedTable(view);
    const key = table.key();
    const bytes = { B: new Uint8Array([255, 0]) };
    await table.put(key);
    await table.update(key, bytes);
    await table.remove(key);
    const found = await table.all();
    expect(names(found)).toEqual(['INSERT', 'MODIFY', 'REMOVE']);
    expect(found.map(({ dynamodb }) => dynamodb!.Keys)).toEqual([key, key, key]);
    expect(found.map(({ dynamodb }) => dynamodb!.StreamViewType)).toEqual([view, view, view]);
    const updated = { ...key, v: bytes };
    expect(found.map(({ dynamodb }) => dynamodb!.NewImage)).toEqual(hasNew ? [key, updated, undefined] : Array(3));
    expect(found.map(({ dynamodb }) => dynamodb!.OldImage)).toEqual(hasOld ? [undefined, key, updated] : Array(3));
    expect(found.every(({ userIdentity }) => userIdentity === undefined)).toBe(true);
  });

  it('is silent about writes that change nothing, and about writes that were refused', async () => {
    const table = await streamedTable('KEYS_ONLY');
    const key = table.key();
    await table.put({ ...key, set: { SS: ['a', 'b'] }, m: { M: { x: { N: '1' }, y: { N: '2' } } } });
    await table.put({ ...key, set: { SS: ['b', 'a'] }, m: { M: { y: { N: '2' }, x: { N: '1' } } } });
    await table.remove(table.key());
    const refused = engine.dynamodb.send(
      new DeleteItemCommand({ TableName: table.TableName, Key: key, ConditionExpression: 'attribute_not_exists(pk)' }),
    );
    await expect(refused).rejects.toMatchObject({ name: 'ConditionalCheckFailedException' });
    expect(names(await table.all())).toEqual(['INSERT']);
  });

  it('numbers its records upwards, each item in the order of its changes', async () => {
    const table = await streamedTable('NEW_IMAGE');
    const keys = [table.key(), table.key()];
    await Promise.all(
      keys.map(async (key) => {
        for (let n = 0; n < 20; n++) await table.update(key, { N: String(n) });
      }),
    );
    const found = await table.all();
    const sequence = numbers(found).map(BigInt);
    expect(sequence).toEqual([...new Set(sequence)].sort((a, b) => (a < b ? -1 : 1)));
    for (const { pk } of keys) {
      const values = found
        .filter(({ dynamodb }) => dynamodb!.Keys!.pk!.S === pk.S)
        .map(({ dynamodb }) => dynamodb!.NewImage!.v!.N);
      expect(values).toEqual(Array.from({ length: 20 }, (_, n) => String(n)));
    }
  });

  it('tells every action of a transaction, and none of a cancelled one', async () => {
    const table = await streamedTable('KEYS_ONLY');
    const { TableName } = table;
    const [one, two] = [table.key(), table.key()];
    const write = (ConditionExpression: string) =>
      engine.dynamodb.send(
        new TransactWriteItemsCommand({
          ClientRequestToken: randomUUID(),
          TransactItems: [{ Put: { TableName, Item: one } }, { Put: { TableName, Item: two, ConditionExpression } }],
        }),
      );
    await expect(write('attribute_exists(pk)')).rejects.toMatchObject({ name: 'TransactionCanceledException' });
    expect(await table.all()).toEqual([]);
    await write('attribute_not_exists(pk)');
    const keys = (await table.all()).map(({ dynamodb }) => dynamodb!.Keys!.pk!.S);
    expect(keys.sort()).toEqual([one.pk.S, two.pk.S].sort());
  });
});

describe('an iterator', () => {
  it('begins at the oldest record, at or after a number, or after the newest', async () => {
    const table = await streamedTable('KEYS_ONLY');
    for (let n = 0; n < 3; n++) await table.put(table.key());
    const sequence = numbers(await table.all());
    const latest = await table.iterator('LATEST');
    expect(numbers(await records(await table.iterator('AT_SEQUENCE_NUMBER', sequence[1])))).toEqual(sequence.slice(1));
    expect(numbers(await records(await table.iterator('AFTER_SEQUENCE_NUMBER', sequence[1])))).toEqual(
      sequence.slice(2),
    );
    expect(await records(latest)).toEqual([]);
    await table.put(table.key());
    expect(await records(latest)).toHaveLength(1);
  });

  it('goes on where the page before ended, and waits at the end', async () => {
    const table = await streamedTable('KEYS_ONLY');
    for (let n = 0; n < 5; n++) await table.put(table.key());
    const page = async (ShardIterator: string) =>
      engine.streams.send(new GetRecordsCommand({ ShardIterator, Limit: 2 }));
    const found: StreamRecord[] = [];
    let next = await table.iterator('TRIM_HORIZON');
    for (let n = 0; n < 4; n++) {
      const { Records, NextShardIterator } = await page(next);
      found.push(...Records!);
      next = NextShardIterator!;
    }
    expect(numbers(found)).toEqual(numbers(await table.all()));
    await table.put(table.key());
    expect((await page(next)).Records).toHaveLength(1);
  });

  it.each([
    [
      'a stream that does not exist',
      async () =>
        shardIterator(`arn:aws:dynamodb:us-east-1:000000000000:table/t/stream/2020-01-01T00:00:00.000`, 'LATEST'),
      'ResourceNotFoundException',
    ],
    [
      'a kind that does not exist',
      async () => (await streamedTable('KEYS_ONLY')).iterator('FIRST' as never),
      'ValidationException',
    ],
    [
      'a number that is missing',
      async () => (await streamedTable('KEYS_ONLY')).iterator('AT_SEQUENCE_NUMBER'),
      'ValidationException',
    ],
  ])('is refused for %s', async (_, attempt, name) => {
    await expect(attempt()).rejects.toMatchObject({ name });
  });

  it.skipIf(CONTRACT_ENDPOINT)('expires after 15 minutes, and records after a day', async () => {
    const table = await streamedTable('KEYS_ONLY');
    await table.put(table.key());
    const [first] = numbers(await table.all());
    const old = await table.iterator('TRIM_HORIZON');
    const started = now;
    try {
      now += 15 * 60_000 + 1;
      engine.streams.config.systemClockOffset = engine.dynamodb.config.systemClockOffset = now - Date.now();
      await expect(records(old)).rejects.toMatchObject({ name: 'ExpiredIteratorException' });
      now = started + 24 * 3_600_000 + 2_000;
      engine.streams.config.systemClockOffset = engine.dynamodb.config.systemClockOffset = now - Date.now();
      await table.put(table.key());
      expect(await table.all()).toHaveLength(1);
      await expect(table.iterator('AT_SEQUENCE_NUMBER', first)).rejects.toMatchObject({
        name: 'TrimmedDataAccessException',
      });
    } finally {
      now = started;
      engine.streams.config.systemClockOffset = engine.dynamodb.config.systemClockOffset = 0;
    }
  });
});

describe('streams and tables', () => {
  it('a table without a stream has none, and one that is deleted keeps its records for those who read on', async () => {
    const plain = await freshTable(engine);
    const { Table } = await engine.dynamodb.send(new DescribeTableCommand({ TableName: plain }));
    expect(Table!.LatestStreamArn).toBeUndefined();
    expect((await engine.streams.send(new ListStreamsCommand({ TableName: plain }))).Streams).toEqual([]);

    const table = await streamedTable('KEYS_ONLY');
    await table.put(table.key());
    const { Streams } = await engine.streams.send(new ListStreamsCommand({ TableName: table.TableName }));
    expect(Streams!.map(({ StreamArn }) => StreamArn)).toEqual([table.StreamArn]);
    const iterator = await table.iterator('TRIM_HORIZON');
    await engine.dynamodb.send(new DeleteTableCommand({ TableName: table.TableName }));
    expect(await records(iterator)).toHaveLength(1);
  });

  it('a stream is switched on and off, and a new one begins empty', async () => {
    const TableName = await freshTable(engine);
    const switchTo = (StreamEnabled: boolean) =>
      engine.dynamodb.send(
        new UpdateTableCommand({
          TableName,
          StreamSpecification: StreamEnabled ? { StreamEnabled, StreamViewType: 'KEYS_ONLY' } : { StreamEnabled },
        }),
      );
    const put = (sk: string) =>
      engine.dynamodb.send(new PutItemCommand({ TableName, Item: { pk: { S: 'a' }, sk: { N: sk } } }));
    await put('1');
    const { TableDescription } = await switchTo(true);
    await put('2');
    await expect(switchTo(true)).rejects.toMatchObject({ name: 'ValidationException' });
    await switchTo(false);
    await put('3');
    const found = await records(await shardIterator(TableDescription!.LatestStreamArn!, 'TRIM_HORIZON'));
    expect(found.map(({ dynamodb }) => dynamodb!.Keys!.sk)).toEqual([{ N: '2' }]);
  });
});
