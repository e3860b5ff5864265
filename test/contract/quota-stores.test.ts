import { GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { UnknownLayout } from '../../shared/domain/errors.ts';
import type { Bucket } from '../../shared/domain/quota.ts';
import { BURST_MS } from '../../shared/domain/quota-limits.ts';
import type { Topic } from '../../shared/domain/topic.ts';
import { itemKey } from '../../shared/store/item-key.ts';
import type { StateKey } from '../../shared/store/keys.ts';
import { QuotaBuckets } from '../../shared/store/quota-buckets.ts';
import { bucketKey, lagKey } from '../../shared/store/quota-keys.ts';
import { TopicLags } from '../../shared/store/topic-lags.ts';
import { Topics } from '../../shared/store/topics.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

const NOW = 1_800_000_000_000;

describe.each(STORE_ENGINES)('on %s', (_, open) => {
  let engine: StoreEngine;
  let buckets: QuotaBuckets;
  let lags: TopicLags;
  beforeAll(async () => {
    engine = await open();
    buckets = new QuotaBuckets(engine.dynamodb, engine.stateTable);
    lags = new TopicLags(engine.dynamodb, engine.stateTable);
  });
  afterAll(() => engine.close());
  let ids = 0;
  let bucket: Bucket;
  let topicId: string;
  beforeEach(() => {
    topicId = (++ids).toString().padStart(26, '0');
    bucket = { topicId, rates: { recordsPerSecond: 10 } };
  });
  const itemAt = async (at: StateKey) =>
    (await engine.dynamodb.send(new GetItemCommand({ TableName: engine.stateTable, Key: itemKey(at) }))).Item;
  /** As a later version of the backbone would leave it. */
  async function isLeftAlone(at: StateKey, acts: readonly (() => Promise<unknown>)[]): Promise<void> {
    await engine.dynamodb.send(
      new UpdateItemCommand({
        ...{ TableName: engine.stateTable, Key: itemKey(at), UpdateExpression: 'SET v = :later' },
        ExpressionAttributeValues: { ':later': { N: '2' } },
      }),
    );
    const before = await itemAt(at);
    for (const act of acts) await expect(act()).rejects.toBeInstanceOf(UnknownLayout);
    expect(await itemAt(at)).toEqual(before);
  }

  describe('a bucket', () => {
    it('begins with what it saves, and gives while no more is taken than time has passed', async () => {
      expect(await buckets.take(bucket, 600, NOW)).toEqual({ isTaken: true, until: NOW - BURST_MS + 600 });
      expect(await buckets.take(bucket, 400, NOW)).toEqual({ isTaken: true, until: NOW });
      expect(await buckets.take(bucket, 5_000, NOW)).toEqual({ isTaken: true, until: NOW + 5_000 });
      expect(await buckets.take(bucket, 1, NOW)).toEqual({ isTaken: false, until: NOW + 5_000 });
      expect(await buckets.take(bucket, 1, NOW + 4_999)).toEqual({ isTaken: false, until: NOW + 5_000 });
      expect(await buckets.take(bucket, 1, NOW + 5_000)).toEqual({ isTaken: true, until: NOW + 5_001 });
    });

    it('saves no more than it may, however long nobody takes any, and whatever the taker knows', async () => {
      await buckets.take(bucket, 100, NOW);
      const later = NOW + 3_600_000;
      for (const [i, seen] of [undefined, NOW, later].entries()) {
        const at = later + i * 3_600_000;
        expect(await buckets.take(bucket, 100, at, seen)).toEqual({ isTaken: true, until: at - BURST_MS + 100 });
      }
    });

    it('is one for each topic, caller and rates', async () => {
      await buckets.take(bucket, 10_000, NOW);
      const others: Bucket[] = [
        { ...bucket, topicId: `9${topicId.slice(1)}` },
        { ...bucket, caller: 'role:1:shop' },
        { ...bucket, caller: 'role:1:till' },
        { ...bucket, rates: { recordsPerSecond: 11 } },
        { ...bucket, rates: { bytesPerSecond: 10 } },
      ];
      for (const other of others) expect(await buckets.take(other, 1, NOW)).toMatchObject({ isTaken: true });
      expect(new Set([bucket, ...others].map((each) => JSON.stringify(bucketKey(each)))).size).toBe(6);
      expect(JSON.stringify(others.map(bucketKey))).not.toContain('shop');
    });

    it('goes by itself, and is left alone when its layout is not known', async () => {
      await buckets.take(bucket, 1, NOW);
      expect(Number((await itemAt(bucketKey(bucket)))!.expiresAt!.N)).toBeGreaterThan(NOW / 1_000);
      const act = (seen?: number) => () => buckets.take(bucket, 1, NOW, seen);
      await isLeftAlone(bucketKey(bucket), [act(), act(NOW), act(1)]);
    });
  });

  describe('what was measured of a topic', () => {
    const groups = new Map([
      ['billing', 12],
      ['b.-_', 0],
    ]);

    it('is begun by one of many, put down, and read by all', async () => {
      expect(await lags.read(topicId)).toBeUndefined();
      expect(await lags.begin(topicId, NOW, NOW - 5_000)).toBe(true);
      expect(await lags.begin(topicId, NOW + 1, NOW - 4_999)).toBe(false);
      expect(await lags.read(topicId)).toBeUndefined();
      await lags.put(topicId, { at: NOW, groups });
      expect(await lags.read(topicId)).toEqual({ at: NOW, groups });
      expect(await lags.begin(topicId, NOW + 4_999, NOW - 1)).toBe(false);
      expect(await lags.begin(topicId, NOW + 5_000, NOW)).toBe(true);
      expect(await lags.read(topicId)).toEqual({ at: NOW, groups });
    });

    it('is left alone when its layout is not known', async () => {
      await lags.begin(topicId, NOW, NOW);
      await lags.put(topicId, { at: NOW, groups });
      await isLeftAlone(lagKey(topicId), [
        () => lags.read(topicId),
        () => lags.begin(topicId, NOW + 9_000, NOW + 1),
        () => lags.put(topicId, { at: NOW + 1, groups }),
      ]);
    });
  });

  it('a topic keeps its quota and its bound on lag, and an update touches only those that it changes', async () => {
    const topics = new Topics(engine.dynamodb, engine.stateTable);
    const plain: Topic = {
      ...{ name: `t${ids}`, id: topicId, partitions: 1, retentionMs: -1, createdAt: 1, hiddenUntil: 0 },
    };
    const quota = { bytesPerSecond: 1, perCaller: { recordsPerSecond: 2, bytesPerSecond: 3 } };
    const maxLag = { groups: ['a', 'b'], records: 4 };
    await topics.announce({ ...plain, quota, maxLag });
    expect(await topics.create({ ...plain, quota, maxLag })).toBe(true);
    expect(await topics.read(plain.name)).toEqual({ ...plain, quota, maxLag });
    // Whoever has a copy without them changes something else.
    expect(await topics.update(plain, { ...plain, hiddenUntil: 5 })).toBe(true);
    const now = { ...plain, hiddenUntil: 5 };
    expect(await topics.read(plain.name)).toEqual({ ...now, quota, maxLag });
    expect(await topics.update({ ...now, quota, maxLag }, { ...now, quota: { recordsPerSecond: 9 } })).toBe(true);
    expect(await topics.read(plain.name)).toEqual({ ...now, quota: { recordsPerSecond: 9 } });
  });
});
