import { randomBytes } from 'node:crypto';
import { DeleteItemCommand, type TransactWriteItem, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { describe, expect, it, vi } from 'vitest';
import { PreparedExpired } from '../../client/prepared-append.ts';
import { Vertebra } from '../../client/vertebra.ts';
import {
  LATE_MAX_MS,
  SETTLE_AFTER_MS,
  SLOW_FILL_DEADLINE_MS,
  SLOW_SETTLE_AFTER_MS,
} from '../../shared/domain/limits.ts';
import { fetchOf } from '../support/api-fetch.ts';
import { HandClock } from '../support/log-bench.ts';
import { openTopicBench } from '../support/topic-bench.ts';

const clock = new HandClock();
const bench = openTopicBench({ clock });
let orders = 0;

/** A backbone whose clock is the tests' own. */
const backbone = () =>
  new Vertebra({
    endpoint: 'http://127.0.0.1:1',
    fetch: fetchOf(bench.api),
    surroundings: { now: () => clock.now(), random: Math.random, sleep: async (ms) => clock.pass(ms) },
  });
const nameOf = (topic: string) => topic.split('/').at(-1)!;

/** The business write: an order that must not be there yet. */
function order(id = `order-${++orders}`): TransactWriteItem {
  return {
    Put: {
      TableName: bench.api.tables.stateTable,
      Item: { pk: { S: 'business' }, sk: { S: id } },
      ConditionExpression: 'attribute_not_exists(pk)',
    },
  };
}

const transact = (...items: TransactWriteItem[]) =>
  bench.api.tables.dynamodb.send(new TransactWriteItemsCommand({ TransactItems: items }));

async function valuesIn(topic: string, partition = 0): Promise<unknown[]> {
  return (await bench.fetched(topic, 'offset=earliest&values=json', partition)).records.map(({ value }) => value);
}

describe('records that are prepared for a transaction', () => {
  it('are read as soon as it is carried out, where it was said that they would be', async () => {
    const topic = await bench.newTopic();
    const prepared = await backbone().prepareAppend(nameOf(topic), [
      { key: 'a', value: { n: 1 }, headers: { h: 'x' } },
      { key: 'b', value: null },
    ]);
    expect(await valuesIn(topic)).toEqual([]);
    const result = await transact(order(), ...prepared.items);
    expect(await prepared.settle(result)).toEqual({ committed: true });
    expect(prepared.offsets).toMatchObject([
      { partition: 0, offset: 0 },
      { partition: 0, offset: 1 },
    ]);
    expect((await bench.fetched(topic)).records).toMatchObject([
      { offset: 0, key: 'a', value: { n: 1 }, headers: [['h', 'x']], timestamp: prepared.offsets[0]!.timestamp },
      { offset: 1, key: 'b', value: null },
    ]);
  });

  it('go to the partitions of their keys, all of them or none', async () => {
    const topic = await bench.newTopic(4);
    const messages = ['a', 'b', 'c', 'd', 'e'].map((key) => ({ key, value: key }));
    const lost = await backbone().prepareAppend(nameOf(topic), messages);
    expect(await lost.settle()).toEqual({ committed: false });
    const kept = await backbone().prepareAppend(nameOf(topic), messages);
    await transact(...kept.items);
    const produced = await bench.api.post(`${topic}/records`, { records: messages });
    const partitions = produced.json<{ offsets: { partition: number }[] }>().offsets.map(({ partition }) => partition);
    expect(kept.offsets.map(({ partition }) => partition)).toEqual(partitions);
    const read = await Promise.all([0, 1, 2, 3].map((partition) => valuesIn(topic, partition)));
    expect(read.flat().sort()).toEqual([...'aabbccddee']);
  });

  it('are not stored when the business write is refused, and hold up nobody once that is settled', async () => {
    const topic = await bench.newTopic();
    const once = order();
    await transact(once);
    const prepared = await backbone().prepareAppend(nameOf(topic), [{ value: 'never' }]);
    await bench.api.post(`${topic}/records`, { records: [{ value: 'next' }] });
    expect(await valuesIn(topic)).toEqual([]); // what comes before it may still be stored
    const error = await transact(once, ...prepared.items).catch((refusal: unknown) => refusal);
    expect(error).toMatchObject({ name: 'TransactionCanceledException' });
    expect(await prepared.settle(error)).toEqual({ committed: false });
    expect(await valuesIn(topic)).toEqual(['next']);
  });

  it('are found stored when the answer of the transaction was lost', async () => {
    const topic = await bench.newTopic();
    const prepared = await backbone().prepareAppend(nameOf(topic), [{ value: 'once' }]);
    await transact(order(), ...prepared.items);
    expect(await prepared.settle(new Error('the answer was lost'))).toEqual({ committed: true });
    expect(await valuesIn(topic)).toEqual(['once']);
  });

  it('are settled without a call by what says that it is done, and by nothing that does not', async () => {
    const topic = await bench.newTopic();
    const calls = vi.fn(fetchOf(bench.api));
    const client = new Vertebra({ endpoint: 'http://127.0.0.1:1', fetch: calls });
    const prepare = () => client.prepareAppend(nameOf(topic), [{ value: 1 }]);
    for (const done of [{ done: true }, { $metadata: { httpStatusCode: 200 } }]) {
      const prepared = await prepare();
      await transact(...prepared.items);
      calls.mockClear();
      expect(await prepared.settle(done)).toEqual({ committed: true });
      expect(calls).not.toHaveBeenCalled();
    }
    for (const other of [{ done: false }, null, undefined, Object.assign(new Error(), { done: true })]) {
      expect(await (await prepare()).settle(other)).toEqual({ committed: false });
    }
  });

  it('cannot be stored any more once it was settled that they are not', async () => {
    const topic = await bench.newTopic();
    const prepared = await backbone().prepareAppend(nameOf(topic), [{ value: 'late' }]);
    expect(await prepared.settle()).toEqual({ committed: false });
    await expect(transact(order(), ...prepared.items)).rejects.toThrow('Transaction cancelled');
    expect(await prepared.settle()).toEqual({ committed: false });
    expect(await valuesIn(topic)).toEqual([]);
  });

  it('are settled by readers when nobody else does it, and no earlier', async () => {
    const topic = await bench.newTopic();
    const prepared = await backbone().prepareAppend(nameOf(topic), [{ value: 'forgotten' }]);
    await bench.api.post(`${topic}/records`, { records: [{ value: 'next' }] });
    clock.pass(SETTLE_AFTER_MS + 1);
    expect(await valuesIn(topic)).toEqual([]);
    clock.pass(SLOW_SETTLE_AFTER_MS);
    expect(await valuesIn(topic)).toEqual(['next']);
    expect(await prepared.settle()).toEqual({ committed: false });
  });

  it('are refused by their own items when the time for it is over', async () => {
    const topic = await bench.newTopic();
    const prepared = await backbone().prepareAppend(nameOf(topic), [{ value: 'late' }]);
    clock.pass(SLOW_FILL_DEADLINE_MS + 1);
    await expect(transact(order('late'), ...prepared.items)).rejects.toThrow(PreparedExpired);
    expect(await prepared.settle()).toEqual({ committed: false });
    await transact(order('late')); // no part of it was carried out
  });

  it('are settled in an incarnation of the topic that is deleted', async () => {
    const topic = await bench.newTopic();
    const prepared = await backbone().prepareAppend(nameOf(topic), [{ value: 'gone' }]);
    await bench.api.delete(topic);
    await bench.api.put(topic, { partitions: 1 });
    expect(await prepared.settle()).toEqual({ committed: false });
    expect(await valuesIn(topic)).toEqual([]);
  });

  it('are not called lost when they may have been removed with their topic', async () => {
    const topic = await bench.newTopic();
    const answer = await bench.api.post(`${topic}/prepare`, { records: [{ value: 'stored' }] });
    const { token, puts } = answer.json<{
      token: string;
      puts: { Item: { log: { S: string }; last: { N: string } } }[];
    }>();
    // Carried out, and purged with its topic.
    const { log, last } = puts[0]!.Item;
    clock.pass(LATE_MAX_MS + 1);
    expect((await bench.api.post(`${topic}/settle`, { token })).json()).toEqual({ committed: false });
    await bench.api.delete(topic);
    await bench.api.tables.dynamodb.send(
      new DeleteItemCommand({ TableName: bench.api.tables.logTable, Key: { log, last } }),
    );
    for (let times = 0; times < 2; times++) {
      const reply = await bench.api.post(`${topic}/settle`, { token });
      expect(reply).toMatchObject({ status: 504, code: 'outcome_unknown' });
    }
  });
});

describe('what does not go into a transaction', () => {
  it.each([
    ['an idempotency key', { records: [{ value: 1 }] }, { 'idempotency-key': 'k' }, 400, { header: 'Idempotency-Key' }],
    [
      'an upload',
      { records: [{ value: 1 }, { value: { uploadId: '01J00000000000000000000000' }, valueEncoding: 'upload' }] },
      {},
      400,
      { index: 1 },
    ],
    [
      'a partition that is not there',
      { records: [{ value: 1, partition: 7 }] },
      {},
      400,
      { index: 0, field: 'partition' },
    ],
    [
      'too many partitions',
      { records: Array.from({ length: 100 }, (_, partition) => ({ value: 1, partition })) },
      {},
      413,
      { maxPartitions: 99 },
    ],
    [
      'too large a batch',
      { records: [{ value: noise(400_000), valueEncoding: 'base64' }] },
      {},
      413,
      { maxBytes: 350 * 1024 },
    ],
    [
      'too many bytes',
      {
        records: Array.from({ length: 10 }, (_, partition) => ({
          value: noise(330_000),
          valueEncoding: 'base64',
          partition,
        })),
      },
      {},
      413,
      { maxBytes: 3_000_000 },
    ],
  ])('%s is refused', async (_what, body, headers, status, data) => {
    const topic = await bench.newTopic(body.records.length === 1 ? 1 : 100);
    const reply = await bench.api.post(`${topic}/prepare`, body, headers);
    expect(reply.status).toBe(status);
    expect(reply.json()).toMatchObject(data);
  });

  it.each([
    ['none', {}],
    ['one that was made up', { token: 'WyJvcmRlcnMiXQ.c2lnbmF0dXJl' }],
    ['an unknown field', { token: 'x', more: 1 }],
  ])('a settlement with %s as its token is refused', async (_what, body) => {
    const topic = await bench.newTopic();
    expect(await bench.api.post(`${topic}/settle`, body)).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it('a settlement by the token of another topic is refused', async () => {
    const [topic, other] = [await bench.newTopic(), await bench.newTopic()];
    const { token } = (await bench.api.post(`${topic}/prepare`, { records: [{ value: 1 }] })).json<{ token: string }>();
    expect(await bench.api.post(`${other}/settle`, { token })).toMatchObject({ status: 400, code: 'invalid_request' });
    const forged = `${token.slice(0, -2)}AA`;
    expect(await bench.api.post(`${topic}/settle`, { token: forged })).toMatchObject({ status: 400 });
    expect((await bench.api.post(`${topic}/settle`, { token })).json()).toEqual({ committed: false });
  });
});

/** Bytes that cannot be compressed, in base64. */
function noise(bytes: number): string {
  return randomBytes(bytes).toString('base64');
}
