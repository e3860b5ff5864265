import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { bytes, type Encoder, utf8, withSchema } from '../../client/codec.ts';
import { Closed, InvalidOptions, NotDelivered, RecordTooLarge, ValidationError } from '../../client/errors.ts';
import { BATCH_BYTES_MAX } from '../../client/limits.ts';
import type { Message, ProducerOptions } from '../../client/producer-words.ts';
import { Vertebra } from '../../client/vertebra.ts';
import { type LocalBackbone, startLocalBackbone } from '../../local/embedding.ts';
import { readPartition } from '../support/api-client.ts';
import { type FaultyProxy, openFaultyProxy } from '../support/faulty-proxy.ts';

let backbone: LocalBackbone;
let proxy: FaultyProxy;
let client: Vertebra;
beforeAll(async () => {
  backbone = await startLocalBackbone();
  proxy = await openFaultyProxy(backbone.url);
  client = new Vertebra({ endpoint: proxy.url });
});
afterAll(async () => {
  await proxy.close();
  await backbone.dispose();
});
beforeEach(() => {
  proxy.fault = () => undefined;
});

let made = 0;
async function newTopic(numPartitions = 1): Promise<string> {
  const topic = `topic-${made++}`;
  await client.admin().createTopics({ topics: [{ topic, numPartitions }] });
  return topic;
}
function open<T = unknown>(options: ProducerOptions<T> = {}) {
  const producer = client.producer<T>(options);
  onTestFinished(async () => void (await producer.close()));
  return producer;
}
/** Requests that stored records of a topic, so far. */
const produced = (topic: string) =>
  proxy.passed.filter(({ method, target }) => method === 'POST' && target.startsWith(`/v1/topics/${topic}/`));
const thrownBy = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable(),
    (error: unknown) => error,
  );
const text = (value: string) => new TextEncoder().encode(value);
/** A partition's records as the API tells them. */
async function fetched(topic: string, values = 'utf8') {
  const url = `${backbone.url}/v1/topics/${topic}/partitions/0/records?offset=0&values=${values}`;
  return ((await (await fetch(url)).json()) as { records: Record<string, unknown>[] }).records;
}

describe('the trace of a call', () => {
  const trace = (id: string) => `00-${'a'.repeat(32)}-${id.repeat(16)}-01`;
  const headersIn = async (topic: string) => (await fetched(topic)).map(({ headers }) => headers);

  it('becomes headers of its messages, but of those that have one', async () => {
    const topic = await newTopic();
    let calls = 0;
    const producer = open({
      traceContext: () => ({ traceparent: trace(String(++calls)), tracestate: 'a=1', more: 'x' }),
    });
    await producer.send({ topic, messages: [{ value: 1, headers: { k: 'v' } }, { value: 2 }] });
    await producer.send({ topic, messages: [{ value: 3, headers: { traceparent: 'mine' } }, { value: 4 }] });
    const added = (call: string) => [
      ['traceparent', trace(call)],
      ['tracestate', 'a=1'],
    ];
    expect(await headersIn(topic)).toEqual([
      [['k', 'v'], ...added('1')],
      added('1'),
      [['traceparent', 'mine']],
      added('2'),
    ]);
  });

  it.each([
    ['is none', () => undefined],
    ['is not one', () => ({ traceparent: 'x', tracestate: 'a=1' })],
    [
      'cannot be had',
      () => {
        throw new Error('no tracer');
      },
    ],
  ])('keeps nothing back when it %s', async (_, traceContext) => {
    const topic = await newTopic();
    await open({ traceContext }).send({ topic, messages: [{ value: 1 }] });
    expect(await headersIn(topic)).toEqual([[]]);
  });

  it('is given by a function', () => {
    expect(() => client.producer({ traceContext: 'x' as never })).toThrow(InvalidOptions);
  });
});

describe('send', () => {
  it('answers where each message is, in the order given, and they can be read there', async () => {
    const topic = await newTopic(3);
    const messages = Array.from({ length: 20 }, (_, i) => ({ key: `k${i % 7}`, value: { i } }));
    const deliveries = await open().send({ topic, messages });
    expect(deliveries).toHaveLength(20);
    for (const partition of [0, 1, 2]) {
      const there = deliveries.flatMap((at, i) => (at.partition === partition ? [{ ...at, i }] : []));
      const read = await readPartition(backbone.url, topic, partition);
      expect(read.map(({ offset, key, value }) => [offset, key, value])).toEqual(
        there.map(({ offset, i }) => [offset, `k${i % 7}`, JSON.stringify({ i })]),
      );
    }
  });

  it('keeps times, and gives the present one to messages without', async () => {
    const topic = await newTopic();
    const before = Date.now();
    const deliveries = await open().send({
      topic,
      messages: [{ value: 1, timestamp: 1_767_225_600_000 }, { value: 2 }],
    });
    expect(deliveries[0]!.timestamp).toBe(1_767_225_600_000);
    expect(deliveries[1]!.timestamp).toBeGreaterThanOrEqual(before);
    expect((await fetched(topic)).map(({ timestamp }) => timestamp)).toEqual(
      deliveries.map(({ timestamp }) => timestamp),
    );
  });

  it('tells a tombstone from an empty value, and no key from an empty one', async () => {
    const topic = await newTopic();
    const values = [null, text(''), text('null')];
    await open({ codec: bytes() }).send({
      topic,
      messages: [...values.map((value) => ({ key: '', value })), { value: null }, { key: null, value: null }],
    });
    const read = await fetched(topic);
    expect(read.map(({ key, value }) => [key, value])).toEqual([
      ['', null],
      ['', ''],
      ['', 'null'],
      [null, null],
      [null, null],
    ]);
    for (const value of [undefined, {}]) {
      expect(await thrownBy(open().send({ topic, messages: [{} as never] }))).toBeInstanceOf(ValidationError);
      expect(
        await thrownBy(open({ codec: bytes() }).send({ topic, messages: [{ value: value as never }] })),
      ).toMatchObject({
        code: 'invalid_record',
      });
    }
    expect(await fetched(topic)).toHaveLength(5);
  });

  it('keeps every header, in order, however often its name comes', async () => {
    const topic = await newTopic();
    const pairs = [
      ...[
        ['trace', 'a'],
        ['x', '1'],
        ['trace', 'b'],
        ['Trace', 'c'],
      ],
      ...[
        ['list', 'a,b'],
        ['none', null],
        ['raw', Uint8Array.of(0xff, 0)],
      ],
    ] as [string, string | null | Uint8Array][];
    const object = { a: ['1', '2'], b: undefined, c: null };
    await open().send({
      topic,
      messages: [
        { value: 1, headers: pairs },
        { value: 2, headers: object },
        { value: 3, headers: new Map([['trace', 'm']]) },
        { value: 4, headers: new Headers({ traceparent: '00-1' }) },
      ],
    });
    const [first, second, ...iterables] = await fetched(topic);
    expect(iterables.map(({ headers }) => headers)).toEqual([[['trace', 'm']], [['traceparent', '00-1']]]);
    expect(first!.headers).toEqual([...pairs.slice(0, 6), ['raw', { base64: '/wA=' }]]);
    expect(second!.headers).toEqual([
      ['a', '1'],
      ['a', '2'],
      ['c', null],
    ]);
  });

  it('sends nothing when there is nothing to send', async () => {
    expect(await open().send({ topic: 'whatever', messages: [] })).toEqual([]);
  });

  it('refuses what is no list of messages', async () => {
    const nameless = { topic: undefined as never, messages: [{ value: 1 }] };
    expect(await thrownBy(open().send(nameless))).toMatchObject({ code: 'invalid_request', effect: 'none' });
    const none = { topic: 'whatever' } as never;
    expect(await thrownBy(open().send(none))).toBeInstanceOf(ValidationError);
    expect(await thrownBy(open().sendBatch({ topicMessages: [none] }))).toBeInstanceOf(ValidationError);
  });

  it('to several topics answers for each', async () => {
    const [one, two] = [await newTopic(), await newTopic()];
    const answers = await open().sendBatch({
      topicMessages: [
        { topic: one, messages: [{ value: 1 }, { value: 2 }] },
        { topic: two, messages: [] },
        { topic: two, messages: [{ value: 3 }] },
      ],
    });
    expect(answers.map((deliveries) => deliveries.map(({ offset }) => offset))).toEqual([[0, 1], [], [0]]);
    expect(await fetched(two)).toHaveLength(1);
  });

  it('to an unknown topic tells so, and delivers once there is one', async () => {
    const producer = open();
    const error = await thrownBy(producer.send({ topic: 'not-yet', messages: [{ value: 1 }, { value: 2 }] }));
    expect(error).toBeInstanceOf(NotDelivered);
    expect(error).toMatchObject({ code: 'topic_not_found', effect: 'none', results: [{ error: {} }, { error: {} }] });
    await client.admin().createTopics({ topics: [{ topic: 'not-yet', numPartitions: 1 }] });
    expect(await producer.send({ topic: 'not-yet', messages: [{ value: 1 }] })).toMatchObject([{ offset: 0 }]);
  });
});

describe('a message that cannot be sent', () => {
  const wrong: [string, Message<never>][] = [
    ['half of a surrogate pair in the key', { key: '\ud800', value: 1 as never }],
    ['half of a surrogate pair in the value', { value: '\udfff' as never }],
    ['half of a surrogate pair in a header name', { value: 1 as never, headers: { '\ud800': 'x' } }],
    ['half of a surrogate pair in a header value', { value: 1 as never, headers: [['x', '\ud800']] }],
    ['a key that is a number', { key: 7 as never, value: 1 as never }],
    ['a header that is a number', { value: 1 as never, headers: { a: 1 as never } }],
    ['headers that are a set of names', { value: 1 as never, headers: new Set(['a']) as never }],
    ['headers that are a text', { value: 1 as never, headers: 'a' as never }],
    ['a fractional time', { value: 1 as never, timestamp: 1.5 }],
    ['a negative partition', { value: 1 as never, partition: -1 }],
  ];
  it.each(wrong)('because of %s keeps its whole call from being sent', async (_, message) => {
    const topic = await newTopic();
    const error = await thrownBy(open().send({ topic, messages: [{ value: 'good' } as never, message] }));
    expect(error).toBeInstanceOf(ValidationError);
    expect(error).toMatchObject({ code: 'invalid_record', effect: 'none', retryable: false, data: { index: 1 } });
    expect(String(error)).toContain(`Message 1 for '${topic}'`);
    expect(produced(topic)).toEqual([]);
  });

  it('because it is too large says how large it may be', async () => {
    const topic = await newTopic();
    const producer = open({ codec: bytes() });
    const whole = new Uint8Array(4 * 1024 * 1024 - 1);
    const error = await thrownBy(
      producer.send({ topic, messages: [{ value: text('a') }, { key: 'ab', value: whole }] }),
    );
    expect(error).toBeInstanceOf(RecordTooLarge);
    expect(error).toMatchObject({
      code: 'record_too_large',
      data: { index: 1, bytes: 4_194_305, maxBytes: 4_194_304 },
    });
    expect(produced(topic)).toEqual([]);
    expect(producer.bufferedBytes).toBe(0);
    expect(
      await producer.send({
        topic,
        messages: [
          { key: 'a', value: crypto.getRandomValues(new Uint8Array(65_536)) },
          { key: 'a', value: whole },
        ],
      }),
    ).toHaveLength(2);
  });

  it('because it names a partition that does not exist says which do', async () => {
    const topic = await newTopic(2);
    const error = await thrownBy(open().send({ topic, messages: [{ value: 1 }, { value: 1, partition: 2 }] }));
    expect(error).toMatchObject({ code: 'partition_not_found', effect: 'none', data: { partition: 2, partitions: 2 } });
    expect(produced(topic)).toEqual([]);
  });

  it('because its schema says so tells what the schema says', async () => {
    const topic = await newTopic();
    const validate = async (value: unknown) =>
      typeof value === 'number' ? { value } : { issues: [{ message: 'must be a number', path: [] }] };
    const producer = open({
      codec: withSchema<number, number>({ '~standard': { version: 1, vendor: 'tests', validate } }),
    });
    const error = await thrownBy(producer.send({ topic, messages: [{ value: 1 }, { value: 'x' as never }] }));
    expect(error).toMatchObject({ code: 'invalid_record', issues: [{ message: 'must be a number' }] });
    expect(await producer.send({ topic, messages: [{ value: 1 }, { value: null }] })).toHaveLength(2);
  });
});

describe('the partition', () => {
  it('is that of Kafka, computed of the bytes of the key', async () => {
    const keys = ['f09f8e89', 'c3a9', '65cc81', 'e697a5e69cac', 'd0bad0bbd18ed187', '6b', 'efbbbf6b', '00'];
    const family = 'f09f91a8e2808df09f91a9e2808df09f91a7e2808df09f91a6';
    const messages = [...keys, family].map((hex) => ({ key: Buffer.from(hex, 'hex').toString(), value: 1 }));
    const twelve = await open().send({ topic: await newTopic(12), messages });
    expect(twelve.map(({ partition }) => partition)).toEqual([6, 3, 7, 3, 8, 8, 1, 8, 3]);
    const ten = await open().send({ topic: await newTopic(10), messages: [{ key: 'thingäöüÄÖÜ', value: 1 }] });
    expect(ten).toMatchObject([{ partition: 2 }]);
    const raw = await open().send({
      topic: await newTopic(6),
      messages: [{ key: Buffer.from('ff00fe80', 'hex'), value: 1 }],
    });
    expect(raw).toMatchObject([{ partition: 2 }]);
  });

  it('of messages without a key is the same within a batch, and changes with batches', async () => {
    const topic = await newTopic(16);
    const producer = open({ lingerMs: 0 });
    const used = new Set<number>();
    for (let i = 0; i < 12; i++) {
      const deliveries = await producer.send({ topic, messages: Array.from({ length: 10 }, () => ({ value: i })) });
      expect(new Set(deliveries.map(({ partition }) => partition)).size).toBe(1);
      used.add(deliveries[0]!.partition);
    }
    expect(used.size).toBeGreaterThan(2);
    const many = await producer.send({ topic, messages: Array.from({ length: 5_000 }, () => ({ value: 1 })) });
    expect(new Set(many.map(({ partition }) => partition)).size).toBeGreaterThan(1);
  });

  it('is the one that the message names, or the partitioner of the user', async () => {
    const topic = await newTopic(4);
    const messages = [
      { key: 'a', value: 1 },
      { key: 'b', value: 1 },
      { key: 'b', value: 1, partition: 0 },
    ];
    const producer = open({ partitioner: ({ key, partitions }) => (key![0] === 0x61 ? partitions - 1 : 1) });
    expect((await producer.send({ topic, messages })).map(({ partition }) => partition)).toEqual([3, 1, 0]);
    const wild = open({ partitioner: () => 4 });
    expect(await thrownBy(wild.send({ topic, messages: [{ value: 1 }] }))).toMatchObject({ code: 'invalid_record' });
    expect(wild.bufferedBytes).toBe(0);
  });
});

describe('batches', () => {
  it('are made of what comes within the linger time, in the order in which it came', async () => {
    const topic = await newTopic();
    const producer = open({ lingerMs: 50 });
    await Promise.all(Array.from({ length: 500 }, (_, i) => producer.send({ topic, messages: [{ value: i }] })));
    expect(produced(topic)).toHaveLength(1);
    expect((await readPartition(backbone.url, topic, 0)).map(({ value }) => Number(value))).toEqual([
      ...Array(500).keys(),
    ]);
  });

  it('are sent when they are full, by records or by bytes', async () => {
    const topic = await newTopic();
    const messages = Array.from({ length: 100 }, () => ({ value: 'x'.repeat(100) }));
    await open({ lingerMs: 60_000, batchRecords: 50 }).send({ topic, messages });
    expect(produced(topic)).toHaveLength(2);
    const producer = open({ lingerMs: 60_000, batchBytes: 1_000 });
    const sent = producer.send({ topic, messages });
    await producer.flush();
    await sent;
    const inBatches = produced(topic).length - 2;
    expect(inBatches).toBeGreaterThanOrEqual(14);
    expect(inBatches).toBeLessThanOrEqual(20);
  });

  it('fit into a request even when they are as large as can be and do not compress', async () => {
    const topic = await newTopic();
    const producer = open({ codec: bytes(), batchBytes: BATCH_BYTES_MAX, lingerMs: 1_000 });
    const value = randomBytes(Math.floor(BATCH_BYTES_MAX / 4) - 100);
    const sent = producer.send({ topic, messages: Array.from({ length: 4 }, () => ({ value })) });
    await producer.flush();
    expect((await sent).map(({ offset }) => offset)).toEqual([0, 1, 2, 3]);
    expect(produced(topic).map(({ body }) => body.length)).toEqual([expect.closeTo(BATCH_BYTES_MAX, -3)]);
  });

  it('are packed, and carry a key of their own', async () => {
    const topic = await newTopic();
    const producer = open({ batchRecords: 1_000 });
    await producer.send({ topic, messages: Array.from({ length: 2_000 }, () => ({ value: 'x'.repeat(100) })) });
    const requests = produced(topic);
    expect(requests.length).toBeGreaterThan(1);
    expect(new Set(requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(requests.length);
    expect(requests.reduce((sum, { body }) => sum + body.length, 0)).toBeLessThan(50_000);
    expect(requests[0]!.headers['content-type']).toBe('application/vnd.kafka.recordbatch');
  });

  it('keep the order of calls, however long a codec takes for each', async () => {
    const topic = await newTopic();
    const codec: Encoder<number> = {
      async encode(value) {
        for (let turns = value % 3; turns > 0; turns--) await new Promise(setImmediate);
        return text(String(value));
      },
    };
    const producer = open({ codec });
    await Promise.all(Array.from({ length: 60 }, (_, i) => producer.send({ topic, messages: [{ value: i }] })));
    expect((await readPartition(backbone.url, topic, 0)).map(({ value }) => Number(value))).toEqual([
      ...Array(60).keys(),
    ]);
  });
});

describe('an upload', () => {
  it('is the value of a message, between others, read back as it was', async () => {
    const topic = await newTopic();
    const producer = open({ codec: utf8(), lingerMs: 20 });
    const payload = crypto.getRandomValues(new Uint8Array(50_000));
    const upload = await producer.upload(topic, payload);
    const fromBlob = await producer.upload(topic, new Blob(['a', 'b']));
    const headers: [string, string | null | Uint8Array][] = [
      ['h', 'é'],
      ['n', null],
      ['b', Uint8Array.of(0xff)],
    ];
    const messages = [
      ...[{ value: 'before' }, { key: Uint8Array.of(0xff, 0), value: upload, headers, timestamp: 1_767_225_600_000 }],
      ...[{ value: fromBlob }, { value: 'after' }],
    ];
    const deliveries = await producer.send({ topic, messages });
    expect(deliveries.map(({ offset }) => offset)).toEqual([0, 1, 2, 3]);
    expect(deliveries[1]!.timestamp).toBe(1_767_225_600_000);
    const [before, first, second, after] = await fetched(topic, 'json');
    expect([before!.value, after!.value]).toEqual(['before', 'after']);
    expect(first).toMatchObject({
      key: '/wA=',
      keyEncoding: 'base64',
      valueEncoding: 'url',
      timestamp: 1_767_225_600_000,
    });
    expect(first!.headers).toEqual([
      ['h', 'é'],
      ['n', null],
      ['b', { base64: '/w==' }],
    ]);
    const { url, size, sha256 } = first!.value as { url: string; size: number; sha256: string };
    expect([size, sha256]).toEqual([50_000, upload.sha256]);
    expect(new Uint8Array(await (await fetch(url)).arrayBuffer())).toEqual(payload);
    expect(second!.value).toMatchObject({ size: 2 });
  });

  it('is used once, for its own topic', async () => {
    const [topic, other] = [await newTopic(), await newTopic()];
    const producer = open();
    const value = await producer.upload(topic, text('payload'));
    expect(await thrownBy(producer.send({ topic: other, messages: [{ value }] }))).toMatchObject({
      code: 'invalid_record',
    });
    await producer.send({ topic, messages: [{ value }] });
    expect(await thrownBy(producer.send({ topic, messages: [{ value }] }))).toMatchObject({
      ...{ code: 'upload_invalid', effect: 'none', data: { reason: 'used' } },
    });
    expect(await thrownBy(producer.upload(topic, new Uint8Array()))).toBeInstanceOf(ValidationError);
    expect(await thrownBy(producer.upload(topic, 'a text' as never))).toBeInstanceOf(ValidationError);
    expect(await thrownBy(producer.upload('not-there', text('a')))).toMatchObject({ code: 'topic_not_found' });
  });
});

describe('the end', () => {
  it('waits for what is buffered, without lingering, and takes no more', async () => {
    const topic = await newTopic();
    const producer = open({ lingerMs: 60_000 });
    const sent = producer.send({ topic, messages: [{ value: 1 }] });
    expect(await producer.close({ timeoutMs: Number.POSITIVE_INFINITY })).toEqual({ undelivered: [] });
    expect(await sent).toMatchObject([{ offset: 0 }]);
    expect(await thrownBy(producer.send({ topic, messages: [{ value: 2 }] }))).toBeInstanceOf(Closed);
    expect(await producer.disconnect()).toEqual({ undelivered: [] });
  });

  it('comes with the scope of `await using`', async () => {
    const topic = await newTopic();
    let sent: Promise<unknown>;
    {
      await using producer = client.producer({ lingerMs: 60_000 });
      sent = producer.send({ topic, messages: [{ value: 1 }] });
    }
    expect(await sent).toMatchObject([{ offset: 0 }]);
  });

  it('is not needed to get things sent', async () => {
    const topic = await newTopic();
    const producer = open({ lingerMs: 60_000 });
    const sent = producer.send({ topic, messages: [{ value: 1 }] });
    await producer.flush();
    expect(await sent).toHaveLength(1);
    await producer.connect();
  });
});

describe('options', () => {
  it.each([
    [{ lingerMs: -1 }, 'lingerMs'],
    [{ batchRecords: 1_001 }, 'batchRecords'],
    [{ lingerMs: 500, deliveryTimeoutMs: 500 }, 'deliveryTimeoutMs'],
    [{ batchBytes: 10_000_000 }, 'batchBytes'],
    [{ deliveryTimeoutMs: 3_600_000 }, 'deliveryTimeoutMs'],
    [{ maxBufferBytes: 0.5 }, 'maxBufferBytes'],
    [{ maxInFlightRequests: 0 }, 'maxInFlightRequests'],
    [{ acks: 1 }, 'acks'],
    [{ codec: {} }, 'codec'],
    [{ partitioner: 'murmur2' }, 'partitioner'],
  ])('such as %j are refused', (options, name) => {
    expect(() => client.producer(options as never)).toThrow(InvalidOptions);
    expect(() => client.producer(options as never)).toThrow(name);
  });
});
