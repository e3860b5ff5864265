import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seekSubscription } from '../../shared/operations/seek-subscription.ts';
import { openParkingBench, type ParkingBench } from '../support/parking-bench.ts';

describe('a subscription that is sought while one of its keys is parked', () => {
  let bench: ParkingBench;
  beforeEach(async () => {
    bench = await openParkingBench();
    await bench.park();
    bench.bad.add('1');
    await bench.deliver(['a=0', 'K=1', 'b=2', 'K=3']);
    bench.bad.clear();
    expect(bench.given.splice(0)).toEqual(['0', '2']);
  });
  afterEach(() => bench.close());

  it('backwards, in the middle of a call for that key, is given everything from there on, in order', async () => {
    let isFirst = true;
    bench.scripts.set('s', async (batch) => {
      if (batch.lane !== undefined && isFirst) {
        isFirst = false;
        await seekSubscription(bench.byHand(), { subscription: 's', topic: 't', to: { offset: 1 } });
      }
      return bench.answer(batch);
    });
    await bench.drain(30_000);
    // What was under way settles nothing any more.
    expect(bench.given).toEqual(['1', '1', '2', '3']);
    expect(await bench.position()).toMatchObject({ committed: 4 });
    expect(await bench.laneAt()).toBeUndefined();
    await bench.expectNoneParked();
  });

  it('forwards, is not given what waited', async () => {
    await seekSubscription(bench.byHand(), { subscription: 's', to: 'latest' });
    await bench.append(['K=4']);
    await bench.drain(30_000);
    expect(bench.given).toEqual(['4']);
    expect(await bench.laneAt()).toBeUndefined();
    await bench.expectNoneParked();
  });

  it.each(['lose-answer', 'lose-request', 'throttle'] as const)(
    'has either all of it or nothing, though the store has a fault: %s',
    async (fault) => {
      const host = bench.host();
      host.faults.next('TransactWriteItems', fault);
      const { topics, positions, groupTopics, lanes, subscriptions } = host.backbone;
      const ports = { ...bench.byHand(), topics, positions, groupTopics, lanes, subscriptions };
      await seekSubscription(ports, { subscription: 's', to: 'earliest' });
      expect(host.faults.calls.filter((operation) => operation === 'TransactWriteItems')).toHaveLength(2);
      expect(await bench.laneAt()).toBeUndefined();
      await bench.expectNoneParked();
      await bench.drain(30_000);
      expect(bench.given).toEqual(['0', '1', '2', '3']);
    },
  );
});
