import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DeliveryBatch } from '../../../shared/domain/delivery.ts';
import { HAND_BACK_EVERY_MS } from '../../../shared/domain/park-limits.ts';
import { instead, openParkingBench, type ParkingBench, RETRY } from '../../support/parking-bench.ts';
import type { PushHost } from '../../support/push-bench.ts';

describe('a key is taken back', () => {
  let bench: ParkingBench;
  beforeEach(async () => {
    bench = await openParkingBench();
  });
  afterEach(() => bench.close());

  /** A process that does all of it by itself, and notes each look at the lanes of a partition. */
  const looking = (looks: number[]): PushHost => {
    const host = bench.host();
    const { lanes } = host.ports;
    const list: typeof lanes.list = (id) => {
      looks.push(bench.clock.now());
      return lanes.list(id);
    };
    return { ...host, ports: { ...host.aside, lanes: instead(lanes, { list }) } };
  };
  /** What each call of the partition takes; `beside`: what happens meanwhile, after so many calls. */
  const whileItCalls = (tookMs: number, beside: (calls: number, batch: DeliveryBatch) => Promise<void>) => {
    let calls = 0;
    let isBeside = false;
    bench.scripts.set('s', async (batch) => {
      if (!isBeside) bench.clock.pass(tookMs);
      if (batch.lane === undefined) {
        isBeside = true;
        await beside(++calls, batch);
        isBeside = false;
      }
      return bench.answer(batch);
    });
  };

  describe('in the middle of one run, which goes on and on', () => {
    const ONE = { batch: { maxRecords: 1, maxBytes: 100_000 } };
    const CALL_MS = 250;
    beforeEach(async () => {
      await bench.park(ONE);
      bench.bad.add('0');
      await bench.deliver(['K=0', 'a=1']);
      bench.clock.pass(RETRY.maxBackoffMs);
      bench.queue.length = 0;
    });
    const appendOthers = (count: number) => bench.appendSlot(Array.from({ length: count }, (_, i) => ['a', `a${i}`]));

    it('for it looks at its lanes about each second', async () => {
      await appendOthers(40);
      const looks: number[] = [];
      whileItCalls(CALL_MS, async () => {});
      const startedAt = bench.clock.now();
      await bench.wake({ last: 41 }, looking(looks));
      expect(bench.given.slice(-1)).toEqual(['a39']);
      expect(bench.clock.now() - startedAt).toBe(40 * CALL_MS);
      const between = looks.slice(1).map((at, i) => at - looks[i]!);
      // When it takes the position, then each second, and when it has let go.
      expect(looks[0]).toBe(startedAt);
      expect(between.slice(0, 9)).toEqual(Array.from({ length: 9 }, () => HAND_BACK_EVERY_MS));
      expect(looks.length).toBeLessThanOrEqual(2 + (40 * CALL_MS) / HAND_BACK_EVERY_MS);
    });

    it('which sees it ready within a second, and gives what comes then itself', async () => {
      await appendOthers(20);
      await bench.append(['K=2']);
      await appendOthers(20);
      let [readyAt, backAt] = [0, 0];
      whileItCalls(CALL_MS, async (calls) => {
        if (calls === 6) {
          bench.bad.clear();
          await bench.wakeLane();
          expect(await bench.laneAt()).toMatchObject({ push: { isReady: true } });
          readyAt = calls;
        }
        if (readyAt > 0 && backAt === 0 && (await bench.laneAt()) === undefined) backAt = calls;
      });
      await bench.wake({ last: 42 }, looking([]));
      expect(readyAt).toBe(6);
      expect(backAt - readyAt).toBeGreaterThan(0);
      expect(backAt - readyAt).toBeLessThanOrEqual(HAND_BACK_EVERY_MS / CALL_MS);
      expect(bench.given).toHaveLength(43);
      expect(bench.given.indexOf('2')).toBe(1 + 1 + 20);
      await bench.expectNoneParked();
    });

    it('also one that is far behind, and falls back as fast as its partition goes on', async () => {
      const PAIRS = 100;
      await bench.appendSlot(Array.from({ length: 2 * PAIRS }, (_, i) => (i % 2 ? ['K', `k${i}`] : ['a', `a${i}`])));
      bench.bad.clear();
      let [tries, backAt] = [0, 0];
      // Its own calls are made at the same time as those of its partition.
      whileItCalls(100, async (calls) => {
        const due = bench.queue.splice(0).filter(({ wakeUp }) => wakeUp.lane !== undefined);
        if (calls === 1 || due.length > 0) {
          tries += 1;
          await bench.wakeLane();
        }
        if (backAt === 0 && (await bench.laneAt()) === undefined) backAt = calls;
      });
      await bench.wake({ last: 1 + 2 * PAIRS }, looking([]));
      expect(tries).toBeGreaterThan(1);
      expect(backAt).toBeGreaterThan(0);
      expect(backAt).toBeLessThan(PAIRS / 2);
      await bench.expectNoneParked();
      const ofK = bench.given.filter((value) => value === '0' || value.startsWith('k'));
      expect(ofK).toEqual(['0', ...Array.from({ length: PAIRS }, (_, i) => `k${2 * i + 1}`)]);
    });
  });

  describe('by a run whose time is over after one call', () => {
    // Of two minutes: then a call of one minute, with its margin, is none that a run may outlive.
    const CALL_MS = 55_000;
    const keys = ['K', 'L'];
    beforeEach(async () => {
      await bench.park({ timeoutMs: 60_000 });
      for (const key of keys) bench.bad.add(`${key}0`);
      await bench.deliver([...keys.map((key) => `${key}=${key}0`), 'a=1']);
      bench.bad.clear();
    });

    it('and no call begins after it', async () => {
      await bench.getReady('K');
      await bench.append(['K=K1', 'a=2']);
      await bench.passTo(4);
      const begun: number[] = [];
      const startedAt = bench.clock.now();
      bench.scripts.set('s', (batch) => {
        begun.push(bench.clock.now() - startedAt);
        bench.clock.pass(CALL_MS);
        return bench.answer(batch);
      });
      await bench.wake({ last: 4 }, looking([]));
      expect(begun).toEqual([0]);
      expect(await bench.laneAt('K')).toBeUndefined();
      expect(await bench.position()).not.toHaveProperty('owner');
      // Somebody else goes on with it.
      expect(bench.queue).toMatchObject([{ wakeUp: { partition: 0 }, at: startedAt + CALL_MS }]);
      bench.scripts.set('s', bench.answer);
      await bench.drain(0);
      expect(bench.given).toEqual(['1', 'K0', 'K1', '2']);
    });

    it('and no other key is begun with', async () => {
      for (const key of keys) await bench.getReady(key);
      await bench.append(keys.map((key) => `${key}=${key}1`));
      await bench.passTo(5);
      const before = new Map(await Promise.all(keys.map(async (key) => [key, await bench.laneAt(key)] as const)));
      bench.scripts.set('s', (batch) => {
        bench.clock.pass(CALL_MS);
        return bench.answer(batch);
      });
      await bench.wake({}, looking([]));
      const after = new Map(await Promise.all(keys.map(async (key) => [key, await bench.laneAt(key)] as const)));
      const left = keys.filter((key) => after.get(key) !== undefined);
      expect(left).toHaveLength(1);
      expect(after.get(left[0]!)).toEqual(before.get(left[0]!));
      await bench.drain(0);
      expect(bench.given.slice(-2).toSorted()).toEqual(['K1', 'L1']);
      await bench.expectNoneParked();
    });
  });
});
