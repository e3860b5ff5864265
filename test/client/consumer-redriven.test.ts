import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import type { ConsumerOptions } from '../../client/consumer-options.ts';
import type { ReceivedMessage, RunOptions } from '../../client/index.ts';
import { Vertebra } from '../../client/vertebra.ts';
import { type LocalBackbone, startLocalBackbone } from '../../local/embedding.ts';

let backbone: LocalBackbone;
let client: Vertebra;
beforeAll(async () => {
  backbone = await startLocalBackbone();
  client = new Vertebra({ endpoint: backbone.url });
});
afterAll(() => backbone.dispose());

let made = 0;
/** A topic of one partition with so many numbers, and a consumer of it. */
async function consumed(count: number, handlers: RunOptions<number>, options: Partial<ConsumerOptions<number>> = {}) {
  const topic = `topic-${made++}`;
  const groupId = `group-of-${topic}`;
  await client.admin().createTopics({ topics: [{ topic, numPartitions: 1 }] });
  await client.producer().send({ topic, messages: Array.from({ length: count }, (_, value) => ({ value })) });
  const handlerRetry = { maxAttempts: 2, minBackoffMs: 1, maxBackoffMs: 5 };
  const consumer = client.consumer<number>({ groupId, maxPollMs: 50, minPollMs: 5, handlerRetry, ...options });
  onTestFinished(() => consumer.stop({ timeoutMs: 0 }));
  const dead: { offset: number; attempts: number }[] = [];
  consumer.on('dead.letter', ({ offset, attempts }) => dead.push({ offset, attempts }));
  await consumer.subscribe({ topic });
  await consumer.run(handlers);
  const admin = client.admin();
  return {
    ...{ topic, groupId, consumer, dead },
    letters: async () => (await admin.listDeadLetters({ groupId })).deadLetters,
    redrive: (change: object = { filter: {} }) => admin.redriveDeadLetters({ groupId, ...change }),
    lag: async () => (await admin.describeGroup(groupId)).offsets[0]!.lag,
  };
}

const brief = ({ value, redriven }: ReceivedMessage<number>) => `${value} ${redriven}`;

describe('a redriven record', () => {
  it('is handled as any, is gone when it is done, and fails again with its history', async () => {
    const seen: string[] = [];
    let isMended = false;
    const bench = await consumed(4, {
      eachMessage: ({ message }) => {
        seen.push(brief(message));
        if (message.value === 3 || (message.value === 1 && !isMended)) throw new Error('no');
      },
    });
    await expect.poll(() => bench.dead.length, { timeout: 20_000 }).toBe(2);
    expect(seen).toEqual(['0 0', '1 0', '1 0', '2 0', '3 0', '3 0']);
    isMended = true;
    expect(await bench.redrive()).toEqual({ redriving: 2, more: false });
    await expect.poll(() => bench.dead, { timeout: 20_000 }).toHaveLength(3);
    expect(seen.slice(6)).toEqual(['1 1', '3 1', '3 1']);
    await expect.poll(bench.letters, { timeout: 20_000 }).toHaveLength(1);
    expect(await bench.letters()).toMatchObject([
      { offset: 3, redrives: 1, attempts: 4, state: 'stored', history: [{ error: { message: 'no' } }] },
    ]);
    expect(await bench.lag()).toBe(0);
  });

  it('is handled as it was corrected, before what is new, and in a batch of its own', async () => {
    const batches: unknown[][] = [];
    let isMended = false;
    const bench = await consumed(
      1,
      {
        eachBatchAutoResolve: false,
        eachBatch: ({ batch, resolveOffset }) => {
          batches.push(batch.messages.map((message) => [message.value, message.header('mended'), message.redriven]));
          if (!isMended) throw new Error('no');
          for (const { offset } of batch.messages) resolveOffset(offset);
        },
      },
      { onFailure: 'deadLetter', commit: 'manual' },
    );
    await expect.poll(bench.letters, { timeout: 20_000 }).toHaveLength(1);
    isMended = true;
    batches.length = 0;
    const [letter] = await bench.letters();
    bench.consumer.pause([{ topic: bench.topic }]);
    await bench.redrive({ records: [{ id: letter!.id, value: 7, headers: { mended: 'yes' } }] });
    const shown = await client.admin().getDeadLetter({ groupId: bench.groupId, id: letter!.id });
    expect(shown).toMatchObject({ value: 0, corrected: { value: 7 }, state: 'redriving' });
    await client.producer().send({ topic: bench.topic, messages: [{ value: 1 }] });
    bench.consumer.resume([{ topic: bench.topic }]);
    await expect
      .poll(() => batches.flat(), { timeout: 20_000 })
      .toEqual([
        [7, 'yes', 1],
        [1, undefined, 0],
      ]);
    await expect.poll(bench.letters, { timeout: 20_000 }).toEqual([]);
  });

  it('stops no consumer that halts on failures, and is told as done by one that stops', async () => {
    let fails = true;
    const bench = await consumed(1, { eachMessage: () => (fails ? Promise.reject(new Error('no')) : undefined) });
    await expect.poll(() => bench.dead.length, { timeout: 20_000 }).toBe(1);
    await bench.consumer.stop();
    const seen: string[] = [];
    const halting = client.consumer<number>({
      groupId: bench.groupId,
      maxPollMs: 50,
      minPollMs: 5,
      onFailure: 'halt',
      handlerRetry: { maxAttempts: 1 },
    });
    onTestFinished(() => halting.stop({ timeoutMs: 0 }));
    await halting.subscribe({ topic: bench.topic });
    await halting.run({
      eachMessage: ({ message }) => {
        seen.push(brief(message));
        if (fails) throw new Error('still not');
        void halting.stop();
      },
    });
    await bench.redrive();
    await expect.poll(async () => (await bench.letters())[0], { timeout: 20_000 }).toMatchObject({ redrives: 1 });
    expect(halting.memberId).toBeDefined();
    fails = false;
    await bench.redrive();
    await expect.poll(bench.letters, { timeout: 20_000 }).toEqual([]);
    expect(seen).toEqual(['0 1', '0 2']);
  });
});
