import {
  ConditionalCheckFailedException,
  DynamoDBClient,
  GetItemCommand,
  ProvisionedThroughputExceededException,
  PutItemCommand,
  QueryCommand,
  TransactionCanceledException,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { Throttled, Unavailable } from '../../../shared/domain/errors.ts';
import { SETTLE_AFTER_MS } from '../../../shared/domain/limits.ts';
import type { Reservation } from '../../../shared/domain/slot.ts';
import { Log } from '../../../shared/store/log.ts';
import { PartitionHeads } from '../../../shared/store/partition-head.ts';
import { Topics } from '../../../shared/store/topics.ts';

// What no engine can be made to do: throttle, stay silent, or keep back who is there.
const dynamodb = mockClient(DynamoDBClient);
afterAll(() => dynamodb.restore());
const client = dynamodb as unknown as DynamoDBClient;
const log = new Log(client, 'log');
const heads = new PartitionHeads(client, 'state');
const topics = new Topics(client, 'state');
beforeEach(() => dynamodb.reset());

const inTime = () => false;
const partition = { topicId: '01', partition: 0 };
const id = '00112233445566778899aabb';
const reserved = { count: 1, time: 5, expiresAt: 0, settleMs: SETTLE_AFTER_MS };
const reservation: Reservation = { id, base: 0, last: 0, previous: [], ...reserved };
const batch = { count: 1, bytes: Buffer.from('a'), json: false };
const topic = { name: 'orders', id: '01', partitions: 1, retentionMs: -1, createdAt: 0, hiddenUntil: 0 };

const metadata = (httpStatusCode: number) => ({ $metadata: { httpStatusCode }, message: 'no' });
const throttle = new ProvisionedThroughputExceededException(metadata(400));
const silence = Object.assign(new Error('silence'), { name: 'TimeoutError' });
const condition = new ConditionalCheckFailedException(metadata(400));

describe('a write', () => {
  it('that was throttled says that nothing was written', async () => {
    dynamodb.on(PutItemCommand).rejects(throttle);
    await expect(log.fill(partition, reservation, batch, inTime)).rejects.toMatchObject({
      reason: 'throttled',
      mayHaveLanded: false,
    });
  });

  it('that was not answered says that it may have been carried out', async () => {
    dynamodb.on(UpdateItemCommand).rejects(silence);
    await expect(heads.reserve(partition, id, reserved, inTime)).rejects.toMatchObject({
      reason: 'unreachable',
      mayHaveLanded: true,
    });
  });

  it('whose condition failed looks who is there when it is not told, and consistently (A4)', async () => {
    dynamodb.on(PutItemCommand).rejects(condition);
    dynamodb.on(GetItemCommand).resolves({
      Item: {
        log: { S: '01.0' },
        last: { N: '0' },
        v: { N: '1' },
        count: { N: '1' },
        at: { N: '5' },
        append: { B: Buffer.from(id, 'hex') },
        batch: { B: Buffer.from('a') },
      },
    });
    expect(await log.fill(partition, reservation, batch, inTime)).toBeUndefined();
    expect(dynamodb.commandCalls(GetItemCommand)[0]?.args[0].input.ConsistentRead).toBe(true);
  });

  it('whose condition failed on a slot that is absent proves nothing (A4)', async () => {
    dynamodb.on(PutItemCommand).rejects(condition);
    dynamodb.on(GetItemCommand).resolves({});
    await expect(log.fill(partition, reservation, batch, inTime)).rejects.toMatchObject({ mayHaveLanded: true });
  });

  it('that is refused for another reason is a bug, and stays what it is', async () => {
    const bug = Object.assign(new Error('bad expression'), {
      name: 'ValidationException',
      $metadata: { httpStatusCode: 400 },
    });
    dynamodb.on(PutItemCommand).rejects(bug);
    await expect(log.fill(partition, reservation, batch, inTime)).rejects.toThrow('bad expression');
  });
});

describe('a transaction', () => {
  const cancelled = (...codes: string[]) =>
    new TransactionCanceledException({ ...metadata(400), CancellationReasons: codes.map((Code) => ({ Code })) });

  it('is worth a repeat only when every reason passes by itself (F32)', async () => {
    dynamodb.on(TransactWriteItemsCommand).rejects(cancelled('None', 'TransactionConflict'));
    await expect(topics.create(topic)).rejects.toMatchObject({ reason: 'throttled', mayHaveLanded: false });
    dynamodb.on(TransactWriteItemsCommand).rejects(cancelled('TransactionConflict', 'ConditionalCheckFailed'));
    expect(await topics.create(topic)).toBe(false);
    dynamodb.on(TransactWriteItemsCommand).rejects(cancelled('TransactionConflict', 'ValidationError'));
    await expect(topics.create(topic)).rejects.toBeInstanceOf(TransactionCanceledException);
  });
});

it('that meets a transaction of somebody else may be repeated; one that meets its own is not certain (F28, F32)', async () => {
  const refusal = (name: string) => Object.assign(new Error(name), { name, $metadata: { httpStatusCode: 400 } });
  dynamodb.on(UpdateItemCommand).rejects(refusal('TransactionConflictException'));
  await expect(topics.update(topic, topic)).rejects.toMatchObject({ reason: 'throttled', mayHaveLanded: false });
  dynamodb.on(TransactWriteItemsCommand).rejects(refusal('TransactionInProgressException'));
  await expect(topics.create(topic)).rejects.toMatchObject({ mayHaveLanded: true });
});

describe('a read', () => {
  it('that was throttled, or not answered, says so and is never taken for "nothing there"', async () => {
    dynamodb.on(QueryCommand).rejects(throttle);
    await expect(log.read(partition, 0, { limit: 1, outline: false })).rejects.toBeInstanceOf(Throttled);
    dynamodb.on(GetItemCommand).rejects(silence);
    await expect(heads.read(partition)).rejects.toBeInstanceOf(Unavailable);
  });

  it('is strongly consistent, every one', async () => {
    dynamodb.on(QueryCommand).resolves({ Items: [] }).on(GetItemCommand).resolves({});
    await log.read(partition, 0, { limit: 1, outline: false });
    await heads.read(partition);
    await topics.read('orders');
    await topics.list(10);
    for (const { args } of dynamodb.calls()) expect(args[0].input).toMatchObject({ ConsistentRead: true });
  });
});
