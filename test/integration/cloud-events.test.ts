import { CloudEvent, HTTP } from 'cloudevents';
import { describe, expect, it } from 'vitest';
import { undescribed } from '../support/openapi-page.ts';
import { openTopicBench } from '../support/topic-bench.ts';

const bench = openTopicBench();
const ONE = 'application/cloudevents+json';
const BATCH = 'application/cloudevents-batch+json';

interface Answer {
  readonly offsets: readonly {
    readonly partition?: number;
    readonly offset?: number;
    readonly duplicate?: boolean;
    readonly error?: { readonly code: string };
  }[];
  readonly duplicate: boolean;
}

const event = (id: string, more: object = {}) => ({
  specversion: '1.0',
  id,
  source: '/shop',
  type: 'order.placed',
  ...more,
});

/** Sends what the SDK made of events. */
async function send(topic: string, { headers, body }: { headers: unknown; body: unknown }) {
  const reply = await bench.api.post(`${topic}/events`, body as string, headers as Record<string, string>);
  expect(undescribed('POST', `${topic}/events`, reply)).toEqual([]);
  return reply;
}
const post = (topic: string, body: unknown, type = ONE, headers = {}) =>
  send(topic, {
    headers: { 'content-type': type, ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });

/** All that a partition holds, as the SDK reads it. */
async function readBack(topic: string, partition = 0): Promise<CloudEvent<unknown>[]> {
  const target = `${topic}/partitions/${partition}/records?offset=earliest`;
  const reply = await bench.api.get(target, { headers: { accept: BATCH } });
  expect(undescribed('GET', target, reply)).toEqual([]);
  const read = HTTP.toEvent({ headers: { 'content-type': reply.headers['content-type']! }, body: reply.text });
  return read as CloudEvent<unknown>[];
}

const EVENTS: readonly (readonly [string, CloudEvent<unknown>])[] = [
  ['a JSON value', new CloudEvent({ ...event('1'), data: { total: 12.5 }, time: '2026-01-01T00:00:00.000Z' })],
  ['a text', new CloudEvent({ ...event('2'), datacontenttype: 'text/plain', data: 'grüße' })],
  [
    'bytes',
    new CloudEvent({ ...event('3'), datacontenttype: 'application/octet-stream', data: Uint8Array.of(0, 255, 7) }),
  ],
  [
    'extensions',
    new CloudEvent({
      ...event('4'),
      partitionkey: 'order-17',
      sequence: '7',
      traceparent: '00-ab-cd-01',
      subject: 'ü',
      data: 1,
    }),
  ],
];

describe('an event', () => {
  it.each(EVENTS)('with %s comes back as it was, sent in binary, structured and batched mode', async (_what, sent) => {
    const topic = await bench.newTopic();
    const modes = [
      HTTP.binary(sent),
      HTTP.structured(sent.cloneWith({ id: 'structured' })),
      { headers: { 'content-type': BATCH }, body: JSON.stringify([sent.cloneWith({ id: 'batched' })]) },
    ];
    for (const message of modes) expect((await send(topic, message)).status).toBe(200);
    const read = await readBack(topic);
    expect(read.map(({ id }) => id)).toEqual([sent.id, 'structured', 'batched']);
    for (const [i, found] of read.entries()) {
      const { recordid, recordheaders, sequence, ...rest } = found.toJSON() as Record<string, unknown>;
      const { id: _, data, sequence: own, ...wanted } = JSON.parse(sent.toString()) as Record<string, unknown>;
      expect(rest).toMatchObject(wanted);
      expect(found.data ?? found.data_base64).toEqual(data ?? sent.data);
      expect(recordid).toBe(`${topic.split('/').at(-1)}-0:${i}`);
      expect(recordheaders).toBeUndefined();
      expect(sequence).toBe(own ?? String(i).padStart(16, '0'));
    }
  });

  it('is stored as the Kafka protocol binding has it: key, headers and value, to the digit', async () => {
    const topic = await bench.newTopic();
    await post(
      topic,
      '{"specversion":"1.0","id":"x","source":"/s","type":"t","partitionkey":"k","n":7,"ok":true,"time":"2026-01-01T00:00:00Z","data": 12345678901234567890 }',
    );
    const [record] = (await bench.fetched(topic, 'offset=0&values=utf8')).records;
    expect(record).toMatchObject({ key: 'k', value: '12345678901234567890', timestamp: Date.UTC(2026, 0, 1) });
    expect(Object.fromEntries(record!.headers as [string, string][])).toEqual({
      ce_specversion: '1.0',
      ce_id: 'x',
      ce_source: '/s',
      ce_type: 't',
      ce_partitionkey: 'k',
      ce_n: '7',
      ce_ok: 'true',
      ce_time: '2026-01-01T00:00:00Z',
    });
  });

  it('without data is a tombstone', async () => {
    const topic = await bench.newTopic();
    await post(topic, event('none'));
    await post(topic, event('null', { data: null }));
    await send(topic, {
      headers: { 'ce-specversion': '1.0', 'ce-id': 'b', 'ce-source': '/s', 'ce-type': 't' },
      body: undefined,
    });
    expect((await bench.fetched(topic)).records.map(({ value }) => value)).toEqual([null, null, null]);
  });

  it('has attributes that are percent-encoded in headers', async () => {
    const topic = await bench.newTopic();
    const headers = {
      'ce-specversion': '1.0',
      'ce-id': '%E2%82%AC',
      'ce-source': '/s',
      'ce-type': '"a \\"b\\""',
      'content-type': 'text/plain',
    };
    await send(topic, { headers, body: 'x' });
    expect(await readBack(topic)).toMatchObject([{ id: '€', type: 'a "b"', data: 'x' }]);
  });
});

describe('an event that comes again', () => {
  it('is known by source and id, whatever trace brings it', async () => {
    const topic = await bench.newTopic(8);
    const first = (await post(topic, event('1', { data: 1, traceparent: '00-a-b-01' }))).json<Answer>();
    const again = (await post(topic, event('1', { data: 1, traceparent: '00-c-d-01' }))).json<Answer>();
    expect(first).toMatchObject({ duplicate: false, offsets: [{ duplicate: false }] });
    expect(again).toEqual({ duplicate: true, offsets: [{ ...first.offsets[0], duplicate: true }] });
    expect((await post(topic, event('1', { data: 1, source: '/other' }))).json<Answer>().duplicate).toBe(false);
  });

  it('with other data is refused', async () => {
    const topic = await bench.newTopic();
    await post(topic, event('1', { data: 1 }));
    const refused = await post(topic, event('1', { data: 2 }));
    expect(refused).toMatchObject({ status: 422, code: 'idempotency_key_reused' });
    expect(refused.json<{ detail: string }>().detail).toContain('source and id');
  });

  it('in another batch is told on its own', async () => {
    const topic = await bench.newTopic(4);
    const [a, b, c] = ['a', 'b', 'c'].map((id) => event(id, { partitionkey: id, data: id }));
    await post(topic, [a, b], BATCH);
    const mixed = (await post(topic, [c, b, a, c], BATCH)).json<Answer>();
    expect(mixed.duplicate).toBe(false);
    expect(mixed.offsets.map(({ duplicate }) => duplicate)).toEqual([false, true, true, true]);
    expect((await post(topic, [a, b, c], BATCH)).json<Answer>().duplicate).toBe(true);
    const read = await Promise.all([0, 1, 2, 3].map((partition) => readBack(topic, partition)));
    expect(
      read
        .flat()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(['a', 'b', 'c']);
  });

  it('is sent by two at once, and is there once', async () => {
    const topic = await bench.newTopic();
    const events = Array.from({ length: 10 }, (_, i) => event(`${i}`, { partitionkey: 'k', data: i }));
    const racing = await Promise.all([post(topic, events, BATCH), post(topic, events, BATCH)]);
    for (const { status } of racing) expect([200, 207, 409]).toContain(status);
    expect((await post(topic, events, BATCH)).status).toBe(200);
    expect((await readBack(topic)).map(({ id }) => id).sort()).toEqual(events.map(({ id }) => id).sort());
  });
});

describe('a batch of events', () => {
  it('keeps the order of each key', async () => {
    const topic = await bench.newTopic();
    await post(
      topic,
      Array.from({ length: 20 }, (_, i) => event(`${i}`, { partitionkey: `k${i % 3}`, data: i })),
      BATCH,
    );
    const read = await readBack(topic);
    for (const key of ['k0', 'k1', 'k2']) {
      const data = read.filter(({ partitionkey }) => partitionkey === key).map((found) => found.data as number);
      expect(data).toEqual(data.toSorted((a, b) => a - b));
    }
  });

  it('tries none behind one of its key that was not stored', async () => {
    const topic = await bench.newTopic();
    bench.api.faults.next('UpdateItem', 'throttle', 1);
    const events = ['1', '2'].map((id) => event(id, { partitionkey: 'k', data: id }));
    const reply = await post(topic, [...events, event('3', { partitionkey: 'other', data: 3 })], BATCH);
    const codes = reply.json<Answer>().offsets.map(({ error }) => error?.code);
    expect(reply.status).toBe(207);
    // Whichever of the two keys met the throttle.
    expect([
      ['throttled', 'unavailable', undefined],
      [undefined, undefined, 'throttled'],
    ]).toContainEqual(codes);
    expect((await post(topic, [...events, event('3', { partitionkey: 'other', data: 3 })], BATCH)).status).toBe(200);
  });

  it('of which none was stored is to be sent again as long as one of them may still be', async () => {
    const topic = await bench.newTopic();
    await post(topic, event('1', { data: 1 }));
    const both = [event('1', { data: 'other' }), event('2', { partitionkey: 'k', data: 2 })];
    bench.api.faults.next('PutItem', 'throttle', 1, 'claim#');
    expect(await post(topic, both, BATCH)).toMatchObject({ status: 429, code: 'throttled' });
    const again = (await post(topic, both, BATCH)).json<Answer>();
    expect(again.offsets.map(({ error }) => error?.code)).toEqual(['idempotency_key_reused', undefined]);
  });
});

describe('what is no event', () => {
  it.each([
    ['no id', { specversion: '1.0', source: '/s', type: 't' }, 'id is required'],
    ['another version', event('1', { specversion: '0.3' }), "specversion must be '1.0'"],
    ['a bad source', event('1', { source: 'a b' }), 'source must be a URI reference'],
    ['a bad time', event('1', { time: 'now' }), 'time must be a time'],
    ['an attribute with capitals', event('1', { Total: 1 }), '"Total" is no name of an attribute'],
    ['an attribute that is an object', event('1', { extra: {} }), '"extra" must be a text, a boolean or an integer'],
    ['a number beyond 32 bits', event('1', { n: 2 ** 31 }), '"n" must be'],
    ['an empty key', event('1', { partitionkey: '' }), 'partitionkey must be a text'],
    ['two kinds of data', event('1', { data: 1, data_base64: 'AA==' }), 'data_base64 and data are both there'],
    ['data that is no base64', event('1', { data_base64: '?' }), 'data_base64 must be base64'],
    ['a relative schema', event('1', { dataschema: '/x' }), 'dataschema must be an absolute URI'],
    ['a list', [event('1')], 'the event must be an object'],
  ])('is refused for %s', async (_what, body, detail) => {
    const topic = await bench.newTopic();
    const reply = await post(topic, body);
    expect(reply).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(reply.json().detail).toContain(`Record 0: ${detail}`);
    expect((await post(topic, JSON.stringify([event('fine'), body]), BATCH)).json()).toMatchObject({ index: 1 });
    expect((await bench.fetched(topic)).records).toEqual([]);
  });

  it.each([
    ['application/json', '{}', 415],
    ['application/cloudevents+xml', '<event/>', 415],
    [ONE, '{', 400],
    [ONE, '{"id":"\\ud800"}', 400],
    [BATCH, '[]', 400],
    [BATCH, '{}', 400],
    [BATCH, JSON.stringify(Array.from({ length: 101 }, (_, i) => event(`${i}`))), 413],
  ])('is refused as %s: %s', async (type, body, status) => {
    expect((await post(await bench.newTopic(), body, type)).status).toBe(status);
  });

  it('is refused for headers that are wrong', async () => {
    const topic = await bench.newTopic();
    const reply = await post(topic, 'x', 'text/plain', { 'ce-specversion': '1.0', 'ce-id': '1', 'ce-source': '/s' });
    expect(reply).toMatchObject({ status: 400 });
    expect(reply.json().detail).toBe('Record 0: type is required');
  });
});

describe('records as events', () => {
  it('come within the bytes asked for, with what else a fetch tells in headers', async () => {
    const topic = await bench.newTopic();
    await bench.api.post(`${topic}/records`, { records: [{ key: 'a', value: { n: 1 } }, { value: 'x'.repeat(500) }] });
    const target = `${topic}/partitions/0/records?offset=0&maxBytes=300`;
    const reply = await bench.api.get(target, { headers: { accept: BATCH } });
    expect(reply.json()).toMatchObject([{ type: 'vertebra.record', partitionkey: 'a', data: { n: 1 } }]);
    expect(reply.headers).toMatchObject({
      'vertebra-next-offset': '1',
      'vertebra-log-start-offset': '0',
      'vertebra-topic-id': expect.stringMatching(/^[0-9A-Z]{26}$/),
    });
    const rest = await bench.api.get(`${topic}/partitions/0/records?offset=1&maxBytes=1`, {
      headers: { accept: BATCH },
    });
    expect(rest.json<object[]>()).toHaveLength(1);
  });
});
