import { beforeEach, describe, expect, it } from 'vitest';
import { HEAD_DEADLINE_MS, LATE_MAX_MS, SWEEP_LEASE_MS, SWEEP_RUN_MS } from '../../shared/domain/limits.ts';
import { sweep } from '../../shared/operations/sweep.ts';
import { deleteTopic, listDeletedTopics, putTopic } from '../../shared/operations/topics.ts';
import { type BackgroundBench, openBackgroundBench, type SweepHost } from '../support/background-bench.ts';
import { append, type Host, read } from '../support/log-bench.ts';

const PARTITIONS = 6;
const LARGE = 'x'.repeat(100);
let bench: BackgroundBench;
let host: Host;

beforeEach(async () => {
  bench = await openBackgroundBench({ spillAboveBytes: 50 });
  host = bench.host();
  return () => bench.close();
});

/** One run of the sweep, as it is called every minute. */
async function run({ ports }: SweepHost = bench.sweepHost()): Promise<void> {
  expect(await sweep(ports, bench.clock.now() + SWEEP_RUN_MS)).toEqual([]);
}

/** A topic with an inline slot of 3 records and a spilled one in each partition. @returns its id */
async function filled(name: string, partitions = PARTITIONS): Promise<string> {
  const { topic } = await putTopic(host.backbone, name, { partitions });
  for (let partition = 0; partition < partitions; partition++) {
    await append(host, name, 'inline', 3, partition);
    await append(host, name, LARGE, 1, partition);
  }
  return topic.id;
}

async function slotsLeft(): Promise<(readonly [string, number])[]> {
  const { items } = await listDeletedTopics(host.backbone, { limit: 10 });
  return items.map((topic) => [topic.name, topic.slotsLeft] as const);
}

describe('the purge of a deleted topic', () => {
  it('begins when no write can land any more, and leaves nothing: slots, intents, heads, objects', async () => {
    await filled('orders');
    await deleteTopic(host.backbone, 'orders');
    const stored = [...(await bench.items('log')), ...(await bench.items('state'))];
    expect(stored).toHaveLength(PARTITIONS * 4 + 1);
    bench.clock.pass(LATE_MAX_MS - 1);
    await run();
    expect([...(await bench.items('log')), ...(await bench.items('state'))]).toEqual(stored);
    expect(await slotsLeft()).toEqual([['orders', PARTITIONS * 4]]);

    bench.clock.pass(1);
    await run();
    expect(await bench.items('log')).toEqual([]);
    expect(await bench.items('state')).toEqual([]);
    expect(await slotsLeft()).toEqual([]);
    expect(await bench.objects()).toHaveLength(PARTITIONS);
    await bench.follow();
    expect(await bench.objects()).toEqual([]);
    expect(await bench.items('log')).toEqual([]);
  });

  it('deletes intents before the slots of their partition, heads after all logs, the leftover last', async () => {
    const topicId = await filled('orders');
    await deleteTopic(host.backbone, 'orders');
    bench.clock.pass(LATE_MAX_MS);
    bench.changes();
    const sweeper = bench.sweepHost();
    await run(sweeper);
    const removed = bench.changes().map(({ dynamodb }) => dynamodb.Keys.log!.S!);
    for (let partition = 0; partition < PARTITIONS; partition++) {
      const own = removed.filter((log) => log.startsWith(`${topicId}.${partition}`));
      expect(own.map((log) => log.endsWith('#spill'))).toEqual([true, false, false]);
    }
    const { calls } = sweeper.faults;
    expect(calls.slice(-PARTITIONS - 2)).toEqual(Array(PARTITIONS + 2).fill('DeleteItem')); // heads, leftover, lease
    expect(calls.lastIndexOf('BatchWriteItem')).toBeLessThan(calls.indexOf('DeleteItem'));
    expect(sweeper.seen).toContainEqual({ kind: 'topic_purged', topicId });
  });

  it('shows its progress, and is taken up where a run died', async () => {
    const topicId = await filled('orders');
    await deleteTopic(host.backbone, 'orders');
    bench.clock.pass(LATE_MAX_MS);
    const dying = bench.sweepHost();
    const held = dying.faults.hold('BatchWriteItem', 'lose-request', `${topicId}.4`); // after the first four
    const died = sweep(dying.ports, bench.clock.now() + SWEEP_RUN_MS);
    await held.arrived;
    expect((await slotsLeft())[0]![1]).toBeLessThanOrEqual(2 * 4);

    bench.clock.pass(SWEEP_LEASE_MS);
    await run();
    expect([...(await bench.items('log')), ...(await bench.items('state'))]).toEqual([]);
    held.release();
    await died;
    expect([...(await bench.items('log')), ...(await bench.items('state'))]).toEqual([]);
  });

  it('is left to one run at a time', async () => {
    await filled('orders');
    await deleteTopic(host.backbone, 'orders');
    bench.clock.pass(LATE_MAX_MS);
    const first = bench.sweepHost();
    const held = first.faults.hold('BatchWriteItem');
    const running = run(first);
    await held.arrived;
    const second = bench.sweepHost();
    await run(second);
    expect(second.faults.calls).toEqual(['Query', 'Query', 'UpdateItem']);
    held.release();
    await running;
    expect(await bench.items('state')).toEqual([]);
  });

  it('ends at the next step of a run that lost its lease', async () => {
    await filled('orders', 1);
    await deleteTopic(host.backbone, 'orders');
    bench.clock.pass(LATE_MAX_MS);
    const first = bench.sweepHost();
    const held = first.faults.hold('BatchWriteItem');
    const running = run(first);
    await held.arrived;
    bench.clock.pass(SWEEP_LEASE_MS);
    const second = bench.sweepHost();
    const working = second.faults.hold('Query', 'none', '#spill');
    const taken = run(second);
    await working.arrived;
    const before = first.faults.calls.length;
    held.release();
    await running;
    // It marks what it had just deleted, asks for its lease, lets go of it, and that is all.
    expect(new Set(first.faults.calls.slice(before))).not.toContain('BatchWriteItem');
    working.release();
    await taken;
    expect(await bench.items('state')).toEqual([]);
  });

  it('goes on in the next minute when its time is up', async () => {
    await filled('orders');
    await deleteTopic(host.backbone, 'orders');
    bench.clock.pass(LATE_MAX_MS);
    const slow = bench.sweepHost();
    const { list } = slow.ports.purge;
    const purge = {
      ...slow.ports.purge,
      delete: slow.ports.purge.delete.bind(slow.ports.purge),
      list: async (...args: Parameters<typeof list>) => {
        bench.clock.pass(SWEEP_RUN_MS / 10);
        return list.apply(slow.ports.purge, args);
      },
    };
    await run({ ...slow, ports: { ...slow.ports, purge } });
    const left = await slotsLeft();
    expect(left[0]![1]).toBeLessThan(PARTITIONS * 4);
    expect(left[0]![1]).toBeGreaterThan(0);
    await run();
    expect(await slotsLeft()).toEqual([]);
  });

  it('sends again what a batch left over, and what was throttled as a whole (F30)', async () => {
    await filled('orders');
    await deleteTopic(host.backbone, 'orders');
    bench.clock.pass(LATE_MAX_MS);
    const sweeper = bench.sweepHost();
    sweeper.faults.next('BatchWriteItem', 'throttle', 4);
    sweeper.faults.next('BatchWriteItem', 'lose-answer', 2);
    await run(sweeper);
    expect(await bench.items('log')).toEqual([]);
    expect(await bench.items('state')).toEqual([]);
  });

  it('does not touch the topic that has its name now', async () => {
    await filled('orders');
    await deleteTopic(host.backbone, 'orders');
    await putTopic(host.backbone, 'orders', { partitions: 1 });
    await append(host, 'orders', LARGE);
    bench.clock.pass(LATE_MAX_MS);
    await run();
    await bench.follow();
    expect(await slotsLeft()).toEqual([]);
    expect((await read(host, 'orders', 0)).got).toEqual([`${LARGE}@0..0`]);
    expect(await bench.items('state')).toHaveLength(2);
  });

  it('of one topic is not held up by another that fails', async () => {
    const failing = await filled('a');
    await filled('b');
    await deleteTopic(host.backbone, 'a');
    await deleteTopic(host.backbone, 'b');
    bench.clock.pass(LATE_MAX_MS);
    const sweeper = bench.sweepHost();
    sweeper.faults.next('Query', 'internal-error', 4, failing);
    const failures = await sweep(sweeper.ports, bench.clock.now() + SWEEP_RUN_MS);
    expect(failures).toMatchObject([{ code: 'unavailable' }]);
    expect(await slotsLeft()).toEqual([['a', PARTITIONS * 4]]);
    await run();
    expect(await slotsLeft()).toEqual([]);
  });
});

describe('a DELETE that died over its heads', () => {
  it('is finished by the sweep, and its data stays until no write can land any more from then on', async () => {
    const topicId = await filled('orders');
    host.faults.next('UpdateItem', 'lose-request', 3 * PARTITIONS, 'closed');
    await expect(deleteTopic(host.backbone, 'orders')).rejects.toMatchObject({ code: 'unavailable' });
    expect(await host.backbone.heads.read({ topicId, partition: 1 })).toMatchObject({ closed: false });
    bench.clock.pass(LATE_MAX_MS);
    await run();
    expect(await host.backbone.heads.read({ topicId, partition: 1 })).toMatchObject({ closed: true });
    expect(await slotsLeft()).toEqual([['orders', PARTITIONS * 4]]);
    bench.clock.pass(LATE_MAX_MS - 1);
    await run();
    expect(await slotsLeft()).toEqual([['orders', PARTITIONS * 4]]);
    bench.clock.pass(1);
    await run();
    expect(await bench.items('state')).toEqual([]);
  });
});

describe('an incarnation that was announced and never made', () => {
  it('goes with its heads, and never shows among the deleted topics', async () => {
    host.faults.next('TransactWriteItems', 'lose-request', 3);
    await expect(putTopic(host.backbone, 'orders', { partitions: 2 })).rejects.toMatchObject({ code: 'unavailable' });
    expect(await bench.items('state')).toHaveLength(3);
    bench.clock.pass(LATE_MAX_MS - 1);
    await run();
    expect((await host.backbone.leftovers.list()).items).toMatchObject([{ state: 'announced' }]);
    bench.clock.pass(1);
    await run();
    expect((await host.backbone.leftovers.list()).items).toMatchObject([
      { state: 'abandoned', closedAt: bench.clock.now() },
    ]);
    expect(await slotsLeft()).toEqual([]);
    bench.clock.pass(LATE_MAX_MS);
    await run();
    expect(await bench.items('state')).toEqual([]);
  });

  it('is left alone when it was made after all', async () => {
    const sweeper = bench.sweepHost();
    const held = sweeper.faults.hold('UpdateItem', 'none', 'abandoned');
    const making = host.faults.hold('TransactWriteItems');
    const made = putTopic(host.backbone, 'orders', { partitions: 1 });
    await making.arrived;
    bench.clock.pass(LATE_MAX_MS);
    const sweeping = run(sweeper);
    await held.arrived;
    making.release();
    expect((await made).created).toBe(true);
    held.release();
    await sweeping;
    expect(await append(host, 'orders', 'a')).toBe(0);
  });
});

describe('a sweep that finds nothing due', () => {
  it.each([0, 20])(
    'makes a Query for topics, one for groups, and writes nothing, with %i idle topics',
    async (topics) => {
      for (let i = 0; i < topics; i++) await putTopic(host.backbone, `idle${i}`, { partitions: 1 });
      const sweeper = bench.sweepHost();
      await run(sweeper);
      expect(sweeper.faults.calls).toEqual(['Query', 'Query']);
    },
  );
});

it('the time in which heads are made ends before the purge that removes them', () => {
  expect(HEAD_DEADLINE_MS + 15 * 60_000).toBeLessThan(LATE_MAX_MS);
});
