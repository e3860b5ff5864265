import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ParkedAct, parkedKeyIdText } from '../../../shared/domain/lane.ts';
import { PARKED_KEYS_MAX } from '../../../shared/domain/park-limits.ts';
import { actOnParked, listParked, type ParkedPorts } from '../../../shared/operations/parked-keys.ts';
import { resumeSubscription } from '../../../shared/operations/subscriptions.ts';
import { laneOf } from '../../../shared/wire/lane-of.ts';
import { openPushBench, type PushBench } from '../../support/push-bench.ts';

const error = { name: 'Error', message: 'no' };
const RETRY = { maxAttempts: 2, minBackoffMs: 10, maxBackoffMs: 20_000 };

describe('parked keys', () => {
  let bench: PushBench;
  let ports: ParkedPorts;
  let bad: Set<string>;
  let given: string[];
  beforeEach(async () => {
    bench = await openPushBench();
    const { backbone, ports: delivering } = bench.host();
    ports = { ...delivering, ...backbone, wakeQueue: delivering.wakeQueue };
    [bad, given] = [new Set(), []];
    await bench.subscribe('s', { onFailure: 'park', retry: RETRY });
    bench.scripts.set('s', ({ records }) => {
      const failing = records.find(({ value }) => bad.has(Buffer.from(value!).toString()));
      const until = failing?.offset ?? Number.POSITIVE_INFINITY;
      given.push(...records.filter(({ offset }) => offset < until).map(({ value }) => Buffer.from(value!).toString()));
      return failing === undefined ? { kind: 'done' } : { kind: 'failed', at: failing.offset, error };
    });
  });
  afterEach(() => bench.close());

  const id = (key: string) => ({ ...bench.positionId(), lane: laneOf(Buffer.from(key)) });
  const idText = (key: string) => parkedKeyIdText(id(key));
  const laneAt = (key: string) => bench.host().backbone.positions.read(id(key));
  const list = async (limit = 100) => (await listParked(ports, 's', { limit })).items;
  const act = (what: ParkedAct, ids?: readonly string[], by = ports) =>
    actOnParked(by, 's', { act: what, ...(ids && { ids }), deadline: bench.clock.now() + 27_000 });
  /** Parks the keys whose records have these values, and goes on with the others. */
  const park = async (values: readonly string[], failing: readonly string[]) => {
    for (const value of failing) bad.add(value);
    const first = await bench.append(values);
    await bench.wake({ last: first + values.length - 1 });
    await bench.drain(1_000);
  };

  describe('a list', () => {
    it('tells where each of them waits, behind what, how many wait, and when it is tried again', async () => {
      const startedAt = bench.clock.now();
      await park(['a=0', 'K=1', 'b=2', 'K=3', 'L=4'], ['1', '4']);
      const [first, second, ...others] = (await list()).toSorted((a, b) => a.offset - b.offset);
      expect(first).toMatchObject({
        ...{ topic: 't', partition: 0, offset: 1, waiting: 2, attempts: 2, error, keyBytes: 1 },
        key: new Uint8Array(Buffer.from('K')),
      });
      expect(parkedKeyIdText(first!)).toBe(idText('K'));
      expect(first!.parkedAt).toBeGreaterThanOrEqual(startedAt);
      expect(first!.nextRetryAt).toBe(first!.parkedAt + 0.9 * RETRY.maxBackoffMs);
      expect(second).toMatchObject({ offset: 4, waiting: 1 });
      expect(others).toEqual([]);
    });

    it('tells of no next try where the key is being delivered, or is due', async () => {
      await park(['K=1'], ['1']);
      const whole = bench.scripts.get('s')!;
      const shown: unknown[] = [];
      bench.scripts.set('s', async (...call) => {
        shown.push(...(await list()));
        return whole(...call);
      });
      bad.clear();
      await bench.drain(30_000);
      expect(shown).toMatchObject([{ offset: 0, attempts: 2 }]);
      expect(shown[0]).not.toHaveProperty('nextRetryAt');
      expect(await list()).toEqual([]);
    });

    it('comes in pages, between other marks, and goes on wherever it is told', async () => {
      await park(['K=1', 'L=2', 'M=3'], ['1', '2', '3']);
      const { group, topicId } = bench.positionId();
      const to = { group, topic: 't', known: 1 };
      const { pending } = bench.host().backbone;
      await pending.put({ topicId, partition: 0, to, dueAt: 1 });
      await pending.put({ topicId, partition: 0, isRedrive: true, to, dueAt: 1 });
      const seen: number[] = [];
      for (let after: string | undefined; ; ) {
        const page = await listParked(ports, 's', { limit: 1, ...(after !== undefined && { after }) });
        seen.push(...page.items.map(({ offset }) => offset));
        after = page.next;
        if (after === undefined) break;
      }
      expect(seen.sort()).toEqual([0, 1, 2]);
      await bench.subscribe('other');
      expect(await listParked(ports, 'other', { limit: 9, after: '7' })).toEqual({ items: [] });
    });

    it('leaves a mark out whose lane is gone', async () => {
      await park(['K=1'], ['1']);
      await bench.host().backbone.positions.remove(id('K'));
      expect(await list()).toEqual([]);
    });
  });

  describe('resumed', () => {
    it('are tried at once, with attempts counted from the start', async () => {
      await park(['K=1', 'L=2'], ['1', '2']);
      bad.delete('1');
      expect(await act('resume', [idText('K'), idText('L'), idText('K')])).toEqual({ count: 2, more: false });
      expect((await laneAt('K'))!.push!.failure).toMatchObject({ attempts: 0, retryAt: bench.clock.now() });
      await bench.drain(1_000);
      expect(given).toEqual(['1']);
      expect(await list()).toMatchObject([{ offset: 1, attempts: 2, error }]);
    });

    it('all together where none is named, and those that are due already once', async () => {
      const keys = Array.from({ length: PARKED_KEYS_MAX }, (_, i) => `k${i}`);
      await park(
        keys.map((key) => `${key}=${key}`),
        keys,
      );
      bad.clear();
      expect(await act('resume')).toEqual({ count: PARKED_KEYS_MAX, more: false });
      expect(await act('resume')).toEqual({ count: 0, more: false });
      expect(await act('resume', [idText('k0')])).toEqual({ count: 1, more: false });
      await bench.drain(5_000);
      expect([...given].sort()).toEqual([...keys].sort());
      expect(await list()).toEqual([]);
    });

    it('are not begun a second time while they are delivered', async () => {
      await park(['K=1'], ['1']);
      const whole = bench.scripts.get('s')!;
      const acts: unknown[] = [];
      bench.scripts.set('s', async (...call) => {
        const before = await laneAt('K');
        acts.push(await act('resume', [idText('K')]));
        expect(await laneAt('K')).toEqual(before);
        return whole(...call);
      });
      bad.clear();
      await bench.drain(30_000);
      expect(acts).toEqual([{ count: 1, more: false }]);
      expect(given).toEqual(['1']);
    });

    it('wait for their subscription where that is paused', async () => {
      await park(['K=1'], ['1']);
      bad.clear();
      const { subscriptions } = bench.host().backbone;
      const active = await bench.subscription();
      await subscriptions.change(active, { ...active, state: 'paused' });
      expect(await act('resume')).toEqual({ count: 1, more: false });
      await bench.drain(60_000);
      expect(given).toEqual([]);
      const paused = await bench.subscription();
      await subscriptions.change(paused, { ...paused, state: 'active' });
      await bench.wake({ lane: id('K').lane, to: { group: bench.positionId().group, topic: 't', known: 1 } });
      await bench.drain(1_000);
      expect(given).toEqual(['1']);
    });
  });

  describe('given up', () => {
    it('leave their record as a dead letter, with its attempts and its error, and go on', async () => {
      await park(['K=1', 'a=2', 'K=3'], ['1']);
      expect(await act('dead-letter', [idText('K')])).toEqual({ count: 1, more: false });
      await bench.drain(1_000);
      expect(bench.letters).toMatchObject([{ offset: 0, attempts: 2, error }]);
      expect(given).toEqual(['2', '3']);
      expect(await list()).toEqual([]);
    });

    it('once, however often it is said', async () => {
      await park(['K=1', 'K=2'], ['1', '2']);
      expect(await act('dead-letter')).toEqual({ count: 1, more: false });
      expect(await act('dead-letter')).toEqual({ count: 0, more: false });
      expect(await act('dead-letter', [idText('K')])).toEqual({ count: 1, more: false });
      await bench.drain(1_000);
      expect(bench.letters).toMatchObject([{ offset: 0 }]);
      expect(await list()).toMatchObject([{ offset: 1 }]);
    });

    it('while their subscription is paused: resumed, it begins with that', async () => {
      await park(['K=1', 'K=2'], ['1']);
      const { backbone } = bench.host();
      const active = await bench.subscription();
      await backbone.subscriptions.change(active, { ...active, state: 'paused' });
      expect(await act('dead-letter')).toEqual({ count: 1, more: false });
      await bench.drain(60_000);
      expect(bench.letters).toEqual([]);
      await backbone.groupTopics.note(bench.positionId().group, await backbone.topics.fresh('t'));
      await resumeSubscription({ ...backbone, ...ports } as never, 's');
      await bench.drain(1_000);
      expect(bench.letters).toMatchObject([{ offset: 0, attempts: 2, error }]);
      expect(given).toEqual(['2']);
    });

    it('while they are delivered: should it fail, it is a dead letter', async () => {
      await park(['K=1', 'K=2'], ['1']);
      const whole = bench.scripts.get('s')!;
      let isFirst = true;
      bench.scripts.set('s', async (...call) => {
        if (isFirst) expect(await act('dead-letter')).toEqual({ count: 1, more: false });
        isFirst = false;
        return whole(...call);
      });
      await bench.drain(21_000);
      expect(bench.letters).toMatchObject([{ offset: 0, attempts: 3 }]);
      expect(given).toEqual(['2']);
    });

    it('also right after they were to be tried again', async () => {
      await park(['K=1', 'K=2'], ['1']);
      await act('resume');
      expect(await act('dead-letter')).toEqual({ count: 1, more: false });
      await bench.drain(30_000);
      expect(bench.letters).toMatchObject([{ offset: 0, error }]);
      expect(given).toEqual(['2']);
    });

    it('not at the next record, where the one that failed was settled by whoever was called', async () => {
      await park(['K=1', 'K=2'], ['1']);
      const seen = (await laneAt('K'))!;
      // As `processOnce` does it: what failed before stays written.
      await ports.positions.change(id('K'), seen, { committed: 1, epoch: seen.epoch + 1, push: seen.push! });
      expect(await list()).toMatchObject([{ offset: 1, attempts: 0 }]);
      expect((await list())[0]).not.toHaveProperty('nextRetryAt');
      expect(await act('dead-letter')).toEqual({ count: 0, more: false });
      expect(await act('dead-letter', [idText('K')])).toEqual({ count: 0, more: false });
      await bench.drain(60_000);
      expect(given).toEqual(['2']);
      expect(bench.letters).toEqual([]);
    });

    it('not at the first of a batch of which nobody knows what failed', async () => {
      await park(['K=1', 'K=2', 'K=3'], ['1']);
      const seen = (await laneAt('K'))!;
      const failure = { ...seen.push!.failure!, attempts: 0, span: 2, end: 3 };
      await ports.positions.change(id('K'), seen, {
        ...{ committed: 0, epoch: seen.epoch + 1, push: { ...seen.push!, failure } },
      });
      expect(await act('dead-letter')).toEqual({ count: 0, more: false });
      expect((await laneAt('K'))!.about).not.toHaveProperty('giveUp');
      await bench.drain(60_000);
      expect(await act('dead-letter')).toEqual({ count: 1, more: false });
    });

    it('not at a record that has not failed: neither one that is next, nor one that fails meanwhile', async () => {
      await park(['K=1', 'K=2'], ['1']);
      bad = new Set(['2']);
      // Between the look at the lane and what is noted of it, the first record is taken, and the second one fails.
      const lanes = {
        giveUp: async (...of: Parameters<ParkedPorts['lanes']['giveUp']>) => {
          await bench.drain(30_000);
          return ports.lanes.giveUp(...of);
        },
      };
      expect(await act('dead-letter', [idText('K')], { ...ports, lanes })).toEqual({ count: 0, more: false });
      await bench.drain(30_000);
      expect(given).toEqual(['1']);
      expect(bench.letters).toEqual([]);
      expect(await list()).toMatchObject([{ offset: 1 }]);
    });
  });

  it('that are not there are refused, all together, and nothing is done', async () => {
    await park(['K=1'], ['1']);
    const before = await laneAt('K');
    for (const what of ['resume', 'dead-letter'] as const) {
      const wrong = idText('L');
      await expect(act(what, [idText('K'), wrong])).rejects.toMatchObject({
        code: 'parked_key_not_found',
        data: { subscription: 's', id: wrong },
      });
    }
    expect(await laneAt('K')).toEqual(before);
    await expect(actOnParked(ports, 'nobody', { act: 'resume', deadline: 0 })).rejects.toMatchObject({
      code: 'subscription_not_found',
    });
  });

  it('are as many as there is time for: there may be others', async () => {
    await park(['K=1', 'L=2'], ['1', '2']);
    const { pending } = ports;
    // The position has a mark of its own, before those of its keys.
    const lanesOf: typeof pending.lanesOf = (group, _, after) => pending.lanesOf(group, 2, after);
    const paging = { ...ports, pending: { lanesOf, ofLane: pending.ofLane.bind(pending) } };
    const late = { act: 'resume', deadline: bench.clock.now() } as const;
    expect(await actOnParked(paging, 's', late)).toEqual({ count: 1, more: true });
    expect(await act('resume', undefined, paging)).toEqual({ count: 1, more: false });
  });
});
