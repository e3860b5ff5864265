import {
  DynamoDBClient,
  GetItemCommand,
  QueryCommand,
  TransactionCanceledException,
  type TransactWriteItem,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { RecordDelivery } from '../../../client/effects/delivery.ts';
import { DeliveryFenced } from '../../../client/effects/errors.ts';
import { processOnce } from '../../../client/effects/process-once.ts';
import { InvalidOptions } from '../../../client/errors.ts';
import { itemKey } from '../../../shared/store/item-key.ts';
import { positionKey } from '../../../shared/store/keys.ts';
import { Positions } from '../../../shared/store/positions.ts';
import { type EmbeddedTables, embeddedTables } from '../../support/embedded.ts';
import { FaultHandler } from '../../support/fault-handler.ts';

let tables: EmbeddedTables;
let dynamodb: DynamoDBClient;
let faults: FaultHandler;
let positions: Positions;
beforeAll(async () => {
  tables = await embeddedTables();
  const config = tables.aws.clientConfig();
  faults = new FaultHandler(config.requestHandler);
  dynamodb = new DynamoDBClient({ ...config, requestHandler: faults, maxAttempts: 1 });
  positions = new Positions(tables.dynamodb, tables.stateTable);
});
afterAll(async () => {
  dynamodb.destroy();
  await tables.close();
});

const EPOCH = 70;
const TOPIC_ID = '01JZZZZZZZZZZZZZZZZZZZZZZZ';
let made = 0;
let group = { name: '', id: '' };
/** A group whose one position is owned, at offset 5. */
beforeEach(async () => {
  group = { name: `g${++made}`, id: `01J0000000000000000000${String(made).padStart(4, '0')}` };
  await own(EPOCH, 5);
});

async function own(epoch: number, committed: number): Promise<void> {
  const id = { group, topicId: TOPIC_ID, partition: 0 };
  await tables.dynamodb.send(
    new UpdateItemCommand({
      TableName: tables.stateTable,
      Key: itemKey(positionKey(id)),
      UpdateExpression: 'SET v = :v, #epoch = :epoch, #committed = :committed, #owner = :owner',
      ExpressionAttributeNames: { '#epoch': 'epoch', '#committed': 'committed', '#owner': 'owner' },
      ExpressionAttributeValues: {
        ':v': { N: '1' },
        ':epoch': { N: String(epoch) },
        ':committed': { N: String(committed) },
        ':owner': { S: 'somebody' },
      },
    }),
  );
}

const committed = async () => (await positions.read({ group, topicId: TOPIC_ID, partition: 0 }))?.committed;

function delivery(offset: number, more: Partial<RecordDelivery> = {}): { delivery: RecordDelivery } {
  const identify = async () => ({ groupId: group.id, topicId: TOPIC_ID, retentionMs: 3_600_000 });
  return {
    delivery: {
      group: group.name,
      topic: 'orders',
      partition: 0,
      offset,
      epoch: EPOCH,
      isRedriven: false,
      identify,
      ...more,
    },
  };
}

/** Adds one to a counter of the user's: what happens twice shows. */
const count = (name: string): TransactWriteItem => ({
  Update: {
    TableName: 'counters',
    Key: { id: { S: `${group.name} ${name}` } },
    UpdateExpression: 'ADD n :one',
    ExpressionAttributeValues: { ':one': { N: '1' } },
  },
});
async function counted(name: string): Promise<number> {
  const { Item } = await tables.dynamodb.send(
    new GetItemCommand({ TableName: 'counters', Key: { id: { S: `${group.name} ${name}` } } }),
  );
  return Number(Item?.n?.N ?? 0);
}

const once = (
  offset: number,
  writes: TransactWriteItem[] = [count(String(offset))],
  more: Partial<RecordDelivery> = {},
) => processOnce(delivery(offset, more), writes, { dynamodb, stateTable: tables.stateTable });

describe('a record that is processed once', () => {
  beforeAll(async () => {
    const { CreateTableCommand } = await import('@aws-sdk/client-dynamodb');
    await tables.dynamodb.send(
      new CreateTableCommand({
        TableName: 'counters',
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
        KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
      }),
    );
  });

  it('has its writes, its mark and the move of the position in one', async () => {
    expect(await once(5)).toEqual({ done: true });
    expect(await once(6)).toEqual({ done: true });
    expect([await counted('5'), await counted('6'), await committed()]).toEqual([1, 1, 7]);
  });

  it('is passed when it comes again, before and after the position has moved', async () => {
    await once(5);
    expect(await once(5)).toEqual({ done: false });
    await own(EPOCH + 1, 3);
    expect(await once(5, undefined, { epoch: EPOCH + 1 })).toEqual({ done: false });
    expect(await counted('5')).toBe(1);
  });

  it('is processed though others before it are not, which then still move the position', async () => {
    expect(await once(7)).toEqual({ done: true });
    expect(await committed()).toBe(5);
    expect(await once(5)).toEqual({ done: true });
    expect([await counted('7'), await counted('5'), await committed()]).toEqual([1, 1, 6]);
  });

  it('is passed when its position is behind it by other means', async () => {
    await own(EPOCH, 9);
    expect(await once(6)).toEqual({ done: false });
    expect(await counted('6')).toBe(0);
  });

  it('comes back from the dead letters and is processed then, once', async () => {
    await own(EPOCH, 9);
    const redriven = { isRedriven: true };
    expect(await once(6, undefined, redriven)).toEqual({ done: true });
    expect(await once(6, undefined, redriven)).toEqual({ done: false });
    expect([await counted('6'), await committed()]).toEqual([1, 9]);
  });

  it("is nobody else's: whoever lost the partition, or was given up, writes nothing", async () => {
    await own(EPOCH + 1, 5);
    await expect(once(5)).rejects.toThrow(DeliveryFenced);
    await expect(once(5, undefined, { epoch: EPOCH - 1 })).rejects.toThrow(DeliveryFenced);
    group = { name: 'nobody', id: '01J00000000000000000000000' };
    await expect(once(5)).rejects.toThrow(DeliveryFenced);
    expect(await counted('5')).toBe(0);
  });

  it('asks anew who it is for, when group or topic have been made again', async () => {
    const asked: boolean[] = [];
    const identify = async (anew = false) => {
      asked.push(anew);
      return { groupId: anew ? group.id : '01JAAAAAAAAAAAAAAAAAAAAAAA', topicId: TOPIC_ID, retentionMs: -1 };
    };
    expect(await once(5, undefined, { identify })).toEqual({ done: true });
    expect(asked).toEqual([false, true]);
  });

  it('is done once by two who race, and the same partition goes on in order', async () => {
    const racing = await Promise.all(Array.from({ length: 5 }, () => once(5)));
    expect(racing.filter(({ done }) => done)).toHaveLength(1);
    await Promise.all([6, 7, 8, 9].map((offset) => once(offset)));
    expect([await counted('5'), await committed()]).toEqual([1, 10]);
  });

  it('is found done when the answer was lost', async () => {
    faults.next('TransactWriteItems', 'lose-answer', 1);
    await expect(once(5)).rejects.toThrow();
    expect(await once(5)).toEqual({ done: false });
    expect([await counted('5'), await committed()]).toEqual([1, 6]);
  });

  it("is not done, nor marked, when a condition of the user's fails: the error is theirs", async () => {
    const impossible: TransactWriteItem = {
      ConditionCheck: {
        TableName: 'counters',
        Key: { id: { S: 'none' } },
        ConditionExpression: 'attribute_exists(id)',
      },
    };
    await expect(once(5, [count('5'), impossible])).rejects.toMatchObject({
      name: 'TransactionCanceledException',
      CancellationReasons: [{ Code: 'None' }, { Code: 'ConditionalCheckFailed' }, { Code: 'None' }, { Code: 'None' }],
    });
    expect([await counted('5'), await committed()]).toEqual([0, 5]);
    expect(await once(5)).toEqual({ done: true });
    // And when it would fail on the way back, the mark counts.
    expect(await once(5, [impossible])).toEqual({ done: false });
  });

  it.each([
    [
      'once, where a condition of theirs fails beside it',
      ['TransactionConflict', 'ConditionalCheckFailed', 'None', 'None'],
      1,
    ],
    ['until it is known whether it is processed', ['None', 'ConditionalCheckFailed', 'TransactionConflict', 'None'], 3],
    ['until it goes through', ['TransactionConflict', 'None', 'None', 'None'], 3],
  ])('that conflicts with others is tried %s', async (_what, codes, times) => {
    let sent = 0;
    const cancelled = new TransactionCanceledException({
      message: 'cancelled',
      $metadata: {},
      CancellationReasons: codes.map((Code) => ({ Code })),
    });
    const send = async (command: object) => {
      if (++sent < 3) throw cancelled;
      return tables.dynamodb.send(command as GetItemCommand);
    };
    const sender = { send } as unknown as DynamoDBClient;
    const options = { dynamodb: sender, stateTable: tables.stateTable };
    const trying = processOnce(delivery(5), [count('5'), count('other')], options);
    if (times === 1) await expect(trying).rejects.toBe(cancelled);
    else expect(await trying).toEqual({ done: true });
    expect(sent).toBe(times);
  });

  const markLeft = async () => {
    const { Items } = await tables.dynamodb.send(
      new QueryCommand({
        TableName: tables.stateTable,
        KeyConditionExpression: 'pk = :pk',
        ExpressionAttributeValues: { ':pk': { S: `${group.name}#${group.id}#done.${TOPIC_ID}.0` } },
      }),
    );
    expect(Items).toHaveLength(1);
    return Items![0];
  };

  it('is marked for longer than its topic keeps it', async () => {
    await once(5);
    const mark = await markLeft();
    expect(Number(mark?.expiresAt?.N) * 1_000 - Date.now()).toBeGreaterThan(3_600_000);
  });

  it('is marked for ever when it came back from the dead letters, which may lie for as long', async () => {
    await own(EPOCH, 9);
    await once(6, undefined, { isRedriven: true });
    expect((await markLeft())?.expiresAt).toBeUndefined();
  });
});

describe('what is refused before anything is sent', () => {
  const big = { Put: { TableName: 'counters', Item: { id: { S: 'x' }, data: { B: new Uint8Array(390_000) } } } };
  it.each<[string, TransactWriteItem[], string]>([
    ['99 writes', Array.from({ length: 99 }, (_, i) => count(String(i))), 'has room for 98'],
    ['more than 4 MB', Array.from({ length: 11 }, () => big), 'has room for 4000000'],
    ['no write', [{}], 'Write 0 is no Put'],
    [
      'an item of 410 KB',
      [{ Put: { TableName: 'counters', Item: { id: { S: 'x'.repeat(410_000) } } } }],
      'an item has at most',
    ],
    [
      "a write to the backbone's own tables",
      [{ Delete: { TableName: 'state', Key: { pk: { S: 'topics' } } } }],
      "table of the backbone's own",
    ],
    [
      'the same by its ARN',
      [{ Delete: { TableName: 'arn:aws:dynamodb:eu-central-1:1:table/state', Key: {} } }],
      "table of the backbone's own",
    ],
  ])('%s', async (_what, writes, message) => {
    const sent = once(5, writes);
    await expect(sent).rejects.toThrow(InvalidOptions);
    await expect(sent).rejects.toThrow(message);
    expect(await committed()).toBe(5);
  });

  it('a message that no group delivers, and a table that nobody names', async () => {
    await expect(processOnce({}, [], { dynamodb, stateTable: 'state' })).rejects.toThrow(
      'does not come from a consumer group',
    );
    await expect(processOnce(delivery(5), [], { dynamodb })).rejects.toThrow('VERTEBRA_STATE_TABLE');
  });
});
