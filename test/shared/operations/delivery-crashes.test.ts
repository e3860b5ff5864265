import { describe, expect, it } from 'vitest';
import type { DeliverPorts } from '../../../shared/operations/deliver-ports.ts';
import { DyingHost } from '../../support/dying-host.ts';
import { openPushBench, type PushBench } from '../../support/push-bench.ts';

const RECORDS = 6;
const error = { name: 'Error', message: 'no' };

/** Record 2 never succeeds; everything else does. */
function script(bench: PushBench): void {
  bench.scripts.set('s', ({ records }) =>
    records.some(({ offset }) => offset === 2) ? { kind: 'failed', error } : { kind: 'done' },
  );
}

async function open(): Promise<PushBench> {
  const bench = await openPushBench();
  await bench.subscribe('s', {
    batch: { maxRecords: 3, maxBytes: 1_000 },
    retry: { maxAttempts: 2, minBackoffMs: 10, maxBackoffMs: 3_000 },
  });
  script(bench);
  await bench.append(Array.from({ length: RECORDS }, (_, i) => `v${i}`));
  return bench;
}

describe('a delivery that dies', () => {
  it.each([
    ['before it happens', false],
    ['before it is answered', true],
  ])(
    'at any step, %s, is followed by one that delivers the rest: in order, and with every dead letter',
    async (_, isDone) => {
      let at = 1;
      for (; at < 200; at++) {
        const bench = await open();
        try {
          const dying = new DyingHost(bench.host(), at, isDone);
          const hasLived = await dying.lives((host) => bench.wake({ last: RECORDS - 1 }, host));
          // Its message comes back, after its lease at the latest.
          if (!hasLived) await bench.wake({ last: RECORDS - 1 }, undefined, true);
          await bench.drain(300_000);
          const position = await bench.position();
          expect(position, `step ${at}`).toMatchObject({ committed: RECORDS });
          expect(position.until ?? 0, `step ${at}`).toBeLessThan(bench.clock.now());
          expect(new Set(bench.letters.map(({ offset }) => offset)), `step ${at}`).toEqual(new Set([2]));
          expectOrder(bench.delivered(), `step ${at}`);
          if (hasLived) break;
        } finally {
          await bench.close();
        }
      }
      expect(at).toBeGreaterThan(10);
      expect(at).toBeLessThan(200);
    },
    120_000,
  );

  it.each([
    ['before it happens', false],
    ['before it is answered', true],
  ])(
    'while it gives dead letters back, at any step, %s, is followed by one that gives back the rest, in order',
    async (_, isDone) => {
      let at = 1;
      for (; at < 100; at++) {
        const bench = await openPushBench();
        try {
          await bench.subscribe('s', { retry: { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 10 } });
          bench.scripts.set('s', () => ({ kind: 'failed', error }));
          await bench.append(['a', 'b', 'c']);
          await bench.wake({ last: 2 });
          await bench.drain(300_000);
          const id = bench.positionId();
          const { redrives, pending, deadLetters } = bench.host().backbone;
          const to = { group: id.group, topic: 't', known: 1 };
          await pending.put({ to, topicId: id.topicId, partition: 0, dueAt: bench.clock.now(), isRedrive: true });
          for (const offset of [0, 1, 2]) await redrives.begin(id.group, { ...id, offset }, bench.clock.now());
          bench.scripts.set('s', ({ records }) =>
            records[0]?.offset === 1 ? { kind: 'failed', error } : { kind: 'done' },
          );
          const given = bench.delivered().length;
          const dying = new DyingHost(bench.host(), at, isDone);
          const hasLived = await dying.lives((host) => bench.wake({ to, isRedrive: true }, host));
          // Its wake-up is lost for good: the sweep sees that the redrive is late.
          for (let i = 0; i < 3; i++) {
            bench.clock.pass(120_000);
            expect(await bench.sweep(), `step ${at}`).toEqual([]);
            await bench.drain(300_000);
          }
          const { items } = await deadLetters.list(id.group, { limit: 10 });
          expect(items, `step ${at}`).toMatchObject([{ offset: 1, redrives: 1, attempts: 2, history: [{ error }] }]);
          expect(items[0], `step ${at}`).not.toHaveProperty('redriveAt');
          expect(await redrives.first(id.group, id), `step ${at}`).toBeUndefined();
          const order = bench.delivered().slice(given);
          expect(order, `step ${at}`).toEqual([...order].sort());
          expect(new Set(order), `step ${at}`).toEqual(new Set([0, 1, 2]));
          const { committed, until = 0 } = await bench.position();
          expect(committed, `step ${at}`).toBe(3);
          expect(until, `step ${at}`).toBeLessThan(bench.clock.now());
          expect((await pending.list(10)).items.filter((mark) => mark.isRedrive)).toEqual([]);
          if (hasLived) break;
        } finally {
          await bench.close();
        }
      }
      expect(at).toBeGreaterThan(8);
      expect(at).toBeLessThan(100);
    },
    120_000,
  );

  it('with its lease over in mid-call is fenced, and what another has done since stands', async () => {
    const bench = await open();
    const late = bench.host();
    bench.scripts.set('s', async () => {
      if (bench.calls.length > 1) return { kind: 'done' };
      bench.clock.pass(46_000);
      await bench.wake({ last: RECORDS - 1 });
      return { kind: 'done' };
    });
    await bench.wake({ last: RECORDS - 1 }, late);
    expect(bench.calls).toEqual(['s:0 0..2', 's:0 0..2', 's:0 3..5']);
    expect(await bench.position()).toMatchObject({ committed: RECORDS });
    await bench.close();
  });

  it('stands still until its renewed lease is over, and begins no call beside that of another', async () => {
    const bench = await open();
    bench.scripts.set('s', () => ({ kind: 'done' }));
    const late = bench.host();
    const { take, step } = bench.host().ports.pushPositions;
    const stores = bench.host().ports.pushPositions;
    let steps = 0;
    const pushPositions: DeliverPorts['pushPositions'] = {
      take: async (...taken) => {
        const isTaken = await take.apply(stores, taken);
        bench.clock.pass(20_000);
        return isTaken;
      },
      step: async (...stepped) => {
        const isDone = await step.apply(stores, stepped);
        if (++steps === 1) {
          bench.clock.pass(50_000);
          await bench.wake({ last: RECORDS - 1 });
        }
        return isDone;
      },
    };
    await bench.wake({ last: RECORDS - 1 }, { ...late, ports: { ...late.ports, pushPositions } });
    expect(steps).toBe(2);
    expect(bench.calls).toEqual(['s:0 0..2', 's:0 3..5']);
    await bench.close();
  });
});

/** Each record comes for the first time after those before it. */
function expectOrder(offsets: readonly number[], at: string): void {
  let next = 0;
  for (const offset of offsets) {
    expect(offset, at).toBeLessThanOrEqual(next);
    if (offset === next) next += 1;
  }
  expect(next, at).toBe(RECORDS);
}
