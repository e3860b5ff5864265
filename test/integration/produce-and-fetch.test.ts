import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { crc32c } from '../../shared/wire/crc32c.ts';
import { decodeRecordBatch, encodeRecordBatch } from '../../shared/wire/record-batch.ts';
import { type Api, openApi } from '../support/api.ts';
import type { Reply } from '../support/gateway-call.ts';
import { undescribed } from '../support/openapi-page.ts';

interface Fetched {
  topicId: string;
  records: Record<string, unknown>[];
  nextOffset: number;
  logStartOffset: number;
  highWatermark: number;
}

const NDJSON = { 'content-type': 'application/x-ndjson' };
const BATCH = { 'content-type': 'application/vnd.kafka.recordbatch' };
const RAW = { headers: { accept: 'application/vnd.kafka.recordbatch' } };

let api: Api;
let spread = 0;
beforeAll(async () => {
  api = await openApi({ random: () => spread });
});
afterAll(() => api.close());

let topics = 0;
/** A new topic, so that tests do not see each other's records. */
async function newTopic(partitions = 1): Promise<string> {
  const path = `/v1/topics/t${++topics}`;
  expect((await api.put(path, { partitions })).status).toBe(201);
  return path;
}

/** Sends JSON text as it stands. */
const sendText = (topic: string, text: string, headers = {}) =>
  api.post(`${topic}/records`, text, { 'content-type': 'application/json', ...headers });

async function fetched(topic: string, query = 'offset=0', partition = 0): Promise<Fetched> {
  const reply = await api.get(`${topic}/partitions/${partition}/records?${query}`);
  expect(reply.status).toBe(200);
  return reply.json<Fetched>();
}

const offsetsOf = (reply: Reply) => reply.json<{ offsets: Record<string, unknown>[] }>().offsets;

describe('records', () => {
  it('get offsets in the order sent and come back as they were', async () => {
    const topic = await newTopic();
    const sent = {
      key: 'order-17',
      value: { type: 'OrderPlaced', total: 12.5 },
      headers: { traceparent: '00-x' },
      timestamp: 1_767_225_600_000,
    };
    const before = Date.now();
    const reply = await api.post(`${topic}/records`, { records: [sent, { value: [1] }] });
    expect(reply.status).toBe(200);
    const [first, second] = offsetsOf(reply);
    expect(reply.json().duplicate).toBe(false);
    expect(first).toEqual({ partition: 0, offset: 0, timestamp: 1_767_225_600_000 });
    expect(second).toEqual({ partition: 0, offset: 1, timestamp: expect.any(Number) });
    expect(second!.timestamp).toBeGreaterThanOrEqual(before);

    const { topicId, ...page } = await fetched(topic);
    expect(topicId).toBe((await api.get(topic)).json().id);
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
    const topic = await newTopic(12);
    const keys = ['🎉', 'é', 'e\u0301', '日本', 'ключ', 'k', '\ufeffk', '\0', '👨‍👩‍👧‍👦'];
    const byKey = await api.post(`${topic}/records`, { records: keys.map((key) => ({ key, value: 1 })) });
    expect(offsetsOf(byKey).map(({ partition }) => partition)).toEqual([6, 3, 7, 3, 8, 8, 1, 8, 3]);
    const said = await api.post(`${topic}/records`, { records: [{ key: 'k', value: 1, partition: 11 }] });
    expect(offsetsOf(said)).toMatchObject([{ partition: 11 }]);
    for (const [random, partition] of [
      [0, 0],
      [0.5, 6],
      [0.999, 11],
    ] as const) {
      spread = random;
      const reply = await api.post(`${topic}/records`, { records: [{ value: 1 }, { key: null, value: 2 }] });
      expect(offsetsOf(reply)).toMatchObject([{ partition }, { partition }]);
    }
    spread = 0;
    // An empty key is a key.
    expect(offsetsOf(await api.post(`${topic}/records`, { records: [{ key: '', value: 1 }] }))).toMatchObject([
      { partition: 9 },
    ]);
  });

  it('keep their order per partition when partitions are mixed', async () => {
    const topic = await newTopic(2);
    const records = [0, 1, 0, 1, 1].map((partition, i) => ({ partition, value: i }));
    const offsets = offsetsOf(await api.post(`${topic}/records`, { records }));
    expect(offsets.map(({ partition, offset }) => [partition, offset])).toEqual([
      [0, 0],
      [1, 0],
      [0, 1],
      [1, 1],
      [1, 2],
    ]);
    expect((await fetched(topic, 'offset=0', 1)).records.map(({ value }) => value)).toEqual([1, 3, 4]);
  });

  it('keep the text of numbers that JavaScript cannot hold', async () => {
    const topic = await newTopic();
    const value = '{"id":12345678901234567890,"v":1.0, "e":1E3}';
    expect((await sendText(topic, `{"records":[{"value":${value}}]}`)).status).toBe(200);
    expect((await api.get(`${topic}/partitions/0/records?offset=0`)).text).toContain(value);
  });

  it('tell a tombstone, an empty value and the text null apart', async () => {
    const topic = await newTopic();
    const records = [
      { value: null },
      { value: '', valueEncoding: 'utf8' },
      { value: 'null', valueEncoding: 'utf8' },
      { value: '' },
    ];
    expect((await api.post(`${topic}/records`, { records })).status).toBe(200);
    const back = (await fetched(topic, 'offset=0&values=base64')).records.map(({ value }) => value);
    expect(back).toEqual([null, '', 'bnVsbA==', 'IiI=']);
  });

  it('keep every header, its order, case and repetitions', async () => {
    const topic = await newTopic();
    const headers = [
      ['trace', 'a'],
      ['x', '1'],
      ['trace', 'b'],
      ['Trace', 'c'],
      ['list', 'a,b'],
      ['none', null],
      ['bin', { base64: '/wD+gA==' }],
    ];
    expect((await api.post(`${topic}/records`, { records: [{ value: 1, headers }] })).status).toBe(200);
    expect((await fetched(topic)).records[0]!.headers).toEqual(headers);
  });

  it('keep bytes that are no text, as key and as value', async () => {
    const topic = await newTopic(6);
    const record = { key: '/wD+gA==', keyEncoding: 'base64', value: '/wD+gA==', valueEncoding: 'base64' };
    expect(offsetsOf(await api.post(`${topic}/records`, { records: [record] }))).toMatchObject([{ partition: 2 }]);
    expect((await fetched(topic, 'offset=0', 2)).records).toMatchObject([record]);
  });

  it('come as NDJSON, one value a line, with the key out of each', async () => {
    const topic = await newTopic(1);
    const lines = ['{"id":"a","n":1.0}', '{"id":"b"}', '7'];
    const reply = await api.post(`${topic}/records?key=/id`, `${lines.join('\n')}\n`, NDJSON);
    expect(reply.status).toBe(200);
    expect(offsetsOf(reply).map(({ offset }) => offset)).toEqual([0, 1, 2]);
    const { records } = await fetched(topic, 'offset=0&values=utf8');
    expect(records.map(({ key, value }) => [key, value])).toEqual([
      ['a', lines[0]],
      ['b', lines[1]],
      [null, '7'],
    ]);
  });

  it('nested 100,000 deep are taken or refused, never a failure', async () => {
    const topic = await newTopic();
    const deep = `${'['.repeat(100_000)}${']'.repeat(100_000)}`;
    expect([200, 400]).toContain((await sendText(topic, `{"records":[{"value":${deep}}]}`)).status);
  });

  it('of a request that is too large for its partition are refused as a whole', async () => {
    const topic = await newTopic(2);
    const large = () => ({ partition: 1, value: randomBytes(200_000).toString('base64'), valueEncoding: 'base64' });
    const before = await api.stored();
    const many = await api.post(`${topic}/records`, { records: [{ partition: 0, value: 1 }, large(), large()] });
    expect(many.json()).toMatchObject({ status: 413, code: 'request_too_large', partition: 1, maxBytes: 358_400 });
    const value = randomBytes(400_000).toString('base64');
    const one = await api.post(`${topic}/records`, {
      records: [
        { partition: 0, value: 1 },
        { partition: 1, value, valueEncoding: 'base64' },
      ],
    });
    expect(one.json()).toMatchObject({ status: 413, code: 'record_too_large', index: 1 });
    expect(await api.stored()).toEqual(before);
  });
});

describe('a partial failure', () => {
  it('is 207, one entry a record, and says which may be sent again', async () => {
    const topic = await newTopic(2);
    const records = ['a', 'b', 'c'].map((value, i) => ({ partition: i % 2, value }));
    api.faults.next('PutItem', 'throttle');
    const reply = await api.post(`${topic}/records`, { records });
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

describe('a stored batch', () => {
  const records = ['a', 'b', 'c'].map((value) => ({
    key: Buffer.from('k'),
    value: Buffer.from(value),
    headers: [],
    timestamp: 7,
  }));
  const batch = Buffer.from(encodeRecordBatch(records, 0));

  it('goes in as it is and comes back as it is, with its offsets in it', async () => {
    const topic = await newTopic(2);
    for (const baseOffset of [0, 3]) {
      const reply = await api.post(`${topic}/partitions/1/records`, batch, BATCH);
      expect(reply.json()).toEqual({ partition: 1, baseOffset, count: 3, duplicate: false });
    }
    const reply = await api.get(`${topic}/partitions/1/records?offset=4`, RAW);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/vnd.kafka.recordbatch',
      'vertebra-next-offset': '6',
      'vertebra-high-watermark': '6',
    });
    expect(reply.bytes.subarray(8)).toEqual(batch.subarray(8));
    expect(reply.bytes.readBigInt64BE(0)).toBe(3n);
    expect(decodeRecordBatch(reply.bytes, 3).map(({ offset, value }) => [offset, String(value)])).toEqual([
      [3, 'a'],
      [4, 'b'],
      [5, 'c'],
    ]);
    const both = await api.get(`${topic}/partitions/1/records?offset=0`, RAW);
    expect(both.bytes).toHaveLength(2 * batch.length);
  });

  it('is read as JSON records, too', async () => {
    const topic = await newTopic(1);
    await api.post(`${topic}/partitions/0/records`, batch, BATCH);
    const { records: back } = await fetched(topic, 'offset=1');
    expect(back.map(({ offset, value, timestamp }) => [offset, value, timestamp])).toEqual([
      [1, 'b', 7],
      [2, 'c', 7],
    ]);
  });

  it('may hold a record of 4 MB that is no text: it comes as base64 in one answer', async () => {
    const topic = await newTopic(1);
    const value = Buffer.alloc(4 * 1024 * 1024);
    await api.post(`${topic}/partitions/0/records`, encodeRecordBatch([{ key: null, value, headers: [] }], 0), BATCH);
    const page = await fetched(topic, 'offset=0&values=base64');
    expect(page).toMatchObject({ records: [{ offset: 0, valueEncoding: 'base64' }], nextOffset: 1 });
    expect(page.records[0]!.value === value.toString('base64')).toBe(true);
  });

  it('that is damaged inside shows it record by record, and the reader goes on behind it', async () => {
    const topic = await newTopic(1);
    const damaged = Buffer.from(encodeRecordBatch(records, 0));
    damaged[61] = 0x7f; // the first record's length
    damaged.writeUInt32BE(crc32c(damaged, 21), 17);
    await api.post(`${topic}/partitions/0/records`, damaged, BATCH);
    await api.post(`${topic}/records`, { records: [{ value: 'next' }] });
    const reply = await api.get(`${topic}/partitions/0/records?offset=1`);
    const error = { code: 'payload_corrupt' };
    expect(reply.json()).toMatchObject({
      records: [
        { offset: 1, error },
        { offset: 2, error },
        { offset: 3, value: 'next' },
      ],
      nextOffset: 4,
    });
    expect(undescribed('GET', `${topic}/partitions/0/records?offset=1`, reply)).toEqual([]);
  });

  it('larger than a slot is refused', async () => {
    const topic = await newTopic(1);
    const large = encodeRecordBatch([{ key: null, value: randomBytes(360_000), headers: [] }], 0);
    const reply = await api.post(`${topic}/partitions/0/records`, large, BATCH);
    expect(reply.json()).toMatchObject({ status: 413, code: 'request_too_large', maxBytes: 358_400 });
  });
});

describe('a fetch', () => {
  it('goes on where the one before ended, in pages of any size, without a gap', async () => {
    const topic = await newTopic(1);
    const values = Array.from({ length: 25 }, (_, i) => i);
    for (const from of [0, 10, 20]) {
      await api.post(`${topic}/records`, { records: values.slice(from, from + 10).map((value) => ({ value })) });
    }
    const got: unknown[] = [];
    for (let offset = 0; offset < 25; ) {
      const page = await fetched(topic, `offset=${offset}&maxRecords=4`);
      expect(page.records.length).toBeLessThanOrEqual(4);
      expect(page.highWatermark).toBeGreaterThanOrEqual(page.nextOffset);
      got.push(...page.records.map(({ value }) => value));
      offset = page.nextOffset;
    }
    expect(got).toEqual(values);
  });

  it('returns one record whatever maxBytes says', async () => {
    const topic = await newTopic(1);
    await api.post(`${topic}/records`, { records: [{ value: 'x'.repeat(5_000) }, { value: 'y' }] });
    expect((await fetched(topic, 'offset=0&maxBytes=1')).records).toHaveLength(1);
  });

  it('at the end is an empty page, above it 416 with the bounds, or elsewhere by reset', async () => {
    const topic = await newTopic(1);
    await api.post(`${topic}/records`, { records: [{ value: 1 }, { value: 2 }] });
    expect(await fetched(topic, 'offset=2')).toMatchObject({ records: [], nextOffset: 2 });
    expect(await fetched(topic, 'offset=latest')).toMatchObject({ records: [], nextOffset: 2 });
    const above = await api.get(`${topic}/partitions/0/records?offset=3`);
    expect(above.json()).toMatchObject({
      status: 416,
      code: 'offset_out_of_range',
      logStartOffset: 0,
      highWatermark: 2,
    });
    expect((await fetched(topic, 'offset=3&reset=earliest')).records).toHaveLength(2);
    expect(await fetched(topic, 'offset=3&reset=latest')).toMatchObject({ records: [], nextOffset: 2 });
  });

  it('waits for data and answers as soon as it comes', async () => {
    const topic = await newTopic(1);
    const startedAt = Date.now();
    const waiting = fetched(topic, 'offset=0&waitMs=20000');
    await api.post(`${topic}/records`, { records: [{ value: 'late' }] });
    expect((await waiting).records).toMatchObject([{ value: 'late' }]);
    expect(Date.now() - startedAt).toBeLessThan(5_000);
  });

  it('ends its wait in time for the gateway, however long the function took to start', async () => {
    const topic = await newTopic(1);
    const path = `${topic}/partitions/0/records?offset=0&waitMs=20000`;
    const { event } = (await import('../support/gateway-call.ts')).gatewayEvent('GET', path);
    const requestContext = { ...event.requestContext, timeEpoch: Date.now() - 28_300 };
    const startedAt = Date.now();
    const reply = await api.get(path, { event: { requestContext } });
    expect(reply.json()).toMatchObject({ records: [], nextOffset: 0 });
    expect(Date.now() - startedAt).toBeLessThan(1_500);
  });

  it('gets through everything, however much and however awkward, within one answer of a function each', async () => {
    const topic = await newTopic(1);
    const awkward = '"\\\n\u0001é€'.repeat(2_000);
    let sent = 0;
    for (let i = 0; i < 12; i++) {
      const binary = Array.from({ length: 11 }, () => ({
        value: randomBytes(30_000).toString('base64'),
        valueEncoding: 'base64',
      }));
      const quotes = Array.from({ length: 60 }, () => ({ value: awkward, valueEncoding: 'utf8' }));
      for (const records of [binary, quotes]) {
        const reply = await api.post(`${topic}/records`, { records });
        expect(reply.status).toBe(200);
        sent += records.length;
      }
    }
    const headers = { headers: { 'accept-encoding': 'gzip' } };
    let count = 0;
    for (let offset = 0; offset < sent; ) {
      const path = `${topic}/partitions/0/records?maxBytes=5242880&maxRecords=1000&offset=${offset}`;
      const reply = await api.get(path, offset % 2 === 0 ? {} : headers);
      expect(reply.status).toBe(200);
      const text = reply.headers['content-encoding'] === 'gzip' ? gunzipSync(reply.bytes).toString() : reply.text;
      const page = JSON.parse(text) as Fetched;
      expect(page.records.map((record) => record.offset)).toEqual(page.records.map((_, i) => offset + i));
      count += page.records.length;
      offset = page.nextOffset;
    }
    expect(count).toBe(sent);
  });
});
