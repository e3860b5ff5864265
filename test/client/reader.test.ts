import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { utf8, withSchema } from '../../client/codec.ts';
import type { ReaderOptions } from '../../client/reader.ts';
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
async function newTopic(values: readonly unknown[] = []): Promise<string> {
  const topic = `topic-${made++}`;
  await client.admin().createTopics({ topics: [{ topic, numPartitions: 1 }] });
  if (values.length > 0) await produce(topic, values);
  return topic;
}
async function produce(topic: string, values: readonly unknown[]): Promise<void> {
  const producer = client.producer();
  await producer.send({ topic, messages: values.map((value) => ({ value })) });
  await producer.close();
}
async function read(options: Omit<ReaderOptions<number>, 'partition'>): Promise<(number | null)[]> {
  const values: (number | null)[] = [];
  for await (const { value } of client.reader<number>({ partition: 0, ...options })) values.push(value);
  return values;
}
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i);

describe('a reader', () => {
  it('reads a partition to its end, from any offset, in pages of any size', async () => {
    const topic = await newTopic(range(0, 50));
    expect(await read({ topic })).toEqual(range(0, 50));
    expect(await read({ topic, offset: 33, maxRecords: 7 })).toEqual(range(33, 50));
    expect(await read({ topic, offset: 'latest' })).toEqual([]);
    expect(await read({ topic, offset: 50 })).toEqual([]);
  });

  it('goes on where its last loop ended', async () => {
    const topic = await newTopic(range(0, 10));
    const reader = client.reader<number>({ topic, partition: 0 });
    expect(reader.position).toBe('earliest');
    for await (const { value } of reader) if (value === 3) break;
    expect(reader.position).toBe(4);
    const rest: (number | null)[] = [];
    for await (const { value } of reader) rest.push(value);
    expect(rest).toEqual(range(4, 10));
    expect(reader.highWatermark).toBe(10);
  });

  it('follows until it is aborted', async () => {
    const topic = await newTopic([0]);
    const abort = new AbortController();
    const seen: (number | null)[] = [];
    const reader = client.reader<number>({ topic, partition: 0, follow: true, maxPollMs: 100, signal: abort.signal });
    const following = (async () => {
      for await (const { value } of reader) {
        seen.push(value);
        if (value === 2) abort.abort();
        else await produce(topic, [value! + 1]);
      }
    })();
    await expect(following).rejects.toMatchObject({ code: 'aborted' });
    expect(seen).toEqual([0, 1, 2]);
  });

  it('fails at an offset out of range, or jumps if it is told to', async () => {
    const topic = await newTopic(range(0, 5));
    await expect(read({ topic, offset: 9 })).rejects.toMatchObject({ code: 'offset_out_of_range', status: 416 });
    const logged: object[] = [];
    const logger = { debug() {}, info() {}, error() {}, warn: (_: string, data: object) => void logged.push(data) };
    const loud = new Vertebra({ endpoint: backbone.url, logger });
    const values: unknown[] = [];
    const options = { topic, partition: 0, offset: 9, onOutOfRange: 'earliest' } as const;
    for await (const { value } of loud.reader(options)) values.push(value);
    expect(values).toEqual(range(0, 5));
    expect(logged).toEqual([{ topic, partition: 0, from: 9, to: 0 }]);
  });

  it('stops at a record that it cannot decode, or tells of it and goes on', async () => {
    const topic = await newTopic([1, -1, 2]);
    const codec = withSchema({
      '~standard': {
        version: 1 as const,
        vendor: 'test',
        validate: (value: unknown) => (Number(value) > 0 ? { value: Number(value) } : { issues: [{ message: 'no' }] }),
      },
    });
    const reader = client.reader({ topic, partition: 0, codec });
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const { value } of reader) seen.push(value);
    })();
    await expect(reading).rejects.toMatchObject({ code: 'invalid_record' });
    expect([seen, reader.position]).toEqual([[1], 1]);
    const skipped: number[] = [];
    expect(await read({ topic, codec, onInvalid: (_, { offset }) => void skipped.push(offset) })).toEqual([1, 2]);
    expect(skipped).toEqual([1]);
  });

  it('gives a held read the time to be held, and what a request takes besides', async () => {
    const topic = await newTopic();
    const hasty = new Vertebra({ endpoint: backbone.url, requestTimeoutMs: 500, retry: { withinMs: 0 } });
    const reader = hasty.reader<number>({ topic, partition: 0, follow: true, longPollMs: 5_000 });
    const next = reader[Symbol.asyncIterator]().next();
    setTimeout(() => produce(topic, [7]), 1_000);
    expect((await next).value).toMatchObject({ value: 7 });
  });

  it('does not take a new topic of the same name for the one that it was reading', async () => {
    const topic = await newTopic(range(0, 3));
    const reader = client.reader<string>({ topic, partition: 0, codec: utf8() });
    for await (const _ of reader);
    await client.admin().deleteTopics({ topics: [topic] });
    await client.admin().createTopics({ topics: [{ topic, numPartitions: 1 }] });
    await produce(topic, range(0, 9));
    const later = async () => {
      for await (const _ of reader);
    };
    await expect
      .poll(() => later().catch((error: { code?: string }) => error.code), { timeout: 20_000 })
      .toBe('topic_replaced');
  });

  it('takes an offset with the incarnation of the topic that it belongs to', async () => {
    const topic = await newTopic(range(0, 3));
    const { id: topicId } = await client.admin().describeTopic(topic);
    const read = async (of: string) => {
      const offsets: number[] = [];
      for await (const { offset } of client.reader({ topic, topicId: of, partition: 0, offset: 1 }))
        offsets.push(offset);
      return offsets;
    };
    expect(await read(topicId)).toEqual([1, 2]);
    await expect(read(`${topicId.slice(0, -1)}-`)).rejects.toMatchObject({ code: 'topic_replaced' });
  });

  it.each([
    [{ partition: -1 }, "'partition'"],
    [{ partition: 0.5 }, "'partition'"],
    [{ offset: -1 }, "'offset'"],
    [{ maxRecords: 0 }, "'maxRecords'"],
    [{ maxBytes: 5_242_881 }, "'maxBytes'"],
    [{ longPollMs: 20_001 }, "'longPollMs'"],
    [{ topic: '' }, "'topic'"],
    [{ minPollMs: 0 }, "'minPollMs'"],
    [{ maxPollMs: Number.NaN }, "'minPollMs'"],
    [{ codec: utf8 as never }, "'codec'"],
    [{ fromBeginning: true } as never, "no option 'fromBeginning'"],
  ])('refuses %j', (options, named) => {
    expect(() => client.reader({ topic: 'orders', partition: 0, ...options })).toThrow(named);
  });

  it('tells of a topic or partition that does not exist', async () => {
    await expect(read({ topic: 'no-such-topic' })).rejects.toMatchObject({ code: 'topic_not_found' });
    const reader = client.reader({ topic: await newTopic(), partition: 7 });
    await expect(reader[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: 'partition_not_found' });
  });
});
