import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PENDING_GRACE_MS } from '../../../shared/domain/limits.ts';
import { PARKED_RECORDS_MAX } from '../../../shared/domain/park-limits.ts';
import { actOnLane } from '../../../shared/operations/act-on-lane.ts';
import { appendBatches } from '../../../shared/operations/append-batches.ts';
import type { ParkedPorts } from '../../../shared/operations/parked-keys.ts';
import { pauseSubscription, resumeSubscription } from '../../../shared/operations/subscriptions.ts';
import { error, instead, openParkingBench, type ParkingBench, RETRY } from '../../support/parking-bench.ts';
import type { PushHost } from '../../support/push-bench.ts';

describe('a parked key', () => {
  let bench: ParkingBench;
  beforeEach(async () => {
    bench = await openParkingBench();
    await bench.park();
  });
  afterEach(() => bench.close());

  describe('whose subscription is resumed', () => {
    beforeEach(async () => {
      bench.bad.add('0');
      await bench.deliver(['K=0', 'a=1', 'K=2']);
      await pauseSubscription(bench.byHand(), 's');
      bench.queue.length = 0;
    });

    it('is tried at once', async () => {
      bench.bad.clear();
      await resumeSubscription(bench.byHand(), 's');
      await bench.drain(0);
      expect(bench.given).toEqual(['1', '0', '2']);
      await bench.expectNoneParked();
    });

    it('has as many attempts as one that has never failed', async () => {
      const resumedAt = bench.clock.now();
      await resumeSubscription(bench.byHand(), 's');
      expect((await bench.laneAt())!.push!.failure).toMatchObject({ attempts: 0, retryAt: resumedAt });
      const calls = bench.calls.length;
      await bench.drain(1_000);
      expect(bench.calls.slice(calls)).toEqual(['s:0 0', 's:0 0']);
      expect(await bench.list()).toMatchObject([{ offset: 0, attempts: RETRY.maxAttempts }]);
    });

    it('is woken though a run that saw the pause is about to let it go', async () => {
      await resumeSubscription(bench.byHand(), 's');
      await bench.turn({ batch: { maxRecords: 1, maxBytes: 10_000 } });
      bench.bad.clear();
      bench.queue.length = 0;
      bench.scripts.set('s', async (batch) => {
        await pauseSubscription(bench.byHand(), 's');
        return bench.answer(batch);
      });
      const host = bench.host();
      const { pushPositions } = host.ports;
      const step: typeof pushPositions.step = async (id, by, to) => {
        if (to.until === undefined) await resumeSubscription(bench.byHand(), 's');
        return pushPositions.step(id, by, to);
      };
      await bench.wakeLane('K', { ...host, ports: { ...host.aside, pushPositions: instead(pushPositions, { step }) } });
      expect(bench.given).toEqual(['1', '0']);
      bench.scripts.set('s', bench.answer);
      await bench.drain(50_000);
      expect(bench.given).toEqual(['1', '0', '2']);
      await bench.expectNoneParked();
    });
  });

  describe('that is to be a dead letter, as is said after its call has failed, and before that is written,', () => {
    /** A process that is told so right before it writes that as many attempts failed. */
    const toldAt = (attempts: number): PushHost => {
      const host = bench.host();
      const { pushPositions } = host.ports;
      let isTold = false;
      const step: typeof pushPositions.step = async (id, by, to) => {
        if (!isTold && id.lane !== undefined && to.push.failure?.attempts === attempts) {
          isTold = true;
          expect(await bench.act('dead-letter')).toEqual({ count: 1, more: false });
        }
        return pushPositions.step(id, by, to);
      };
      return { ...host, ports: { ...host.aside, pushPositions: instead(pushPositions, { step }) } };
    };
    beforeEach(async () => {
      bench.bad.add('0');
      await bench.deliver(['K=0', 'a=1', 'K=2']);
    });

    it.each([
      ['and its lane let go of', RETRY.maxAttempts + 1, async () => bench.clock.pass(RETRY.maxBackoffMs)],
      ['and its lane is kept, for it is tried again soon', 1, () => bench.act('resume')],
    ])('%s, is one without waiting for its next try', async (_, attempts, makeDue) => {
      await makeDue();
      bench.queue.length = 0;
      const before = bench.clock.now();
      await bench.wakeLane('K', toldAt(attempts));
      await bench.drain(0);
      expect(bench.letters).toMatchObject([{ offset: 0, attempts, error }]);
      expect(bench.clock.now()).toBe(before);
      expect(bench.given).toEqual(['1', '2']);
      await bench.expectNoneParked();
    });
  });

  describe('that is given up', () => {
    beforeEach(async () => {
      bench.bad.add('0');
      await bench.deliver(['K=0', 'a=1', 'K=2']);
    });
    const giveUp = (lanes: Partial<ParkedPorts['lanes']>) => {
      const { lanes: real, ...ports } = bench.byHand();
      return actOnLane({ ...ports, lanes: instead(real, lanes) }, bench.to(), bench.laneId(), 'dead-letter');
    };

    it('is told as that, also where its run is faster than who tells it', async () => {
      const { lanes } = bench.byHand();
      const said = await giveUp({
        async giveUp(id, offset) {
          const isNoted = await lanes.giveUp(id, offset);
          bench.queue.length = 0;
          await bench.wakeLane();
          return isNoted;
        },
      });
      expect(said).toBe('done');
      expect(bench.letters).toHaveLength(1);
    });

    it('is a dead letter before its next try, though whoever noted it did nothing more', async () => {
      await bench.byHand().lanes.giveUp(bench.laneId(), 0);
      expect((await bench.list())[0]).not.toHaveProperty('nextRetryAt');
      bench.queue.length = 0;
      bench.clock.pass(PENDING_GRACE_MS);
      expect(await bench.sweep()).toEqual([]);
      await bench.drain(0);
      expect(bench.letters).toMatchObject([{ offset: 0, error }]);
      expect(bench.given).toEqual(['1', '2']);
    });
  });

  describe('of which a lane has settled much', () => {
    it('waits with fewer records after each call', async () => {
      await bench.turn({ batch: { maxRecords: 2, maxBytes: 10_000 } });
      bench.bad.add('0');
      const others = Array.from({ length: 10 }, (_, i) => `a=${i + 7}`);
      await bench.deliver(['K=0', ...Array.from({ length: 6 }, (_, i) => `K=${i + 1}`), ...others]);
      expect(await bench.list()).toMatchObject([{ offset: 0, waiting: 7 }]);
      bench.bad.clear();
      const shown: unknown[] = [];
      bench.scripts.set('s', async (batch) => {
        for (const { offset, waiting } of await bench.list()) shown.push([offset, waiting]);
        return bench.answer(batch);
      });
      await bench.drain(30_000);
      expect(shown).toEqual([
        [0, 7],
        [1, 6],
        [3, 4],
        [5, 2],
      ]);
      await bench.expectNoneParked();
    });

    it('does not halt its subscription, however many have come while it waited', async () => {
      bench.bad.add('0').add('9');
      await bench.deliver(Array.from({ length: 11 }, (_, i) => `K=${i}`));
      // So many offsets are behind it, and of all of them was passed over for it what it may be at most.
      const { backbone } = bench.host();
      const gone = { count: PARKED_RECORDS_MAX, bytes: new Uint8Array([0]), json: false };
      await appendBatches(backbone, { topic: 't', build: () => new Map([[0, gone]]) });
      const next = 11 + PARKED_RECORDS_MAX;
      await bench.removeSlot(bench.positionId(), next - 1);
      const seen = await bench.position();
      const passed = new Map([[bench.laneId().lane, PARKED_RECORDS_MAX + 4]]);
      const change = { ...seen, committed: next, epoch: seen.epoch + 1, push: { ...seen.push, passed } };
      expect(await backbone.positions.change(bench.positionId(), seen, change)).toBe(true);
      // It goes on to the next one that fails.
      bench.bad.delete('0');
      await bench.drain(30_000);
      expect(await bench.laneAt()).toMatchObject({ committed: 9, push: { failure: { attempts: RETRY.maxAttempts } } });
      await bench.append(['K=more', 'a=other']);
      await bench.wake({ last: next + 1 });
      expect(await bench.position()).toMatchObject({ committed: next + 2 });
      expect(await bench.subscription()).toMatchObject({ state: 'active' });
      expect(bench.given.slice(-1)).toEqual(['other']);
    });
  });
});
