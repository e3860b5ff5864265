import { expect } from 'vitest';
import type { Scenario } from './scenario.ts';
import type { Trial } from './trial.ts';

/** What the consumer makes of a record. */
interface Received {
  readonly from: string;
  readonly value: unknown;
}

/** Subscribes the deployed consumer, which appends what it gets to a topic of its own. */
async function subscribe(trial: Trial, name: string, topic: string, more: object = {}) {
  const subscription = trial.named(name);
  const received = await trial.topic(name, { partitions: 1 }, '-received');
  const target = { lambda: { functionArn: await trial.target.consumer!() } };
  const path = `/v1/subscriptions/${subscription}`;
  trial.removeLater(path);
  await trial.json('PUT', path, { body: { topics: [topic], from: 'earliest', target, ...more } }, 201);
  /** What has arrived, once it is so much. */
  const arrived = async (count: number) => (await trial.records(received, count)).map(({ value }) => value as Received);
  return { path, arrived };
}

/** Records that are pushed to a function. */
export const SUBSCRIPTIONS: readonly Scenario[] = [
  {
    name: 'a deployed function is handed what was there and what comes, in order',
    needs: ['consumer'],
    async run(trial) {
      const topic = await trial.topic('orders');
      await trial.produce(topic, [{ key: 'a', value: 1 }]);
      const { path, arrived } = await subscribe(trial, 'billing', topic);
      await trial.produce(topic, [
        { key: 'a', value: 2 },
        { key: 'a', value: { three: 3 } },
      ]);
      expect(await arrived(3)).toEqual(
        [1, 2, { three: 3 }].map((value, offset) => ({ from: `${topic}-0:${offset}`, value })),
      );
      await trial.until('no lag', async () => {
        const { partitions } = await trial.json<{ partitions: { lag: number }[] }>('GET', path);
        return partitions.every(({ lag }) => lag === 0);
      });
    },
  },
];
