import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { SETTLE_AFTER_MS } from '../../shared/domain/limits.ts';
import type { Reservation } from '../../shared/domain/slot.ts';
import type { PartitionId } from '../../shared/domain/topic.ts';
import { WriteFailed } from '../../shared/domain/write-failed.ts';
import { Log } from '../../shared/store/log.ts';
import { fresh } from '../support/engine.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

describe.each(STORE_ENGINES)('on %s', (_, open) => {
  const inTime = () => false;
  let engine: StoreEngine;
  let log: Log;
  let partition: PartitionId;
  beforeAll(async () => {
    engine = await open();
    log = new Log(engine.dynamodb, engine.logTable);
  });
  afterAll(() => engine.close());
  beforeEach(() => {
    partition = { topicId: fresh('topic'), partition: 0 };
  });

  let ids = 0;
  function reservationOf(base: number, count = 1, more: Partial<Reservation> = {}): Reservation {
    const id = (++ids).toString(16).padStart(24, '0');
    const time = 1_800_000_000_000;
    const reserved = { count, time, expiresAt: 0, settleMs: SETTLE_AFTER_MS };
    return { id, base, last: base + count - 1, previous: [], ...reserved, ...more };
  }
  const batchOf = (text: string, count = 1) => ({ count, bytes: Buffer.from(text), json: false });
  const everything = { limit: 100, outline: false };

  describe('a slot', () => {
    it('comes back as it was stored, with what it tells of its predecessors', async () => {
      const previous = [{ count: 7, time: 1_799_999_999_000, expiresAt: 1_800_003_600, settleMs: 10_000 }];
      const reservation = reservationOf(7, 3, { previous, expiresAt: 1_800_604_800 });
      const bytes = Buffer.from([0, 255, 1, 2]);
      expect(await log.fill(partition, reservation, { count: 3, bytes, json: true }, inTime)).toBeUndefined();
      const { slots, more } = await log.read(partition, 0, everything);
      expect(more).toBe(false);
      expect(slots).toEqual([
        {
          kind: 'batch',
          last: 9,
          count: 3,
          at: reservation.time,
          previous,
          expiresAt: 1_800_604_800,
          append: reservation.id,
          batch: new Uint8Array(bytes),
          json: true,
        },
      ]);
    });

    it('is found by any offset it holds, and by none behind it', async () => {
      await log.fill(partition, reservationOf(0, 3), batchOf('a', 3), inTime);
      await log.fill(partition, reservationOf(3, 2), batchOf('b', 2), inTime);
      const lasts = async (offset: number) =>
        (await log.read(partition, offset, everything)).slots.map(({ last }) => last);
      expect(await lasts(0)).toEqual([2, 4]);
      expect(await lasts(2)).toEqual([2, 4]);
      expect(await lasts(3)).toEqual([4]);
      expect(await lasts(5)).toEqual([]);
    });

    it('is filled once: the same append again is a success, another one meets it', async () => {
      const mine = reservationOf(0);
      await log.fill(partition, mine, batchOf('a'), inTime);
      expect(await log.fill(partition, mine, batchOf('a'), inTime)).toBeUndefined();
      const found = await log.fill(partition, reservationOf(0), batchOf('b'), inTime);
      expect(found).toMatchObject({ kind: 'batch', append: mine.id });
      expect((await log.read(partition, 0, everything)).slots).toHaveLength(1);
    });

    it('takes a batch of the largest size that is kept inline', async () => {
      const bytes = Buffer.alloc(350 * 1024, 7);
      await log.fill(partition, reservationOf(0), { count: 1, bytes, json: false }, inTime);
      const [slot] = (await log.read(partition, 0, everything)).slots;
      expect(slot).toMatchObject({ kind: 'batch', batch: new Uint8Array(bytes) });
    });

    it('is read in outline without its bytes', async () => {
      await log.fill(partition, reservationOf(0), batchOf('a'), inTime);
      const [slot] = (await log.read(partition, 0, { limit: 10, outline: true })).slots;
      expect(slot).toMatchObject({ kind: 'batch', last: 0, count: 1, batch: new Uint8Array(0) });
    });
  });

  describe('a void', () => {
    const order = { last: 4, count: 5, previous: [], reservedBy: 1_700_000_000_000 };
    const now = 1_800_000_000_000;

    it('fences the fill that comes later, and tells it the time', async () => {
      expect(await log.putVoid(partition, order, now, 3_600_000)).toBeUndefined();
      const found = await log.fill(partition, reservationOf(0, 5), batchOf('a', 5), inTime);
      expect(found).toMatchObject({ kind: 'void', last: 4, count: 5, at: now, reservedBy: order.reservedBy });
    });

    it('changes nothing where a batch is, and says which', async () => {
      const mine = reservationOf(0, 5);
      await log.fill(partition, mine, batchOf('a', 5), inTime);
      expect(await log.putVoid(partition, order, now, 3_600_000)).toMatchObject({ kind: 'batch', append: mine.id });
      expect((await log.read(partition, 0, everything)).slots).toMatchObject([{ kind: 'batch' }]);
    });

    it('outlives its neighbours, and a day at least', async () => {
      await log.putVoid(partition, order, now, 3_600_000);
      await log.putVoid(partition, { ...order, last: 5, count: 1 }, now, 7 * 86_400_000);
      await log.putVoid(partition, { ...order, last: 6, count: 1 }, now, -1);
      const { slots } = await log.read(partition, 0, everything);
      expect(slots.map(({ expiresAt }) => expiresAt)).toEqual([1_800_086_400, 1_800_604_800, 1_800_086_400]);
    });

    it('or a fill, one of them wins, 16 at a time', async () => {
      for (let round = 0; round < 10; round++) {
        const reservation = reservationOf(round);
        const voids = Array.from({ length: 15 }, () =>
          log.putVoid(partition, { last: round, count: 1, previous: [], reservedBy: 0 }, now, -1),
        );
        const filled = log.fill(partition, reservation, batchOf('a'), inTime);
        const voided = (await Promise.all(voids)).filter((found) => found === undefined).length;
        const stored = (await filled) === undefined ? 1 : 0;
        expect(voided + stored).toBe(1);
      }
    });
  });

  describe('a page', () => {
    it('ends at its limit and says that there may be more', async () => {
      for (let i = 0; i < 5; i++) await log.fill(partition, reservationOf(i), batchOf(`${i}`), inTime);
      expect(await log.read(partition, 1, { limit: 2, outline: false })).toMatchObject({
        slots: [{ last: 1 }, { last: 2 }],
        more: true,
      });
    });

    it('ends at a megabyte', async ({ skip }) => {
      skip(!engine.hasPages, 'no pages here');
      for (let i = 0; i < 4; i++) {
        const bytes = Buffer.alloc(340 * 1024, i);
        await log.fill(partition, reservationOf(i), { count: 1, bytes, json: false }, inTime);
      }
      const page = await log.read(partition, 0, everything);
      expect(page.more).toBe(true);
      expect(page.slots.length).toBeLessThan(4);
    });
  });

  it('sends nothing once it is late', async () => {
    const failed = await log.fill(partition, reservationOf(0), batchOf('a'), () => true).catch((error) => error);
    expect(failed).toBeInstanceOf(WriteFailed);
    expect(failed).toMatchObject({ reason: 'late', mayHaveLanded: false });
    expect((await log.read(partition, 0, everything)).slots).toEqual([]);
  });
});
