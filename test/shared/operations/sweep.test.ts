import { expect, it } from 'vitest';
import { BATCH_WRITE_MAX, LATE_MAX_MS, SWEEP_ITEMS_MAX, SWEEP_RUN_MS } from '../../../shared/domain/limits.ts';
import { type SweepPorts, sweep } from '../../../shared/operations/sweep.ts';

interface Purged {
  readonly ports: SweepPorts;
  readonly calls: string[];
  readonly marks: (number | 'all')[];
  now(): number;
}

/** A deleted topic with one partition and `slots` slots, each of one record; `deleting` says what a batch leaves over. */
function purgeOf(slots: number, deleting: (lasts: readonly number[], call: number) => readonly number[]): Purged {
  const calls: string[] = [];
  const marks: (number | 'all')[] = [];
  const left = new Set(Array.from({ length: slots }, (_, last) => last));
  let now = LATE_MAX_MS;
  let deletes = 0;
  const note = async (name: string) => void calls.push(name);
  const leftover = { name: 'orders', id: 'T', partitions: 1, at: 0, state: 'deleted', closedAt: 0 } as const;
  const ports: SweepPorts = {
    topicItems: { read: async () => undefined },
    leftovers: {
      list: async () => ({ items: [leftover] }),
      markAbandoned: async () => true,
      withdraw: async () => {},
      markClosed: async () => {},
      remove: () => note('remove leftover'),
    },
    heads: {
      close: async () => {},
      markPurged: async (_, below) => void marks.push(below),
      remove: () => note('remove head'),
    },
    purge: {
      list: async (_, items, after, limit) => {
        if (items === 'intents') return { lasts: [], more: false };
        const lasts = [...left].filter((last) => last > after);
        return { lasts: lasts.slice(0, limit), more: lasts.length > limit };
      },
      delete: async (_, __, lasts) => {
        const over = deleting(lasts, ++deletes);
        for (const last of lasts) if (!over.includes(last)) left.delete(last);
        calls.push(`delete ${lasts.length}`);
        return over;
      },
    },
    uploads: { list: async () => ({ items: [] }), unwatch: async () => [] },
    lease: { take: async () => true, renew: async () => true, release: () => note('release') },
    clock: { now: () => now },
    random: () => 0.5,
    sleep: async (ms) => {
      expect(ms).toBeGreaterThan(0);
      now += ms;
    },
    newToken: () => 'token',
    observe: () => {},
  };
  return { ports, calls, marks, now: () => now };
}

it('deletes what a batch left over until nothing is, before it goes on (F30)', async () => {
  const { ports, calls, marks } = purgeOf(30, (lasts, call) => (call <= 2 ? lasts.slice(1) : []));
  expect(await sweep(ports, LATE_MAX_MS + SWEEP_RUN_MS)).toEqual([]);
  expect(calls).toEqual([
    ...['delete 25', 'delete 24', 'delete 23', 'delete 5'],
    ...['remove head', 'remove leftover', 'release'],
  ]);
  expect(marks).toEqual(['all']);
});

it('ends when its time is up though a batch is left over for ever, and calls nothing done that is not (F30)', async () => {
  const { ports, calls, marks, now } = purgeOf(30, (lasts) => lasts);
  const stopAt = LATE_MAX_MS + SWEEP_RUN_MS;
  await sweep(ports, stopAt);
  expect(new Set(calls)).toEqual(new Set(['delete 25', 'release']));
  expect(calls.length).toBeLessThan(70);
  expect(marks).toEqual([]);
  expect(now() - stopAt).toBeLessThanOrEqual(1_000);
});

it('deletes no more than so many items in one run, however fast the store is', async () => {
  const { ports, calls, marks } = purgeOf(SWEEP_ITEMS_MAX + 2_000, () => []);
  await sweep(ports, LATE_MAX_MS + SWEEP_RUN_MS);
  expect(calls.filter((call) => call === 'delete 25')).toHaveLength(SWEEP_ITEMS_MAX / BATCH_WRITE_MAX);
  expect(calls.at(-1)).toBe('release');
  expect(calls).not.toContain('remove head');
  expect(marks.at(-1)).toBe(SWEEP_ITEMS_MAX);
});
