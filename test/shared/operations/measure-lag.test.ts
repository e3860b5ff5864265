import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Unavailable } from '../../../shared/domain/errors.ts';
import { LAG_LOOKS_AHEAD_MAX, LAGS_REPORTED_MAX } from '../../../shared/domain/lag.ts';
import type { WakeUp } from '../../../shared/domain/wake-up.ts';
import { hourOf } from '../../../shared/operations/doorbell.ts';
import { type LagPorts, Lags, measureLag, measureParked } from '../../../shared/operations/measure-lag.ts';
import { CaughtUp, sweepWakeUps } from '../../../shared/operations/sweep-wake-ups.ts';
import { openPushBench, type PushBench } from '../../support/push-bench.ts';

const HOUR = 3_600_000;
const MINUTE = 60_000;
const error = { name: 'Error', message: 'no' };

let bench: PushBench;
let lags: Lags;
beforeEach(async () => {
  bench = await openPushBench({ partitions: 2 });
  lags = new Lags();
});
afterEach(() => bench.close());

/** Sweeps; wake-ups are lost. */
async function swept() {
  const { ports, backbone } = bench.host();
  const wakeQueue = { wake: async () => {} };
  const { pending, heads } = backbone;
  const all = { ...backbone, ...ports, pending, heads, wakeQueue, caughtUp: new CaughtUp(), lags };
  expect(await sweepWakeUps(all, bench.clock.now() + MINUTE)).toEqual([]);
  return backbone;
}
/** Sweeps, and measures what it saw of those that are behind. */
async function measured(change: Partial<LagPorts> = {}) {
  return measureLag({ ...(await swept()), lags, ...change });
}
/** Appends, and marks the partition as a doorbell does. */
const append = async (values: readonly string[], partition = 0) => {
  const now = bench.clock.now();
  const { topicId } = bench.positionId();
  await bench.host().backbone.touched.note({ topicId, partition }, hourOf(now), now);
  await bench.append(values, partition);
};

describe('the lag of subscriptions', () => {
  it('is not told while nobody is behind, nor of what is on its way, and costs no Query then', async () => {
    await bench.subscribe();
    const log = {
      read: async () => {
        throw new Error('nothing is to be read');
      },
    };
    expect(await measured({ log })).toEqual({ report: { worst: [] }, failures: [] });
    await append(['a']);
    bench.clock.pass(9_000);
    expect((await measured()).report).toMatchObject({ worst: [] });
  });

  it('is told in records and in time, over all its partitions, until it has caught up', async () => {
    await bench.subscribe();
    await append(['a', 'b']);
    bench.clock.pass(MINUTE);
    await append(['c'], 1);
    bench.clock.pass(MINUTE);
    const { report } = await measured();
    expect(report).toMatchObject({
      worst: [{ subscription: 's', records: 3, ageMs: 2 * MINUTE }],
      oldestMs: 2 * MINUTE,
      retentionUsed: (2 * MINUTE) / 604_800_000,
    });
    expect(report.unsettledMs).toBeUndefined();
    for (const partition of [0, 1]) await bench.wake({ partition });
    expect((await measured()).report).toEqual({ worst: [] });
  });

  it('is told also while its target is away, and hours after the partition grew', async () => {
    await bench.subscribe('s', { retry: { maxAttempts: 3, minBackoffMs: 1_000, maxBackoffMs: 5 * HOUR } });
    bench.scripts.set('s', () => ({ kind: 'away', error, retryAfterMs: HOUR }));
    await append(['a']);
    for (let i = 0; i < 4; i++) {
      await bench.wake();
      bench.clock.pass(HOUR - 10_000);
      expect((await measured()).report.worst).toMatchObject([{ subscription: 's', records: 1 }]);
      bench.clock.pass(10_000);
    }
    expect((await measured()).report.oldestMs).toBeGreaterThanOrEqual(4 * HOUR);
  });

  it('tells of a slot for which it waits and that nobody settles', async () => {
    await bench.subscribe();
    const { topicId } = bench.positionId();
    const now = bench.clock.now();
    const reservation = { count: 1, time: now, expiresAt: 0, settleMs: 2_000 };
    await bench.host().backbone.heads.reserve({ topicId, partition: 0 }, '0'.repeat(24), reservation, () => false);
    await append(['b']);
    bench.clock.pass(9_000);
    expect((await measured()).report.unsettledMs).toBeUndefined(); // it may be in flight
    bench.clock.pass(MINUTE);
    expect((await measured()).report.unsettledMs).toBe(69_000);
    await bench.wake();
    expect((await measured()).report.unsettledMs).toBeUndefined();
  });

  it('is told of few in an hour; the longest wait is that of all', async () => {
    const names = ['s', ...Array.from({ length: LAGS_REPORTED_MAX + 1 }, (_, i) => `s${i}`)];
    for (const name of names) await bench.subscribe(name);
    await append(['a']);
    bench.clock.pass(MINUTE);
    const told = (await measured()).report.worst.map(({ subscription }) => subscription);
    expect(told).toHaveLength(LAGS_REPORTED_MAX);
    for (const name of told) await bench.wake({ to: { group: bench.positionId(0, name).group, topic: 't', known: 2 } });
    const later = (await measured()).report;
    expect(later).toMatchObject({ worst: [], oldestMs: MINUTE });
    bench.clock.pass(HOUR); // other places
    const others = (await measured()).report.worst.map(({ subscription }) => subscription);
    expect([...told, ...others].sort()).toEqual(names.sort());
  });

  it('keeps what is known when single positions cannot be looked at', async () => {
    await bench.subscribe();
    await append(['a']);
    bench.clock.pass(MINUTE);
    const refusal = new Unavailable('no answer');
    const log = {
      read: async () => {
        throw refusal;
      },
    };
    const { report, failures } = await measured({ log });
    expect(failures).toEqual([refusal]);
    expect(report.worst).toMatchObject([{ subscription: 's', records: 1, ageMs: MINUTE }]);
  });

  it('does not take the place of those that are to be woken: few are looked at before their time', async () => {
    const to = await bench.subscribe();
    await bench.append(['a']);
    const { ports, backbone } = bench.host();
    const { topicId } = bench.positionId();
    const now = bench.clock.now();
    const early = Array.from({ length: LAG_LOOKS_AHEAD_MAX + 5 }, (_, i) => ({
      partition: i + 2,
      dueAt: now + MINUTE,
    }));
    const items = [...early, { partition: 0, dueAt: now - MINUTE }].map((mark) => ({ topicId, to, ...mark }));
    const looked: number[] = [];
    const read: typeof backbone.heads.read = (partition, strong) => {
      looked.push(partition.partition);
      return partition.partition === 0 ? backbone.heads.read(partition, strong) : Promise.resolve(undefined);
    };
    const woken: number[] = [];
    const swept = {
      ...{ ...backbone, ...ports, heads: { read }, caughtUp: new CaughtUp(), lags },
      pending: { list: async () => ({ items }), remove: async () => {}, put: async () => {} },
      positions: { read: async () => ({ epoch: 1, committed: 0 }) },
      wakeQueue: {
        wake: async (wakeUps: readonly WakeUp[]) => void woken.push(...wakeUps.map((each) => each.partition)),
      },
    };
    expect(await sweepWakeUps(swept, now + MINUTE)).toEqual([]);
    expect(looked).toHaveLength(LAG_LOOKS_AHEAD_MAX + 1);
    expect(woken).toEqual([0]);
  });
});

describe('the age of parked keys', () => {
  const parked = async () => {
    await swept();
    return measureParked({ lags, clock: bench.clock });
  };
  /** Has a subscription park a key. @param name that of the key, too */
  const park = async (name = 's') => {
    const retry = { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: MINUTE };
    const to = await bench.subscribe(name, { onFailure: 'park', retry, from: 'latest' });
    bench.scripts.set(name, ({ records }) => ({ kind: 'failed', at: records[0]!.offset, error }));
    await bench.append([`${name}=1`]);
    await bench.wake({ to });
    return to;
  };

  it('is not told while none is parked', async () => {
    await bench.subscribe();
    await append(['a']);
    bench.clock.pass(MINUTE);
    expect(await parked()).toEqual({ worst: [] });
  });

  it('is that of the oldest, of each subscription and of all, until it is back', async () => {
    await park('a');
    bench.clock.pass(HOUR);
    const to = await park('b');
    bench.clock.pass(MINUTE);
    await bench.append(['later=2']);
    await bench.wake({ to });
    const [a, b] = [HOUR + MINUTE, MINUTE].map((ms, i) => ({ subscription: 'ab'[i], ageMs: expect.closeTo(ms, -4) }));
    expect(await parked()).toEqual({ worst: [a, b], oldestMs: a!.ageMs });
    // What was told is over.
    expect(measureParked({ lags, clock: bench.clock })).toEqual({ worst: [] });
    bench.scripts.clear();
    bench.clock.pass(MINUTE);
    await bench.drain(HOUR);
    expect(await parked()).toEqual({ worst: [] });
  });

  it.each(['paused', 'halted'] as const)('is told also of a subscription that is %s', async (state) => {
    await park();
    const seen = await bench.subscription();
    await bench.host().backbone.subscriptions.change(seen, { ...seen, state });
    bench.clock.pass(HOUR);
    expect(await parked()).toMatchObject({ worst: [{ subscription: 's' }], oldestMs: expect.closeTo(HOUR, -4) });
    expect((await measured()).report).toEqual({ worst: [] });
  });

  it('is told of few in an hour, who take no place of those that are behind', async () => {
    const names = Array.from({ length: LAGS_REPORTED_MAX + 2 }, (_, i) => `s${i}`);
    for (const [i, name] of names.entries()) lags.notePark(name, bench.clock.now() - i * MINUTE);
    const report = measureParked({ lags, clock: bench.clock });
    expect(report.worst.map(({ subscription }) => subscription)).toEqual(names.slice(2).reverse());
    expect(report.oldestMs).toBe((LAGS_REPORTED_MAX + 1) * MINUTE);
    await bench.subscribe();
    await append(['a']);
    bench.clock.pass(MINUTE);
    expect((await measured()).report.worst).toMatchObject([{ subscription: 's' }]);
  });
});
