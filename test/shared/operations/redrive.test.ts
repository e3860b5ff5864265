import { randomBytes } from 'node:crypto';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Correction, DeadLetter } from '../../../shared/domain/dead-letter.ts';
import { deadLetterIdText } from '../../../shared/domain/dead-letter.ts';
import {
  INLINE_CORRECTION_BYTES_MAX,
  INLINE_DEAD_LETTER_BYTES_MAX,
  REDRIVE_AWAY_MS,
  REDRIVE_LETTERS_MAX,
} from '../../../shared/domain/limits.ts';
import { actOnParked } from '../../../shared/operations/parked-keys.ts';
import { redriveDeadLetters } from '../../../shared/operations/redrive-dead-letters.ts';
import type { DeadLetterObjects } from '../../../shared/store/dead-letter-objects.ts';
import { correctLetter, keyOfLetter } from '../../../shared/wire/dead-letter-record.ts';
import { laneOf } from '../../../shared/wire/lane-of.ts';
import { encodeRecordBatch } from '../../../shared/wire/record-batch.ts';
import { instead } from '../../support/parking-bench.ts';
import { openPushBench, type PushBench } from '../../support/push-bench.ts';

const error = { name: 'Error', message: 'no' };
const retry = { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 10 };

let bench: PushBench;
beforeEach(async () => {
  bench = await openPushBench({ partitions: 2 });
  await bench.subscribe('s', { retry, haltAfterDeadLetters: 1_000 });
});
afterEach(() => bench.close());

function fail(...failing: number[]): void {
  bench.scripts.set('s', ({ records }) =>
    records.some(({ offset }) => failing.includes(offset)) ? { kind: 'failed', error } : { kind: 'done' },
  );
}

/** Dead letters with these offsets, among so many records. */
async function bury(count: number, ...failing: number[]): Promise<void> {
  fail(...failing);
  await bench.append(Array.from({ length: count }, (_, i) => `v${i}`));
  await bench.wake({ last: count - 1 });
  await bench.drain(60_000);
  expect((await stored()).map(({ offset }) => offset)).toEqual(failing);
  bench.calls.length = 0;
}

const stored = async (): Promise<readonly DeadLetter[]> =>
  (await bench.host().backbone.deadLetters.list(bench.positionId().group, { limit: 1_000 })).items;
async function objects(): Promise<unknown[]> {
  const { s3, bucket: Bucket } = bench.tables;
  return (await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'dead-letters/' }))).Contents ?? [];
}

const idOf = (offset: number) => deadLetterIdText({ ...bench.positionId(), offset });

function redrive(change: Partial<Parameters<typeof redriveDeadLetters>[1]> = {}) {
  const { ports, backbone } = bench.host();
  const wish = { group: 's', wanted: { filter: {} }, isDryRun: false, deadline: bench.clock.now() + 20_000 };
  const { wakeQueue, deadLetterObjects } = ports;
  const codec = { keyOf: keyOfLetter, correct: correctLetter };
  const objects = deadLetterObjects as DeadLetterObjects;
  return redriveDeadLetters({ ...backbone, wakeQueue, deadLetterObjects: objects }, { ...wish, ...change }, codec);
}

describe('a redrive', () => {
  it('gives dead letters back one by one, in order, with what is theirs, and forgets them', async () => {
    await bury(5, 1, 3);
    const given: unknown[] = [];
    bench.scripts.set('s', ({ records }) => {
      given.push(...records.map(({ offset, value, redrives }) => [offset, String(value), redrives]));
      return { kind: 'done' };
    });
    expect(await redrive()).toEqual({ redriving: 2, more: false });
    expect((await stored()).map(({ redriveAt }) => redriveAt)).toEqual([bench.clock.now(), bench.clock.now()]);
    await bench.drain();
    expect(bench.calls).toEqual(['s:0 1', 's:0 3']);
    expect(given).toEqual([
      [1, 'v1', 1],
      [3, 'v3', 1],
    ]);
    expect(await stored()).toEqual([]);
    expect(await bench.position()).toMatchObject({ committed: 5 });
    expect(bench.queue).toEqual([]);
  });

  it('that fails leaves a dead letter that remembers it all, and tells of it again', async () => {
    await bury(2, 0);
    const [before] = await stored();
    bench.letters.length = 0;
    bench.scripts.set('s', () => ({ kind: 'failed', error: { name: 'Other', message: 'still not' } }));
    bench.clock.pass(1_000);
    await redrive();
    await bench.drain();
    expect(bench.calls).toEqual(['s:0 0']);
    const [after] = await stored();
    expect(after).toEqual({
      ...before,
      ...{ error: { name: 'Other', message: 'still not' }, attempts: 2, redrives: 1 },
      ...{ deadLetteredAt: bench.clock.now(), history: [{ error, deadLetteredAt: before!.deadLetteredAt }] },
    });
    expect(bench.letters).toEqual([after]);
  });

  it('that fails fences its call before it lies again: what is still under way of it comes to nothing', async () => {
    await bury(3, 0, 1, 2);
    const epochs: number[] = [];
    bench.scripts.set('s', ({ epoch }) => {
      epochs.push(epoch);
      return { kind: 'failed', error };
    });
    await redrive();
    await bench.drain();
    expect(epochs).toHaveLength(3);
    expect(epochs.toSorted((a, b) => a - b)).toEqual(epochs);
    expect(new Set(epochs).size).toBe(3);
    expect((await bench.position()).epoch).toBeGreaterThan(epochs[2]!);
  });

  it('stops with the others when too many fail in a row: they lie as before, and what is asked for then counts anew', async () => {
    await bury(6, 0, 1, 2, 3, 4, 5);
    const seen = await bench.subscription();
    await bench.host().backbone.subscriptions.change(seen, { ...seen, haltAfterDeadLetters: 3 });
    const given: number[] = [];
    bench.scripts.set('s', ({ records: [record] }) => {
      given.push(record!.offset);
      return record!.offset === 1 ? { kind: 'done' } : { kind: 'failed', error };
    });
    await redrive();
    await bench.drain();
    expect(given).toEqual([0, 1, 2, 3, 4]);
    const lies = (await stored()).map(({ offset, redrives, redriveAt }) => [offset, redrives, redriveAt]);
    expect(lies).toEqual([0, 2, 3, 4, 5].map((offset) => [offset, offset === 5 ? 0 : 1, undefined]));
    const { push, owner } = await bench.position();
    expect([owner, push?.redrivesFailed, push?.lastError]).toEqual([
      ...[undefined, undefined],
      { name: 'redrive_stopped', message: expect.stringContaining('3 redriven'), at: bench.clock.now() },
    ]);
    expect((await bench.subscription()).state).toBe('active');
    await redrive({ wanted: { ids: [idOf(5), idOf(4), idOf(3)] } });
    await bench.drain();
    expect(given.slice(5)).toEqual([3, 4, 5]);
    expect((await bench.position()).push).toMatchObject({ lastError: { name: 'redrive_stopped' } });
    fail();
    await redrive();
    await bench.drain();
    expect(await stored()).toEqual([]);
  });

  it('by a filter passes what came back three times, and what is on its way; by its id any goes', async () => {
    await bury(3, 0, 2);
    for (let i = 0; i < 3; i++) {
      expect(await redrive({ wanted: { ids: [idOf(0)] } })).toEqual({ redriving: 1, more: false });
      await bench.drain();
    }
    expect(await redrive()).toEqual({ redriving: 1, more: false });
    expect(await redrive()).toEqual({ redriving: 0, more: false });
    fail();
    expect(await redrive({ wanted: { ids: [idOf(0)] } })).toEqual({ redriving: 1, more: false });
    expect(await redrive({ wanted: { ids: [idOf(0)] } })).toEqual({ redriving: 1, more: false });
    bench.calls.length = 0;
    await bench.drain();
    expect(bench.calls).toEqual(['s:0 0', 's:0 2']);
    expect(await stored()).toEqual([]);
  });

  it('takes those that a filter names, and counts them without a write when it is dry', async () => {
    await bury(3, 0, 1);
    expect(await redrive({ isDryRun: true })).toEqual({ redriving: 2, more: false });
    for (const filter of [{ topic: 'other' }, { partition: 1 }, { since: bench.clock.now() + 1 }]) {
      expect(await redrive({ wanted: { filter } })).toEqual({ redriving: 0, more: false });
    }
    await bench.drain();
    expect(bench.calls).toEqual([]);
    expect(bench.queue).toEqual([]);
    expect(await redrive({ wanted: { filter: { topic: 't', partition: 0, since: 0 } } })).toMatchObject({
      redriving: 2,
    });
  });

  it('takes those whose records have a key, also where the record lies in an object', async () => {
    const { backbone } = bench.host();
    const id = bench.positionId();
    const letter = { topic: 't', error, attempts: 1, redrives: 0, firstFailedAt: 0, deadLetteredAt: 0 };
    const kept = (key: string | null, value: string) => {
      const record = { key: key === null ? null : Buffer.from(key), value: Buffer.from(value), headers: [] };
      return Buffer.concat([Buffer.from([0]), encodeRecordBatch([record], 0)]);
    };
    for (const [offset, key] of ['a', 'b', '', null].entries()) {
      const payload = { bytes: kept(key, 'v') };
      await backbone.deadLetters.put(id.group, { ...id, offset, ...letter, payload });
    }
    const large = kept('a', 'w');
    const object = await bench.host().ports.deadLetterObjects.put(id.group, { ...id, offset: 4 }, large);
    await backbone.deadLetters.put(id.group, { ...id, offset: 4, ...letter, payload: { object } });
    for (const [key, offsets] of [
      ['a', [0, 4]],
      ['', [2]],
      ['c', []],
    ] as const) {
      expect(await redrive({ wanted: { filter: { key } } })).toEqual({ redriving: offsets.length, more: false });
      const marked = (await stored()).filter(({ redriveAt }) => redriveAt !== undefined);
      expect(marked.map(({ offset }) => offset)).toEqual(expect.arrayContaining([...offsets]));
    }
    expect(await redrive({ wanted: { filter: { key: 'a', state: 'redriving' } } })).toMatchObject({ redriving: 0 });
  });

  it('gives a record back as it was corrected, until it is given back as it was', async () => {
    await bury(1, 0);
    const original = (await stored())[0]!;
    const given: unknown[] = [];
    bench.scripts.set('s', ({ records: [record] }) => {
      given.push([String(record!.value), record!.headers.map(({ name }) => name), record!.json, record!.redrives]);
      return { kind: 'failed', error };
    });
    const again = async (correction?: Correction) => {
      const corrections = correction && new Map([[idOf(0), correction]]);
      await redrive({ wanted: { ids: [idOf(0)], ...(corrections && { corrections }) } });
      await bench.drain();
      return (await stored())[0]!;
    };
    const large = randomBytes(INLINE_CORRECTION_BYTES_MAX);
    const headers = [{ name: 'mended', value: null }];
    await again({ value: Buffer.from('{"mended":1}'), json: true });
    await again();
    expect(await again({ value: large, headers })).toMatchObject({ correction: { object: {} } });
    expect(await objects()).toHaveLength(1);
    const after = await again({});
    expect(given).toEqual([
      ['{"mended":1}', [], true, 1],
      ['{"mended":1}', [], true, 2],
      [String(large), ['mended'], false, 3],
      ['v0', [], false, 4],
    ]);
    expect(after).toMatchObject({ payload: original.payload, redrives: 4, history: { length: 4 } });
    expect(after.correction).toBeUndefined();
    expect(await objects()).toEqual([]);
  });

  it('corrects nothing where the record is gone', async () => {
    const { backbone } = bench.host();
    const id = { ...bench.positionId(), offset: 0 };
    const letter = { topic: 't', error, attempts: 1, redrives: 0, firstFailedAt: 0, deadLetteredAt: 0 };
    await backbone.deadLetters.put(id.group, { ...id, ...letter, payload: { bytes: Buffer.from([3]) } });
    const corrections = new Map([[idOf(0), { value: null }]]);
    await expect(redrive({ wanted: { ids: [idOf(0)], corrections } })).rejects.toMatchObject({
      code: 'invalid_request',
      data: { field: 'records' },
    });
    expect(await stored()).toMatchObject([{ redrives: 0 }]);
  });

  it('goes no faster than it is told', async () => {
    await bury(3, 0, 1, 2);
    fail();
    await redrive({ ratePerSecond: 1 });
    const start = bench.clock.now();
    const at: number[] = [];
    bench.scripts.set('s', () => {
      at.push(bench.clock.now() - start);
      return { kind: 'done' };
    });
    await bench.drain();
    expect(at).toEqual([0, 1_000, 2_000]);
  });

  it('takes a page at a time', async () => {
    const count = REDRIVE_LETTERS_MAX + 1;
    const { backbone } = bench.host();
    const id = bench.positionId();
    const letter = { topic: 't', payload: { bytes: Buffer.from([3]) }, error, attempts: 1, redrives: 0 };
    for (let offset = 0; offset < count; offset++) {
      await backbone.deadLetters.put(id.group, { ...id, offset, ...letter, firstFailedAt: 0, deadLetteredAt: 0 });
    }
    expect(await redrive()).toEqual({ redriving: REDRIVE_LETTERS_MAX, more: true });
    expect(await redrive()).toEqual({ redriving: 1, more: false });
  });

  it('waits while the target is away, those behind it with it, and spends nothing', async () => {
    await bury(2, 0, 1);
    let calls = 0;
    bench.scripts.set('s', () => (calls++ === 0 ? { kind: 'away', error } : { kind: 'done' }));
    await redrive();
    await bench.drain(REDRIVE_AWAY_MS - 1_000);
    expect(bench.calls).toEqual(['s:0 0']);
    expect(await stored()).toMatchObject([{ redrives: 0 }, { redrives: 0 }]);
    await bench.drain(REDRIVE_AWAY_MS);
    expect(bench.calls).toEqual(['s:0 0', 's:0 0', 's:0 1']);
    expect(await stored()).toEqual([]);
  });

  it('does not hammer a target that asks for no time at all', async () => {
    await bury(1, 0);
    bench.scripts.set('s', () => {
      bench.clock.pass(100);
      return { kind: 'away', retryAfterMs: 0, error };
    });
    await redrive();
    await bench.drain(10_000);
    expect(bench.calls.length).toBeGreaterThan(1);
    expect(bench.calls.length).toBeLessThan(15);
  });

  it('halts a subscription whose target is gone, and goes on by the sweep when it is resumed', async () => {
    await bury(2, 0, 1);
    bench.scripts.set('s', () => ({ kind: 'cannot', error }));
    await redrive();
    await bench.drain();
    const halted = await bench.subscription();
    expect(halted).toMatchObject({ state: 'halted', lastError: error });
    bench.clock.pass(120_000);
    await bench.sweep();
    expect(bench.queue).toEqual([]);
    fail();
    await bench.host().backbone.subscriptions.change(halted, { ...halted, state: 'active' });
    await bench.sweep();
    await bench.drain();
    expect(bench.calls).toEqual(['s:0 0', 's:0 0', 's:0 1']);
    await bench.sweep();
    expect((await bench.host().backbone.pending.list(10)).items.filter(({ isRedrive }) => isRedrive)).toEqual([]);
  });

  it('ends where the subscription is paused', async () => {
    await bury(3, 0, 1, 2);
    bench.scripts.set('s', async () => {
      const seen = await bench.subscription();
      await bench.host().backbone.subscriptions.change(seen, { ...seen, state: 'paused' });
      return { kind: 'done' };
    });
    await redrive();
    await bench.drain();
    expect(bench.calls).toEqual(['s:0 0']);
    expect(await stored()).toMatchObject([{ offset: 1 }, { offset: 2 }]);
    expect((await bench.position()).owner).toBeUndefined();
  });

  it('does not hide what is appended meanwhile', async () => {
    await bury(1, 0);
    bench.scripts.set('s', async () => {
      if (bench.calls.length > 1) return { kind: 'done' };
      await bench.append(['new']);
      await bench.wake({ last: 1 });
      return { kind: 'done' };
    });
    await redrive();
    await bench.drain();
    expect(bench.calls).toEqual(['s:0 0', 's:0 1']);
  });

  it('of one that is deleted meanwhile delivers nothing', async () => {
    await bury(2, 0, 1);
    fail();
    await redrive();
    const [first] = await stored();
    expect(await bench.host().backbone.deadLetters.delete(bench.positionId().group, first!)).toBe(true);
    await bench.drain();
    expect(bench.calls).toEqual(['s:0 1']);
  });

  it('of what there is not is refused, whole', async () => {
    await bury(1, 0);
    await expect(redrive({ wanted: { ids: [idOf(0), idOf(7)] } })).rejects.toMatchObject({
      code: 'dead_letter_not_found',
    });
    await expect(redrive({ group: 'nobody' })).rejects.toMatchObject({ code: 'group_not_found' });
    expect((await stored())[0]).not.toHaveProperty('redriveAt');
  });

  it('of a large one, broken off when it was delivered, leaves no record that looks lost', async () => {
    fail(0);
    await bench.append([randomBytes(INLINE_DEAD_LETTER_BYTES_MAX).toString('base64')]);
    await bench.wake({ last: 0 });
    await bench.drain();
    expect((await bench.objects()).filter((key) => key.startsWith('dead-letters/'))).toHaveLength(1);
    fail();
    await redrive();
    bench.queue.length = 0;
    const host = bench.host();
    const { group } = bench.positionId();
    const to = { group, topic: 't', known: 2 };
    const { deadLetterObjects: real, aside: _, ...rest } = host.ports;
    const deadLetterObjects: typeof real = {
      put: (...args) => real.put(...args),
      get: (...args) => real.get(...args),
      remove: async () => {
        throw new Error('it dies');
      },
    };
    const ports = { ...rest, deadLetterObjects };
    await expect(bench.wake({ to, isRedrive: true }, { ...host, ports })).rejects.toThrow('it dies');
    await bench.wake({ to, isRedrive: true });
    expect(bench.calls).toEqual(['s:0 0', 's:0 0']);
    expect(await stored()).toEqual([]);
    expect((await bench.position()).owner).toBeUndefined();
  });
});

describe('a redrive of a key that is parked by now', () => {
  const lane = laneOf(Buffer.from('K'));
  const wakeLane = () =>
    bench.wake({ lane, to: { group: bench.positionId(0, 'p').group, topic: 't', known: 2 } }, bench.host());
  const wakeRedrive = () =>
    bench.wake({ isRedrive: true, to: { group: bench.positionId(0, 'p').group, topic: 't', known: 2 } }, bench.host());

  /** The records 0, or so many, are dead letters of their key, which is parked behind them. */
  async function park(count = 1): Promise<void> {
    await bench.subscribe('p', { onFailure: 'park', retry: { ...retry, maxBackoffMs: 10_000 } });
    bench.scripts.set('p', ({ records }) => ({ kind: 'failed', at: records[0]!.offset, error }));
    await bench.append(Array.from({ length: count + 1 }, (_, i) => `K=${i}`));
    await bench.wake({ last: count });
    await bench.drain(1_000);
    for (let i = 0; i < count; i++) {
      await giveUp();
      await bench.drain(1_000);
    }
    const { positions } = bench.host().backbone;
    expect(await positions.read({ ...bench.positionId(0, 'p'), lane })).toMatchObject({ committed: count });
    bench.calls.length = 0;
  }

  function giveUp() {
    const { ports, backbone } = bench.host();
    const act = { act: 'dead-letter', deadline: bench.clock.now() + 20_000 } as const;
    return actOnParked({ ...ports, ...backbone, wakeQueue: ports.wakeQueue }, 'p', act);
  }

  it('has its lane wait, which goes on behind it', async () => {
    await park();
    let isFirst = true;
    bench.scripts.set('p', async () => {
      if (isFirst) {
        isFirst = false;
        bench.clock.pass(10_001);
        await wakeLane();
        expect(bench.calls).toEqual(['p:0 0']);
      }
      return { kind: 'done' };
    });
    expect(await redrive({ group: 'p' })).toEqual({ redriving: 1, more: false });
    await bench.drain(60_000);
    expect(bench.calls).toEqual(['p:0 0', 'p:0 1']);
    expect(await bench.position(0, 'p')).toMatchObject({ committed: 2 });
    expect((await bench.position(0, 'p')).parked).toBeUndefined();
  });

  it('comes in an epoch above that of the lane, which may be that of a record of its key before', async () => {
    await park();
    bench.clock.pass(10_001);
    const epochs: number[] = [];
    bench.scripts.set('p', ({ records: [first], epoch }) => {
      epochs.push(epoch);
      return first!.offset === 0 ? { kind: 'done' } : { kind: 'failed', at: 1, error };
    });
    const host = bench.host();
    await redrive({ group: 'p' });
    const read: typeof host.ports.deadLetters.read = async (...letter) => {
      // The redrive owns the position by now.
      await wakeLane();
      return host.ports.deadLetters.read(...letter);
    };
    const deadLetters = instead(host.ports.deadLetters, { read });
    const to = { group: bench.positionId(0, 'p').group, topic: 't', known: 2 };
    await bench.wake({ isRedrive: true, to }, { ...host, ports: { ...host.aside, deadLetters } });
    expect(bench.calls).toEqual(['p:0 1', 'p:0 0']);
    expect(epochs[1]).toBeGreaterThan(epochs[0]!);
  });

  it('is no reason for its lane to be woken once for each of its letters', async () => {
    await park(3);
    bench.scripts.set('p', () => ({ kind: 'done' }));
    await redrive({ group: 'p' });
    bench.queue.length = 0;
    await wakeRedrive();
    expect(bench.calls).toEqual(['p:0 0', 'p:0 1', 'p:0 2']);
    expect(bench.queue.filter(({ wakeUp }) => wakeUp.lane !== undefined)).toHaveLength(1);
  });

  it('does not hold up that a record of its key is given up meanwhile', async () => {
    await park();
    bench.letters.length = 0;
    bench.scripts.set('p', async ({ records: [first] }) => {
      if (first!.offset === 1) return { kind: 'failed', at: 1, error };
      await giveUp();
      return { kind: 'done' };
    });
    await redrive({ group: 'p' });
    await bench.drain(1_000);
    await bench.sweep();
    await bench.drain(9_000);
    expect(bench.letters).toMatchObject([{ offset: 1 }]);
  });

  it('waits for its lane where that is being delivered', async () => {
    await park();
    bench.scripts.set('p', async ({ records: [first] }) => {
      if (first!.offset === 0) return { kind: 'done' };
      await redrive({ group: 'p' });
      await wakeRedrive();
      expect(bench.calls).toEqual(['p:0 1']);
      bench.scripts.set('p', () => ({ kind: 'done' }));
      return { kind: 'failed', at: 1, error };
    });
    bench.clock.pass(10_001);
    await wakeLane();
    await bench.drain(5_000);
    expect(bench.calls).toEqual(['p:0 1', 'p:0 0']);
    await bench.drain(60_000);
    expect(bench.calls).toEqual(['p:0 1', 'p:0 0', 'p:0 1']);
    expect((await bench.position(0, 'p')).parked).toBeUndefined();
  });
});
