import { GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Meter, sequentialRoundTrips } from '../../bench/meter.ts';
import { type EmbeddedTables, embeddedTables } from '../support/embedded.ts';

let tables: EmbeddedTables;
const meter = new Meter();
beforeAll(async () => {
  tables = await embeddedTables();
  meter.watch(tables.dynamodb);
});
afterAll(() => tables.close());

describe('the meter', () => {
  it('knows what the engine says that a call consumed, also when a condition was refused', async () => {
    const put = () =>
      tables.dynamodb.send(
        new PutItemCommand({
          TableName: tables.logTable,
          Item: { log: { S: 'a' }, last: { N: '1' }, batch: { B: new Uint8Array(2_000) } },
          ConditionExpression: 'attribute_not_exists(#log)',
          ExpressionAttributeNames: { '#log': 'log' },
        }),
      );
    await put();
    await expect(put()).rejects.toThrow();
    const common = { service: 'DynamoDB', operation: 'PutItem', attempts: 1, readUnits: 0, putBytes: 2_015 };
    expect(meter.take()).toMatchObject([
      { ...common, batchBytes: 2_000, writeUnits: 2, conditionFailed: false },
      { ...common, writeUnits: 0, conditionFailed: true },
    ]);
    expect(meter.take()).toEqual([]);
  });

  it('waits for calls that nobody waited for, when it is asked for all', async () => {
    const call = tables.dynamodb.send(
      new GetItemCommand({ TableName: tables.logTable, Key: { log: { S: 'b' }, last: { N: '1' } } }),
    );
    expect(meter.take()).toEqual([]);
    expect(await meter.takeAll()).toMatchObject([{ operation: 'GetItem', readUnits: 0.5 }]);
    await call;
  });
});

describe('sequential round trips', () => {
  it('are the longest chain of calls that waited for each other', () => {
    expect(sequentialRoundTrips([])).toBe(0);
    const [first, beside, after] = [
      { began: 1, ended: 4 },
      { began: 2, ended: 3 },
      { began: 5, ended: 6 },
    ];
    expect(sequentialRoundTrips([first, beside])).toBe(1);
    expect(sequentialRoundTrips([beside, after, first])).toBe(2);
  });
});
