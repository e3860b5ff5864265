import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { pauseSubscription, resumeSubscription } from '../../shared/operations/subscriptions.ts';
import { readBatchAnswer } from '../../shared/wire/batch-answer.ts';
import { error, openParkingBench, type ParkingBench } from '../support/parking-bench.ts';

let bench: ParkingBench;
beforeEach(async () => {
  bench = await openParkingBench();
});
afterEach(() => bench.close());

/** What a function answers that names records by their offsets. */
const naming = (offsets: readonly number[]) => ({
  batchItemFailures: offsets.map((offset) => ({ itemIdentifier: `t-0:${offset}` })),
});

describe('a function that names what failed', () => {
  beforeEach(async () => {
    await bench.park();
    bench.bad.add('1');
    await bench.deliver(['a=0', 'K=1', 'b=2', 'K=3']);
  });

  it('and names a record of a parked key, which it was not given, has failed all of it: each record is tried alone', async () => {
    await bench.append(['c=4', 'd=5']);
    bench.scripts.set('s', (batch) => {
      if (batch.lane !== undefined) return { kind: 'failed', error };
      return readBatchAnswer(naming([1, batch.records[0]!.offset]), batch);
    });
    await bench.wake({ last: 5 });
    await bench.drain(15_000);
    expect(await bench.position()).toMatchObject({ committed: 6 });
    expect((await bench.list()).map(({ offset }) => offset).sort()).toEqual([1, 4, 5]);
  });

  it('of a parked key, in any order, is given it from the lowest on', async () => {
    await bench.deliver(['K=4', 'K=5']);
    let calls = 0;
    bench.scripts.set('s', (batch) => (++calls === 2 ? readBatchAnswer(naming([5, 4]), batch) : { kind: 'done' }));
    await bench.drain(30_000);
    // The first one alone, as it failed; then the others, of which the first of those that failed is tried alone.
    expect(bench.delivered().slice(-6)).toEqual([1, 3, 4, 5, 4, 5]);
    await bench.expectNoneParked();
  });
});

it('of records of a parked key that failed together nobody knows which did: none is given up', async () => {
  await bench.park();
  bench.bad.add('0');
  await bench.deliver(['K=0', 'K=1', 'K=2']);
  bench.scripts.set('s', ({ records }) =>
    records.some(({ offset }) => offset === 2) ? { kind: 'failed', error } : { kind: 'done' },
  );
  await bench.turn({ retry: { maxAttempts: 2, minBackoffMs: 60_000, maxBackoffMs: 60_000 } });
  bench.clock.pass(20_000);
  bench.queue.length = 0;
  for (let times = 0; times < 2; times++) await bench.wakeLane();
  expect(await bench.laneAt()).toMatchObject({ committed: 1, push: { failure: { attempts: 0 } } });
  expect(await bench.act('dead-letter')).toEqual({ count: 0, more: false });
  await bench.drain(5_000);
  expect(bench.letters).toEqual([]);
});

it('a target that is away, and says for how long, is not asked earlier for a parked key', async () => {
  await bench.park();
  bench.bad.add('0');
  await bench.deliver(['K=0', 'a=1']);
  let calls = 0;
  bench.scripts.set('s', () => {
    calls += 1;
    return { kind: 'away', error, retryAfterMs: 3_600_000 };
  });
  await bench.drain(20_000);
  expect(calls).toBe(1);
  for (let passed = 0; passed < 3_480_000; passed += 240_000) {
    bench.clock.pass(240_000);
    await bench.sweep();
    await bench.drain(0);
  }
  expect(calls).toBe(1);
  expect(await bench.list()).toMatchObject([{ attempts: 2 }]);
  bench.clock.pass(240_000);
  await bench.sweep();
  await bench.drain(0);
  expect(calls).toBe(2);
});

it('a target that wants no more, as it says where a key is parked, is called again once it is resumed', async () => {
  await bench.park();
  bench.bad.add('0');
  await bench.deliver(['K=0', 'a=1', 'K=2']);
  bench.scripts.set('s', () => ({ kind: 'gone', error }));
  await bench.drain(30_000);
  expect(await bench.subscription()).toMatchObject({ state: 'paused' });
  bench.bad.clear();
  bench.scripts.set('s', bench.answer);
  await bench.drain(60_000);
  await bench.sweep();
  await bench.drain(60_000);
  expect(bench.given).toEqual(['1']);
  await resumeSubscription(bench.byHand(), 's');
  await bench.drain(5_000);
  expect(bench.given).toEqual(['1', '0', '2']);
  await bench.expectNoneParked();
});

it('a pause ends what is done for a parked key with the call that is under way, and keeps what that did', async () => {
  await bench.park({ batch: { maxRecords: 1, maxBytes: 10_000 } });
  bench.bad.add('0');
  await bench.deliver(['K=0', 'a=1', 'K=2']);
  bench.bad.clear();
  bench.scripts.set('s', async (batch) => {
    await pauseSubscription(bench.byHand(), 's');
    return bench.answer(batch);
  });
  await bench.drain(60_000);
  expect(bench.given).toEqual(['1', '0']);
  const lane = await bench.laneAt();
  expect(lane).toMatchObject({ committed: 1 });
  expect(lane).not.toHaveProperty('owner');
  bench.scripts.set('s', bench.answer);
  await resumeSubscription(bench.byHand(), 's');
  await bench.drain(5_000);
  expect(bench.given).toEqual(['1', '0', '2']);
  await bench.expectNoneParked();
});

describe('while keys are taken back', () => {
  it('a pause ends it with the call in which it was said', async () => {
    await bench.park({ batch: { maxRecords: 1, maxBytes: 100_000 } });
    bench.bad.add('0');
    await bench.deliver(['K=0', 'a=1']);
    bench.bad.clear();
    await bench.getReady();
    await bench.append(['K=2', 'K=3', 'K=4']);
    await bench.passTo(5);
    const calls: number[] = [];
    bench.scripts.set('s', async (batch) => {
      calls.push(batch.records[0]!.offset);
      if (calls.length === 1) await bench.turn({ state: 'paused' });
      return bench.answer(batch);
    });
    await bench.wake();
    expect(calls).toEqual([2]);
  });

  it('a target that wants no more is called no more, though other keys are ready, and their partition has more', async () => {
    await bench.park({ batch: { maxRecords: 1, maxBytes: 100_000 } });
    const keys = ['K', 'L', 'M', 'N'];
    for (const key of keys) bench.bad.add(`${key}0`);
    await bench.deliver(keys.map((key) => `${key}=${key}0`));
    bench.bad.clear();
    for (const key of keys) await bench.getReady(key);
    await bench.append([...keys.map((key) => `${key}=${key}1`), 'a=2']);
    await bench.passTo(8);
    let calls = 0;
    bench.scripts.set('s', () => {
      calls += 1;
      return { kind: 'gone', error };
    });
    await bench.wake();
    await bench.drain(1_000);
    expect(await bench.subscription()).toMatchObject({ state: 'paused' });
    expect(calls).toBe(1);
  });
});
