import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { bytes } from '../../client/codec.ts';
import type { Consumer } from '../../client/consumer.ts';
import type { RunOptions } from '../../client/consumer-handlers.ts';
import type { ConsumerOptions } from '../../client/consumer-options.ts';
import { Vertebra } from '../../client/vertebra.ts';
import { type LocalBackbone, startLocalBackbone } from '../../local/embedding.ts';
import { gate, recordEvents } from '../support/consumer-bench.ts';
import { openFaultyProxy, problem } from '../support/faulty-proxy.ts';

let backbone: LocalBackbone;
let client: Vertebra;
beforeAll(async () => {
  backbone = await startLocalBackbone();
  client = new Vertebra({ endpoint: backbone.url });
});
afterAll(() => backbone.dispose());

let made = 0;
/** A topic and the name of a group for it. */
async function place(numPartitions: number) {
  const topic = `topic-${made++}`;
  await client.admin().createTopics({ topics: [{ topic, numPartitions }] });
  return { topic, groupId: `group-of-${topic}` };
}

/** Numbers `from` to `to`, each with a key of its own, so that they spread over the partitions. */
async function produce(topic: string, from: number, to: number): Promise<void> {
  const messages = Array.from({ length: to - from }, (_, i) => ({ key: `key-${from + i}`, value: from + i }));
  const producer = client.producer();
  await producer.send({ topic, messages });
  await producer.close();
}

async function run<T = number>(
  topic: string,
  options: ConsumerOptions<T>,
  handlers: RunOptions<T>,
  through: Vertebra = client,
): Promise<Consumer<T>> {
  const consumer = through.consumer<T>({ maxPollMs: 200, ...options });
  onTestFinished(() => consumer.stop({ timeoutMs: 0 }));
  await consumer.subscribe({ topic });
  await consumer.run(handlers);
  return consumer;
}

async function until(condition: () => boolean | Promise<boolean>, withinMs = 20_000): Promise<void> {
  const giveUpAt = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > giveUpAt) throw new Error(`not so within ${withinMs} ms: ${condition}`);
    await sleep(20);
  }
}

/** Whether everything in the topic is committed, and no more. */
async function isAllCommitted(groupId: string): Promise<boolean> {
  const { offsets } = await client.admin().describeGroup(groupId);
  return offsets.every(({ committed, highWatermark, lag }) => committed === highWatermark && lag === 0);
}

/** Sets the backbone's clock ahead in steps that a session survives whose member is alive. */
async function letTimePass(ms: number, alive: Consumer<number>): Promise<void> {
  for (let passed = 0; passed < ms; passed += 8_000) {
    await backbone.advance(8_000);
    let calls = 0;
    const forget = [alive.on('fetch', () => void calls++), alive.on('heartbeat', () => void calls++)];
    await until(() => calls >= 2);
    for (const one of forget) one();
  }
}

describe('two consumers of eight partitions', () => {
  it('share them; one stops and one dies, and every record is seen, and its offset committed', async () => {
    const { topic, groupId } = await place(8);
    const seen = new Map<number, number>();
    const eachMessage: RunOptions<number>['eachMessage'] = async ({ message }) =>
      void seen.set(message.value!, (seen.get(message.value!) ?? 0) + 1);
    const first = await run(topic, { groupId }, { eachMessage });
    const second = await run(topic, { groupId }, { eachMessage });
    await until(() => first.assignment().length === 4 && second.assignment().length === 4);
    await produce(topic, 0, 400);
    await until(() => seen.size === 400);
    await second.stop();
    await until(() => first.assignment().length === 8);
    await produce(topic, 400, 800);
    await until(() => seen.size === 800);
    expect([...seen.values()].every((times) => times === 1)).toBe(true); // nobody had to see anything twice so far

    let cut = false;
    const doomed = new Vertebra({
      endpoint: backbone.url,
      fetch: (...call) => (cut ? Promise.reject(new TypeError('fetch failed')) : fetch(...call)),
    });
    const third = await run(topic, { groupId }, { eachMessage }, doomed);
    await until(() => first.assignment().length === 4 && third.assignment().length === 4);
    cut = true;
    await produce(topic, 800, 1_200);
    await letTimePass(48_000, first);
    await until(() => first.assignment().length === 8 && seen.size === 1_200);
    await until(() => isAllCommitted(groupId));
    cut = false;
  });
});

describe('a static member', () => {
  it('that restarts has its partitions again at once, and nobody else notices', async () => {
    const { topic, groupId } = await place(4);
    const seen: number[] = [];
    const eachMessage: RunOptions<number>['eachMessage'] = async ({ message }) => void seen.push(message.value!);
    const other = await run(topic, { groupId, instanceId: 'b' }, { eachMessage });
    const before = await run(topic, { groupId, instanceId: 'a' }, { eachMessage });
    await until(() => before.assignment().length === 2 && other.assignment().length === 2);
    const held = before.assignment();
    const { rebalance } = recordEvents(other, 'rebalance');
    await before.stop();
    await produce(topic, 0, 100);
    const after = await run(topic, { groupId, instanceId: 'a' }, { eachMessage });
    expect(after.assignment().map(({ partition }) => partition)).toEqual(held.map(({ partition }) => partition));
    await until(() => seen.length === 100);
    await until(() => isAllCommitted(groupId));
    expect(rebalance).toEqual([]);
  });

  it('whose name another session takes ends with instance_fenced', async () => {
    const { topic, groupId } = await place(1);
    const first = await run(topic, { groupId, instanceId: 'a' }, { eachMessage: () => {} });
    const { stop } = recordEvents(first, 'stop');
    await run(topic, { groupId, instanceId: 'a' }, { eachMessage: () => {} });
    await until(() => stop.length === 1);
    expect(stop[0]!.error).toMatchObject({ code: 'instance_fenced', status: 409 });
  });
});

describe('under a network that loses requests and answers', () => {
  it('every record is seen, in order, none is skipped, and the commits are exact', async () => {
    const { topic, groupId } = await place(4);
    const proxy = await openFaultyProxy(backbone.url);
    onTestFinished(() => proxy.close());
    let dice = 17;
    proxy.fault = ({ method }) => {
      dice = (dice * 48_271) % 2_147_483_647;
      if (method !== 'POST' || dice % 10 > 3) return undefined;
      const faults = [
        'lose',
        'drop',
        problem(503, 'unavailable', { retryAfterMs: 1 }),
        problem(429, 'throttled'),
      ] as const;
      return faults[dice % 4];
    };
    const flaky = new Vertebra({ endpoint: proxy.url, retry: { minBackoffMs: 10, maxBackoffMs: 50 } });
    const seen = new Map<number, number[]>();
    const options = { groupId, maxRecords: 20 };
    const handlers: RunOptions<number> = {
      partitionsConsumedConcurrently: 2,
      eachMessage: async ({ partition, message }) => {
        seen.set(partition, [...(seen.get(partition) ?? []), message.offset]);
      },
    };
    await produce(topic, 0, 300);
    const first = await run(topic, options, handlers, flaky);
    await run(topic, options, handlers, flaky);
    await produce(topic, 300, 600);
    await until(() => isAllCommitted(groupId), 25_000);
    await first.stop();
    await produce(topic, 600, 700);
    await until(async () => (await isAllCommitted(groupId)) && total(seen) === 700, 25_000);
    for (const offsets of seen.values()) {
      const first = offsets.filter((offset, i) => offsets.indexOf(offset) === i);
      expect(first).toEqual(first.map((_, i) => i)); // whatever came again, each came first in its turn
    }
  });
});

const total = (seen: ReadonlyMap<number, number[]>) =>
  [...seen.values()].reduce((sum, offsets) => sum + new Set(offsets).size, 0);

describe('a record that always fails', () => {
  it('is listed as a dead letter of the group, with its value and what went wrong', async () => {
    const { topic, groupId } = await place(1);
    await produce(topic, 0, 5);
    const seen: number[] = [];
    const handlerRetry = { maxAttempts: 3, minBackoffMs: 1, maxBackoffMs: 5 };
    await run(
      topic,
      { groupId, handlerRetry },
      {
        eachMessage: async ({ message }) => {
          if (message.value === 2) throw new RangeError('two');
          seen.push(message.value!);
        },
      },
    );
    await until(() => isAllCommitted(groupId));
    expect(seen).toEqual([0, 1, 3, 4]);
    const { deadLetters } = await client.admin().listDeadLetters({ groupId });
    const error = { name: 'RangeError', message: 'two' };
    expect(deadLetters).toMatchObject([{ topic, partition: 0, offset: 2, key: 'key-2', value: 2, attempts: 3, error }]);
  });
});

describe('a slow handler', () => {
  it('keeps its partition beyond the session, and what it did is committed', async () => {
    const { topic, groupId } = await place(1);
    await produce(topic, 0, 2);
    const slow = gate();
    const seen: number[] = [];
    const consumer = await run(
      topic,
      { groupId, sessionTimeoutMs: 6_000 },
      {
        eachMessage: async ({ message }) => {
          seen.push(message.value!);
          await slow.passed;
        },
      },
    );
    const { rebalance } = recordEvents(consumer, 'rebalance');
    await until(() => seen.length === 1);
    const { memberId } = consumer;
    for (let i = 0; i < 2; i++) {
      let beats = 0;
      const forget = consumer.on('heartbeat', () => void beats++);
      await backbone.advance(4_000);
      await until(() => beats > 0, 15_000);
      forget();
    }
    slow.open();
    await until(() => isAllCommitted(groupId));
    expect(seen).toEqual([0, 1]);
    expect(consumer.memberId).toBe(memberId);
    expect(rebalance).toEqual([]);
  });
});

describe('a topic', () => {
  it('that grows under a running group is read from the first record of its new partitions', async () => {
    const { topic, groupId } = await place(2);
    const seen = new Set<number>();
    await run(
      topic,
      { groupId, autoOffsetReset: 'latest' },
      { eachMessage: async ({ message }) => void seen.add(message.value!) },
    );
    await client.admin().createPartitions({ topicPartitions: [{ topic, count: 6 }] } as never);
    await produce(topic, 0, 200);
    await until(() => seen.size === 200);
    await until(() => isAllCommitted(groupId));
  });

  it('of more partitions than a call takes or looks at is read as a whole', async () => {
    const { topic, groupId } = await place(70);
    await produce(topic, 0, 500);
    const seen = new Set<number>();
    const eachMessage: RunOptions<number>['eachMessage'] = async ({ message }) => void seen.add(message.value!);
    const consumer = await run(topic, { groupId }, { eachMessage });
    await until(() => seen.size === 500);
    expect(consumer.assignment()).toHaveLength(70);
    await produce(topic, 500, 700);
    await until(() => seen.size === 700);
    await until(() => isAllCommitted(groupId));
  });

  it('that the group never had is refused to who has no default for it, and nobody is a member then', async () => {
    const { topic, groupId } = await place(1);
    const consumer = client.consumer({ groupId, autoOffsetReset: 'none' });
    await consumer.subscribe({ topic });
    const running = consumer.run({ eachMessage: () => {} });
    await expect(running).rejects.toMatchObject({ code: 'no_committed_offset', status: 409 });
    expect((await client.admin().describeGroup(groupId)).members).toEqual([]);
  });

  it('that does not exist is told by run; nothing is joined', async () => {
    const consumer = client.consumer({ groupId: 'nobody' });
    await consumer.subscribe({ topics: ['no-such-topic'] });
    const running = consumer.run({ eachMessage: () => {} });
    await expect(running).rejects.toMatchObject({ code: 'topic_not_found', status: 404 });
  });

  it('that is deleted under a running group is told, and does not stop the other one', async () => {
    const doomed = await place(1);
    const { topic, groupId } = await place(1);
    const seen: number[] = [];
    const consumer = client.consumer<number>({ groupId, maxPollMs: 200 });
    onTestFinished(() => consumer.stop({ timeoutMs: 0 }));
    const told = recordEvents(consumer, 'topic.error', 'crash');
    await consumer.subscribe({ topics: [doomed.topic, topic] });
    await consumer.run({ eachMessage: async ({ message }) => void seen.push(message.value!) });
    await client.admin().deleteTopics({ topics: [doomed.topic] });
    await until(() => told['topic.error'].length > 0, 25_000);
    expect(told['topic.error'][0]).toMatchObject({ topic: doomed.topic, error: { code: 'topic_not_found' } });
    await produce(topic, 0, 3);
    await until(() => seen.length === 3);
    expect(told.crash).toEqual([]);
  }, 40_000);
});

describe('retention that was faster than the group', () => {
  it('is told with the number of records gone', async () => {
    const { topic, groupId } = await place(1);
    await client.admin().setRetention({ topic, retentionMs: 3_600_000 });
    await produce(topic, 0, 10);
    const seen: number[] = [];
    const eachMessage: RunOptions<number>['eachMessage'] = async ({ message }) => void seen.push(message.value!);
    const first = await run(topic, { groupId, maxRecords: 4 }, { eachMessage });
    await until(() => isAllCommitted(groupId));
    await first.stop();
    await produce(topic, 10, 30);
    await backbone.advance(2 * 3_600_000);
    await produce(topic, 30, 33);
    const standing = client.consumer<number>({ groupId, maxPollMs: 200 });
    const { 'offset.out_of_range': told } = recordEvents(standing, 'offset.out_of_range');
    await standing.subscribe({ topic });
    await standing.run({ eachMessage });
    await until(() => told.length === 1);
    expect(told[0]).toMatchObject({ topic, partition: 0, position: 10, logStartOffset: 30, skipped: 20 });
    await standing.stop();
    expect(seen).toHaveLength(10);
    await run(topic, { groupId, onOutOfRange: 'earliest' }, { eachMessage });
    await until(() => isAllCommitted(groupId));
    expect(seen.slice(10)).toEqual([30, 31, 32]);
  }, 40_000);
});

describe('values', () => {
  it('come as the bytes that were stored, digits beyond 2^53 and white space too', async () => {
    const { topic, groupId } = await place(1);
    const texts = ['{ "id": 12345678901234567890 , "a":[1, 2]}', '"ü\\u00fc"', '-0.0e2', 'plain text', ''];
    const producer = client.producer<Uint8Array>({ codec: bytes() });
    const encode = (text: string) => new TextEncoder().encode(text);
    await producer.send({ topic, messages: texts.map((text) => ({ value: encode(text) })) });
    await producer.send({ topic, messages: [{ value: new Uint8Array([0xff, 0, 0x7b]) }, { key: 'k', value: null }] });
    await producer.close();
    const seen: (Uint8Array | null)[] = [];
    await run<Uint8Array>(
      topic,
      { groupId, codec: bytes() },
      { eachMessage: async ({ message }) => void seen.push(message.value) },
    );
    await until(() => seen.length === 7);
    expect(seen.slice(0, 5).map((value) => new TextDecoder().decode(value!))).toEqual(texts);
    expect(seen.slice(5)).toEqual([new Uint8Array([0xff, 0, 0x7b]), null]);
  });

  it('that were uploaded are downloaded when asked for, and verified', async () => {
    const { topic, groupId } = await place(1);
    const payload = crypto.getRandomValues(new Uint8Array(60_000));
    const producer = client.producer();
    await producer.send({ topic, messages: [{ key: 'big', value: await producer.upload(topic, payload) }] });
    await producer.close();
    const seen: unknown[] = [];
    await run<unknown>(
      topic,
      { groupId },
      {
        eachMessage: async ({ message, signal }) => {
          const chunks: Uint8Array[] = [];
          for await (const chunk of message.payloadStream({ signal })) chunks.push(chunk);
          seen.push(
            message.value,
            message.isTombstone,
            message.upload?.size,
            await message.payload(),
            Buffer.concat(chunks),
          );
        },
      },
    );
    await until(() => seen.length > 0);
    expect(seen.slice(0, 3)).toEqual([null, false, 60_000]);
    expect(Buffer.from(seen[3] as Uint8Array).equals(payload)).toBe(true);
    expect(Buffer.from(seen[4] as Uint8Array).equals(payload)).toBe(true);
  });
});
