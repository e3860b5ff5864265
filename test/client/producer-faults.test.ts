import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { bytes } from '../../client/codec.ts';
import type { NotDelivered } from '../../client/errors.ts';
import type { ProducerOptions } from '../../client/producer-words.ts';
import { Vertebra, type VertebraOptions } from '../../client/vertebra.ts';
import { type LocalBackbone, startLocalBackbone } from '../../local/embedding.ts';
import { readPartition } from '../support/api-client.ts';
import { type Fault, type FaultyProxy, openFaultyProxy, type Passing, problem } from '../support/faulty-proxy.ts';

let backbone: LocalBackbone;
let proxy: FaultyProxy;
beforeAll(async () => {
  backbone = await startLocalBackbone();
  proxy = await openFaultyProxy(backbone.url);
});
afterAll(async () => {
  await proxy.close();
  await backbone.dispose();
});
beforeEach(() => {
  proxy.fault = () => undefined;
});

const RETRY = { minBackoffMs: 1, maxBackoffMs: 20 };
const vertebra = (options: VertebraOptions = {}) => new Vertebra({ endpoint: proxy.url, retry: RETRY, ...options });
let made = 0;
async function newTopic(numPartitions = 1): Promise<string> {
  const topic = `topic-${made++}`;
  await vertebra()
    .admin()
    .createTopics({ topics: [{ topic, numPartitions }] });
  return topic;
}
function open(options: ProducerOptions = {}, client: VertebraOptions = {}) {
  const producer = vertebra(client).producer(options);
  onTestFinished(async () => void (await producer.close({ timeoutMs: 10 })));
  return producer;
}
const isProduce = ({ method, target }: Passing) => method === 'POST' && target.endsWith('/records');
/** Faults for requests that store records only. */
const onProduce = (fault: (nth: number, passing: Passing) => ReturnType<FaultyProxy['fault']>) => {
  let nth = 0;
  proxy.fault = (passing) => (isProduce(passing) ? fault(nth++, passing) : undefined);
};
const thrownBy = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error as NotDelivered,
  );
const numbers = async (topic: string, partition = 0) =>
  (await readPartition(backbone.url, topic, partition)).map(({ value }) => Number(value));
/** 0 ≤ n < 1, the same every time. */
function chances(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe('records', () => {
  const FAULTS: readonly Fault[] = [
    ...(['lose', 'drop', 'hang'] as const),
    problem(503, 'unavailable', { retryAfterMs: 5 }),
    problem(429, 'throttled', { retryAfterMs: 5 }),
    problem(409, 'idempotency_in_progress', { retryAfterMs: 5 }),
    { ...problem(504, 'outcome_unknown'), after: true },
    { status: 502, body: '<html>', after: true },
    { status: 200, body: '<html>', after: true },
  ];

  it.each([1, 2, 3])(
    'are stored once and in order, whatever goes wrong with half of the requests (%i)',
    async (seed) => {
      const topic = await newTopic(4);
      const chance = chances(seed);
      onProduce(() => (chance() < 0.5 ? FAULTS[Math.floor(chance() * FAULTS.length)] : undefined));
      const producer = open({ batchRecords: 20, lingerMs: 1 }, { requestTimeoutMs: 200 });
      const sent = await Promise.all(
        Array.from({ length: 600 }, async (_, i) => {
          if (i % 50 === 0) await new Promise(setImmediate);
          return (await producer.send({ topic, messages: [{ partition: i % 4, value: i }] }))[0]!;
        }),
      );
      for (const partition of [0, 1, 2, 3]) {
        const told = sent.flatMap((at, i) => (at.partition === partition ? [[at.offset, i]] : []));
        const read = await readPartition(backbone.url, topic, partition);
        expect(read.map(({ offset, value }) => [offset, Number(value)])).toEqual(told.sort((a, b) => a[0]! - b[0]!));
        expect(read).toHaveLength(150);
      }
    },
  );

  it('that were given up are told truthfully: delivered, not stored, or either', async () => {
    const topic = await newTopic(3);
    const chance = chances(7);
    const faults = [...FAULTS, problem(400, 'invalid_request'), problem(503, 'unavailable')];
    onProduce(() => (chance() < 0.6 ? faults[Math.floor(chance() * faults.length)] : undefined));
    const producer = open({ batchRecords: 5, deliveryTimeoutMs: 600 }, { requestTimeoutMs: 200 });
    const told = await Promise.all(
      Array.from({ length: 300 }, async (_, i) => {
        await new Promise((resolve) => setTimeout(resolve, i * 3));
        const sent = producer.send({ topic, messages: [{ partition: i % 3, value: i }] });
        return sent.then(([at]) => at!.offset).catch((error: NotDelivered) => error.effect);
      }),
    );
    await producer.close();
    expect(told).toContain('unknown'); // on a busy machine all may be
    for (const partition of [0, 1, 2]) {
      const read = await readPartition(backbone.url, topic, partition);
      const stored = new Map(read.map(({ offset, value }) => [Number(value), offset]));
      expect(stored.size).toBe(read.length);
      for (const [i, what] of told.entries()) {
        if (i % 3 !== partition) continue;
        if (typeof what === 'number') expect(stored.get(i)).toBe(what);
        if (what === 'none') expect(stored.has(i)).toBe(false);
      }
      const offsets = told.filter((what, i) => i % 3 === partition && typeof what === 'number') as number[];
      expect(offsets).toEqual([...offsets].sort((a, b) => a - b));
    }
  });

  it('of one partition are on their way in one request at a time, those of several side by side', async () => {
    const topic = await newTopic(3);
    const [underWay, most] = [new Map<string, number>(), new Map<string, number>()];
    let sideBySide = 0;
    onProduce(async (nth, { target }) => {
      underWay.set(target, (underWay.get(target) ?? 0) + 1);
      most.set(target, Math.max(most.get(target) ?? 0, underWay.get(target)!));
      sideBySide = Math.max(
        sideBySide,
        [...underWay.values()].reduce((sum, n) => sum + n),
      );
      await new Promise((resolve) => setTimeout(resolve, 5));
      underWay.set(target, underWay.get(target)! - 1);
      return nth % 3 === 0 ? 'lose' : undefined;
    });
    const messages = Array.from({ length: 60 }, (_, i) => ({ partition: i % 3, value: i }));
    await open({ batchRecords: 4 }).send({ topic, messages });
    expect([...most.values()]).toEqual([1, 1, 1]);
    expect(sideBySide).toBeGreaterThan(1);
    for (const partition of [0, 1, 2]) {
      expect(await numbers(topic, partition)).toEqual([...Array(20).keys()].map((i) => i * 3 + partition));
    }
  });

  it('of more partitions than may be sent to at a time wait for each other', async () => {
    const topic = await newTopic(6);
    let [underWay, most] = [0, 0];
    onProduce(async () => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, 5));
      underWay--;
      return undefined;
    });
    const messages = Array.from({ length: 60 }, (_, i) => ({ partition: i % 6, value: i }));
    await open({ batchRecords: 2, maxInFlightRequests: 2 }).send({ topic, messages });
    expect(most).toBe(2);
  });

  it('that were refused for good do not stop those behind them', async () => {
    const topic = await newTopic();
    onProduce((nth) => (nth === 1 ? problem(400, 'invalid_request') : undefined));
    const messages = Array.from({ length: 6 }, (_, i) => ({ value: i }));
    const error = await thrownBy(open({ batchRecords: 2 }).send({ topic, messages }));
    expect(error).toMatchObject({ code: 'invalid_request', effect: 'none' });
    expect(error.results.map((result) => 'error' in result)).toEqual([false, false, true, true, false, false]);
    expect(await numbers(topic)).toEqual([0, 1, 4, 5]);
  });

  it('whose repeat is refused after an answer was lost are not said to have had no effect', async () => {
    const topic = await newTopic();
    onProduce((nth) => (nth === 0 ? 'lose' : problem(403, 'forbidden')));
    expect(await thrownBy(open().send({ topic, messages: [{ value: 1 }] }))).toMatchObject({
      ...{ code: 'forbidden', effect: 'unknown' },
    });
  });

  it('that an answer tells to have failed, one by one, have failed', async () => {
    const topic = await newTopic();
    const producer = open();
    const value = await producer.upload(topic, Buffer.from('payload'));
    const entry = { partition: 0, error: { code: 'throttled', detail: 'later', retryable: true, retryAfterMs: 1 } };
    onProduce((nth) =>
      nth === 0 ? { status: 207, body: JSON.stringify({ offsets: [entry], duplicate: false }) } : undefined,
    );
    expect(await producer.send({ topic, messages: [{ value }] })).toMatchObject([{ offset: 0 }]);
    onProduce(() => ({ status: 207, body: JSON.stringify({ offsets: [{ partition: 0, error: { code: 'odd' } }] }) }));
    const again = await producer.upload(topic, Buffer.from('payload'));
    expect(await thrownBy(producer.send({ topic, messages: [{ value: again }] }))).toMatchObject({ code: 'odd' });
  });
});

describe('an endpoint that', () => {
  it('asks to wait is left alone for that long', async () => {
    const topic = await newTopic();
    const at: number[] = [];
    onProduce((nth) => {
      at.push(performance.now());
      return nth === 0 ? { status: 429, headers: { 'retry-after': '1' } } : undefined;
    });
    await open().send({ topic, messages: [{ value: 1 }] });
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(995);
  });

  it('is not there gives up in time, and says that nothing was sent', async () => {
    const gone = createServer().listen(0, '127.0.0.1');
    await once(gone, 'listening');
    const endpoint = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`;
    gone.close();
    await once(gone, 'close');
    const producer = open({ deliveryTimeoutMs: 100 }, { endpoint });
    const sends = [1, 2].map((value) => thrownBy(producer.send({ topic: 't', messages: [{ value }] })));
    const errors = await Promise.all(sends);
    for (const error of errors)
      expect(error).toMatchObject({ code: 'delivery_timeout', effect: 'none', results: [{}] });
    expect(String(errors[0])).toContain('cannot be reached');
    expect(producer.bufferedBytes).toBe(0);
  });

  it('comes up later gets everything, in order', async () => {
    const topic = await newTopic();
    let up = false;
    proxy.fault = () => (up ? undefined : 'drop');
    const producer = open();
    const sends = Array.from({ length: 20 }, (_, value) => producer.send({ topic, messages: [{ value }] }));
    await new Promise((resolve) => setTimeout(resolve, 30));
    up = true;
    await Promise.all(sends);
    expect(await numbers(topic)).toEqual([...Array(20).keys()]);
  });

  it('never answers gives up in time, and leaves open what was stored', async () => {
    const topic = await newTopic();
    onProduce(() => 'hang');
    const producer = open({ deliveryTimeoutMs: 120, batchRecords: 1 }, { requestTimeoutMs: 40 });
    const error = await thrownBy(producer.send({ topic, messages: [{ value: 1 }, { value: 2 }] }));
    expect(error).toMatchObject({ code: 'delivery_timeout', effect: 'unknown' });
    const effects = error.results.map((result) => ('error' in result ? result.error.effect : 'stored'));
    expect(effects).toEqual(['unknown', 'none']); // the second one waited behind the first
  });
});

describe('a topic', () => {
  it('that cannot be looked up in time fails its records in time', async () => {
    proxy.fault = () => 'hang';
    const error = await thrownBy(open({ deliveryTimeoutMs: 50 }).send({ topic: 'slow', messages: [{ value: 1 }] }));
    expect(error).toMatchObject({ code: 'delivery_timeout', effect: 'none' });
  });

  it('that is deleted takes its records along, and others stay', async () => {
    const [topic, other] = [await newTopic(), await newTopic()];
    const producer = open();
    await producer.send({ topic, messages: [{ value: 1 }] });
    await vertebra()
      .admin()
      .deleteTopics({ topics: [topic] });
    const [gone, fine] = await Promise.allSettled([
      producer.send({ topic, messages: [{ value: 2 }] }),
      producer.send({ topic: other, messages: [{ value: 3 }] }),
    ]);
    expect(gone).toMatchObject({ status: 'rejected', reason: { code: 'topic_not_found', effect: 'none' } });
    expect(fine).toMatchObject({ status: 'fulfilled' });
    await vertebra()
      .admin()
      .createTopics({ topics: [{ topic, numPartitions: 1 }] });
    expect(await producer.send({ topic, messages: [{ value: 4 }] })).toMatchObject([{ offset: 0 }]);
  });

  it('that is made again with fewer partitions is looked up again', async () => {
    const topic = await newTopic(8);
    const producer = open({ partitioner: ({ partitions }) => partitions - 1 });
    expect(await producer.send({ topic, messages: [{ value: 1 }] })).toMatchObject([{ partition: 7 }]);
    const admin = vertebra().admin();
    await admin.deleteTopics({ topics: [topic] });
    await admin.createTopics({ topics: [{ topic, numPartitions: 2 }] });
    expect(await thrownBy(producer.send({ topic, messages: [{ value: 2 }] }))).toMatchObject({
      code: 'partition_not_found',
    });
    expect(await producer.send({ topic, messages: [{ value: 3 }] })).toMatchObject([{ partition: 1, offset: 0 }]);
  });

  it('that has grown is known to have grown, at once to who names a new partition, else after a while', async () => {
    const topic = await newTopic(1);
    let aheadMs = 0;
    const surroundings = {
      now: () => Date.now() + aheadMs,
      random: () => 0.99,
      sleep: (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms)),
    };
    const producer = open({}, { surroundings });
    const slow = open({}, { surroundings });
    const send = async (one: typeof producer, partition?: number) =>
      (await one.send({ topic, messages: [{ value: 1, ...(partition !== undefined && { partition }) }] }))[0]!
        .partition;
    expect(await send(producer)).toBe(0);
    expect(await send(slow)).toBe(0);
    await vertebra()
      .admin()
      .createPartitions({ topicPartitions: [{ topic, count: 3 }] });
    expect(await send(producer, 2)).toBe(2);
    expect(await send(slow)).toBe(0);
    aheadMs = 301_000;
    await expect.poll(() => send(slow)).toBe(2);
  });
});

describe('the buffer', () => {
  it('holds no more than it may: send waits, in order, and everything is delivered', async () => {
    const topic = await newTopic(2);
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    onProduce(async () => {
      await held;
      return undefined;
    });
    const producer = open({ maxBufferBytes: 50_000, batchBytes: 4_000, codec: bytes() });
    let most = 0;
    const settled: number[] = [];
    const value = new Uint8Array(1_000);
    const sends = Array.from({ length: 100 }, async (_, i) => {
      await producer.send({ topic, messages: [{ partition: 0, key: String(i), value }] });
      settled.push(i);
      most = Math.max(most, producer.bufferedBytes);
    });
    const whole = producer.send({ topic, messages: Array.from({ length: 50 }, () => ({ partition: 1, value })) });
    await expect.poll(() => producer.bufferedBytes).toBeGreaterThan(45_000);
    await new Promise((resolve) => setTimeout(resolve, 20)); // no more comes in, however long it takes
    expect(producer.bufferedBytes).toBeLessThanOrEqual(50_000);
    expect(settled).toEqual([]);
    release();
    await Promise.all(sends);
    expect(await whole).toHaveLength(50);
    expect(settled).toEqual([...Array(100).keys()]);
    expect(most).toBeLessThanOrEqual(50_000);
    expect(producer.bufferedBytes).toBe(0);
    const keys = (await readPartition(backbone.url, topic, 0)).map(({ key }) => Number(key));
    expect(keys).toEqual([...Array(100).keys()]);
  });

  it('takes a message that is larger than all of it, alone', async () => {
    const topic = await newTopic();
    const producer = open({ maxBufferBytes: 10, codec: bytes() });
    const value = new Uint8Array(1_000);
    expect(await producer.send({ topic, messages: [{ value }, { value }] })).toHaveLength(2);
  });

  it('that is full does not linger', async () => {
    const topic = await newTopic();
    const producer = open({ maxBufferBytes: 6_000, lingerMs: 60_000 });
    const messages = Array.from({ length: 40 }, (_, value) => ({ value }));
    const sent = producer.send({ topic, messages });
    await expect.poll(async () => (await numbers(topic)).length).toBeGreaterThanOrEqual(20);
    await producer.flush();
    expect(await sent).toHaveLength(40);
  });

  it('that stays full fails those who wait, in time', async () => {
    const topic = await newTopic();
    onProduce(() => 'hang');
    const producer = open({ maxBufferBytes: 10, deliveryTimeoutMs: 100 });
    const first = thrownBy(producer.send({ topic, messages: [{ value: 1 }] }));
    const error = await thrownBy(producer.send({ topic, messages: [{ value: 2 }] }));
    expect(error).toMatchObject({ code: 'delivery_timeout', effect: 'none' });
    expect(await first).toMatchObject({ code: 'delivery_timeout', effect: 'unknown' });
    await expect.poll(() => producer.bufferedBytes).toBe(0);
  });
});

describe('a codec that never ends', () => {
  it('keeps its own call in time, and those behind it no longer', async () => {
    const topic = await newTopic();
    const encode = (value: unknown) => (value === 1 ? new Promise<Uint8Array>(() => {}) : Buffer.from('2'));
    const producer = open({ codec: { encode }, deliveryTimeoutMs: 200 });
    const first = thrownBy(producer.send({ topic, messages: [{ value: 1 }] }));
    await new Promise((resolve) => setTimeout(resolve, 100));
    const second = producer.send({ topic, messages: [{ value: 2 }] });
    expect(await first).toMatchObject({ code: 'delivery_timeout', effect: 'none' });
    expect(await second).toMatchObject([{ offset: 0 }]);
  });
});

describe('an abort', () => {
  const stoppable = () => {
    const controller = new AbortController();
    return { signal: controller.signal, stop: () => controller.abort() };
  };

  it('before a message is on its way keeps it from being sent', async () => {
    const topic = await newTopic();
    const producer = open({ lingerMs: 60_000 });
    const stop = new AbortController();
    const [aborted, kept] = [
      thrownBy(producer.send({ topic, messages: [{ value: 1 }], signal: stop.signal })),
      producer.send({ topic, messages: [{ value: 2 }], signal: new AbortController().signal }),
    ];
    await expect.poll(() => producer.bufferedBytes).toBeGreaterThan(500);
    stop.abort('enough');
    expect(await aborted).toMatchObject({ code: 'aborted', effect: 'none', cause: { cause: 'enough' } });
    await producer.flush();
    expect(await kept).toMatchObject([{ offset: 0 }]);
    expect(await numbers(topic)).toEqual([2]);
    expect(producer.bufferedBytes).toBe(0);
    const late = producer.send({ topic, messages: [{ value: 3 }], signal: stop.signal });
    expect(await thrownBy(late)).toMatchObject({ code: 'aborted', effect: 'none' });
  });

  it('ends all calls that share its signal', async () => {
    const topic = await newTopic();
    const producer = open({ lingerMs: 60_000 });
    const { signal, stop } = stoppable();
    const sends = Array.from({ length: 50 }, (_, value) =>
      thrownBy(producer.send({ topic, messages: [{ value }], signal })),
    );
    stop();
    for (const error of await Promise.all(sends)) expect(error).toMatchObject({ code: 'aborted', effect: 'none' });
    await producer.flush();
    expect(await numbers(topic)).toEqual([]);
    expect(producer.bufferedBytes).toBe(0);
  });

  it('of one that is on its way leaves it open, and it goes its way', async () => {
    const topic = await newTopic();
    const stop = new AbortController();
    onProduce(() => {
      stop.abort();
      return undefined;
    });
    const producer = open();
    const error = await thrownBy(producer.send({ topic, messages: [{ value: 1 }], signal: stop.signal }));
    expect(error).toMatchObject({ code: 'aborted', effect: 'unknown' });
    expect(await producer.close()).toEqual({ undelivered: [] });
    expect(await numbers(topic)).toEqual([1]);
  });

  it('of one that waits for room, or for its topic, ends the wait', async () => {
    const topic = await newTopic();
    onProduce(() => 'hang');
    const producer = open({ maxBufferBytes: 10 });
    const first = thrownBy(producer.send({ topic, messages: [{ value: 1 }] }));
    const signal = () => AbortSignal.timeout(30);
    const waiting = thrownBy(producer.send({ topic, messages: [{ value: 2 }], signal: signal() }));
    const behind = thrownBy(producer.send({ topic, messages: [{ value: 3 }], signal: signal() }));
    expect(await waiting).toMatchObject({ code: 'aborted', effect: 'none' });
    expect(await behind).toMatchObject({ code: 'aborted', effect: 'none' });
    proxy.fault = () => 'hang';
    const unknown = thrownBy(open().send({ topic: 'slow', messages: [{ value: 4 }], signal: signal() }));
    expect(await unknown).toMatchObject({ code: 'aborted', effect: 'none' });
    await producer.close({ timeoutMs: 1 });
    expect(await first).toMatchObject({ code: 'closed', effect: 'unknown' });
  });
});

describe('close', () => {
  it('tells what was not delivered in its time, and what is known of it', async () => {
    const topic = await newTopic();
    const arrived = new Promise<void>((resolve) => {
      onProduce(() => {
        resolve();
        return 'hang';
      });
    });
    const producer = open({ batchRecords: 1, maxBufferBytes: 5_000 });
    const messages = [1, 2, 3].map((value) => ({ key: 'k', value }));
    const sends = messages.map((message) => thrownBy(producer.send({ topic, messages: [message] })));
    await arrived;
    const { undelivered } = await producer.close({ timeoutMs: 20 });
    expect(undelivered.map(({ topic: name, message }) => [name, message])).toEqual(
      messages.map((message) => [topic, message]),
    );
    expect(undelivered.map(({ error }) => [error.code, error.effect])).toEqual([
      ['closed', 'unknown'], // on its way
      ['closed', 'none'], // buffered
      ['closed', 'none'], // waiting for room
    ]);
    for (const error of await Promise.all(sends)) expect(error).toMatchObject({ code: 'closed' });
    expect(producer.bufferedBytes).toBe(0);
  });

  it('tells what was refused while it waited', async () => {
    const topic = await newTopic();
    const producer = open({ lingerMs: 60_000 });
    await producer.connect();
    const refused = thrownBy(producer.send({ topic, messages: [{ value: 1 }] }));
    onProduce(() => problem(400, 'invalid_request'));
    const { undelivered } = await producer.close();
    expect(undelivered).toMatchObject([{ topic, message: { value: 1 }, error: { code: 'invalid_request' } }]);
    expect(await refused).toMatchObject({ code: 'invalid_request' });
  });
});
