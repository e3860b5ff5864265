import { randomUUID } from 'node:crypto';
import {
  type AttributeValue,
  BatchGetItemCommand,
  GetItemCommand,
  IdempotentParameterMismatchException,
  PutItemCommand,
  QueryCommand,
  TransactGetItemsCommand,
  TransactionCanceledException,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  type TransactWriteItemsCommandInput,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contractEngine, type Engine, fresh, freshTable } from '../support/engine.ts';

let engine: Engine;
let TableName: string;
let now = Date.now();

beforeAll(async () => {
  engine = await contractEngine(() => now);
  TableName = await freshTable(engine);
});
afterAll(() => engine.close());

type Item = Record<string, AttributeValue>;
const newKey = () => ({ pk: { S: fresh('pk') }, sk: { N: '1' } });
const write = (TransactItems: TransactWriteItem[], more: Partial<TransactWriteItemsCommandInput> = {}) =>
  engine.dynamodb.send(new TransactWriteItemsCommand({ TransactItems, ...more }));
const put = (item: Item) => engine.dynamodb.send(new PutItemCommand({ TableName, Item: item }));
const get = async (key: Item) =>
  (await engine.dynamodb.send(new GetItemCommand({ TableName, Key: key, ConsistentRead: true }))).Item;
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

const putAction = (item: Item): TransactWriteItem => ({ Put: { TableName, Item: item } });
const addAction = (key: Item, by: number): TransactWriteItem => ({
  Update: {
    TableName,
    Key: key,
    UpdateExpression: 'ADD n :by',
    ExpressionAttributeValues: { ':by': { N: String(by) } },
  },
});
const absent = { ConditionExpression: 'attribute_not_exists(pk)' };
const present = { ConditionExpression: 'attribute_exists(pk)' };

describe('a transaction of writes', () => {
  it('does all that it was asked to', async () => {
    const [created, changed, removed, checked] = [newKey(), newKey(), newKey(), newKey()];
    for (const key of [changed, removed, checked]) await put(key);
    await write([
      { Put: { TableName, Item: created, ...absent } },
      addAction(changed, 2),
      { Delete: { TableName, Key: removed, ...present } },
      { ConditionCheck: { TableName, Key: checked, ...present } },
    ]);
    expect(await get(created)).toEqual(created);
    expect(await get(changed)).toEqual({ ...changed, n: { N: '2' } });
    expect(await get(removed)).toBeUndefined();
    expect(await get(checked)).toEqual(checked);
  });

  it('does nothing when one condition fails, and tells which, with the item when asked to', async () => {
    const [one, two, three] = [newKey(), newKey(), newKey()];
    const there = { ...two, value: { B: new Uint8Array([255]) } };
    await put(there);
    const error = await failure(
      write([
        putAction(one),
        { Put: { TableName, Item: two, ...absent, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } },
        { ConditionCheck: { TableName, Key: three, ...present, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' } },
      ]),
    );
    expect(error).toBeInstanceOf(TransactionCanceledException);
    const reasons = (error as TransactionCanceledException).CancellationReasons!;
    expect(reasons.map(({ Code }) => Code)).toEqual(['None', 'ConditionalCheckFailed', 'ConditionalCheckFailed']);
    expect(reasons.map(({ Item }) => Item)).toEqual([undefined, there, undefined]);
    expect((error as Error).message).toContain('[None, ConditionalCheckFailed, ConditionalCheckFailed]');
    expect(await get(one)).toBeUndefined();
    expect(await get(two)).toEqual(there);
  });

  it('shows no item that nobody asked for', async () => {
    const key = newKey();
    await put(key);
    const error = await failure(write([{ Put: { TableName, Item: key, ...absent } }]));
    expect((error as TransactionCanceledException).CancellationReasons).toEqual([
      { Code: 'ConditionalCheckFailed', Message: 'The conditional request failed' },
    ]);
  });

  it('is cancelled by a key that does not fit the table, and names the action', async () => {
    const key = newKey();
    const error = await failure(write([putAction(key), { Delete: { TableName, Key: { pk: key.pk } } }]));
    expect((error as TransactionCanceledException).CancellationReasons!.map(({ Code }) => Code)).toEqual([
      'None',
      'ValidationError',
    ]);
    expect(await get(key)).toBeUndefined();
  });

  it('takes 100 actions', async () => {
    const pk = { S: fresh('pk') };
    const actions = Array.from({ length: 101 }, (_, n) => putAction({ pk, sk: { N: String(n) } }));
    await expect(write(actions)).rejects.toMatchObject({ name: 'ValidationException' });
    await write(actions.slice(0, 100));
    const { Count } = await engine.dynamodb.send(
      new QueryCommand({ TableName, KeyConditionExpression: 'pk = :pk', ExpressionAttributeValues: { ':pk': pk } }),
    );
    expect(Count).toBe(100);
  });

  it.each([
    ['nothing to do', () => []],
    [
      'two actions on one item',
      (key: Item) => [putAction(key), { ConditionCheck: { TableName, Key: key, ...present } }],
    ],
    ['two actions in one', (key: Item) => [{ ...putAction(key), ...addAction(newKey(), 1) }]],
    [
      'more than 4 MB',
      () => Array.from({ length: 11 }, () => putAction({ ...newKey(), v: { B: new Uint8Array(400_000) } })),
    ],
    ['a broken expression', (key: Item) => [{ Put: { TableName, Item: key, ConditionExpression: 'nonsense(' } }]],
  ] as [string, (key: Item) => TransactWriteItem[]][])('is refused as a whole: %s', async (_, actions) => {
    const key = newKey();
    await expect(write(actions(key))).rejects.toMatchObject({ name: 'ValidationException' });
    expect(await get(key)).toBeUndefined();
  });

  it('is refused when a table does not exist', async () => {
    const key = newKey();
    const refused = write([putAction(key), { Put: { TableName: fresh('absent'), Item: newKey() } }]);
    await expect(refused).rejects.toMatchObject({ name: 'ResourceNotFoundException' });
    expect(await get(key)).toBeUndefined();
  });

  it('costs twice what its writes cost alone', async () => {
    const [large, small] = [newKey(), newKey()];
    const { ConsumedCapacity } = await write(
      [
        putAction({ ...large, v: { B: new Uint8Array(2_500) } }),
        { ConditionCheck: { TableName, Key: small, ...absent } },
      ],
      { ReturnConsumedCapacity: 'TOTAL' },
    );
    expect(ConsumedCapacity).toMatchObject([{ TableName, CapacityUnits: 8, WriteCapacityUnits: 8 }]);
    expect((await write([putAction(small)])).ConsumedCapacity).toBeUndefined();
  });
});

describe('a client request token', () => {
  it('makes a repetition do nothing and succeed, at the cost of reading', async () => {
    const key = newKey();
    const request = { ClientRequestToken: randomUUID(), ReturnConsumedCapacity: 'TOTAL' as const };
    await write([addAction(key, 1)], request);
    const repeated = await write([addAction(key, 1)], request);
    expect(await get(key)).toEqual({ ...key, n: { N: '1' } });
    expect(repeated.ConsumedCapacity).toMatchObject([{ TableName, CapacityUnits: 2, ReadCapacityUnits: 2 }]);
  });

  it('holds when the repetition comes while the first is still running', async () => {
    const key = newKey();
    const request = { ClientRequestToken: randomUUID() };
    await Promise.allSettled(Array.from({ length: 8 }, () => write([addAction(key, 1)], request)));
    expect(await get(key)).toEqual({ ...key, n: { N: '1' } });
  });

  it('refuses another transaction under the same token', async () => {
    const key = newKey();
    const request = { ClientRequestToken: randomUUID() };
    await write([addAction(key, 1)], request);
    const error = await failure(write([addAction(key, 2)], request));
    expect(error).toBeInstanceOf(IdempotentParameterMismatchException);
    expect(await get(key)).toEqual({ ...key, n: { N: '1' } });
  });

  it('does not remember a transaction that was cancelled', async () => {
    const key = newKey();
    const request = { ClientRequestToken: randomUUID() };
    const actions = [{ Put: { TableName, Item: key, ...absent } }];
    await put(key);
    expect(await failure(write(actions, request))).toBeInstanceOf(TransactionCanceledException);
    expect(await failure(write(actions, request))).toBeInstanceOf(TransactionCanceledException);
  });

  it.skipIf(process.env.VERTEBRA_CONTRACT_ENDPOINT)('is forgotten after ten minutes', async () => {
    const key = newKey();
    const request = { ClientRequestToken: randomUUID() };
    await write([addAction(key, 1)], request);
    now += 10 * 60_000;
    await write([addAction(key, 2)], request);
    expect(await get(key)).toEqual({ ...key, n: { N: '3' } });
  });
});

describe('a transaction of reads', () => {
  const read = (keys: Item[]) =>
    engine.dynamodb.send(
      new TransactGetItemsCommand({
        TransactItems: keys.map((Key) => ({ Get: { TableName, Key } })),
        ReturnConsumedCapacity: 'TOTAL',
      }),
    );

  it('answers in the order asked, empty where there is nothing, for twice the units', async () => {
    const [there, gone] = [newKey(), newKey()];
    await put({ ...there, v: { B: new Uint8Array(5_000) } });
    const { Responses, ConsumedCapacity } = await read([gone, there]);
    expect(Responses!.map(({ Item }) => Item?.pk)).toEqual([undefined, there.pk]);
    expect(ConsumedCapacity).toMatchObject([{ TableName, CapacityUnits: 6, ReadCapacityUnits: 6 }]);
  });

  it('refuses the same item twice', async () => {
    const key = newKey();
    await expect(read([key, key])).rejects.toMatchObject({ name: 'ValidationException' });
  });

  it('never sees half of a transaction', async () => {
    const pair = [newKey(), newKey()];
    const writers = (async () => {
      for (let n = 1; n <= 40; n++) await write(pair.map((key) => putAction({ ...key, n: { N: String(n) } })));
    })();
    const seen = new Set<string>();
    let writing = true;
    writers.finally(() => {
      writing = false;
    });
    while (writing) {
      const { Responses } = await read(pair);
      const [one, two] = Responses!.map(({ Item }) => Item?.n?.N);
      expect(one).toBe(two);
      if (one) seen.add(one);
    }
    await writers;
    expect(seen.size).toBeGreaterThan(1);
  });
});

describe('transactions and plain writes at once', () => {
  /** A transaction that meets another request may be refused on AWS; the caller tries again. */
  const insist = async (attempt: () => Promise<unknown>): Promise<void> => {
    for (;;) {
      const error = await failure(attempt());
      if (!error) return;
      const conflict =
        error.name === 'TransactionConflictException' ||
        error.CancellationReasons?.some(({ Code }: { Code: string }) => Code === 'TransactionConflict');
      if (!conflict) throw error;
    }
  };

  it('lose no update, whatever order their items come in', async () => {
    const [a, b] = [newKey(), newKey()];
    const plain = (key: Item) =>
      engine.dynamodb.send(
        new UpdateItemCommand({
          TableName,
          Key: key,
          UpdateExpression: 'ADD n :by',
          ExpressionAttributeValues: { ':by': { N: '1' } },
        }),
      );
    await Promise.all(
      Array.from({ length: 16 }, (_, n) => [
        insist(() => write(n % 2 ? [addAction(a, 1), addAction(b, 1)] : [addAction(b, 1), addAction(a, 1)])),
        insist(() => plain(n % 2 ? a : b)),
      ]).flat(),
    );
    expect((await get(a))!.n).toEqual({ N: '24' });
    expect((await get(b))!.n).toEqual({ N: '24' });
  });

  it('leave a condition that spans items intact: money moves, none is made', async () => {
    const accounts = [newKey(), newKey(), newKey()];
    for (const key of accounts) await put({ ...key, n: { N: '5' } });
    const move = (from: Item, to: Item): TransactWriteItem[] => [
      {
        Update: {
          TableName,
          Key: from,
          UpdateExpression: 'ADD n :minus',
          ConditionExpression: 'n >= :one',
          ExpressionAttributeValues: { ':minus': { N: '-1' }, ':one': { N: '1' } },
        },
      },
      addAction(to, 1),
    ];
    const moves = Array.from({ length: 30 }, (_, n) =>
      failure(write(move(accounts[n % 3]!, accounts[(n + 1 + (n % 2)) % 3]!))),
    );
    await Promise.all(moves);
    const { Responses } = await engine.dynamodb.send(
      new BatchGetItemCommand({ RequestItems: { [TableName]: { Keys: accounts, ConsistentRead: true } } }),
    );
    const balances = Responses![TableName]!.map(({ n }) => Number(n!.N));
    expect(balances.reduce((sum, balance) => sum + balance)).toBe(15);
    expect(Math.min(...balances)).toBeGreaterThanOrEqual(0);
  });
});
