import { describe, expect, it } from 'vitest';
import {
  BATCH_WRITE_MAX,
  LATE_MAX_MS,
  SWEEP_ITEMS_MAX,
  SWEEP_LEFTOVERS_MAX,
  SWEEP_RUN_MS,
} from '../../../shared/domain/limits.ts';
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
    topicItems: { read: async () => undefined, marksOf: async () => undefined, unmarkSubscribed: async () => {} },
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
    groups: { listDeleted: async () => [], forget: async () => {} },
    members: { all: async () => [], leave: async () => true },
    groupTopics: { all: async () => [], remove: async () => {} },
    positions: { remove: async () => {} },
    subscribers: { of: async () => [], remove: async () => {} },
    deadLetters: { list: async () => ({ items: [] }), delete: async () => true },
    deadLetterObjects: { remove: async () => {} },
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

describe('of many leftovers', () => {
  const idsOf = (count: number) => Array.from({ length: count }, (_, i) => `T${String(i).padStart(4, '0')}`);

  /** Deleted topics, of which those in `open` have heads that nobody has seen closed, each with `slots` slots. */
  function manyOf(ids: readonly string[], open: readonly string[], slots: (id: string) => number) {
    const { ports } = purgeOf(0, () => []);
    const acts: string[] = [];
    const left = new Map(ids.map((id) => [id, slots(id)]));
    const items = ids.map((id) => {
      const closed = open.includes(id) ? {} : { closedAt: 0 };
      return { name: id, id, partitions: 1, at: 0, state: 'deleted' as const, ...closed };
    });
    const many: SweepPorts = {
      ...ports,
      leftovers: {
        ...ports.leftovers,
        list: async () => ({ items }),
        remove: async (id) => void acts.push(`gone ${id}`),
      },
      heads: {
        ...ports.heads,
        close: async ({ topicId }) => void acts.push(`close ${topicId}`),
        remove: async () => {},
      },
      purge: {
        list: async ({ topicId }, kind, _, limit) => {
          const count = kind === 'intents' ? 0 : left.get(topicId)!;
          return { lasts: Array.from({ length: Math.min(count, limit) }, (_, last) => last), more: count > limit };
        },
        delete: async ({ topicId }, _, lasts) => {
          left.set(topicId, left.get(topicId)! - lasts.length);
          return [];
        },
      },
    };
    return { ports: many, acts };
  }
  const run = (ports: SweepPorts) => sweep(ports, LATE_MAX_MS + SWEEP_RUN_MS);

  it('those whose heads may be open are closed before anything is purged', async () => {
    const { ports, acts } = manyOf(idsOf(5), ['T0002', 'T0004'], () => 10);
    expect(await run(ports)).toEqual([]);
    expect(acts.slice(0, 2)).toEqual(['close T0002', 'close T0004']);
    expect(acts.slice(2).toSorted()).toEqual(['gone T0000', 'gone T0001', 'gone T0003']);
  });

  it('a huge one holds up no other', async () => {
    const { ports, acts } = manyOf(idsOf(4), ['T0003'], (id) => (id === 'T0000' ? 10 * SWEEP_ITEMS_MAX : 3_000));
    expect(await run(ports)).toEqual([]);
    expect(acts).toEqual(['close T0003', 'gone T0001', 'gone T0002']);
  });

  it('all come up in the end, also where there are more than one run works on', async () => {
    const ids = idsOf(SWEEP_LEFTOVERS_MAX + 40);
    const { ports, acts } = manyOf(ids, [ids.at(-1)!], () => 1);
    let chance = 0;
    for (const next of [0, 0.6]) {
      chance = next;
      await run({ ...ports, random: () => chance });
    }
    expect(acts[0]).toBe(`close ${ids.at(-1)}`);
    expect(new Set(acts.filter((act) => act.startsWith('gone'))).size).toBe(ids.length - 1);
  });
});
