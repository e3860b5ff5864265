import { expect } from 'vitest';
import type { Scenario } from './scenario.ts';
import type { Trial } from './trial.ts';

/** What the consumer makes of a record. */
interface Received {
  readonly from: string;
  readonly value: unknown;
}
interface DeadLetter {
  readonly id: string;
  readonly offset: number;
  readonly value: unknown;
  readonly error: { readonly message: string };
}

/** One attempt, so that what cannot be handled is a dead letter at once. */
const ONCE = { maxAttempts: 1, minBackoffMs: 10, maxBackoffMs: 10 };

/** Subscribes the deployed consumer, which appends what it gets to a topic of its own. */
async function subscribe(trial: Trial, name: string, topic: string, more: object = {}) {
  const subscription = trial.named(name);
  const received = await trial.topic(name, { partitions: 1 }, '-received');
  const target = { lambda: { functionArn: await trial.target.consumer!() } };
  const path = `/v1/subscriptions/${subscription}`;
  trial.removeLater(path);
  await trial.json('PUT', path, { body: { topics: [topic], from: 'earliest', target, ...more } }, 201);
  /** What has arrived, once it is so much: each record once, though a batch that failed comes again. */
  const arrived = async (count: number): Promise<readonly Received[]> => {
    const first = new Map<string, Received>();
    await trial.until(`${count} records to arrive from ${topic}`, async () => {
      for (const { value } of await trial.records(received, 0)) {
        const { from } = value as Received;
        if (!first.has(from)) first.set(from, value as Received);
      }
      return first.size >= count;
    });
    return [...first.values()];
  };
  return { path, arrived };
}

async function deadLetters(trial: Trial, path: string): Promise<readonly DeadLetter[]> {
  return (await trial.json<{ deadLetters: DeadLetter[] }>('GET', `${path}/dead-letters`)).deadLetters;
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
  {
    name: 'two functions that subscribe are handed everything, each for itself, and a filter holds back the rest',
    needs: ['consumer'],
    async run(trial) {
      const topic = await trial.topic('both');
      const all = await subscribe(trial, 'all', topic);
      const some = await subscribe(trial, 'some', topic, { filter: { value: { type: ['wanted'] } } });
      await trial.produce(
        topic,
        ['other', 'wanted', 'other', 'wanted'].map((type) => ({ value: { type } })),
      );
      expect((await all.arrived(4)).map(({ from }) => from)).toEqual([0, 1, 2, 3].map((n) => `${topic}-0:${n}`));
      expect((await some.arrived(2)).map(({ from }) => from)).toEqual([1, 3].map((n) => `${topic}-0:${n}`));
    },
  },
  {
    name: 'what cannot be handled is a dead letter; redriven when it can be, it arrives, and is one no more',
    needs: ['consumer'],
    async run(trial) {
      const topic = await trial.topic('faulty');
      const { path, arrived } = await subscribe(trial, 'careful', topic, { retry: ONCE });
      const value = { refuse: 'unless-mended' };
      await trial.produce(topic, [{ value: 0 }, { value }, { value: 2 }]);
      expect((await arrived(2)).map((each) => each.value)).toEqual([0, 2]);
      const [letter, ...others] = await deadLetters(trial, path);
      expect(others).toEqual([]);
      expect(letter).toMatchObject({ offset: 1, value, attempts: 1, state: 'stored' });
      expect(letter!.error.message).toContain('cannot be handled');

      await trial.topic('careful', { partitions: 1 }, '-mended');
      const body = { ids: [letter!.id] };
      const redriven = await trial.json('POST', `${path}/dead-letters/redrive`, { body }, 202);
      expect(redriven).toMatchObject({ redriving: 1 });
      expect((await arrived(3)).at(-1)).toEqual({ from: `${topic}-0:1`, value });
      await trial.until('no dead letter', async () => (await deadLetters(trial, path)).length === 0);
    },
  },
  {
    name: 'a dead letter is told on the queue of dead letters',
    needs: ['consumer', 'dead-letter-queue'],
    async run(trial) {
      const topic = await trial.topic('told');
      const { path } = await subscribe(trial, 'teller', topic, { retry: ONCE });
      await trial.produce(topic, [{ value: { refuse: true } }]);
      await trial.until('a dead letter', async () => (await deadLetters(trial, path)).length === 1);
      const [{ id }] = (await deadLetters(trial, path)) as [DeadLetter];
      const told: unknown[] = [];
      await trial.until('its message', async () => {
        const bodies = await trial.target.takeDeadLetterMessages!();
        told.push(...bodies.map((body) => JSON.parse(body) as unknown));
        return told.some((message) => (message as { id?: string }).id === id);
      });
      expect(told).toContainEqual(expect.objectContaining({ id, topic, partition: 0, offset: 0 }));
    },
  },
  {
    name: 'a paused subscription is handed nothing; resumed, everything',
    needs: ['consumer'],
    async run(trial) {
      const topic = await trial.topic('paused');
      const { path, arrived } = await subscribe(trial, 'sleeper', topic);
      expect(await trial.json('POST', `${path}/pause`)).toMatchObject({ state: 'paused' });
      await trial.produce(topic, [{ value: 'meanwhile' }]);
      expect(await trial.json('GET', path)).toMatchObject({ state: 'paused', partitions: [{ lag: 1 }] });
      expect(await trial.json('POST', `${path}/resume`)).toMatchObject({ state: 'active' });
      expect(await arrived(1)).toEqual([{ from: `${topic}-0:0`, value: 'meanwhile' }]);
    },
  },
  {
    name: 'a retry whose wake-up was lost is found by the sweep',
    needs: ['consumer', 'wake-queue', 'sweep'],
    async run(trial) {
      const topic = await trial.topic('lost');
      const retry = { maxAttempts: 100, minBackoffMs: 20_000, maxBackoffMs: 20_000 };
      const { path, arrived } = await subscribe(trial, 'forgotten', topic, { retry });
      await trial.produce(topic, [{ value: { refuse: 'unless-mended' } }]);
      await trial.until('a failure', async () => {
        const { lastError } = await trial.json<{ lastError?: unknown }>('GET', path);
        return lastError !== undefined && lastError !== null;
      });
      await trial.target.loseWakeUps!();
      await trial.topic('forgotten', { partitions: 1 }, '-mended');
      await trial.target.sweep!();
      expect(await arrived(1)).toEqual([{ from: `${topic}-0:0`, value: { refuse: 'unless-mended' } }]);
    },
  },
];
