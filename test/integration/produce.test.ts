import { describe, expect, it } from 'vitest';
import type { Reply } from '../support/gateway-call.ts';
import { openTopicBench } from '../support/topic-bench.ts';

const NDJSON = { 'content-type': 'application/x-ndjson' };
const bench = openTopicBench();

/** Sends JSON text as it stands. */
const sendText = (topic: string, text: string) =>
  bench.api.post(`${topic}/records`, text, { 'content-type': 'application/json' });

const offsetsOf = (reply: Reply) => reply.json<{ offsets: Record<string, unknown>[] }>().offsets;

describe('records', () => {
  it('get offsets in the order sent and come back as they were', async () => {
    const topic = await bench.newTopic();
    const sent = {
      key: 'order-17',
      value: { type: 'OrderPlaced', total: 12.5 },
      headers: { traceparent: '00-x' },
      timestamp: 1_767_225_600_000,
    };
    const before = Date.now();
    const reply = await bench.api.post(`${topic}/records`, { records: [sent, { value: [1] }] });
    expect(reply.status).toBe(200);
    const [first, second] = offsetsOf(reply);
    expect(reply.json().duplicate).toBe(false);
    expect(first).toEqual({ partition: 0, offset: 0, timestamp: 1_767_225_600_000 });
    expect(second).toEqual({ partition: 0, offset: 1, timestamp: expect.any(Number) });
    expect(second!.timestamp).toBeGreaterThanOrEqual(before);

    const { topicId, ...page } = await bench.fetched(topic);
    expect(topicId).toBe((await bench.api.get(topic)).json().id);
    expect(page).toEqual({
      records: [
        {
          offset: 0,
          timestamp: 1_767_225_600_000,
          key: 'order-17',
          value: sent.value,
          headers: [['traceparent', '00-x']],
        },
        { offset: 1, timestamp: second!.timestamp, value: [1], headers: [], key: null },
      ],
      nextOffset: 2,
      logStartOffset: 0,
      highWatermark: 2,
    });
  });

  it('go where their key belongs, where they say, or, without either, together to one partition', async () => {
    const topic = await bench.newTopic(12);
    const keys = ['🎉', 'é', 'e\u0301', '日本', 'ключ', 'k', '\ufeffk', '\0', '👨‍👩‍👧‍👦'];
    const byKey = await bench.api.post(`${topic}/records`, { records: keys.map((key) => ({ key, value: 1 })) });
    expect(offsetsOf(byKey).map(({ partition }) => partition)).toEqual([6, 3, 7, 3, 8, 8, 1, 8, 3]);
    const said = await bench.api.post(`${topic}/records`, { records: [{ key: 'k', value: 1, partition: 11 }] });
    expect(offsetsOf(said)).toMatchObject([{ partition: 11 }]);
    for (const [random, partition] of [
      [0, 0],
      [0.5, 6],
      [0.999, 11],
    ] as const) {
      bench.spread = random;
      const reply = await bench.api.post(`${topic}/records`, { records: [{ value: 1 }, { key: null, value: 2 }] });
      expect(offsetsOf(reply)).toMatchObject([{ partition }, { partition }]);
    }
    bench.spread = 0;
    // An empty key is a key.
    expect(offsetsOf(await bench.api.post(`${topic}/records`, { records: [{ key: '', value: 1 }] }))).toMatchObject([
      { partition: 9 },
    ]);
  });

  it('keep their order per partition when partitions are mixed', async () => {
    const topic = await bench.newTopic(2);
    const records = [0, 1, 0, 1, 1].map((partition, i) => ({ partition, value: i }));
    const offsets = offsetsOf(await bench.api.post(`${topic}/records`, { records }));
    expect(offsets.map(({ partition, offset }) => [partition, offset])).toEqual([
      [0, 0],
      [1, 0],
      [0, 1],
      [1, 1],
      [1, 2],
    ]);
    expect((await bench.fetched(topic, 'offset=0', 1)).records.map(({ value }) => value)).toEqual([1, 3, 4]);
  });

  it('keep the text of numbers that JavaScript cannot hold', async () => {
    const topic = await bench.newTopic();
    const value = '{"id":12345678901234567890,"v":1.0, "e":1E3}';
    expect((await sendText(topic, `{"records":[{"value":${value}}]}`)).status).toBe(200);
    expect((await bench.api.get(`${topic}/partitions/0/records?offset=0`)).text).toContain(value);
  });

  it('tell a tombstone, an empty value and the text null apart', async () => {
    const topic = await bench.newTopic();
    const records = [
      { value: null },
      { value: '', valueEncoding: 'utf8' },
      { value: 'null', valueEncoding: 'utf8' },
      { value: '' },
    ];
    expect((await bench.api.post(`${topic}/records`, { records })).status).toBe(200);
    const back = (await bench.fetched(topic, 'offset=0&values=base64')).records.map(({ value }) => value);
    expect(back).toEqual([null, '', 'bnVsbA==', 'IiI=']);
  });

  it('keep every header, its order, case and repetitions', async () => {
    const topic = await bench.newTopic();
    const headers = [
      ['trace', 'a'],
      ['x', '1'],
      ['trace', 'b'],
      ['Trace', 'c'],
      ['list', 'a,b'],
      ['none', null],
      ['bin', { base64: '/wD+gA==' }],
    ];
    expect((await bench.api.post(`${topic}/records`, { records: [{ value: 1, headers }] })).status).toBe(200);
    expect((await bench.fetched(topic)).records[0]!.headers).toEqual(headers);
  });

  it('keep bytes that are no text, as key and as value', async () => {
    const topic = await bench.newTopic(6);
    const record = { key: '/wD+gA==', keyEncoding: 'base64', value: '/wD+gA==', valueEncoding: 'base64' };
    expect(offsetsOf(await bench.api.post(`${topic}/records`, { records: [record] }))).toMatchObject([
      { partition: 2 },
    ]);
    expect((await bench.fetched(topic, 'offset=0', 2)).records).toMatchObject([record]);
  });

  it('come as NDJSON, one value a line, with the key out of each', async () => {
    const topic = await bench.newTopic(1);
    const lines = ['{"id":"a","n":1.0}', '{"id":"b"}', '7'];
    const reply = await bench.api.post(`${topic}/records?key=/id`, `${lines.join('\n')}\n`, NDJSON);
    expect(reply.status).toBe(200);
    expect(offsetsOf(reply).map(({ offset }) => offset)).toEqual([0, 1, 2]);
    const { records } = await bench.fetched(topic, 'offset=0&values=utf8');
    expect(records.map(({ key, value }) => [key, value])).toEqual([
      ['a', lines[0]],
      ['b', lines[1]],
      [null, '7'],
    ]);
  });

  it.each([
    ['application/json; charset=utf-8'],
    ['Application/JSON'],
    ['application/json;charset="utf-8"'],
    ['application/vnd.acme+json'],
    [undefined],
  ])('are JSON when their type is %s', async (type) => {
    const topic = await bench.newTopic();
    const body = Buffer.from('{"records":[{"value":"\u20ac"}]}');
    const reply = await bench.api.post(`${topic}/records`, body, type === undefined ? {} : { 'content-type': type });
    expect(reply.status).toBe(200);
    expect((await bench.fetched(topic)).records).toMatchObject([{ value: '€' }]);
  });

  it('nested 100,000 deep are taken or refused, never a failure', async () => {
    const topic = await bench.newTopic();
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect([200, 400]).toContain((await sendText(topic, `{"records":[{"value":${deep}}]}`)).status);
  });
});

describe('a partial failure', () => {
  it('is 207, one entry a record, and says which may be sent again', async () => {
    const topic = await bench.newTopic(2);
    const records = ['a', 'b', 'c'].map((value, i) => ({ partition: i % 2, value }));
    bench.api.faults.next('PutItem', 'throttle');
    const reply = await bench.api.post(`${topic}/records`, { records });
    expect(reply.status).toBe(207);
    const error = { code: 'throttled', detail: expect.any(String), retryable: true, retryAfterMs: expect.any(Number) };
    const stored = offsetsOf(reply).map((entry) => ('error' in entry ? 'error' : 'offset'));
    expect([
      ['error', 'offset', 'error'],
      ['offset', 'error', 'offset'],
    ]).toContainEqual(stored);
    expect(offsetsOf(reply).filter((entry) => 'error' in entry)).toContainEqual({
      partition: expect.any(Number),
      error,
    });
  });
});
