import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  DELIVER_FUNCTION_TIMEOUT_MS,
  PUSH_LEASE_MARGIN_MS,
  SETTLE_AFTER_MS,
  WAKE_HOPS_MAX,
} from '../../../shared/domain/limits.ts';
import type { WakeUp } from '../../../shared/domain/wake-up.ts';
import { WriteFailed } from '../../../shared/domain/write-failed.ts';
import { deliverWakeUp } from '../../../shared/operations/deliver-wake-up.ts';
import { openPushBench, type PushBench } from '../../support/push-bench.ts';

const values = (count: number) => Array.from({ length: count }, (_, i) => `v${i}`);
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i);
const error = { name: 'Error', message: 'no' };

describe('a wake-up', () => {
  let bench: PushBench;
  beforeEach(async () => {
    bench = await openPushBench({ partitions: 2 });
  });
  afterEach(() => bench.close());

  it('brings what is there to everybody who subscribed, to each alone', async () => {
    await bench.subscribe('a');
    await bench.subscribe('b');
    await bench.append(values(3));
    await bench.wake({ last: 2 });
    expect(bench.calls).toEqual(['a:0 0..2']);
    await bench.drain();
    expect(bench.calls).toEqual(['a:0 0..2', 'b:0 0..2']);
    expect(bench.queue).toEqual([]);
    expect(await bench.position(0, 'b')).toMatchObject({ committed: 3, push: {} });
    expect((await bench.position(0, 'b')).owner).toBeUndefined();
  });

  it('goes on from batch to batch, and carries no more in one call than the subscriber wants', async () => {
    await bench.subscribe('s', { batch: { maxRecords: 2, maxBytes: 1_000 } });
    await bench.append(['a', 'b', 'c', 'x'.repeat(5_000), 'y'.repeat(999), 'zz']);
    await bench.wake({ last: 5 });
    expect(bench.calls).toEqual(['s:0 0..1', 's:0 2', 's:0 3', 's:0 4', 's:0 5']);
    expect(await bench.position()).toMatchObject({ committed: 6 });
  });

  it('that comes again, or late, is dropped without a write', async () => {
    await bench.subscribe();
    await bench.append(values(2));
    await bench.wake({ last: 1 });
    const before = await bench.position();
    for (let i = 0; i < 3; i++) await bench.wake({ last: i % 2 });
    await bench.wake({});
    expect(await bench.position()).toEqual(before);
    expect(bench.calls).toHaveLength(1);
  });

  it('for what somebody is at is dropped, who looks once more when it is done', async () => {
    await bench.subscribe();
    await bench.append(values(1));
    bench.scripts.set('s', async () => {
      if (bench.calls.length > 1) return { kind: 'done' };
      await bench.append(['while it was at it']);
      await bench.wake({ last: 1 });
      return { kind: 'done' };
    });
    await bench.wake({ last: 0 });
    expect(bench.calls).toEqual(['s:0 0', 's:0 1']);
    expect(bench.queue).toEqual([]);
  });

  it('that was received before comes back while somebody is at it: who was may be dead', async () => {
    await bench.subscribe();
    await bench.append(values(2));
    const id = bench.positionId();
    const now = bench.clock.now();
    const { ports } = bench.host();
    const seen = await bench.position();
    await ports.pushPositions.take(id, seen, { owner: 'dead', epoch: seen.epoch + 1, until: now + 45_000, now });
    await bench.wake({ last: 1 });
    expect(bench.queue).toEqual([]);
    await bench.wake({ last: 1 }, undefined, true);
    expect(bench.queue).toMatchObject([{ at: now + 45_001 }]);
    await bench.drain(60_000);
    expect(bench.delivered()).toEqual([0, 1]);
  });

  it('that waits for somebody waits on while he is at it, and is left to whoever was woken and took it since', async () => {
    await bench.subscribe();
    await bench.append(values(2));
    const { ports } = bench.host();
    const takeAs = async (owner: string) => {
      const now = bench.clock.now();
      const seen = await bench.position();
      const by = { owner, epoch: Math.max(now, seen.epoch + 1), until: now + 45_000, now };
      expect(await ports.pushPositions.take(bench.positionId(), seen, by)).toBe(true);
      return by;
    };
    const { push = {}, ...first } = { ...(await takeAs('first')), ...(await bench.position()) };
    await bench.wake({ last: 1 }, undefined, true);
    const { wakeUp } = bench.queue.pop()!;
    bench.clock.pass(44_000);
    const until = bench.clock.now() + 45_000;
    await ports.pushPositions.step(
      bench.positionId(),
      { owner: 'first', epoch: first.epoch },
      { ...first, until, push },
    );
    await bench.wake(wakeUp);
    expect(bench.queue.pop()).toMatchObject({ at: until + 1, wakeUp: { hop: 2 } });
    bench.clock.pass(46_000);
    await takeAs('second');
    await bench.wake(wakeUp);
    expect(bench.queue).toEqual([]);
    // Whether the second one's wake-up was this one itself, nobody knows.
    await bench.wake(wakeUp, undefined, true);
    expect(bench.queue).toHaveLength(1);
    expect(bench.calls).toEqual([]);
  });

  it('that waits for the next try of a record is left to whoever tried it since, and so do not add up', async () => {
    await bench.subscribe();
    await bench.append(values(1));
    bench.scripts.set('s', () => ({ kind: 'away', retryAfterMs: 5_000, error }));
    await bench.wake({ last: 0 });
    for (let copies = 0; copies < 4; copies++) await bench.wake({ last: 0 }, undefined, true);
    expect(bench.queue).toHaveLength(5);
    await bench.drain(5_010);
    expect(bench.calls).toHaveLength(2);
    expect(bench.queue).toHaveLength(1);
  });

  it('for a paused, a deleted or a made-again subscription brings nothing', async () => {
    const to = await bench.subscribe('s', { state: 'paused' });
    await bench.append(values(1));
    await bench.wake({ last: 0 });
    await bench.wake({ to: { ...to, group: { ...to.group, id: '01BX5ZZKBKACTAV9WEVGEMMVRY' } } });
    await bench.wake({ to: { ...to, group: { name: 'nobody', id: to.group.id } } });
    await bench.wake({ topicId: '01BX5ZZKBKACTAV9WEVGEMMVRY', to });
    expect(bench.calls).toEqual([]);
  });

  it('that finds much to do ends, within seconds, when the subscription is paused', async () => {
    await bench.subscribe('s', { batch: { maxRecords: 1, maxBytes: 100 } });
    await bench.append(values(20));
    bench.scripts.set('s', async () => {
      bench.clock.pass(2_000);
      if (bench.calls.length === 2) {
        const seen = await bench.subscription();
        await bench.host().backbone.subscriptions.change(seen, { ...seen, state: 'paused' });
      }
      return { kind: 'done' };
    });
    await bench.wake({ last: 19 });
    await bench.drain();
    expect(bench.calls.length).toBeLessThan(8);
    const { committed, owner } = await bench.position();
    expect([committed, owner]).toEqual([bench.calls.length, undefined]);
    expect(bench.queue).toEqual([]);
  });

  it('that finds much to do goes by the subscription as it was changed meanwhile, and leaves nothing', async () => {
    await bench.subscribe('s', { batch: { maxRecords: 1, maxBytes: 100 } });
    await bench.append(values(20));
    bench.scripts.set('s', async () => {
      bench.clock.pass(2_000);
      if (bench.calls.length === 1) {
        const seen = await bench.subscription();
        const batch = { maxRecords: 100, maxBytes: 1_048_576 };
        await bench.host().backbone.subscriptions.change(seen, { ...seen, batch });
      }
      return { kind: 'done' };
    });
    await bench.wake({ last: 19 });
    await bench.drain();
    expect(bench.calls.length).toBeLessThan(8);
    expect(bench.delivered()).toEqual(upTo(20));
  });

  it('makes the position of a partition that was added, at its first record', async () => {
    const to = await bench.subscribe();
    const { backbone } = bench.host();
    await backbone.positions.remove(bench.positionId(1));
    await bench.append(values(2), 1);
    await bench.wake({ partition: 1, last: 1, to });
    expect(bench.calls).toEqual([]); // known: it is being deleted
    await bench.wake({ partition: 1, last: 1, to: { ...to, known: 1 } });
    expect(bench.delivered('s', 1)).toEqual([0, 1]);
  });

  it('comes again when it met a slot in flight', async () => {
    await bench.subscribe();
    const { backbone } = bench.host();
    const reserved = { count: 1, time: bench.clock.now(), expiresAt: 0, settleMs: SETTLE_AFTER_MS };
    await backbone.heads.reserve(bench.positionId(), backbone.newReservationId(), reserved, () => false);
    await bench.append(['behind it']);
    await bench.wake({ last: 1 });
    expect(bench.calls).toEqual([]);
    expect(bench.queue).toHaveLength(1);
    await bench.drain();
    expect(bench.delivered()).toEqual([1]);
  });

  it('passes what the filter keeps back, page by page, with one commit each', async () => {
    await bench.subscribe('s', { filter: JSON.stringify({ value: [{ prefix: 'yes' }] }) });
    await bench.append(['no', 'yes1', 'no', 'no', 'yes2', 'no']);
    await bench.wake({ last: 5 });
    expect(bench.delivered()).toEqual([1, 4]);
    expect(await bench.position()).toMatchObject({ committed: 6 });
    await bench.append(['no']);
    await bench.wake({ last: 6 });
    expect(await bench.position()).toMatchObject({ committed: 7 });
    expect(bench.calls).toHaveLength(1);
  });

  it('tells of records that retention has overtaken, and goes on behind them', async () => {
    await bench.subscribe();
    await bench.append(values(2));
    bench.clock.pass(8 * 24 * 3_600_000);
    await bench.append(['young']);
    const host = bench.host();
    await bench.wake({ last: 2 }, host);
    expect(bench.delivered()).toEqual([2]);
    expect(await bench.position()).toMatchObject({ committed: 3, push: { expired: 2 } });
    expect(host.seen).toContainEqual({ kind: 'records_expired', count: 2 });
  });

  it('begins no call that its own time, or its lease, may not outlive', async () => {
    await bench.subscribe('s', { batch: { maxRecords: 1, maxBytes: 100 }, timeoutMs: 15_000 });
    await bench.append(values(3));
    bench.scripts.set('s', (_, deadline) => {
      expect(deadline).toBe(bench.clock.now() + 15_000);
      bench.clock.pass(14_000);
      return { kind: 'done' };
    });
    const { aside } = bench.host();
    const deadline = bench.clock.now() + 15_000 + PUSH_LEASE_MARGIN_MS + 5_000;
    await deliverWakeUp(aside, { ...bench.positionId(), last: 2, hop: 0 }, { isReturned: false, deadline });
    expect(bench.calls).toEqual(['s:0 0']);
    expect(bench.queue).toMatchObject([{ wakeUp: { hop: 1 } }]);
    expect((await bench.position()).owner).toBeUndefined();
    await bench.drain();
    expect(bench.delivered()).toEqual([0, 1, 2]);
    expect(840_000 + PUSH_LEASE_MARGIN_MS).toBeLessThan(DELIVER_FUNCTION_TIMEOUT_MS);
  });

  it('that was sent on too often is left to the sweep', async () => {
    const to = await bench.subscribe();
    await bench.append(values(1));
    bench.scripts.set('s', () => ({ kind: 'away', retryAfterMs: 5_000, error }));
    await bench.wake({ to, hop: WAKE_HOPS_MAX });
    expect(bench.queue).toEqual([]);
    const { items } = await bench.host().backbone.pending.list(10);
    expect(items).toMatchObject([{ to, partition: 0 }]);
  });

  it('of a position that was slow is served aside', async () => {
    await bench.subscribe();
    await bench.append(values(1));
    bench.scripts.set('s', () => {
      bench.clock.pass(4_000);
      return { kind: 'done' };
    });
    await bench.wake({ last: 0 });
    expect(await bench.position()).toMatchObject({ push: { isSlow: true } });
    await bench.append(values(1));
    const host = bench.host();
    const handed: WakeUp[] = [];
    const ports = { ...host.ports, aside: async (wakeUp: WakeUp) => void handed.push(wakeUp) };
    await bench.wake({ last: 1 }, { ...host, ports });
    expect(handed).toHaveLength(1);
    expect(bench.calls).toHaveLength(1);
    await bench.wake({ last: 1, hop: WAKE_HOPS_MAX, to: handed[0]!.to! }, { ...host, ports });
    expect(handed).toHaveLength(1); // it is left to the sweep
    expect((await bench.host().backbone.pending.list(10)).items).toHaveLength(1);
    bench.scripts.delete('s');
    await bench.wake({ last: 1 });
    expect(await bench.position()).toMatchObject({ committed: 2, push: {} });
    expect((await bench.position()).push?.isSlow).toBeUndefined();
  });
});

describe('a delivery that fails', () => {
  let bench: PushBench;
  beforeEach(async () => {
    bench = await openPushBench();
  });
  afterEach(() => bench.close());

  it('at a record without naming it is halved until that one stands alone, and only it is kept as a dead letter', async () => {
    await bench.subscribe();
    await bench.append(values(16));
    bench.scripts.set('s', ({ records }) =>
      records.some(({ offset }) => offset === 11) ? { kind: 'failed', error } : { kind: 'done' },
    );
    await bench.wake({ last: 15 });
    await bench.drain(60_000);
    expect(bench.calls).toEqual([
      ...['s:0 0..15', 's:0 0..7', 's:0 8..15', 's:0 8..11', 's:0 8..9', 's:0 10..11', 's:0 10', 's:0 11'],
      ...['s:0 11', 's:0 11', 's:0 12..15'],
    ]);
    expect(bench.letters).toMatchObject([{ offset: 11, attempts: 3, error }]);
    expect(await bench.position()).toMatchObject({ committed: 16 });
    expect((await bench.position()).push).toMatchObject({ lastError: error });
  });

  it('at a record that it names goes on there, and nothing behind it is sent before it is settled', async () => {
    await bench.subscribe();
    await bench.append(values(5));
    let failures = 2;
    bench.scripts.set('s', () => (failures-- > 0 ? { kind: 'failed', at: 2, error } : { kind: 'done' }));
    await bench.wake({ last: 4 });
    expect(await bench.position()).toMatchObject({ committed: 5 });
    expect(bench.calls).toEqual(['s:0 0..4', 's:0 2', 's:0 2', 's:0 3..4']);
    expect(bench.letters).toEqual([]);
  });

  it('and crashes goes on where it was: attempts, span and range are in the position', async () => {
    await bench.subscribe('s', { retry: { maxAttempts: 3, minBackoffMs: 4_000, maxBackoffMs: 60_000 } });
    await bench.append(values(8));
    bench.scripts.set('s', () => ({ kind: 'failed', error }));
    await bench.wake({ last: 7 });
    expect(await bench.position()).toMatchObject({ committed: 0, push: { failure: { span: 4, end: 8, attempts: 0 } } });
    // New traffic burns no tries, and does not widen the range.
    await bench.append(values(8));
    await bench.wake({ last: 15 });
    expect(bench.calls).toHaveLength(1);
    for (let i = 0; i < 3; i++) await bench.drain(2_500);
    expect(bench.calls).toEqual(['s:0 0..7', 's:0 0..3', 's:0 0..1', 's:0 0']);
    expect(await bench.position()).toMatchObject({ push: { failure: { span: 1, end: 1, attempts: 1 } } });
    const { items } = await bench.host().backbone.pending.list(10);
    expect(items).toMatchObject([{ partition: 0, dueAt: (await bench.position()).push!.failure!.retryAt }]);
  });

  it('for want of anybody there spends no attempts, waits as long as it is told to, and loses no order', async () => {
    await bench.subscribe();
    await bench.append(values(3));
    let absences = 20;
    bench.scripts.set('s', () =>
      absences-- > 0 ? { kind: 'away', error, ...(absences === 19 && { retryAfterMs: 1_000_000 }) } : { kind: 'done' },
    );
    const start = bench.clock.now();
    await bench.wake({ last: 2 });
    expect(bench.queue).toEqual([]); // further off than a message may be: the sweep's
    const { items } = await bench.host().backbone.pending.list(10);
    expect(items).toMatchObject([{ dueAt: start + 1_000_000 }]);
    bench.clock.pass(1_000_001);
    await bench.wake({});
    await bench.drain(3_600_000);
    expect(absences).toBeLessThan(0);
    expect(new Set(bench.calls)).toEqual(new Set(['s:0 0..2']));
    expect(bench.letters).toEqual([]);
    expect(await bench.position()).toMatchObject({ committed: 3 });
  });

  it('whose dead letter cannot be kept sends nothing behind that record', async () => {
    await bench.subscribe('s', { retry: { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 100 } });
    await bench.append(values(3));
    bench.scripts.set('s', () => ({ kind: 'failed', at: 0, error }));
    const host = bench.host();
    const tell = async () => {
      throw new WriteFailed('unreachable', true, new Error('no answer'));
    };
    const failing = { ...host, ports: { ...host.aside, deadLetterQueue: { tell } } };
    await expect(bench.wake({ last: 2 }, failing)).rejects.toThrow(WriteFailed);
    expect(await bench.position()).toMatchObject({ committed: 0, push: { failure: { span: 1, end: 1 } } });
    bench.scripts.set('s', ({ records }) => (records[0]!.offset === 0 ? { kind: 'failed', error } : { kind: 'done' }));
    await bench.wake({}, host, true);
    await bench.drain();
    expect(bench.calls).toEqual(['s:0 0..2', 's:0 0', 's:0 1..2']);
    expect(bench.letters.map(({ offset }) => offset)).toEqual([0]);
  });

  it('at ten records in a row halts the subscription, exactly there', async () => {
    await bench.subscribe('s', { retry: { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 100 } });
    await bench.append(values(30));
    bench.scripts.set('s', () => ({ kind: 'failed', error }));
    await bench.wake({ last: 29 });
    await bench.drain(3_600_000);
    expect(bench.letters.map(({ offset }) => offset)).toEqual(upTo(10));
    expect(await bench.subscription()).toMatchObject({ state: 'halted', lastError: error });
    expect(await bench.position()).toMatchObject({ committed: 10 });
    await bench.wake({ last: 29 });
    expect((await bench.position()).committed).toBe(10);
    // Somebody has mended it.
    const { backbone } = bench.host();
    const seen = await bench.subscription();
    await backbone.subscriptions.change(seen, { ...seen, state: 'active' });
    bench.scripts.delete('s');
    await bench.wake({});
    expect(bench.delivered().slice(-20)).toEqual(upTo(30).slice(10));
  });

  it('at ten records in a row goes no further though the halt cannot be written', async () => {
    await bench.subscribe('s', { retry: { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 100 } });
    await bench.append(values(30));
    bench.scripts.set('s', () => ({ kind: 'failed', error }));
    const host = bench.host();
    const unwritable = async () => {
      throw new WriteFailed('unreachable', true, new Error('no answer'));
    };
    const ports = { ...host.aside, subscriptions: { read: bench.subscription, change: unwritable } };
    const wakeUp = { ...bench.positionId(), last: 29, hop: 0 };
    const deadline = bench.clock.now() + DELIVER_FUNCTION_TIMEOUT_MS;
    await expect(deliverWakeUp(ports, wakeUp, { isReturned: false, deadline })).rejects.toThrow(WriteFailed);
    expect(await bench.position()).toMatchObject({ committed: 9, push: { deadLettersInARow: 9 } });
    await bench.wake({}, host);
    await bench.drain(60_000);
    expect([...new Set(bench.letters.map(({ offset }) => offset))]).toEqual(upTo(10));
    expect(await bench.subscription()).toMatchObject({ state: 'halted' });
    expect((await bench.position()).committed).toBe(10);
  });

  it('and halts its subscription is followed by none that read it a moment before', async () => {
    await bench.subscribe('s', { onFailure: 'halt', retry: { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 100 } });
    await bench.append(values(2));
    bench.scripts.set('s', () => ({ kind: 'failed', at: 0, error }));
    const before = await bench.subscription();
    await bench.wake({ last: 1 });
    expect(bench.calls).toHaveLength(1);
    const host = bench.host();
    const seen: (typeof before)[] = [];
    const subscriptions = { ...host.ports.subscriptions, read: async () => seen.pop() ?? bench.subscription() };
    for (let runs = 0; runs < 2; runs++) {
      seen.push(before);
      await bench.wake({ last: 1 }, { ...host, ports: { ...host.aside, subscriptions } });
    }
    expect(bench.calls).toHaveLength(1);
    expect((await bench.position()).owner).toBeUndefined();
  });

  it('as often as it may halts the subscription where that is wanted, and counts anew when it is resumed', async () => {
    await bench.subscribe('s', { onFailure: 'halt' });
    await bench.append(values(2));
    bench.scripts.set('s', () => ({ kind: 'failed', at: 1, error }));
    await bench.wake({ last: 1 });
    await bench.drain(60_000);
    expect(bench.letters).toEqual([]);
    expect(await bench.subscription()).toMatchObject({ state: 'halted' });
    expect(await bench.position()).toMatchObject({ committed: 1, push: { failure: { attempts: 0 } } });
  });

  it.each([
    ['cannot', 'halted'],
    ['gone', 'paused'],
  ] as const)('because its target %s leaves the subscription %s, with what was done before', async (kind, state) => {
    await bench.subscribe();
    await bench.append(values(2));
    bench.scripts.set('s', () => (kind === 'cannot' ? { kind, at: 1, error } : { kind, error }));
    await bench.wake({ last: 1 });
    expect(await bench.subscription()).toMatchObject({ state, lastError: error });
    expect(await bench.position()).toMatchObject({ committed: kind === 'cannot' ? 1 : 0 });
    expect(bench.queue).toEqual([]);
  });

  it('at a record that is too large for its target keeps that one, and says nothing about the target', async () => {
    await bench.subscribe('s', { haltAfterDeadLetters: 1 });
    await bench.append(values(3));
    bench.scripts.set('s', ({ records }) =>
      records.some(({ offset }) => offset === 1) ? { kind: 'too_large', at: 1 } : { kind: 'done' },
    );
    await bench.wake({ last: 2 });
    expect(bench.letters).toMatchObject([{ offset: 1, error: { name: 'target_too_large' } }]);
    expect(bench.calls).toEqual(['s:0 0..2', 's:0 2']);
    expect(await bench.subscription()).toMatchObject({ state: 'active' });
  });

  it('by half goes on with the rest', async () => {
    await bench.subscribe();
    await bench.append(values(5));
    bench.scripts.set('s', ({ records }) =>
      records.length > 2 ? { kind: 'part', next: records[2]!.offset } : { kind: 'done' },
    );
    await bench.wake({ last: 4 });
    expect(bench.calls).toEqual(['s:0 0..4', 's:0 2..4', 's:0 4']);
    expect(await bench.position()).toMatchObject({ committed: 5 });
  });

  it('at its call’s end, when somebody has moved the position, changes nothing', async () => {
    await bench.subscribe();
    await bench.append(values(3));
    bench.scripts.set('s', async () => {
      if (bench.calls.length > 1) return { kind: 'done' };
      const { backbone } = bench.host();
      const seen = await bench.position();
      await backbone.positions.change(bench.positionId(), seen, { committed: 1, epoch: seen.epoch + 1 });
      return { kind: 'done' };
    });
    await bench.wake({ last: 2 });
    expect((await bench.position()).committed).toBe(1);
    await bench.wake({ last: 2 });
    expect(bench.delivered()).toEqual([0, 1, 2, 1, 2]);
  });
});
