import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WAKE_HOPS_MAX } from '../../shared/domain/limits.ts';
import { openParkingBench, type ParkingBench, RETRY } from '../support/parking-bench.ts';
import type { PushHost } from '../support/push-bench.ts';

let bench: ParkingBench;
beforeEach(async () => {
  bench = await openParkingBench();
});
afterEach(() => bench.close());
/** A process that delivers all by itself, whose clock is ahead. */
const hostAhead = (ms: number): PushHost => {
  const host = bench.host();
  return { ...host, ports: { ...host.aside, clock: { now: () => bench.clock.now() + ms } } };
};

describe('processes whose clocks differ', () => {
  it('and that are woken at once never have a parked key delivered twice at a time, or out of order', async () => {
    await bench.park({ batch: { maxRecords: 2, maxBytes: 100_000 } });
    bench.bad.add('0');
    await bench.deliver(['K=0', 'a=1', 'K=2', 'K=3', 'a=4', 'K=5', 'K=6']);
    bench.bad.clear();
    bench.clock.pass(20_000);
    bench.queue.length = 0;
    let [now, most] = [0, 0];
    bench.scripts.set('s', async (batch) => {
      now += 1;
      most = Math.max(most, now);
      // The others go on meanwhile.
      for (let i = 0; i < 5; i++) await bench.position();
      now -= 1;
      return bench.answer(batch);
    });
    const hosts = [0, 800, -800, 300].map(hostAhead);
    const wakes = hosts.flatMap((host) => [
      bench.wakeLane('K', host),
      bench.wake({ to: bench.to() }, host),
      bench.wakeLane('K', host),
    ]);
    await Promise.all(wakes);
    await bench.drain(100_000);
    expect(most).toBe(1);
    expect(bench.given).toEqual(['1', '4', '0', '2', '3', '5', '6']);
    await bench.expectNoneParked();
  });

  it('have the epochs of a key grow, also where it is parked anew by one that is behind', async () => {
    await bench.park();
    const epochs: number[] = [];
    bench.scripts.set('s', (batch) => {
      if (batch.lane !== undefined) epochs.push(batch.epoch);
      return bench.answer(batch);
    });
    bench.bad.add('0').add('3');
    await bench.deliver(['K=0', 'a=1']);
    bench.bad.delete('0');
    bench.clock.pass(20_000);
    await bench.wakeLane('K', hostAhead(5_000));
    bench.queue.length = 0;
    await bench.wake({ to: bench.to() });
    await bench.expectNoneParked();
    await bench.append(['K=2', 'K=3']);
    await bench.wake({ last: 3 });
    await bench.act('resume');
    await bench.drain(2_000);
    expect(epochs.length).toBeGreaterThan(1);
    expect(epochs).toEqual(epochs.toSorted((a, b) => a - b));
    const whole = bench.given.filter((value) => '023'.includes(value));
    expect(whole).toEqual(['0', '2']);
  });
});

describe('many parked keys', () => {
  it('are not all tried in the same moment: each waits by chance', async () => {
    await bench.park();
    const keys = Array.from({ length: 10 }, (_, i) => `k${i}`);
    for (const key of keys) bench.bad.add(key);
    let drawn = 0;
    const host = bench.host();
    const random = () => (drawn++ % 10) / 10;
    const by = { ...host, ports: { ...host.aside, random } };
    await bench.append(keys.map((key) => `${key}=${key}`));
    await bench.wake({ last: 9 }, by);
    const waits = async () => {
      const now = bench.clock.now();
      return (await bench.list()).map(({ nextRetryAt }) => nextRetryAt! - now);
    };
    const expectApart = (all: readonly number[], tookMs: number) => {
      expect(Math.min(...all)).toBeGreaterThanOrEqual(0.8 * RETRY.maxBackoffMs - tookMs);
      expect(Math.max(...all)).toBeLessThanOrEqual(RETRY.maxBackoffMs);
      expect(new Set(all.map((ms) => Math.floor(ms / 1_000))).size).toBeGreaterThan(2);
    };
    expect(await bench.list()).toHaveLength(10);
    expectApart(await waits(), 1_000);
    // So it is after each further try.
    bench.clock.pass(RETRY.maxBackoffMs);
    for (const key of keys) await bench.wakeLane(key, by);
    expectApart(await waits(), 1_000);
  });

  it('come back to a busy partition, each in order, and nothing is given twice', async () => {
    await bench.park({ batch: { maxRecords: 3, maxBytes: 100_000 } });
    const keys = Array.from({ length: 8 }, (_, i) => `k${i}`);
    for (const key of keys) bench.bad.add(`${key}_0`);
    await bench.deliver(keys.map((key) => `${key}=${key}_0`));
    expect(await bench.marks()).toHaveLength(8);
    await bench.deliver(keys.flatMap((key) => [`${key}=${key}_1`, `${key}=${key}_2`, 'x=x']));
    bench.bad.clear();
    await bench.act('resume');
    let more = 16;
    bench.scripts.set('s', async (batch) => {
      if (--more >= 0) await bench.append([`k${more % 8}=k${more % 8}_${5 - Math.floor(more / 8)}`, 'y=y']);
      return bench.answer(batch);
    });
    await bench.drain(100_000);
    await bench.wake({ to: bench.to() });
    await bench.drain(60_000);
    for (const key of keys) {
      const ofKey = bench.given.filter((value) => value.startsWith(`${key}_`));
      expect(ofKey).toEqual([0, 1, 2, 4, 5].map((n) => `${key}_${n}`));
    }
    await bench.expectNoneParked();
  });

  it('are each tried once, though all are resumed several times at once', async () => {
    await bench.park();
    const keys = ['A', 'B', 'C'];
    for (const key of keys) bench.bad.add(`${key}0`);
    await bench.deliver(keys.map((key) => `${key}=${key}0`));
    const calls = bench.calls.length;
    await Promise.all([1, 2, 3].map(() => bench.act('resume')));
    await bench.drain(2_000);
    const tries = bench.calls.slice(calls);
    expect(new Set(tries).size).toBe(3);
    // Once more where that is what its attempts are: they count from the start.
    expect(tries.length).toBeLessThanOrEqual(RETRY.maxAttempts * 3);
  });

  it('may come back and be parked by the same delivery', async () => {
    await bench.park();
    bench.bad.add('0');
    await bench.deliver(['K=0', 'L=1']);
    bench.bad.clear();
    await bench.getReady();
    bench.bad.add('3');
    await bench.deliver(['K=2', 'L=3', 'K=4', 'L=5', 'a=6']);
    expect(bench.given).toEqual(['1', '0', '2', '4', '6']);
    expect(await bench.list()).toMatchObject([{ offset: 3, waiting: 2 }]);
    bench.bad.clear();
    await bench.drain(30_000);
    expect(bench.given.slice(-2)).toEqual(['3', '5']);
    await bench.expectNoneParked();
  });
});

it('a dead letter of a parked key is given again beside it, and the key waits on where it is', async () => {
  await bench.park();
  bench.bad.add('0').add('1');
  await bench.deliver(['K=0', 'K=1', 'a=2']);
  await bench.act('dead-letter');
  await bench.drain(5_000);
  expect(bench.letters.map(({ offset }) => offset)).toEqual([0]);
  expect(await bench.list()).toMatchObject([{ offset: 1, waiting: 1 }]);
  bench.bad.delete('0');
  const { redrives, pending } = bench.host().backbone;
  const { group, topicId, partition } = bench.positionId();
  await pending.put({ to: bench.to(), topicId, partition, dueAt: bench.clock.now(), isRedrive: true });
  await redrives.begin(group, { topicId, partition, offset: 0 }, bench.clock.now());
  await bench.wake({ to: bench.to(), isRedrive: true });
  await bench.drain(1_000);
  expect(bench.given).toEqual(['2', '0']);
  expect(await bench.position()).toMatchObject({ committed: 3, parked: new Set([bench.laneId().lane]) });
  expect(await bench.list()).toMatchObject([{ offset: 1, waiting: 1 }]);
  bench.bad.clear();
  await bench.drain(60_000);
  expect(bench.given).toEqual(['2', '0', '1']);
  await bench.expectNoneParked();
});

it('a parked key whose message has been sent on as often as any may be is gone on with by the sweep', async () => {
  await bench.park();
  bench.bad.add('0');
  await bench.deliver(['K=0']);
  bench.clock.pass(20_000);
  bench.queue.length = 0;
  // It has its mark already, and its position needs none for it.
  const pending = async () => (await bench.host().backbone.pending.list(100)).items;
  const marked = await pending();
  expect(marked.map(({ lane }) => lane)).toContain(bench.laneId().lane);
  const before = bench.calls.length;
  await bench.wake({ lane: bench.laneId().lane, to: bench.to(), hop: WAKE_HOPS_MAX - 1 });
  await bench.drain(60_000);
  expect(bench.calls.length).toBeGreaterThan(before);
  expect(bench.queue).toEqual([]);
  expect(await pending()).toEqual(marked);
  bench.bad.clear();
  bench.clock.pass(60_000);
  await bench.sweep();
  await bench.drain(1_000);
  expect(bench.given).toEqual(['0']);
  await bench.expectNoneParked();
});
