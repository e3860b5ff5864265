import { describe, expect, it } from 'vitest';
import { TopicNotFound } from '../../../shared/domain/errors.ts';
import { CONFIGURATION_CACHE_MS } from '../../../shared/domain/limits.ts';
import type { Topic } from '../../../shared/domain/topic.ts';
import { TopicCache } from '../../../shared/operations/topic-cache.ts';

function topicOf(partitions: number): Topic {
  return { name: 'orders', id: '01', partitions, retentionMs: -1, createdAt: 0, hiddenUntil: 0 };
}

function open() {
  let now = 0;
  const stored = new Map([['orders', topicOf(1)]]);
  const waiting: (() => void)[] = [];
  let reads = 0;
  let slow = false;
  const reader = {
    read: async (name: string) => {
      reads += 1;
      const found = stored.get(name);
      if (slow) await new Promise<void>((resolve) => waiting.push(resolve));
      return found;
    },
  };
  const cache = new TopicCache(reader, { now: () => now });
  return {
    cache,
    stored,
    waiting,
    reads: () => reads,
    pass: (ms: number) => {
      now += ms;
    },
    slowDown: () => {
      slow = true;
    },
  };
}

describe("a container's copy of a topic", () => {
  it('answers for ten seconds and no longer', async () => {
    const { cache, stored, reads, pass } = open();
    await cache.get('orders');
    stored.set('orders', topicOf(2));
    pass(CONFIGURATION_CACHE_MS - 1);
    expect((await cache.get('orders')).partitions).toBe(1);
    pass(1);
    expect((await cache.get('orders')).partitions).toBe(2);
    expect(reads()).toBe(2);
  });

  it('is read once for many requests at a time', async () => {
    const { cache, waiting, reads, slowDown } = open();
    slowDown();
    const all = Promise.all([cache.get('orders'), cache.get('orders'), cache.get('orders')]);
    waiting.shift()!();
    expect((await all).map(({ partitions }) => partitions)).toEqual([1, 1, 1]);
    expect(reads()).toBe(1);
  });

  it('is looked for again by a request that joined a read from before the topic was made', async () => {
    const { cache, stored, waiting, slowDown } = open();
    stored.delete('orders');
    slowDown();
    const early = cache.get('orders');
    stored.set('orders', topicOf(4));
    const late = cache.get('orders');
    waiting.shift()!();
    await expect(early).rejects.toBeInstanceOf(TopicNotFound);
    await expect.poll(() => waiting.length).toBe(1);
    waiting.shift()!();
    expect((await late).partitions).toBe(4);
  });

  it('is read again by `fresh`, which does not join a read that began earlier', async () => {
    const { cache, stored, waiting, slowDown } = open();
    slowDown();
    const early = cache.get('orders');
    stored.set('orders', topicOf(2));
    const fresh = cache.fresh('orders');
    waiting[1]!();
    expect((await fresh).partitions).toBe(2);
    waiting[0]!();
    await early;
    expect((await cache.get('orders')).partitions).toBe(2);
  });

  it('is forgotten when the topic is gone, and a missing topic is not remembered', async () => {
    const { cache, stored } = open();
    await cache.get('orders');
    stored.delete('orders');
    await expect(cache.fresh('orders')).rejects.toBeInstanceOf(TopicNotFound);
    await expect(cache.get('orders')).rejects.toBeInstanceOf(TopicNotFound);
    stored.set('orders', topicOf(3));
    expect((await cache.get('orders')).partitions).toBe(3);
  });
});
