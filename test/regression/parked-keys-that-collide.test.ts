import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { openParkingBench, type ParkingBench } from '../support/parking-bench.ts';

// Keys that begin with the same byte have the same hash.
vi.mock('../../shared/wire/lane-of.ts', () => ({
  laneOf: (key: Uint8Array) => Buffer.alloc(8, key[0] ?? 0).toString('hex'),
}));

let bench: ParkingBench;
beforeEach(async () => {
  bench = await openParkingBench();
});
afterEach(() => bench.close());

it('keys that share their hash wait together, in order, each for what fails of either', async () => {
  await bench.park();
  bench.bad.add('0').add('3');
  await bench.deliver(['Ka=0', 'Kb=1', 'x=2', 'Kb=3', 'Ka=4']);
  expect(bench.given).toEqual(['2']);
  expect(await bench.marks()).toEqual([bench.laneId('K').lane]);
  bench.bad.delete('0');
  await bench.drain(30_000);
  expect(bench.given).toEqual(['2', '0', '1']);
  expect(await bench.list()).toMatchObject([{ offset: 3, waiting: 2 }]);
  bench.bad.clear();
  await bench.drain(30_000);
  expect(bench.given).toEqual(['2', '0', '1', '3', '4']);
  await bench.expectNoneParked();
});
