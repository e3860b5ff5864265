import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { putSubscription } from '../../shared/operations/put-subscription.ts';
import { deleteSubscription } from '../../shared/operations/subscriptions.ts';
import { deleteTopic, putTopic } from '../../shared/operations/topics.ts';
import { openParkingBench, type ParkingBench } from '../support/parking-bench.ts';

let bench: ParkingBench;
beforeEach(async () => {
  bench = await openParkingBench();
});
afterEach(() => bench.close());
const putT = (partitions = 1) => putTopic(bench.host().backbone, 't', { partitions });
/** As time goes by: messages, and the sweep where they got lost. */
const goOn = async (minutes: number) => {
  for (let i = 0; i < minutes; i++) {
    await bench.drain(60_000);
    bench.clock.pass(60_000);
    expect(await bench.sweep()).toEqual([]);
  }
};

describe('of a topic that is deleted, and made again by its name, while a key is parked,', () => {
  beforeEach(async () => {
    await bench.park();
    bench.bad.add('0');
    await bench.deliver(['K=0', 'a=1']);
    await deleteTopic(bench.host().backbone, 't');
    await putT();
    bench.bad.clear();
  });

  it('nothing is delivered by the old key, and nothing is left of it', async () => {
    await bench.append(['K=9']);
    const calls = bench.calls.length;
    await goOn(2);
    expect(bench.calls).toHaveLength(calls);
    expect(await bench.marks()).toEqual([]);
    expect(await bench.laneAt()).toBeUndefined();
  });

  it('the same key is parked anew, once the subscription is put again', async () => {
    const old = bench.laneId();
    await putSubscription(bench.byHand(), 's', { from: 'earliest' }, await bench.subscription(), () => {});
    expect(await bench.marks()).toEqual([]);
    expect(await bench.host().backbone.positions.read(old)).toBeUndefined();
    bench.bad.add('n0');
    const { id: topicId } = await bench.host().backbone.topics.fresh('t');
    await bench.append(['K=n0', 'K=n1', 'a=n2']);
    await bench.wake({ topicId, last: 2, to: bench.to() });
    await bench.drain(1_000);
    expect(await bench.list()).toMatchObject([{ topicId, offset: 0, waiting: 2 }]);
    bench.bad.clear();
    await bench.drain(30_000);
    expect(bench.given).toEqual(['1', 'n2', 'n0', 'n1']);
    expect(await bench.marks()).toEqual([]);
  });
});

it('a key waits where it was while its topic is not subscribed to, and goes on once that is named again', async () => {
  await bench.park();
  await putTopic(bench.host().backbone, 'u', { partitions: 1 });
  bench.bad.add('0');
  await bench.deliver(['K=0', 'a=1', 'K=2']);
  bench.bad.clear();
  await bench.turn({ topics: ['u'] });
  await goOn(2);
  expect(bench.given).toEqual(['1']);
  await bench.turn({ topics: ['t', 'u'] });
  await goOn(2);
  expect(bench.given).toEqual(['1', '0', '2']);
  await bench.expectNoneParked();
});

it('a key is parked by itself in each topic of a subscription', async () => {
  const { backbone } = bench.host();
  await putTopic(backbone, 'u', { partitions: 1 });
  const u = await backbone.topics.fresh('u');
  const { group } = await bench.park({ topics: ['t', 'u'] });
  await backbone.positions.create({ group, topicId: u.id, partition: 0 }, { epoch: 1, committed: 0 });
  await backbone.subscribers.put(u.id, bench.to('u'));
  bench.bad.add('0').add('u0');
  await bench.append(['K=0', 'K=1']);
  await bench.appendSlot([['K', 'u0']], { topic: 'u' });
  await bench.appendSlot([['K', 'u1']], { topic: 'u' });
  await bench.wake({ last: 1 });
  await bench.wake({ topicId: u.id, last: 1, to: bench.to('u') });
  await bench.drain(1_000);
  const shown = async () => (await bench.list()).map(({ topic, offset, waiting }) => `${topic} ${offset} ${waiting}`);
  expect((await shown()).sort()).toEqual(['t 0 2', 'u 0 2']);
  bench.bad.delete('0');
  await bench.drain(30_000);
  expect(bench.given).toEqual(['0', '1']);
  expect(await shown()).toEqual(['u 0 2']);
  bench.bad.clear();
  await bench.drain(30_000);
  expect(bench.given).toEqual(['0', '1', 'u0', 'u1']);
  expect(await bench.marks()).toEqual([]);
});

describe('a topic that grows', () => {
  it('while a key is parked leaves it where it is, and has the same key in a new partition go by itself', async () => {
    await bench.park();
    bench.bad.add('0');
    await bench.deliver(['K=0', 'a=1']);
    await putT(3);
    await bench.append(['K=other'], 2);
    await bench.wake({ partition: 2, last: 0, to: bench.to() });
    expect(bench.given).toEqual(['1', 'other']);
    await bench.deliver(['K=2']);
    bench.bad.clear();
    await bench.drain(30_000);
    expect(bench.given).toEqual(['1', 'other', '0', '2']);
    await bench.expectNoneParked();
  });

  it('parks keys in its new partitions, and these go with their subscription', async () => {
    await bench.park();
    await putT(3);
    bench.bad.add('0');
    await bench.append(['K=0', 'a=1', 'K=2'], 2);
    await bench.wake({ partition: 2, last: 2, to: bench.to() });
    await bench.drain(1_000);
    expect(await bench.list()).toMatchObject([{ partition: 2, offset: 0, waiting: 2 }]);
    expect(await bench.laneAt('K', 2)).toBeDefined();
    await deleteSubscription(bench.byHand(), 's');
    expect(await bench.marks()).toEqual([]);
    expect(await bench.laneAt('K', 2)).toBeUndefined();
  });
});

it('a subscription that is deleted in the middle of a call for a parked key, and made again by its name, is not touched by it', async () => {
  await bench.park();
  bench.bad.add('0');
  await bench.deliver(['K=0', 'K=1', 'a=2']);
  bench.bad.clear();
  const [old, oldTo] = [bench.laneId(), bench.to()];
  let isFirst = true;
  bench.scripts.set('s', async (batch) => {
    if (batch.lane === undefined || !isFirst) return bench.answer(batch);
    isFirst = false;
    await deleteSubscription(bench.byHand(), 's');
    await bench.park();
    bench.bad.add('1');
    return { kind: 'done' };
  });
  await bench.drain(30_000);
  expect(isFirst).toBe(false);
  expect(bench.laneId().group.id).not.toBe(old.group.id);
  await bench.wake({ last: 2 });
  await bench.drain(1_000);
  expect(await bench.list()).toMatchObject([{ offset: 1 }]);
  await bench.wake({ lane: old.lane, to: oldTo });
  expect(await bench.sweep()).toEqual([]);
  const { positions, pending } = bench.host().backbone;
  expect(await positions.read(old)).toBeUndefined();
  expect((await pending.lanesOf(old.group, 10)).items).toEqual([]);
  bench.bad.clear();
  await bench.drain(30_000);
  expect(bench.given).toEqual(['2', '0', '2', '1']);
  await bench.expectNoneParked();
});
