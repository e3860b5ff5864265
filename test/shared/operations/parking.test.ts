import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Delivered, DeliveryBatch } from '../../../shared/domain/delivery.ts';
import { LANE_KEY_BYTES_MAX, PARKED_KEYS_MAX, PARKED_RECORDS_MAX } from '../../../shared/domain/park-limits.ts';
import type { Subscription } from '../../../shared/domain/subscription.ts';
import { WriteFailed } from '../../../shared/domain/write-failed.ts';
import { resumeSubscription } from '../../../shared/operations/subscriptions.ts';
import { laneOf } from '../../../shared/wire/lane-of.ts';
import { openPushBench, type PushBench } from '../../support/push-bench.ts';

const error = { name: 'Error', message: 'no' };
const RETRY = { maxAttempts: 2, minBackoffMs: 10, maxBackoffMs: 20_000 };
const lane = laneOf(Buffer.from('K'));

/** Refuses, by name, the first record whose value it does not like. */
const refuses =
  (isBad: (value: string) => boolean) =>
  (batch: DeliveryBatch): Delivered => {
    const bad = batch.records.find(({ value }) => isBad(Buffer.from(value!).toString()));
    return bad === undefined ? { kind: 'done' } : { kind: 'failed', at: bad.offset, error };
  };

describe('a key that fails', () => {
  let bench: PushBench;
  let bad: Set<string>;
  const given: string[] = [];
  beforeEach(async () => {
    bench = await openPushBench();
    bad = new Set();
    given.length = 0;
  });
  afterEach(() => bench.close());

  const subscribe = async (change: Partial<Subscription> = {}) => {
    await bench.subscribe('s', { onFailure: 'park', retry: RETRY, ...change });
    bench.scripts.set('s', (batch) => {
      const answer = refuses((value) => bad.has(value))(batch);
      const until = answer.kind === 'failed' ? answer.at! : Number.POSITIVE_INFINITY;
      for (const { offset, value } of batch.records) if (offset < until) given.push(Buffer.from(value!).toString());
      return answer;
    });
  };
  const laneAt = async () => bench.host().backbone.positions.read({ ...bench.positionId(), lane });
  const marksOf = async () => (await bench.host().backbone.pending.lanesOf(bench.positionId().group, 100)).items;
  const outside = () =>
    ({ ...bench.host().ports, ...bench.host().backbone, wakeQueue: bench.host().ports.wakeQueue }) as never;
  const marks = async () => (await marksOf()).map((mark) => mark.lane);

  it('waits from the record on that failed, and its partition goes on without it', async () => {
    await subscribe();
    bad.add('1');
    await bench.append(['a=0', 'K=1', 'b=2', 'K=3', 'c=4']);
    await bench.wake({ last: 4 });
    await bench.drain(1_000);
    expect(given).toEqual(['0', '2', '4']);
    expect(await bench.position()).toMatchObject({ committed: 5, parked: new Set([lane]) });
    expect((await bench.position()).push?.passed).toEqual(new Map([[lane, 2]]));
    expect(await laneAt()).toMatchObject({
      committed: 1,
      push: { failure: { attempts: 2 }, lastError: error },
      about: { key: new Uint8Array(Buffer.from('K')), keyBytes: 1 },
    });
    expect(await marks()).toEqual([lane]);
  });

  it('comes back once its record is taken: in order, and nothing is left of the lane', async () => {
    await subscribe();
    bad.add('1');
    await bench.append(['a=0', 'K=1', 'b=2', 'K=3', 'c=4']);
    await bench.wake({ last: 4 });
    await bench.drain(1_000);
    bad.clear();
    await bench.drain(60_000);
    expect(given).toEqual(['0', '2', '4', '1', '3']);
    expect(await laneAt()).toBeUndefined();
    expect(await marks()).toEqual([]);
    const position = await bench.position();
    expect(position.parked).toBeUndefined();
    expect(position.push?.passed).toBeUndefined();
    await bench.append(['K=5', 'a=6']);
    await bench.wake({ last: 6 });
    expect(given.slice(-2)).toEqual(['5', '6']);
  });

  it('is tried again and again, for ever, and never passes its record', async () => {
    await subscribe();
    bad.add('0');
    await bench.append(['K=0', 'K=1']);
    await bench.wake({ last: 1 });
    await bench.drain(500_000);
    expect(given).toEqual([]);
    expect(bench.letters).toEqual([]);
    const lane = await laneAt();
    expect(lane).toMatchObject({ committed: 0 });
    expect(lane!.push!.failure!.attempts).toBeGreaterThan(20);
  });

  it('that heals for one record and fails on the next waits there', async () => {
    await subscribe();
    bad.add('0').add('2');
    await bench.append(['K=0', 'a=1', 'K=2', 'K=3']);
    await bench.wake({ last: 3 });
    await bench.drain(1_000);
    bad.delete('0');
    await bench.drain(60_000);
    expect(given).toEqual(['1', '0']);
    expect(await laneAt()).toMatchObject({ committed: 2 });
    bad.clear();
    await bench.drain(60_000);
    expect(given).toEqual(['1', '0', '2', '3']);
    expect(await laneAt()).toBeUndefined();
  });

  it('of which more came while it waited is given everything, in batches', async () => {
    await subscribe({ batch: { maxRecords: 3, maxBytes: 100_000 } });
    bad.add('0');
    await bench.append(['K=0', ...Array.from({ length: 20 }, (_, i) => (i % 2 ? `K=k${i}` : `x=x${i}`))]);
    await bench.wake({ last: 20 });
    await bench.drain(1_000);
    bad.clear();
    given.length = 0;
    await bench.drain(100_000);
    expect(given).toEqual(['0', ...Array.from({ length: 10 }, (_, i) => `k${2 * i + 1}`)]);
    expect(await laneAt()).toBeUndefined();
  });

  it('is taken back while its partition goes on and on, with what came meanwhile', async () => {
    await subscribe({ batch: { maxRecords: 2, maxBytes: 100_000 } });
    bad.add('0');
    await bench.append(['K=0', 'a=1']);
    await bench.wake({ last: 1 });
    await bench.drain(1_000);
    bad.clear();
    const whole = bench.scripts.get('s')!;
    let more = 30;
    bench.scripts.set('s', async (batch, deadline) => {
      bench.clock.pass(300);
      if (--more > 0) await bench.append([`K=k${more}`, `a=a${more}`]);
      return whole(batch, deadline);
    });
    await bench.append(['a=2']);
    const lanes = bench.drain(21_000);
    await bench.wake({ last: 2 });
    await lanes;
    await bench.drain(30_000);
    const ofK = given.filter((value) => value === '0' || value.startsWith('k'));
    expect(ofK).toEqual(['0', ...Array.from({ length: 29 }, (_, i) => `k${29 - i}`)]);
    expect(await laneAt()).toBeUndefined();
  });

  it('is not passed where parking it was not written: it is tried again', async () => {
    await subscribe();
    bad.add('0');
    await bench.append(['K=0', 'a=1']);
    const by = bench.host();
    let attempts = 0;
    const lanes = Object.assign(Object.create(by.backbone.lanes), {
      park: async () => {
        attempts += 1;
        throw new WriteFailed('throttled', false, undefined);
      },
    });
    const failing = { ...by, ports: { ...by.ports, aside: undefined as never, lanes } };
    await expect(bench.wake({ last: 1 }, failing)).rejects.toThrow(WriteFailed);
    expect(attempts).toBe(1);
    expect(await bench.position()).toMatchObject({ committed: 0 });
    expect((await bench.position()).owner).toBeUndefined();
    bad.clear();
    await bench.wake({});
    expect(given).toEqual(['0', '1']);
  });

  it('keeps nobody busy, however soon it is to be tried again', async () => {
    await subscribe({ retry: { maxAttempts: 2, minBackoffMs: 10, maxBackoffMs: 100 } });
    bad.add('0');
    await bench.append(['K=0']);
    await bench.wake({ last: 0 });
    await bench.drain(0);
    const before = bench.calls.length;
    const startedAt = bench.clock.now();
    await bench.wake({ lane, to: (await marksOf())[0]!.to });
    expect(bench.calls.length - before).toBeLessThanOrEqual(1);
    expect(bench.clock.now() - startedAt).toBeLessThan(3_000);
  });

  it('halts the subscription where too much waits behind what fails, and not once somebody has it tried again', async () => {
    await subscribe({ batch: { maxRecords: 1_000, maxBytes: 1_048_576 } });
    bad.add('bad');
    await bench.append(['K=bad', 'a=1']);
    await bench.wake({ last: 1 });
    await bench.drain(1_000);
    await bench.appendMany('K', PARKED_RECORDS_MAX - 2);
    await bench.wake({ last: PARKED_RECORDS_MAX - 1 });
    await bench.drain(1_000);
    expect((await bench.position()).push?.passed).toEqual(new Map([[lane, PARKED_RECORDS_MAX - 1]]));
    expect(await bench.subscription()).toMatchObject({ state: 'active' });
    await bench.append(['K=last']);
    await bench.wake({ last: PARKED_RECORDS_MAX });
    expect(await bench.subscription()).toMatchObject({ state: 'halted', lastError: { name: 'parked_too_long' } });
    bad.clear();
    bench.queue.length = 0;
    await resumeSubscription(outside(), 's');
    const woken = bench.queue.splice(0).map(({ wakeUp }) => wakeUp);
    expect(woken).toMatchObject([{ lane }, { partition: 0 }]);
    // More comes for the key before it is tried.
    await bench.append(['K=more', 'a=2']);
    await bench.wake(woken[1]);
    expect(await bench.subscription()).toMatchObject({ state: 'active' });
    given.length = 0;
    await bench.wake(woken[0]);
    await bench.drain(60_000);
    expect(await laneAt()).toBeUndefined();
    expect(given).toHaveLength(PARKED_RECORDS_MAX + 1);
    expect([given[0], ...given.slice(-2)]).toEqual(['bad', 'last', 'more']);
  });

  it('without a key is a dead letter', async () => {
    await subscribe();
    bad.add('0');
    await bench.append(['0', 'K=1']);
    await bench.wake({ last: 1 });
    await bench.drain(1_000);
    expect(bench.letters).toMatchObject([{ offset: 0, attempts: 2 }]);
    expect(given).toEqual(['1']);
  });

  it('halts the subscription when as many are parked as may be', async () => {
    await subscribe();
    const keys = Array.from({ length: PARKED_KEYS_MAX + 1 }, (_, i) => `k${i}`);
    for (const key of keys) bad.add(key);
    await bench.append(keys.map((key) => `${key}=${key}`));
    await bench.wake({ last: PARKED_KEYS_MAX });
    await bench.drain(2_000);
    expect(await bench.subscription()).toMatchObject({ state: 'halted', lastError: error });
    const position = await bench.position();
    expect(position).toMatchObject({ committed: PARKED_KEYS_MAX, push: { failure: { attempts: 0 } } });
    expect(position.parked?.size).toBe(PARKED_KEYS_MAX);
    expect(await marks()).toHaveLength(PARKED_KEYS_MAX);
    // Mended: all of them are tried at once.
    bad.clear();
    const ports = { ...bench.host().ports, ...bench.host().backbone } as never;
    await resumeSubscription(ports, 's');
    for (const mark of await marks())
      await bench.wake({ lane: mark, to: { group: bench.positionId().group, topic: 't', known: 1 } });
    await bench.wake({});
    await bench.drain(60_000);
    expect([...given].sort()).toEqual([...keys].sort());
    expect(await marks()).toEqual([]);
  });

  it('gives its record up where the log is about to let it go, and its key goes on', async () => {
    await subscribe();
    const topic = await bench.host().backbone.topics.fresh('t');
    bad.add('0');
    await bench.append(['K=0', 'a=1']);
    await bench.wake({ last: 1 });
    await bench.drain(1_000);
    bench.clock.pass(topic.retentionMs * 0.85);
    await bench.append(['K=2']);
    await bench.wake({ last: 2 });
    await bench.drain(60_000);
    expect(bench.letters).toEqual([]);
    bench.clock.pass(topic.retentionMs * 0.06);
    await bench.drain(60_000);
    expect(bench.letters).toMatchObject([{ offset: 0, error: { name: 'parked_too_long' } }]);
    expect(given).toEqual(['1', '2']);
    expect(await laneAt()).toBeUndefined();
  });

  it('is not given up for a target that is only away, until the very end', async () => {
    await subscribe();
    const topic = await bench.host().backbone.topics.fresh('t');
    bad.add('0');
    await bench.append(['K=0', 'K=1', 'K=2', 'a=3']);
    await bench.wake({ last: 3 });
    await bench.drain(1_000);
    const whole = bench.scripts.get('s')!;
    let isAway = true;
    bench.scripts.set('s', (batch, deadline) => (isAway ? { kind: 'away', error } : whole(batch, deadline)));
    bad.clear();
    bench.clock.pass(topic.retentionMs * 0.92);
    await bench.drain(300_000);
    expect(bench.letters).toEqual([]);
    isAway = false;
    await bench.drain(300_000);
    expect(given).toEqual(['3', '0', '1', '2']);
    expect(bench.letters).toEqual([]);
  });

  it('comes back though nothing comes any more, as soon as its partition’s owner has let go', async () => {
    await subscribe();
    bad.add('0');
    await bench.append(['K=0', 'a=1']);
    await bench.wake({ last: 1 });
    await bench.drain(1_000);
    bad.clear();
    const whole = bench.scripts.get('s')!;
    bench.scripts.set('s', async (batch, deadline) => {
      // While its partition has a call under way, the lane is there, and its word meets an owner.
      if (batch.lane === undefined) await bench.wake({ lane, to: (await marksOf())[0]!.to });
      return whole(batch, deadline);
    });
    bench.clock.pass(30_000);
    bench.queue.length = 0;
    await bench.append(['a=2']);
    await bench.wake({ last: 2 });
    expect(await laneAt()).toBeUndefined();
    expect(given).toEqual(['1', '0', '2']);
  });

  it('that retention has overtaken goes on behind it, and says so', async () => {
    await subscribe();
    const topic = await bench.host().backbone.topics.fresh('t');
    bad.add('0');
    await bench.append(['K=0', 'a=1']);
    await bench.wake({ last: 1 });
    await bench.drain(1_000);
    bench.clock.pass(topic.retentionMs + 1_000);
    await bench.append(['K=2', 'a=3']);
    await bench.wake({ last: 3 });
    await bench.drain(60_000);
    expect(given).toEqual(['1', '3', '2']);
    expect(await laneAt()).toBeUndefined();
  });

  it('is of no use to a filter that drops it, and is passed', async () => {
    await subscribe();
    bad.add('0');
    await bench.append(['K=0', 'a=1', 'K=2']);
    await bench.wake({ last: 2 });
    await bench.drain(1_000);
    const { backbone } = bench.host();
    const seen = await bench.subscription();
    await backbone.subscriptions.change(seen, { ...seen, filter: '{"key":["a"]}' });
    await bench.drain(60_000);
    expect(given).toEqual(['1']);
    expect(await laneAt()).toBeUndefined();
  });

  it('does what is said of it once keys are parked no more', async () => {
    await subscribe();
    bad.add('0');
    await bench.append(['K=0', 'a=1', 'K=2']);
    await bench.wake({ last: 2 });
    await bench.drain(1_000);
    const seen = await bench.subscription();
    await bench.host().backbone.subscriptions.change(seen, { ...seen, onFailure: 'deadLetter' });
    await bench.drain(60_000);
    expect(bench.letters).toMatchObject([{ offset: 0 }]);
    expect(given).toEqual(['1', '2']);
    expect(await laneAt()).toBeUndefined();
  });

  it('shows no more than the beginning of a long key', async () => {
    await subscribe();
    const key = 'L'.repeat(1_000);
    bad.add('0');
    await bench.append([`${key}=0`]);
    await bench.wake({ last: 0 });
    await bench.drain(1_000);
    const id = { ...bench.positionId(), lane: laneOf(Buffer.from(key)) };
    const about = (await bench.host().backbone.positions.read(id))!.about!;
    expect(about.key).toHaveLength(LANE_KEY_BYTES_MAX);
    expect(about.keyBytes).toBe(1_000);
  });

  it('costs its partition nothing while it hangs: what is quick is not served where lanes are', async () => {
    await subscribe();
    bad.add('0');
    await bench.append(['K=0']);
    await bench.wake({ last: 0 });
    await bench.drain(1_000);
    let inLane = 0;
    bench.scripts.set('s', async (batch) => {
      if (batch.lane === undefined) return { kind: 'done' };
      inLane += 1;
      await bench.append(['a=1']);
      await bench.wake({ last: 1 });
      expect(await bench.position()).toMatchObject({ committed: 2 });
      return { kind: 'done' };
    });
    await bench.drain(30_000);
    expect(inLane).toBe(1);
  });
});
