import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Delivered, DeliveryBatch } from '../../../shared/domain/delivery.ts';
import { PENDING_GRACE_MS } from '../../../shared/domain/limits.ts';
import type { PositionId } from '../../../shared/domain/position.ts';
import type { Subscription, SubscriptionState } from '../../../shared/domain/subscription.ts';
import type { Pending, Subscriber, WakeUp } from '../../../shared/domain/wake-up.ts';
import { LANE_LOOKS_MAX } from '../../../shared/operations/sweep-lanes.ts';
import { CaughtUp, sweepWakeUps, type WakeSweepPorts } from '../../../shared/operations/sweep-wake-ups.ts';
import { deleteTopic } from '../../../shared/operations/topics.ts';
import { laneOf } from '../../../shared/wire/lane-of.ts';
import { openPushBench, type PushBench } from '../../support/push-bench.ts';

const MINUTE = 60_000;
const RETRY_MS = 20_000;
const error = { name: 'Error', message: 'no' };
const lane = laneOf(Buffer.from('K'));

let bench: PushBench;
let to: Subscriber;
beforeEach(async () => {
  bench = await openPushBench();
});
afterEach(() => bench.close());

/** Subscribes, and parks key `K`, whose wake-up is lost. */
async function park(change: Partial<Subscription> = {}): Promise<void> {
  const retry = { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: RETRY_MS };
  to = await bench.subscribe('s', { onFailure: 'park', retry, ...change });
  const refuse = ({ records: [first] }: DeliveryBatch): Delivered =>
    Buffer.from(first!.key!).toString() === 'K' ? { kind: 'failed', at: first!.offset, error } : { kind: 'done' };
  bench.scripts.set('s', refuse);
  await bench.append(['K=0', 'a=1']);
  await bench.wake({ last: 1 });
  await bench.drain(1_000);
  bench.queue.length = 0;
}
const laneId = () => ({ ...bench.positionId(), lane });
const laneAt = () => bench.host().backbone.positions.read(laneId());
const marks = async () => (await bench.host().backbone.pending.list(100)).items.map((mark) => mark.lane);
const woken = () => bench.queue.map(({ wakeUp }) => wakeUp);
const turn = async (state: SubscriptionState) => {
  const seen = await bench.subscription();
  await bench.host().backbone.subscriptions.change(seen, { ...seen, state });
};
/** Sweeps with ports of which some are replaced. */
async function sweepWith(change: Partial<WakeSweepPorts>): Promise<unknown[]> {
  const { ports, backbone } = bench.host();
  const { touched, pending, heads, lags } = backbone;
  const all = { ...ports, touched, pending, heads, lags, caughtUp: new CaughtUp(), ...change };
  return sweepWakeUps(all, bench.clock.now() + MINUTE);
}

describe('the sweep, of a parked key whose wake-up was lost', () => {
  it('wakes it when its time has come, and the message that was to be sent then has not', async () => {
    await park();
    await bench.sweep();
    bench.clock.pass(RETRY_MS);
    await bench.sweep();
    expect(woken()).toEqual([]);
    bench.clock.pass(PENDING_GRACE_MS);
    expect(await bench.sweep()).toEqual([]);
    expect(woken()).toEqual([{ topicId: bench.positionId().topicId, partition: 0, to, lane, hop: 0 }]);
  });

  it('has it delivered, and its mark goes with the lane', async () => {
    await park();
    expect(await marks()).toEqual([lane]);
    bench.scripts.delete('s');
    bench.clock.pass(MINUTE);
    await bench.sweep();
    await bench.drain();
    expect(bench.delivered().slice(-1)).toEqual([0]);
    expect(await laneAt()).toBeUndefined();
    expect(await marks()).toEqual([]);
    await bench.sweep();
    expect(woken()).toEqual([]);
  });

  it('wakes one that waits for longer than any message can', async () => {
    const waits = 5 * 60 * MINUTE;
    await park({ retry: { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: waits } });
    bench.clock.pass(waits + PENDING_GRACE_MS);
    await bench.sweep();
    expect(woken()).toMatchObject([{ lane }]);
  });

  it('wakes one that has come to where its partition is, and whose partition was not told', async () => {
    await park();
    bench.scripts.delete('s');
    bench.clock.pass(RETRY_MS);
    await bench.wake({ to, lane });
    expect((await laneAt())!.push).toMatchObject({ isReady: true });
    bench.queue.length = 0;
    await bench.sweep();
    expect(woken()).toMatchObject([{ lane }]);
    await bench.drain();
    expect(await laneAt()).toBeUndefined();
  });

  it('leaves it alone while somebody is at it, and looks again', async () => {
    await park();
    bench.clock.pass(MINUTE);
    const now = bench.clock.now();
    const seen = (await laneAt())!;
    const by = { owner: 'dead', epoch: seen.epoch + 1, until: now + 45_000, now };
    await bench.host().ports.pushPositions.take(laneId(), seen, by);
    await bench.sweep();
    expect(woken()).toEqual([]);
    bench.clock.pass(45_001);
    await bench.sweep();
    expect(woken()).toMatchObject([{ lane }]);
  });

  it('does not so much as look at one that was parked right now', async () => {
    await park();
    const read = async ({ lane }: PositionId) => {
      throw new Error(`of ${lane} nothing is to be read`);
    };
    expect(await sweepWith({ positions: { read } })).toEqual([]);
    bench.clock.pass(PENDING_GRACE_MS);
    expect(await sweepWith({ positions: { read } })).toHaveLength(1);
  });

  it.each(['paused', 'halted'] as const)('leaves it as it is while its subscription is %s', async (state) => {
    await park();
    await turn(state);
    bench.clock.pass(MINUTE);
    await bench.sweep();
    expect(woken()).toEqual([]);
    expect(await laneAt()).toBeDefined();
    expect(await marks()).toEqual([lane]);
    await turn('active');
    await bench.sweep();
    expect(woken()).toMatchObject([{ lane }]);
  });

  it('wakes it beside the position of its partition, each by its own mark', async () => {
    await park();
    await bench.append(['a=2']);
    const { topicId } = bench.positionId();
    bench.clock.pass(MINUTE);
    await bench.host().ports.pending.put({ to, topicId, partition: 0, dueAt: 0 });
    await bench.sweep();
    expect(woken()).toHaveLength(2);
    expect(woken()).toContainEqual({ topicId, partition: 0, to, last: 2, hop: 0 });
    await bench.drain(1_000);
    bench.queue.length = 0;
    await bench.sweep();
    expect(await marks()).toEqual([lane]);
  });

  it('looks at a bounded number of them, each of which has its turn, and they do not take the place of positions', async () => {
    await park();
    const { topicId } = bench.positionId();
    await bench.append(['a=2']);
    bench.clock.pass(MINUTE);
    const many = Array.from({ length: 2 * LANE_LOOKS_MAX + 10 }, (_, i): Pending => {
      return { topicId, to, partition: 0, dueAt: 0, lane: i.toString(16).padStart(16, '0') };
    });
    const items = [...many, { topicId, to, partition: 0, dueAt: 0 }];
    const sent: WakeUp[] = [];
    const failures = await sweepWith({
      pending: { list: async () => ({ items }), remove: async () => {}, put: async () => {} },
      positions: { read: async () => ({ epoch: 1, committed: 0 }) },
      wakeQueue: { wake: async (wakeUps) => void sent.push(...wakeUps) },
    });
    expect(failures).toEqual([]);
    const lanes = sent.flatMap(({ lane }) => (lane === undefined ? [] : [Number.parseInt(lane, 16)]));
    expect(new Set(lanes).size).toBe(LANE_LOOKS_MAX);
    // Half of them, if all are as likely.
    const late = lanes.filter((lane) => lane >= LANE_LOOKS_MAX).length;
    expect(late).toBeGreaterThan(LANE_LOOKS_MAX / 3);
    expect(late).toBeLessThan((LANE_LOOKS_MAX * 2) / 3);
    expect(sent.filter((wakeUp) => wakeUp.lane === undefined)).toHaveLength(1);
  });
});

describe('the sweep wakes the parked keys that it has met', () => {
  const listing = (more: () => Promise<{ readonly items: []; readonly next: string }>) => {
    const { pending } = bench.host().backbone;
    return {
      list: async (limit: number, after?: string) =>
        after === 'more' ? more() : { items: (await pending.list(limit)).items, next: 'more' },
      remove: async () => {},
      put: async () => {},
    };
  };
  beforeEach(async () => {
    await park();
    bench.clock.pass(MINUTE);
  });

  it('though others could not be listed', async () => {
    const pending = listing(async () => {
      throw new Error('throttled');
    });
    await expect(sweepWith({ pending })).rejects.toThrow('throttled');
    expect(woken()).toMatchObject([{ lane }]);
  });

  it('though there are more than it can list in its time', async () => {
    const pending = listing(async () => {
      bench.clock.pass(1_000);
      return { items: [], next: 'more' };
    });
    expect(await sweepWith({ pending })).toEqual([]);
    expect(woken()).toMatchObject([{ lane }]);
  });
});

describe('the sweep removes what is left of a parked key', () => {
  const expectNothing = async () => {
    expect(await bench.sweep()).toEqual([]);
    expect(woken()).toEqual([]);
    expect(await laneAt()).toBeUndefined();
    expect(await marks()).toEqual([]);
  };
  const expectAsItWas = async () => {
    expect(await bench.sweep()).toEqual([]);
    expect(await laneAt()).toBeDefined();
    expect(await marks()).toEqual([lane]);
  };

  it('whose subscription is deleted, also where one of the same name was made since', async () => {
    await park();
    const id = laneId();
    await bench.host().backbone.subscriptions.delete(id.group, bench.clock.now());
    await bench.subscribe();
    expect(bench.positionId().group.id).not.toBe(id.group.id);
    expect(await bench.sweep()).toEqual([]);
    expect(await bench.host().backbone.positions.read(id)).toBeUndefined();
    expect(await marks()).toEqual([]);
  });

  it('whose topic is deleted, before it is purged, and also of a subscription that is halted', async () => {
    await park();
    await turn('halted');
    await deleteTopic(bench.host().backbone, 't');
    await expectNothing();
  });

  it('whose partition has no head any more', async () => {
    await park();
    await bench.host().backbone.heads.remove(bench.positionId());
    await expectNothing();
  });

  it('of a topic that is named no more, when its position is gone: not before', async () => {
    await park();
    const seen = await bench.subscription();
    await bench.host().backbone.subscriptions.change(seen, { ...seen, topics: ['other'] });
    bench.clock.pass(MINUTE);
    await expectAsItWas();
    expect(woken()).toEqual([]);
    // As one that broke off would leave it.
    const { positions } = bench.host().backbone;
    const { parked: _, ...position } = (await positions.read(bench.positionId()))!;
    const changed = { committed: position.committed, epoch: position.epoch + 1 };
    await positions.change(bench.positionId(), { ...position, parked: new Set() }, changed);
    await positions.remove(bench.positionId());
    await expectNothing();
  });

  it('whose lane is gone, but nothing because a replica has not got it yet', async () => {
    await park();
    bench.clock.pass(MINUTE);
    const { positions } = bench.host().backbone;
    const read: typeof positions.read = async (id, strong) => (strong === false ? undefined : positions.read(id));
    expect(await sweepWith({ positions: { read } })).toEqual([]);
    expect(woken()).toMatchObject([{ lane }]);
    await expectAsItWas();
    expect(await sweepWith({ positions: { read: async () => undefined } })).toEqual([]);
    expect(await marks()).toEqual([]);
  });
});
