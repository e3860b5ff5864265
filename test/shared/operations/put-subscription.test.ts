import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CONFIGURATION_CACHE_MS } from '../../../shared/domain/limits.ts';
import type { WakeUp } from '../../../shared/domain/wake-up.ts';
import { WriteFailed } from '../../../shared/domain/write-failed.ts';
import { putSubscription, type SubscriptionWish } from '../../../shared/operations/put-subscription.ts';
import type { SubscriptionPorts } from '../../../shared/operations/subscription-ports.ts';
import { CaughtUp, sweepWakeUps } from '../../../shared/operations/sweep-wake-ups.ts';
import { unsubscribeTopic } from '../../../shared/operations/unsubscribe-topic.ts';
import { SUBSCRIPTION_DEFAULTS } from '../../../shared/wire/subscription-requests.ts';
import { append, type Host, type LogBench, makeTopic, openLogBench } from '../../support/log-bench.ts';

const failing = async () => {
  throw new WriteFailed('unreachable', true, new Error('no answer'));
};

describe('a PUT of a subscription', () => {
  let bench: LogBench;
  let host: Host;
  let woken: WakeUp[];
  let switched: boolean[];
  beforeEach(async () => {
    bench = await openLogBench();
    host = bench.host();
    await makeTopic(host, 't', { partitions: 2 });
    [woken, switched] = [[], []];
  });
  afterEach(() => bench.close());

  const wakeQueue = { wake: async (wakeUps: readonly WakeUp[]) => void woken.push(...wakeUps) };
  const put = (change: Partial<SubscriptionPorts> = {}, wish: Partial<SubscriptionWish> = {}) => {
    const ports: SubscriptionPorts = {
      ...host.backbone,
      wakeQueue,
      targets: { check: async () => ({}) },
      deliveries: { switch: async (on) => void switched.push(on) },
      newSecret: () => 'whsec_',
      ...change,
    };
    const whole = { topics: ['t'], target: { lambda: { functionArn: 'f' } }, from: 'earliest' as const, ...wish };
    return putSubscription(ports, 's', whole, SUBSCRIPTION_DEFAULTS, () => {});
  };
  const pending = async () => (await host.backbone.pending.list(10)).items.map(({ partition }) => partition);
  const sweep = () =>
    sweepWakeUps({ ...host.backbone, wakeQueue, caughtUp: new CaughtUp() }, bench.clock.now() + 60_000);

  it('that broke off before its marks is completed with them: a backlog needs no append to be delivered', async () => {
    await expect(
      put({ pending: Object.assign(Object.create(host.backbone.pending), { put: failing }) }),
    ).rejects.toThrow();
    expect(await pending()).toEqual([]);
    await put();
    expect(await pending()).toEqual([0, 1]);
  });

  it('that broke off before deliveries were switched on is completed with that', async () => {
    await expect(put({ deliveries: { switch: failing } })).rejects.toThrow();
    await put();
    expect(switched).toEqual([true]);
  });

  it('keeps its partitions in sight until no process has a copy of the topic from before', async () => {
    await put({ wakeQueue: { wake: failing } });
    bench.clock.pass(CONFIGURATION_CACHE_MS - 1);
    await sweep();
    expect(await pending()).toEqual([0, 1]);
    // By such a process: it tells nobody.
    await append(host, 't', 'a', 1, 1);
    bench.clock.pass(60_000);
    await sweep();
    expect(woken).toMatchObject([{ partition: 1, last: 0 }]);
    expect(await pending()).toEqual([1]);
  });

  describe('and the last that goes', () => {
    const isTold = async () => (await host.backbone.topics.fresh('t')).subscribed === true;
    const leave = async (change: object = {}) => {
      const { group } = (await host.backbone.subscriptions.read('s'))!;
      const [topic] = await host.backbone.groupTopics.all(group);
      await unsubscribeTopic({ ...host.backbone, ...change }, group, topic!);
    };

    it('has appends told to nobody any more', async () => {
      await put();
      expect(await isTold()).toBe(true);
      await leave();
      expect(await isTold()).toBe(false);
    });

    it('leaves them told where somebody subscribes, or does so at any moment meanwhile', async () => {
      const { topicItems, subscribers } = host.backbone;
      const { id } = await host.backbone.topics.fresh('t');
      const other = { group: { name: 'other', id: '01BX5ZZKBKACTAV9WEVGEMMVRY' }, topic: 't', known: 2 };
      const comes = async () => {
        await subscribers.put(id, other);
        await topicItems.markSubscribed({ name: 't', id });
      };
      const marksOf: typeof topicItems.marksOf = async (topic) => {
        const marks = await topicItems.marksOf(topic);
        await comes();
        return marks;
      };
      const of: typeof subscribers.of = async (topicId) => {
        const all = await subscribers.of(topicId);
        await comes();
        return all;
      };
      const unmarkSubscribed = topicItems.unmarkSubscribed.bind(topicItems);
      for (const change of [
        { topicItems: { marksOf, unmarkSubscribed } },
        { subscribers: { of, remove: subscribers.remove.bind(subscribers) } },
      ]) {
        await put();
        await leave(change);
        expect(await isTold()).toBe(true);
        await leave();
        expect(await isTold()).toBe(true);
        await subscribers.remove(id, other.group);
      }
    });
  });
});
