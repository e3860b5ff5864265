import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SETTLE_AFTER_MS } from '../../shared/domain/limits.ts';
import type { PartitionId } from '../../shared/domain/topic.ts';
import { PartitionHeads } from '../../shared/store/partition-head.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

describe.each(STORE_ENGINES)('on %s', (_, open) => {
  const inTime = () => false;
  let engine: StoreEngine;
  let heads: PartitionHeads;
  let partition: PartitionId;
  beforeAll(async () => {
    engine = await open();
    heads = new PartitionHeads(engine.dynamodb, engine.stateTable);
  });
  afterAll(() => engine.close());
  let topics = 0;
  beforeEach(async () => {
    partition = { topicId: (++topics).toString().padStart(26, '0'), partition: 0 };
    await heads.create(partition);
  });

  let ids = 0;
  const newId = () => (++ids).toString(16).padStart(24, '0');
  const reservedOf = (count: number, time = 1_800_000_000_000) => ({
    count,
    time,
    expiresAt: Math.ceil(time / 1_000) + 3_600,
    settleMs: SETTLE_AFTER_MS,
  });
  const reserve = (count: number, id = newId()) => heads.reserve(partition, id, reservedOf(count), inTime);

  describe('a reservation', () => {
    it('takes the next offsets and tells the eight before it, newest first', async () => {
      for (let count = 1; count <= 9; count++) await reserve(count);
      const reservation = await reserve(10);
      expect(reservation).toMatchObject({ base: 45, last: 54, count: 10 });
      expect(reservation?.previous.map(({ count }) => count)).toEqual([9, 8, 7, 6, 5, 4, 3, 2]);
      expect(reservation?.previous[0]).toEqual(reservedOf(9));
    });

    it('knows of nothing before the first', async () => {
      expect(await reserve(3)).toMatchObject({ base: 0, last: 2, previous: [] });
    });

    it('is recognised when it is made again, with what came before it (F28)', async () => {
      await reserve(1);
      await reserve(2);
      const id = newId();
      const first = await reserve(3, id);
      await reserve(4);
      expect(await reserve(3, id)).toEqual(first);
      expect((await heads.read(partition))?.next).toBe(10);
    });

    it('never overlaps another, 32 at a time', async () => {
      const all = await Promise.all(Array.from({ length: 32 }, (_, i) => reserve(1 + (i % 3))));
      const offsets = all.flatMap((found) => Array.from({ length: found!.count }, (_, i) => found!.base + i));
      expect(offsets.toSorted((a, b) => a - b)).toEqual(Array.from({ length: offsets.length }, (_, i) => i));
    });

    it('is refused by a closed head and by a missing one', async () => {
      await heads.close(partition);
      expect(await reserve(1)).toBeUndefined();
      expect(await heads.reserve({ ...partition, partition: 1 }, newId(), reservedOf(1), inTime)).toBeUndefined();
      expect(await heads.read({ ...partition, partition: 1 })).toBeUndefined();
    });
  });

  describe('a head', () => {
    it('is not made anew where there is one', async () => {
      await reserve(5);
      await heads.create(partition);
      expect((await heads.read(partition))?.next).toBe(5);
    });

    it('stays gone when it is closed after it was removed', async () => {
      await heads.remove(partition);
      await heads.close(partition);
      expect(await heads.read(partition)).toBeUndefined();
    });

    it('moves `settled` on only from where it is proven, and never back', async () => {
      expect(await heads.advance(partition, { from: 0, to: 500 })).toBe(true);
      expect(await heads.advance(partition, { from: 600, to: 900 })).toBe(false);
      expect(await heads.advance(partition, { from: 0, to: 400 })).toBe(false);
      expect(await heads.advance(partition, { from: 300, to: 700, logStart: 350 })).toBe(true);
      expect(await heads.advance(partition, { from: 0, to: 800, logStart: 10 })).toBe(false);
      expect(await heads.read(partition)).toMatchObject({ settled: 700, logStart: 350 });
    });

    it('that is gone is not brought back by `settled`', async () => {
      await heads.remove(partition);
      expect(await heads.advance(partition, { from: 0, to: 500 })).toBe(false);
      expect(await heads.read(partition)).toBeUndefined();
    });
  });
});
