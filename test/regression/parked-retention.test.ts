import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Observation } from '../../shared/domain/observation.ts';
import { resumeSubscription } from '../../shared/operations/subscriptions.ts';
import { putTopic } from '../../shared/operations/topics.ts';
import { openParkingBench, type ParkingBench } from '../support/parking-bench.ts';

const HOUR = 3_600_000;
let bench: ParkingBench;
beforeEach(async () => {
  bench = await openParkingBench();
});
afterEach(() => bench.close());
/** All records that are there now are gone. */
const expire = async () => {
  const { retentionMs } = await bench.host().backbone.topics.fresh('t');
  bench.clock.pass(retentionMs + 1_000);
};

describe('a topic that keeps its records an hour, since a key was parked, and before', () => {
  it.each([
    ['a week', 168 * HOUR],
    ['for ever', -1],
  ])(
    '%s, has a record of it be a dead letter in the last tenth of that hour, and not before',
    async (_, retentionMs) => {
      await putTopic(bench.host().backbone, 't', { retentionMs });
      await bench.park();
      bench.bad.add('0');
      const appendedAt = bench.clock.now();
      await bench.deliver(['K=0', 'a=1', 'K=2']);
      await putTopic(bench.host().backbone, 't', { retentionMs: HOUR });
      // Until a minute before: it is tried, and fails.
      bench.clock.pass(0.9 * HOUR - 60_000 - (bench.clock.now() - appendedAt));
      const calls = bench.calls.length;
      await bench.drain(59_000);
      expect(bench.calls.length).toBeGreaterThan(calls);
      expect(bench.letters).toEqual([]);
      await bench.drain(21_000);
      expect(bench.letters).toMatchObject([{ offset: 0, error: { name: 'parked_too_long' } }]);
      expect(bench.given).toEqual(['1', '2']);
      await bench.expectNoneParked();
    },
  );
});

describe('records of a parked key that retention took', () => {
  it('are not said to wait any more', async () => {
    await bench.park();
    bench.bad.add('0').add('9');
    await bench.deliver(['K=0', 'K=1', 'K=2', 'K=3']);
    expect(await bench.list()).toMatchObject([{ offset: 0, waiting: 4 }]);
    await expire();
    await bench.append(['K=9', 'a=5']);
    await bench.wake({ last: 5 });
    await bench.drain(60_000);
    const [left, ...others] = await bench.list();
    expect(left).toMatchObject({ offset: 4 });
    expect(others).toEqual([]);
    // How many of those that are gone were of this key is not known: no more than there are offsets.
    expect(left!.waiting).toBeGreaterThanOrEqual(1);
    expect(left!.waiting).toBeLessThanOrEqual(2);
  });

  it('are told where nothing failed any more, but the lane had not come to them', async () => {
    await bench.park({ batch: { maxRecords: 1, maxBytes: 10_000 } });
    bench.bad.add('0');
    await bench.deliver(['K=0', 'K=1', 'K=2', 'a=3']);
    bench.bad.clear();
    bench.scripts.set('s', async (batch) => {
      if (batch.lane !== undefined && batch.records[0]!.offset === 0) await bench.turn({ state: 'paused' });
      return bench.answer(batch);
    });
    await bench.drain(20_000);
    const lane = await bench.laneAt();
    expect(lane).toMatchObject({ committed: 1 });
    expect(lane!.push).not.toHaveProperty('failure');
    await expire();
    await bench.append(['a=4']);
    bench.queue.length = 0;
    await resumeSubscription(bench.byHand(), 's');
    const told: Observation[] = [];
    const host = bench.host();
    const { aside: _, ...here } = { ...host.ports, observe: (observation: Observation) => void told.push(observation) };
    for (const { wakeUp } of bench.queue.splice(0)) await bench.wake(wakeUp, { ...host, ports: here });
    await bench.drain(30_000);
    expect(bench.given).toEqual(['3', '0', '4']);
    expect(told).toContainEqual(expect.objectContaining({ kind: 'records_expired' }));
  });

  it('are counted where those of its partition are, also once the key is back', async () => {
    await bench.park();
    bench.bad.add('0');
    await bench.deliver(['K=0', 'K=1', 'a=2']);
    await expire();
    await bench.append(['a=3']);
    await bench.drain(30_000);
    await bench.wake({ last: 3 });
    await bench.drain(30_000);
    await bench.expectNoneParked();
    expect((await bench.position()).push?.expired).toBeGreaterThan(0);
  });
});
