import { afterEach, beforeEach, expect, it } from 'vitest';
import { putSubscription } from '../../shared/operations/put-subscription.ts';
import { resumeSubscription } from '../../shared/operations/subscriptions.ts';
import { openParkingBench, type ParkingBench } from '../support/parking-bench.ts';

let bench: ParkingBench;
beforeEach(async () => {
  bench = await openParkingBench();
});
afterEach(() => bench.close());

it('a filter that drops what fails of a parked key, and not what is behind it, has the key go on', async () => {
  await bench.park();
  bench.bad.add('v0');
  await bench.deliver(['K=v0', 'a=v1', 'K=v2', 'K=v3']);
  await bench.turn({ filter: '{"value":["v2","v3"]}' });
  await bench.drain(30_000);
  expect(bench.given).toEqual(['v1', 'v2', 'v3']);
  await bench.expectNoneParked();
});

it('of what a filter drops since a key was parked, nothing is said to wait', async () => {
  await bench.park();
  bench.bad.add('0').add('{"x":9}');
  await bench.deliver(['K=0', 'K={"x":1}', 'K={"x":2}', 'K={"x":3}', 'K={"x":9}']);
  expect(await bench.list()).toMatchObject([{ offset: 0, waiting: 5 }]);
  await bench.turn({ filter: '{"value":{"x":[9]}}' });
  await bench.drain(30_000);
  expect(await bench.list()).toMatchObject([{ offset: 4, waiting: 1 }]);
});

it('a parked key lives by the batches, the filter and the policy that its subscription has by then', async () => {
  await bench.park({ batch: { maxRecords: 50, maxBytes: 100_000 } });
  bench.bad.add('0');
  const rest = Array.from({ length: 12 }, (_, i) => `k${i}`);
  await bench.deliver(['K=0', ...rest.map((value) => `K=${value}`), 'a=x']);
  const retry = { maxAttempts: 1, minBackoffMs: 1, maxBackoffMs: 1 };
  await bench.turn({ batch: { maxRecords: 2, maxBytes: 10 }, onFailure: 'halt', retry });
  await bench.drain(30_000);
  expect(await bench.subscription()).toMatchObject({ state: 'halted' });
  await bench.turn({ onFailure: 'park', filter: '{"key":["K"]}' });
  bench.bad.clear();
  const calls = bench.calls.length;
  await resumeSubscription(bench.byHand(), 's');
  await bench.drain(30_000);
  expect(bench.given).toEqual(['x', '0', ...rest]);
  expect(bench.calls.length - calls).toBe(1 + rest.length / 2);
  await bench.expectNoneParked();
});

it('a subscription that is put anew keeps its place, its parked keys, and what is counted of them', async () => {
  await bench.park();
  bench.bad.add('0');
  await bench.deliver(['K=0', 'K=1', 'a=2']);
  const before = [await bench.position(), await bench.laneAt()];
  const wanted = { target: { lambda: { functionArn: 'g' } }, batch: { maxRecords: 1 } };
  await putSubscription(bench.byHand(), 's', wanted, await bench.subscription(), () => {});
  expect(await bench.subscription()).toMatchObject(wanted);
  expect([await bench.position(), await bench.laneAt()]).toEqual(before);
  bench.bad.clear();
  await bench.drain(30_000);
  expect(bench.given).toEqual(['2', '0', '1']);
  await bench.expectNoneParked();
});
