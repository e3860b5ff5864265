import { PutItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { PartitionId, Topic } from '../../shared/domain/topic.ts';
import { intentKey, logKey } from '../../shared/store/keys.ts';
import { Leftovers } from '../../shared/store/leftovers.ts';
import { LogPurge } from '../../shared/store/log-purge.ts';
import { PartitionHeads } from '../../shared/store/partition-head.ts';
import { SweepLease } from '../../shared/store/sweep-lease.ts';
import { Topics } from '../../shared/store/topics.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

describe.each(STORE_ENGINES)('on %s', (_, open) => {
  let engine: StoreEngine;
  let names: { logTable: string; stateTable: string };
  beforeAll(async () => {
    engine = await open();
    names = engine;
  });
  afterAll(() => engine.close());

  let ids = 0;
  let topic: Topic;
  let partition: PartitionId;
  beforeEach(() => {
    const id = (++ids).toString().padStart(26, '0');
    topic = { name: `t${ids}`, id, partitions: 1, retentionMs: -1, createdAt: 1, hiddenUntil: 0 };
    partition = { topicId: id, partition: 0 };
  });

  describe('the lease of the sweep', () => {
    let lease: SweepLease;
    beforeEach(async () => {
      lease = new SweepLease(engine.dynamodb, names.stateTable);
      await Promise.all(['a', 'b', 'c'].map((token) => lease.release(token)));
    });

    it('is held by one of many who want it at a time', async () => {
      const tokens = Array.from({ length: 16 }, (_, i) => `token${i}`);
      const taken = await Promise.all(tokens.map((token) => lease.take(token, 2_000, 1_000)));
      expect(taken.filter(Boolean)).toHaveLength(1);
      await Promise.all(tokens.map((token) => lease.release(token)));
      expect(await lease.take('a', 2_000, 1_000)).toBe(true);
    });

    it('is another’s once its time is up, and then cannot be renewed, nor given up, by who had it', async () => {
      expect(await lease.take('a', 2_000, 1_000)).toBe(true);
      expect(await lease.renew('a', 3_000)).toBe(true);
      expect(await lease.take('b', 4_000, 2_999)).toBe(false);
      expect(await lease.take('b', 4_000, 3_000)).toBe(true);
      expect(await lease.renew('a', 5_000)).toBe(false);
      await lease.release('a');
      expect(await lease.take('c', 5_000, 3_500)).toBe(false);
      expect(await lease.renew('b', 5_000)).toBe(true);
    });

    it('cannot be renewed when it was given up', async () => {
      await lease.take('a', 2_000, 1_000);
      await lease.release('a');
      expect(await lease.renew('a', 3_000)).toBe(false);
    });
  });

  describe('a leftover', () => {
    const stores = () => ({
      topics: new Topics(engine.dynamodb, names.stateTable),
      leftovers: new Leftovers(engine.dynamodb, names.stateTable),
    });
    const own = async () => (await stores().leftovers.list()).items.filter(({ id }) => id === topic.id);

    it('is announced, and ends when its topic is made', async () => {
      const { topics, leftovers } = stores();
      await topics.announce(topic);
      expect(await own()).toEqual([{ id: topic.id, name: topic.name, partitions: 1, at: 1, state: 'announced' }]);
      expect(await topics.create(topic)).toBe(true);
      expect(await own()).toEqual([]);
      expect(await leftovers.markAbandoned(topic.id)).toBe(false);
    });

    it('that was abandoned never becomes a topic', async () => {
      const { topics, leftovers } = stores();
      await topics.announce(topic);
      expect(await leftovers.markAbandoned(topic.id)).toBe(true);
      expect(await topics.create(topic)).toBe(false);
      expect(await topics.read(topic.name)).toBeUndefined();
      expect(await own()).toMatchObject([{ state: 'abandoned' }]);
      await leftovers.remove(topic.id);
      expect(await topics.create(topic)).toBe(false);
    });

    it('of a deleted topic has its heads, those of a growth included, and keeps when they were closed first', async () => {
      const { topics, leftovers } = stores();
      await topics.announce(topic);
      await topics.create(topic);
      const growing = { ...topic, growingTo: 4 };
      expect(await topics.update(topic, growing)).toBe(true);
      expect(await topics.update(topic, growing)).toBe(false);
      expect(await topics.markDeleted(topic, 5)).toBe(false);
      expect(await topics.markDeleted(growing, 5)).toBe(true);
      await leftovers.markClosed(topic.id, 7);
      await leftovers.markClosed(topic.id, 8);
      expect(await own()).toMatchObject([{ partitions: 4, at: 5, state: 'deleted', closedAt: 7 }]);
      expect(await leftovers.markAbandoned(topic.id)).toBe(false);
    });

    it('that is gone is not brought back by a late note', async () => {
      await stores().leftovers.markClosed(topic.id, 7);
      expect(await own()).toEqual([]);
    });
  });

  describe('the purge of a log', () => {
    const put = async (log: string, last: number, bytes = 1) =>
      engine.dynamodb.send(
        new PutItemCommand({
          TableName: names.logTable,
          Item: { log: { S: log }, last: { N: String(last) }, v: { N: '1' }, batch: { B: new Uint8Array(bytes) } },
        }),
      );

    it('lists slots and intents apart, in pages, and deletes what it is told', async () => {
      const purge = new LogPurge(engine.dynamodb, names.logTable);
      for (const last of [0, 5, 9, 12]) await put(logKey(partition), last);
      await put(intentKey(partition), 5);
      expect(await purge.list(partition, 'slots', -1, 3)).toEqual({ lasts: [0, 5, 9], more: true });
      expect((await purge.list(partition, 'slots', 9, 3)).lasts).toEqual([12]);
      expect((await purge.list(partition, 'intents', -1, 3)).lasts).toEqual([5]);
      expect(await purge.delete(partition, 'slots', [0, 9, 12])).toEqual([]);
      expect((await purge.list(partition, 'slots', -1, 3)).lasts).toEqual([5]);
      expect(await purge.delete(partition, 'intents', [5, 6])).toEqual([]);
      expect((await purge.list(partition, 'intents', -1, 3)).lasts).toEqual([]);
    });

    it('marks its progress in heads that are closed, forwards only, and in no others', async () => {
      const heads = new PartitionHeads(engine.dynamodb, names.stateTable);
      await heads.markPurged(partition, 3);
      expect(await heads.read(partition)).toBeUndefined();
      await heads.create(partition);
      const reserved = { count: 9, time: 1, expiresAt: 0, settleMs: 2_000 };
      await heads.reserve(partition, 'ab'.repeat(12), reserved, () => false);
      await heads.markPurged(partition, 3);
      expect(await heads.read(partition)).toMatchObject({ logStart: 0, closed: false });
      await heads.close(partition);
      await heads.markPurged(partition, 5);
      await heads.markPurged(partition, 3);
      expect(await heads.read(partition)).toMatchObject({ logStart: 5, closed: true });
      await heads.markPurged(partition, 'all');
      expect(await heads.read(partition)).toMatchObject({ logStart: 9, next: 9 });
    });
  });
});
