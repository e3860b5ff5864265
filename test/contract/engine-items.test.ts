import {
  type AttributeValue,
  BatchWriteItemCommand,
  ConditionalCheckFailedException,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contractEngine, type Engine, fresh, freshTable } from '../support/engine.ts';

let engine: Engine;
let TableName: string;

beforeAll(async () => {
  engine = await contractEngine();
  TableName = await freshTable(engine);
});
afterAll(() => engine.close());

const newKey = () => ({ pk: { S: fresh('pk') }, sk: { N: '1' } });
type Item = Record<string, AttributeValue>;
const put = (item: Item, condition: object = {}) =>
  engine.dynamodb.send(new PutItemCommand({ TableName, Item: item, ...condition }));
const get = async (key: Item) =>
  (await engine.dynamodb.send(new GetItemCommand({ TableName, Key: key, ConsistentRead: true }))).Item;
const update = (key: Item, input: Partial<UpdateItemCommandInput>) =>
  engine.dynamodb.send(new UpdateItemCommand({ TableName, Key: key, ...input }));

describe('a failed condition', () => {
  const impossible = { ConditionExpression: 'attribute_exists(nothing)' };
  const item = (key: Item) => ({ ...key, value: { B: new Uint8Array([255, 0]) } });
  const attempts = {
    PutItem: (key: Item, more: object) => put({ ...key, value: { S: 'other' } }, { ...impossible, ...more }),
    UpdateItem: (key: Item, more: object) =>
      update(key, {
        UpdateExpression: 'SET v = :v',
        ExpressionAttributeValues: { ':v': { S: '' } },
        ...impossible,
        ...more,
      }),
    DeleteItem: (key: Item, more: object) =>
      engine.dynamodb.send(new DeleteItemCommand({ TableName, Key: key, ...impossible, ...more })),
  };

  it.each(Object.entries(attempts))(
    'of %s carries the item that is there, when asked to, and changes nothing',
    async (_, attempt) => {
      const key = newKey();
      await put(item(key));
      const refused = await attempt(key, { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }).catch((error) => error);
      expect(refused).toBeInstanceOf(ConditionalCheckFailedException);
      expect(refused.Item).toEqual(item(key));
      expect(await get(key)).toEqual(item(key));
    },
  );

  it.each(Object.entries(attempts))(
    'of %s carries no item when none is asked for, or none is there',
    async (_, attempt) => {
      const key = newKey();
      const absent = await attempt(key, { ReturnValuesOnConditionCheckFailure: 'ALL_OLD' }).catch((error) => error);
      expect(absent).toBeInstanceOf(ConditionalCheckFailedException);
      expect(absent.Item).toBeUndefined();
      await put(item(key));
      const unasked = await attempt(key, {}).catch((error) => error);
      expect(unasked).toBeInstanceOf(ConditionalCheckFailedException);
      expect(unasked.Item).toBeUndefined();
    },
  );

  it('is reported only when it fails: a condition that holds writes', async () => {
    const key = newKey();
    await put(key, { ConditionExpression: 'attribute_not_exists(pk)', ReturnValuesOnConditionCheckFailure: 'ALL_OLD' });
    expect(await get(key)).toEqual(key);
  });

  it('knows no other way to report than ALL_OLD and NONE', async () => {
    const asked = put(newKey(), { ReturnValuesOnConditionCheckFailure: 'ALL_NEW' });
    await expect(asked).rejects.toMatchObject({ name: 'ValidationException' });
  });
});

describe('concurrent writes', () => {
  it('let exactly one of 32 conditional puts win', async () => {
    for (let round = 0; round < 5; round++) {
      const key = newKey();
      const results = await Promise.allSettled(
        Array.from({ length: 32 }, (_, n) =>
          put({ ...key, writer: { N: String(n) } }, { ConditionExpression: 'attribute_not_exists(pk)' }),
        ),
      );
      const winners = results.flatMap(({ status }, n) => (status === 'fulfilled' ? [n] : []));
      expect(winners).toHaveLength(1);
      expect((await get(key))!.writer).toEqual({ N: String(winners[0]) });
    }
  });

  it('count exactly: 32 ADDs at once return 32 different values', async () => {
    const key = newKey();
    const values = await Promise.all(
      Array.from({ length: 32 }, async () => {
        const { Attributes } = await update(key, {
          UpdateExpression: 'ADD n :one',
          ExpressionAttributeValues: { ':one': { N: '1' } },
          ReturnValues: 'UPDATED_NEW',
        });
        return Number(Attributes!.n!.N);
      }),
    );
    expect(values.sort((a, b) => a - b)).toEqual(Array.from({ length: 32 }, (_, n) => n + 1));
  });
});

describe('an update expression', () => {
  it('reads the values from before the update: a register shifts in one step', async () => {
    const key = newKey();
    await put({ ...key, r0: { S: 'a' }, r1: { S: 'b' }, next: { N: '7' } });
    const { Attributes } = await update(key, {
      UpdateExpression: 'SET r2 = r1, r1 = r0, r0 = :x ADD #next :n',
      ExpressionAttributeNames: { '#next': 'next' },
      ExpressionAttributeValues: { ':x': { S: 'new' }, ':n': { N: '3' } },
      ReturnValues: 'UPDATED_OLD',
    });
    expect(Attributes).toEqual({ r0: { S: 'a' }, r1: { S: 'b' }, next: { N: '7' } });
    const after = { r0: { S: 'new' }, r1: { S: 'a' }, r2: { S: 'b' }, next: { N: '10' } };
    expect(await get(key)).toEqual({ ...key, ...after });
  });

  it('copies a value, so that a change of the original leaves the copy alone', async () => {
    const key = newKey();
    await put({ ...key, a: { N: '1' }, m: { M: { x: { N: '1' } } } });
    await update(key, {
      UpdateExpression: 'SET b = a, c = if_not_exists(a, :one), k = m, m.x = :two ADD a :one',
      ExpressionAttributeValues: { ':one': { N: '1' }, ':two': { N: '2' } },
    });
    expect(await get(key)).toEqual({
      ...key,
      a: { N: '2' },
      b: { N: '1' },
      c: { N: '1' },
      m: { M: { x: { N: '2' } } },
      k: { M: { x: { N: '1' } } },
    });
  });

  it('refuses to copy what is not there, and then changes nothing', async () => {
    const key = newKey();
    await put(key);
    const copied = update(key, {
      UpdateExpression: 'SET a = :a, b = nothing',
      ExpressionAttributeValues: { ':a': { N: '1' } },
    });
    await expect(copied).rejects.toMatchObject({ name: 'ValidationException' });
    expect(await get(key)).toEqual(key);
  });
});

describe('values', () => {
  it('come back as they were stored, empty ones and any byte included', async () => {
    const item = {
      ...newKey(),
      bytes: { B: Uint8Array.from({ length: 256 }, (_, n) => n) },
      noBytes: { B: new Uint8Array() },
      text: { S: 'a\0é😀' },
      noText: { S: '' },
      number: { N: '-12345678901234567890.123456789012345678' },
      list: { L: [{ NULL: true as const }, { BOOL: false }, { M: { deep: { BS: [new Uint8Array([0])] } } }] },
    };
    await put(item);
    expect(await get({ pk: item.pk, sk: item.sk })).toEqual(item);
  });

  it('may not be empty in a key', async () => {
    await expect(put({ pk: { S: '' }, sk: { N: '1' } })).rejects.toMatchObject({ name: 'ValidationException' });
  });

  const holds = async (item: Item, ConditionExpression: string, values: Item) => {
    const key = newKey();
    await put({ ...key, ...item });
    const attempt = put(key, { ConditionExpression, ExpressionAttributeValues: values });
    return attempt.then(
      () => true,
      (error) => (error instanceof ConditionalCheckFailedException ? false : Promise.reject(error)),
    );
  };
  const bytes = (...content: number[]) => ({ B: Uint8Array.from(content) });

  it.each([
    ['begins with the same bytes', bytes(255, 1, 2), 'begins_with(a, :b)', bytes(255, 1), true],
    ['begins with other bytes that are no UTF-8 either', bytes(255, 1, 2), 'begins_with(a, :b)', bytes(254, 1), false],
    ['text does not begin with bytes', { S: 'ab' }, 'begins_with(a, :b)', bytes(97), false],
    ['contains bytes', bytes(1, 250, 2), 'contains(a, :b)', bytes(250), true],
    ['contains no such bytes', bytes(1, 250, 2), 'contains(a, :b)', bytes(251), false],
    ['a set contains bytes', { BS: [new Uint8Array([250])] }, 'contains(a, :b)', bytes(250), true],
    ['a set contains no such bytes', { BS: [new Uint8Array([250])] }, 'contains(a, :b)', bytes(251), false],
    [
      'equal maps',
      { M: { x: { L: [{ N: '1' }] }, y: { S: '' } } },
      'a = :b',
      { M: { y: { S: '' }, x: { L: [{ N: '1.0' }] } } },
      true,
    ],
    ['different maps', { M: { x: { N: '1' } } }, 'a = :b', { M: { x: { N: '2' } } }, false],
    ['different lists', { L: [{ N: '1' }] }, 'a <> :b', { L: [{ N: '2' }] }, true],
    ['a list among others', { L: [{ N: '1' }] }, 'a IN (:b)', { L: [{ N: '1' }] }, true],
    ['the number of bytes', bytes(1, 250, 2), 'size(a) = :b', { N: '3' }, true],
  ] as [string, AttributeValue, string, AttributeValue, boolean][])(
    'are compared exactly: %s',
    async (_, a, expression, b, answer) => {
      expect(await holds({ a }, expression, { ':b': b })).toBe(answer);
    },
  );

  it('are filtered as exactly as they are compared', async () => {
    const pk = { S: fresh('pk') };
    await put({ pk, sk: { N: '1' }, a: bytes(255, 1) });
    await put({ pk, sk: { N: '2' }, a: bytes(254, 1) });
    const { Items } = await engine.dynamodb.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: 'pk = :pk',
        FilterExpression: 'begins_with(a, :b)',
        ExpressionAttributeValues: { ':pk': pk, ':b': bytes(254) },
      }),
    );
    expect(Items!.map(({ sk }) => sk)).toEqual([{ N: '2' }]);
  });
});

describe('a strong Query over number keys', () => {
  const query = (pk: AttributeValue, more: object) =>
    engine.dynamodb.send(
      new QueryCommand({
        TableName,
        ConsistentRead: true,
        ReturnConsumedCapacity: 'TOTAL',
        ...more,
        ExpressionAttributeValues: { ':pk': pk, ...(more as { values?: Item }).values },
      }),
    );

  it('goes in the order of numbers, from a number on, and stops at its limit', async () => {
    const pk = { S: fresh('pk') };
    const numbers = ['-1e20', '-2.5', '0', '9', '10', '100', '12345678901234567890123456789012345678'];
    await Promise.all(numbers.map((n) => put({ pk, sk: { N: n } })));
    const all = await query(pk, { KeyConditionExpression: 'pk = :pk' });
    expect(all.Items!.map(({ sk }) => Number(sk!.N))).toEqual(numbers.map(Number));
    const page = await query(pk, {
      KeyConditionExpression: 'pk = :pk AND sk >= :n',
      values: { ':n': { N: '9' } },
      Limit: 2,
    });
    expect(page.Items!.map(({ sk }) => sk!.N)).toEqual(['9', '10']);
    expect(page.LastEvaluatedKey).toEqual({ pk, sk: { N: '10' } });
    const rest = await query(pk, {
      KeyConditionExpression: 'pk = :pk AND sk >= :n',
      values: { ':n': { N: '9' } },
      ExclusiveStartKey: page.LastEvaluatedKey,
    });
    expect(rest.Items!.map(({ sk }) => sk!.N)).toEqual(numbers.slice(5));
    expect(rest.LastEvaluatedKey).toBeUndefined();
    const last = await query(pk, { KeyConditionExpression: 'pk = :pk', ScanIndexForward: false, Limit: 1 });
    expect(last.Items!.map(({ sk }) => sk!.N)).toEqual([numbers.at(-1)]);
  });

  it('answers pages of 1 MB', async () => {
    const pk = { S: fresh('pk') };
    const value = { B: new Uint8Array(100_000) };
    for (let n = 0; n < 15; n++) await put({ pk, sk: { N: String(n) }, value });
    const first = await query(pk, { KeyConditionExpression: 'pk = :pk' });
    expect(first.Items).toHaveLength(11);
    expect(first.ConsumedCapacity!.CapacityUnits).toBe(Math.ceil((11 * 100_016) / 4096));
    const second = await query(pk, { KeyConditionExpression: 'pk = :pk', ExclusiveStartKey: first.LastEvaluatedKey });
    expect(second.Items!.map(({ sk }) => sk!.N)).toEqual(['11', '12', '13', '14']);
    expect(second.LastEvaluatedKey).toBeUndefined();
  });
});

describe('capacity', () => {
  it('is one unit per KB of the larger image written, and per 4 KB read strongly', async () => {
    const item = { ...newKey(), value: { B: new Uint8Array(2_500) } };
    const total = { ReturnConsumedCapacity: 'TOTAL' as const };
    expect((await put(item, total)).ConsumedCapacity!.CapacityUnits).toBe(3);
    const key = { pk: item.pk, sk: item.sk };
    expect((await put(key, total)).ConsumedCapacity!.CapacityUnits).toBe(3);
    expect((await put(key, total)).ConsumedCapacity!.CapacityUnits).toBe(1);
    const read = await engine.dynamodb.send(
      new GetItemCommand({ TableName, Key: key, ConsistentRead: true, ...total }),
    );
    expect(read.ConsumedCapacity!.CapacityUnits).toBe(1);
    const eventual = await engine.dynamodb.send(new GetItemCommand({ TableName, Key: key, ...total }));
    expect(eventual.ConsumedCapacity!.CapacityUnits).toBe(0.5);
  });

  it('counts the bytes of text, not its characters', async () => {
    const item = { ...newKey(), value: { S: 'é'.repeat(1_000) } };
    const total = { ReturnConsumedCapacity: 'TOTAL' as const };
    expect((await put(item, total)).ConsumedCapacity!.CapacityUnits).toBe(2);
    await put({ ...item, sk: { N: '2' }, value: { M: { é: { L: [{ SS: ['é'.repeat(1_500), 'a'] }] } } } });
    const { ConsumedCapacity } = await engine.dynamodb.send(
      new QueryCommand({
        TableName,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': item.pk },
        ConsistentRead: true,
        ...total,
      }),
    );
    expect(ConsumedCapacity!.CapacityUnits).toBe(2);
    const most = 400 * 1024 - ('pk'.length + item.pk.S.length + 'sk'.length + 2 + 'value'.length);
    await put({ ...newKey(), value: { S: 'é'.repeat(most / 2) } });
    await expect(put({ ...newKey(), value: { S: 'é'.repeat(most / 2 + 1) } })).rejects.toMatchObject({
      name: 'ValidationException',
    });
  });

  it('ends at 400 KB per item, to the byte', async () => {
    const key = newKey();
    const names = 'pk'.length + key.pk.S.length + 'sk'.length + 2 + 'value'.length;
    const most = 400 * 1024 - names;
    await put({ ...key, value: { B: new Uint8Array(most) } });
    const tooLarge = put({ ...key, value: { B: new Uint8Array(most + 1) } });
    await expect(tooLarge).rejects.toMatchObject({ name: 'ValidationException' });
  });
});

describe('a secondary index', () => {
  it('follows every write: put, update of its key, transaction, removal', async () => {
    const table = await freshTable(engine, {
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'N' },
        { AttributeName: 'color', AttributeType: 'S' },
      ],
      GlobalSecondaryIndexes: [
        {
          IndexName: 'by-color',
          KeySchema: [{ AttributeName: 'color', KeyType: 'HASH' }],
          Projection: { ProjectionType: 'ALL' },
        },
      ],
    });
    const numbersOf = async (color: string) => {
      const { Items } = await engine.dynamodb.send(
        new QueryCommand({
          TableName: table,
          IndexName: 'by-color',
          KeyConditionExpression: 'color = :color',
          ExpressionAttributeValues: { ':color': { S: color } },
        }),
      );
      return Items!.map(({ sk }) => sk!.N).sort();
    };
    const itemOf = (sk: string, color: string) => ({ pk: { S: 'a' }, sk: { N: sk }, color: { S: color } });
    const keyOf = (sk: string) => ({ pk: { S: 'a' }, sk: { N: sk } });
    const requests = ['1', '2', '3'].map((sk) => ({ PutRequest: { Item: itemOf(sk, 'red') } }));
    await engine.dynamodb.send(new BatchWriteItemCommand({ RequestItems: { [table]: requests } }));
    await expect.poll(() => numbersOf('red')).toEqual(['1', '2', '3']);
    const paint = { UpdateExpression: 'SET color = :color', ExpressionAttributeValues: { ':color': { S: 'blue' } } };
    await engine.dynamodb.send(new UpdateItemCommand({ TableName: table, Key: keyOf('1'), ...paint }));
    await expect.poll(() => numbersOf('blue')).toEqual(['1']);
    await engine.dynamodb.send(
      new TransactWriteItemsCommand({
        TransactItems: [
          { Update: { TableName: table, Key: keyOf('2'), ...paint } },
          { Delete: { TableName: table, Key: keyOf('3') } },
        ],
      }),
    );
    await expect.poll(() => numbersOf('blue')).toEqual(['1', '2']);
    await expect.poll(() => numbersOf('red')).toEqual([]);
  });
});

it('writes a batch of 25 and refuses 26', async () => {
  const pk = { S: fresh('pk') };
  const requests = Array.from({ length: 26 }, (_, n) => ({ PutRequest: { Item: { pk, sk: { N: String(n) } } } }));
  const write = (count: number) =>
    engine.dynamodb.send(new BatchWriteItemCommand({ RequestItems: { [TableName]: requests.slice(0, count) } }));
  await expect(write(26)).rejects.toMatchObject({ name: 'ValidationException' });
  await write(25);
  const { Count } = await engine.dynamodb.send(
    new QueryCommand({ TableName, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': pk } }),
  );
  expect(Count).toBe(25);
});
