import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { DOORBELL_WAIT_MS } from '../../../shared/domain/limits.ts';
import { WriteFailed } from '../../../shared/domain/write-failed.ts';
import { Doorbell, hourOf } from '../../../shared/operations/doorbell.ts';
import { CaughtUp, sweepWakeUps } from '../../../shared/operations/sweep-wake-ups.ts';
import { SubscribedTopics, wakeSubscribers } from '../../../shared/operations/wake-subscribers.ts';
import { openPushBench, type PushBench } from '../../support/push-bench.ts';

const HOUR = 3_600_000;
const error = { name: 'Error', message: 'no' };

let bench: PushBench;
beforeEach(async () => {
  bench = await openPushBench({ partitions: 2 });
});
afterEach(() => bench.close());

const doorbell = (change: object = {}) => {
  const { ports, backbone } = bench.host();
  return new Doorbell({ ...ports, touched: backbone.touched, ...change });
};
const touched = async (hour = hourOf(bench.clock.now())) =>
  (await bench.host().backbone.touched.list(hour, 100)).items.map(({ partition }) => partition);
const pending = async () => (await bench.host().backbone.pending.list(100)).items;
const failing = async () => {
  throw new WriteFailed('unreachable', true, new Error('no answer'));
};

describe('an append', () => {
  it('alone has what it appended delivered', async () => {
    await bench.subscribe();
    await bench.append(['a'], 0, doorbell());
    await bench.append(['b'], 1, doorbell());
    await bench.drain();
    expect(bench.calls).toEqual(['s:0 0', 's:1 0']);
  });

  it('to a topic that nobody subscribes to tells nobody', async () => {
    await bench.append(['a'], 0, doorbell());
    expect(bench.queue).toEqual([]);
    expect(await touched()).toEqual([]);
  });

  it('marks its partition once an hour, by one process', async () => {
    await bench.subscribe();
    const notes: number[] = [];
    const { backbone } = bench.host();
    const note: typeof backbone.touched.note = (partition, hour, now) => {
      notes.push(partition.partition);
      return backbone.touched.note(partition, hour, now);
    };
    const bell = doorbell({ touched: { note } });
    for (const partition of [0, 0, 1, 0]) await bench.append(['a'], partition, bell);
    expect(notes).toEqual([0, 1]);
    expect(await touched()).toEqual([0, 1]);
    bench.clock.pass(HOUR);
    await bench.append(['a'], 0, bell);
    expect(notes).toEqual([0, 1, 0]);
  });

  it('is acknowledged though its wake-up, or its mark, fails or hangs', async () => {
    await bench.subscribe();
    const marks = doorbell({ touched: { note: failing } });
    expect(await bench.append(['a'], 0, marks)).toBe(0);
    expect(await bench.append(['b'], 0, doorbell({ wakeQueue: { wake: failing } }))).toBe(1);
    const before = bench.clock.now();
    const hanging = doorbell({ wakeQueue: { wake: () => new Promise(() => {}) } });
    expect(await bench.append(['c'], 0, hanging)).toBe(2);
    expect(bench.clock.now() - before).toBe(DOORBELL_WAIT_MS);
  });
});

describe('the log’s stream', () => {
  const topicId = () => bench.positionId().topicId;
  const told = (partition: number, last: number) => ({ topicId: topicId(), partition, last });
  const wakePorts = (change: object = {}) => {
    const { ports } = bench.host();
    return { ...ports, subscribed: new SubscribedTopics(), ...change };
  };

  it('alone has what was appended delivered, with one wake-up for each partition', async () => {
    await bench.subscribe();
    await bench.append(['a', 'b', 'c']);
    await bench.append(['d'], 1);
    await wakeSubscribers(wakePorts(), [told(0, 0), told(0, 2), told(1, 0), told(0, 1)]);
    expect(bench.queue).toMatchObject([{ wakeUp: { partition: 0, last: 2 } }, { wakeUp: { partition: 1, last: 0 } }]);
    await bench.drain();
    expect(bench.calls).toEqual(['s:0 0..2', 's:1 0']);
  });

  it('wakes nobody where nobody subscribes, and asks again each time; that somebody does it remembers', async () => {
    const asked: string[] = [];
    const { ports } = bench.host();
    const of = (id: string) => {
      asked.push(id);
      return ports.subscribers.of(id);
    };
    const remembering = wakePorts({ subscribers: { of } });
    const other = '01BX5ZZKBKACTAV9WEVGEMMVRY';
    for (let i = 0; i < 2; i++) await wakeSubscribers(remembering, [{ topicId: other, partition: 0, last: 0 }]);
    expect(asked).toHaveLength(2);
    expect(bench.queue).toEqual([]);
    await bench.subscribe();
    for (let i = 0; i < 2; i++) await wakeSubscribers(remembering, [told(0, i)]);
    expect(asked).toHaveLength(3);
    expect(bench.queue).toHaveLength(2);
  });
});

describe('the sweep', () => {
  const lost = { wakeQueue: { wake: failing } };

  it('alone has what was appended delivered', async () => {
    await bench.subscribe('a');
    await bench.subscribe('b');
    await bench.append(['a', 'b'], 0, doorbell(lost));
    expect(await bench.sweep()).toEqual([]);
    expect(bench.queue).toHaveLength(2);
    await bench.drain();
    expect(bench.calls.toSorted()).toEqual(['a:0 0..1', 'b:0 0..1']);
    await bench.sweep();
    expect(bench.queue).toEqual([]);
  });

  it('keeps in sight what is behind for longer than an hour', async () => {
    await bench.subscribe();
    await bench.append(['a'], 0, doorbell(lost));
    bench.clock.pass(HOUR);
    await bench.sweep();
    expect(await pending()).toHaveLength(1);
    bench.queue.length = 0; // lost, too, and so is the hour's marker
    bench.clock.pass(5 * HOUR);
    await bench.sweep();
    await bench.drain();
    expect(bench.delivered()).toEqual([0]);
    await bench.sweep();
    expect(await pending()).toEqual([]);
  });

  it('wakes what was to be tried again, when its time has come and its wake-up has not', async () => {
    await bench.subscribe('s', { retry: { maxAttempts: 3, minBackoffMs: 60_000, maxBackoffMs: 60_000 } });
    await bench.append(['a']);
    bench.scripts.set('s', () => ({ kind: 'away', error, retryAfterMs: 30_000 }));
    await bench.wake({ last: 0 });
    bench.queue.length = 0;
    await bench.sweep();
    bench.clock.pass(30_001);
    await bench.sweep();
    expect(bench.queue).toEqual([]); // its own may still be on its way
    bench.clock.pass(5_000);
    bench.scripts.delete('s');
    await bench.sweep();
    await bench.drain();
    expect(bench.delivered()).toEqual([0, 0]);
    await bench.sweep();
    expect(await pending()).toEqual([]);
  });

  it('forgets what is pending of whom nothing is to be delivered to', async () => {
    const to = await bench.subscribe('s', { state: 'paused' });
    await bench.append(['a'], 0, doorbell());
    bench.queue.length = 0;
    const { ports } = bench.host();
    const { topicId } = bench.positionId();
    const gone = { ...to, group: { ...to.group, id: '01BX5ZZKBKACTAV9WEVGEMMVRY' } };
    for (const each of [to, gone]) await ports.pending.put({ to: each, topicId, partition: 0, dueAt: 0 });
    await bench.sweep();
    expect(await pending()).toEqual([]);
    expect(bench.queue).toEqual([]);
  });

  it('keeps in sight what is pending of a subscription that is resumed while it runs', async () => {
    const to = await bench.subscribe('s', { state: 'paused' });
    await bench.append(['a'], 1);
    const { ports, backbone } = bench.host();
    const mark = (partition: number) => ({ to, topicId: bench.positionId().topicId, partition, dueAt: 0 });
    await ports.pending.put(mark(0));
    const list: typeof backbone.pending.list = async (_, after) => {
      if (after === undefined) return { items: [mark(0)], next: 'more' };
      const seen = await bench.subscription();
      await backbone.subscriptions.change(seen, { ...seen, state: 'active' });
      await ports.pending.put(mark(1));
      return { items: [mark(1)] };
    };
    const remove = backbone.pending.remove.bind(backbone.pending);
    const all = {
      ...ports,
      touched: backbone.touched,
      heads: backbone.heads,
      pending: { list, remove, put: async () => {} },
      caughtUp: new CaughtUp(),
      lags: backbone.lags,
    };
    expect(await sweepWakeUps(all, bench.clock.now() + HOUR)).toEqual([]);
    expect((await pending()).map(({ partition }) => partition)).toEqual([1]);
    await bench.drain();
    expect(bench.calls).toEqual(['s:1 0']);
  });

  it('leaves whom somebody is at, and looks again', async () => {
    await bench.subscribe();
    await bench.append(['a'], 0, doorbell(lost));
    const { ports } = bench.host();
    const seen = await bench.position();
    const now = bench.clock.now();
    const by = { owner: 'dead', epoch: seen.epoch + 1, until: now + 45_000, now };
    await ports.pushPositions.take(bench.positionId(), seen, by);
    await bench.sweep();
    expect(bench.queue).toEqual([]);
    bench.clock.pass(45_001);
    await bench.sweep();
    await bench.drain();
    expect(bench.delivered()).toEqual([0]);
  });
});
