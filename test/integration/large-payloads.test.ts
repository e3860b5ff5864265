import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { RECORD_BYTES_MAX, REQUEST_BYTES_MAX, SPILL_ABOVE_BYTES_DEFAULT } from '../../shared/domain/limits.ts';
import { readEnv } from '../../shared/env.ts';
import { batchObjectKey } from '../../shared/store/keys.ts';
import { decodeRecordBatch, encodeRecordBatch } from '../../shared/wire/record-batch.ts';
import type { Reply } from '../support/gateway-call.ts';
import { undescribed } from '../support/openapi-page.ts';
import { openTopicBench } from '../support/topic-bench.ts';

const BATCH_TYPE = 'application/vnd.kafka.recordbatch';
const BATCH = { 'content-type': BATCH_TYPE };
const RAW = { headers: { accept: BATCH_TYPE } };
const bench = openTopicBench();

/** Keys of the topic's objects in the bucket. */
async function objectsOf(topic: string): Promise<string[]> {
  const { s3, bucket } = bench.api.tables;
  const { id } = (await bench.api.get(topic)).json<{ id: string }>();
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: bucket, Prefix: id }));
  return Contents.map(({ Key }) => Key!);
}

const binary = (bytes: Uint8Array) => ({ value: Buffer.from(bytes).toString('base64'), valueEncoding: 'base64' });

/** Everything in a partition, page by page, each page within one answer and without a gap to the one before. */
async function readAll(topic: string, end: number, query = ''): Promise<Record<string, unknown>[]> {
  const got: Record<string, unknown>[] = [];
  while (got.length < end) {
    const page = await bench.fetched(topic, `offset=${got.length}${query}`);
    expect(page.records.map(({ offset }) => offset)).toEqual(page.records.map((_, i) => got.length + i));
    expect(page.nextOffset).toBe(got.length + page.records.length);
    expect(page.records.length).toBeGreaterThan(0);
    got.push(...page.records);
  }
  return got;
}

const stored = (reply: Reply) => {
  expect([reply.status, reply.status === 200 ? '' : reply.text]).toEqual([200, '']);
  return reply;
};

describe('a batch that is too large for its slot', () => {
  it('of 1,000 records that no compression makes smaller comes back byte for byte, as JSON and as it is', async () => {
    const topic = await bench.newTopic();
    const values = Array.from({ length: 1_000 }, () => randomBytes(1_024));
    stored(await bench.api.post(`${topic}/records`, { records: values.map(binary) }));
    expect(await objectsOf(topic)).toHaveLength(1);
    const json = await readAll(topic, 1_000, '&values=base64');
    expect(json.map(({ value }) => value)).toEqual(values.map((value) => value.toString('base64')));
    const raw = await bench.api.get(`${topic}/partitions/0/records?offset=0`, RAW);
    expect(raw.headers).toMatchObject({ 'vertebra-next-offset': '1000' });
    const decoded = decodeRecordBatch(raw.bytes, 0);
    expect(decoded).toHaveLength(1_000);
    expect(Buffer.concat(decoded.map(({ value }) => value!)).equals(Buffer.concat(values))).toBe(true);
  });

  it('may come ready-made, as large as a request can be, and goes out as it came in', async () => {
    const topic = await bench.newTopic();
    const [one, two] = [randomBytes(RECORD_BYTES_MAX), Buffer.alloc(0)];
    const records = [one, two].map((value) => ({ key: null, value, headers: [] }));
    const rest = REQUEST_BYTES_MAX - encodeRecordBatch(records, 0).length;
    records[1]!.value = randomBytes(rest - 4); // its length, and its record's, take two bytes more each
    const batch = Buffer.from(encodeRecordBatch(records, 0));
    expect(batch.length).toBeGreaterThan(REQUEST_BYTES_MAX - 10);
    expect(batch.length).toBeLessThanOrEqual(REQUEST_BYTES_MAX);
    const path = `${topic}/partitions/0/records`;
    expect(stored(await bench.api.post(path, batch, BATCH)).json()).toMatchObject({ baseOffset: 0, count: 2 });
    const back = await bench.api.get(`${path}?offset=0`, RAW);
    expect(back.bytes.equals(batch)).toBe(true);
    const page = await bench.fetched(topic, 'offset=0&values=base64');
    expect(page.records[0]!.value === one.toString('base64')).toBe(true);
    const tooLarge = await bench.api.post(path, Buffer.concat([batch, Buffer.alloc(11)]), BATCH);
    expect(tooLarge.json()).toMatchObject({ status: 413, code: 'request_too_large', maxBytes: REQUEST_BYTES_MAX });
  });

  it.each([
    ['text', 'x'.repeat(RECORD_BYTES_MAX - 2)],
    ['text that takes three bytes a character', '€'.repeat(Math.floor((RECORD_BYTES_MAX - 2) / 3))],
    ['text of random letters', randomBytes(2_000_000).toString('hex')],
  ])('may hold a value of 4 MB: %s', async (_, value) => {
    const topic = await bench.newTopic();
    stored(await bench.api.post(`${topic}/records`, { records: [{ value }] }));
    const { records } = await bench.fetched(topic);
    expect(records).toHaveLength(1);
    expect(records[0]!.value === value).toBe(true);
  });

  it('does not hold up the others of a request, and is stored with them or not at all', async () => {
    const topic = await bench.newTopic(2);
    const large = binary(randomBytes(200_000));
    const records = [
      { value: 'small', partition: 0 },
      { ...large, partition: 1 },
      { ...large, partition: 1 },
    ];
    const offsets = stored(await bench.api.post(`${topic}/records`, { records })).json().offsets;
    expect(offsets).toMatchObject([
      { partition: 0, offset: 0 },
      { partition: 1, offset: 0 },
      { partition: 1, offset: 1 },
    ]);
    bench.api.faults.next('PutObject', 'internal-error', 2);
    const half = await bench.api.post(`${topic}/records`, { records });
    expect(half.status).toBe(207);
    expect(half.json().offsets).toMatchObject([
      { offset: 1 },
      { error: { code: 'unavailable', retryable: true } },
      { error: { code: 'unavailable', retryable: true } },
    ]);
    expect((await bench.fetched(topic, 'offset=0&values=base64', 1)).records).toHaveLength(2);
  });
});

describe('where a batch goes', () => {
  /** What decides is the batch as it is stored, whatever it is made of. */
  const awkward: Readonly<Record<string, (chars: number) => object>> = {
    'text of one byte a character': (chars) => ({ value: letters(chars), valueEncoding: 'utf8' }),
    'text of three bytes a character': (chars) => ({ value: ideographs(chars / 3), valueEncoding: 'utf8' }),
    'a long key': (chars) => ({ key: letters(chars), value: null }),
    'thousands of headers': (chars) => ({
      value: 1,
      headers: Array.from({ length: Math.floor(chars / 10) }, () => [letters(5), letters(5)]),
    }),
    'long header names': (chars) => ({ value: 1, headers: [[letters(chars / 2), letters(chars / 2)]] }),
  };

  it.each(Object.entries(awkward))('is decided by its bytes as stored: %s', async (_, recordOf) => {
    const topic = await bench.newTopic();
    for (const chars of [30_000, 60_000, 300_000, 409_600, 420_000]) {
      const record = recordOf(chars);
      stored(await bench.api.post(`${topic}/records`, { records: [record] }));
      const raw = await bench.api.get(`${topic}/partitions/0/records?offset=latest`, RAW);
      const last = Number(raw.headers['vertebra-next-offset']) - 1;
      const bytes = (await bench.api.get(`${topic}/partitions/0/records?offset=${last}`, RAW)).bytes.length;
      const key = (await objectsOf(topic)).some((name) => name.endsWith(String(last)));
      expect([chars, bytes, key]).toEqual([chars, bytes, bytes > SPILL_ABOVE_BYTES_DEFAULT]);
    }
  });

  it('changes at one byte above the threshold', async () => {
    const topic = await bench.newTopic();
    const empty = encodeRecordBatch(
      [{ key: null, value: randomBytes(SPILL_ABOVE_BYTES_DEFAULT - 100), headers: [] }],
      0,
    );
    const overhead = empty.length - (SPILL_ABOVE_BYTES_DEFAULT - 100);
    for (const [more, objects] of [
      [-1, 0],
      [0, 0],
      [1, 1],
    ] as const) {
      const value = randomBytes(SPILL_ABOVE_BYTES_DEFAULT - overhead + more);
      const batch = encodeRecordBatch([{ key: null, value, headers: [] }], 0);
      expect(batch).toHaveLength(SPILL_ABOVE_BYTES_DEFAULT + more);
      stored(await bench.api.post(`${topic}/partitions/0/records`, batch, BATCH));
      expect(await objectsOf(topic)).toHaveLength(objects);
    }
    expect((await bench.fetched(topic)).records).toHaveLength(3);
  });

  it('is the same for the same records that come again', async () => {
    const topic = await bench.newTopic();
    const record = { value: letters(60_000), valueEncoding: 'utf8', timestamp: 7 };
    for (const count of [1, 2]) {
      stored(await bench.api.post(`${topic}/records`, { records: [record] }));
      expect(await objectsOf(topic)).toHaveLength(count);
    }
  });

  it('can be set per deployment, within what a slot holds', () => {
    const tables = { VERTEBRA_LOG_TABLE: 'log', VERTEBRA_STATE_TABLE: 'state', VERTEBRA_BUCKET: 'bucket' };
    const read = (bytes?: string) =>
      readEnv({ ...tables, ...(bytes !== undefined && { VERTEBRA_SPILL_ABOVE_BYTES: bytes }) }).spillAboveBytes;
    expect([read(), read(''), read('1'), read('8192'), read('358400')]).toEqual([
      SPILL_ABOVE_BYTES_DEFAULT,
      SPILL_ABOVE_BYTES_DEFAULT,
      1,
      8_192,
      358_400,
    ]);
    for (const wrong of ['0', '-1', '358401', '8k', '1.5']) {
      expect(() => read(wrong)).toThrow(`not '${wrong}'`);
    }
  });
});

describe('a reader of large payloads', () => {
  it('gets 300 records of 30 KB in pages, each within one answer, without a gap (F17)', async () => {
    const topic = await bench.newTopic();
    const values = Array.from({ length: 300 }, () => randomBytes(30_000));
    for (let i = 0; i < 300; i += 100) {
      const records = values.slice(i, i + 100).map(binary);
      stored(await bench.api.post(`${topic}/records`, { records }));
    }
    expect(await objectsOf(topic)).toHaveLength(3);
    const got = await readAll(topic, 300, '&values=base64');
    expect(got.every(({ value }, i) => value === values[i]!.toString('base64'))).toBe(true);
    let count = 0;
    for (let offset = 0; offset < 300; ) {
      const raw = await bench.api.get(`${topic}/partitions/0/records?offset=${offset}`, RAW);
      expect(raw.status).toBe(200);
      expect(raw.bytes.length).toBeLessThanOrEqual(REQUEST_BYTES_MAX);
      count += decodeRecordBatch(raw.bytes, offset).length;
      offset = Number(raw.headers['vertebra-next-offset']);
    }
    expect(count).toBe(300);
  });
});

describe('a payload that is not there, or not as it was', () => {
  /** Twenty-one records, the one at offset 7 in S3. */
  async function damagedTopic(): Promise<{ topic: string; object: { Bucket: string; Key: string } }> {
    const topic = await bench.newTopic();
    const { id } = (await bench.api.get(topic)).json<{ id: string }>();
    const before = Array.from({ length: 7 }, (_, value) => ({ value }));
    const after = Array.from({ length: 13 }, (_, i) => ({ value: 8 + i }));
    for (const records of [before, [binary(randomBytes(50_000))], after]) {
      stored(await bench.api.post(`${topic}/records`, { records }));
    }
    const Key = batchObjectKey({ topicId: id, partition: 0 }, 7);
    expect(await objectsOf(topic)).toEqual([Key]);
    return { topic, object: { Bucket: bench.api.tables.bucket, Key } };
  }

  it.each([
    ['payload_missing', 'it was deleted', undefined],
    ['payload_corrupt', 'other bytes of its length are there', randomBytes(50_087)],
    ['payload_corrupt', 'less is there', randomBytes(10)],
  ] as const)('is told as %s where %s; the others are read (F49)', async (code, _, Body) => {
    const { topic, object } = await damagedTopic();
    const { s3 } = bench.api.tables;
    await s3.send(Body === undefined ? new DeleteObjectCommand(object) : new PutObjectCommand({ ...object, Body }));
    const path = `${topic}/partitions/0/records`;

    const reply = await bench.api.get(`${path}?offset=0`);
    const { records, nextOffset } = reply.json<{ records: Record<string, unknown>[]; nextOffset: number }>();
    expect(undescribed('GET', path, reply)).toEqual([]);
    expect(nextOffset).toBe(21);
    expect(records.map(({ offset }) => offset)).toEqual(Array.from({ length: 21 }, (_, i) => i));
    expect(records[7]).toEqual({ offset: 7, error: { code } });
    expect(records.filter(({ value }, i) => value === i)).toHaveLength(20);

    // Batches as they are come up to the damage, then a refusal that says where to go on, then the rest.
    const raw = await bench.api.get(`${path}?offset=0`, RAW);
    expect(raw.headers).toMatchObject({ 'vertebra-next-offset': '7' });
    const refused = await bench.api.get(`${path}?offset=7`, RAW);
    expect(refused.json()).toMatchObject({ status: 500, code, nextOffset: 8 });
    expect(undescribed('GET', path, refused)).toEqual([]);
    expect((await bench.api.get(`${path}?offset=8`, RAW)).headers).toMatchObject({ 'vertebra-next-offset': '21' });
  });
});

describe('a payload that cannot be had for now', () => {
  it.each([
    ['S3 fails', 'internal-error', 503, 'unavailable'],
    ['no answer comes', 'lose-request', 503, 'unavailable'],
    ['access is denied, which is not the same as gone', 'deny', 500, 'internal'],
  ] as const)('is a refusal of the read, and nothing is skipped: %s', async (_, fault, status, code) => {
    const topic = await bench.newTopic();
    const record = binary(randomBytes(50_000));
    stored(await bench.api.post(`${topic}/records`, { records: [record] }));
    const path = `${topic}/partitions/0/records?offset=0&values=base64`;
    for (const accept of ['application/json', BATCH_TYPE]) {
      bench.api.faults.next('GetObject', fault);
      const reply = await bench.api.get(path, { headers: { accept } });
      expect(reply.json()).toMatchObject({ status, code });
      expect(undescribed('GET', path, reply)).toEqual([]);
    }
    expect((await bench.fetched(topic, 'offset=0&values=base64')).records).toMatchObject([{ value: record.value }]);
  });
});

const LETTERS = Array.from({ length: 64 }, (_, i) => String.fromCharCode(48 + i));
function letters(chars: number): string {
  return Array.from(randomBytes(chars), (byte) => LETTERS[byte & 63]).join('');
}
function ideographs(chars: number): string {
  return Array.from(randomBytes(2 * Math.floor(chars)), (byte) => String.fromCharCode(0x4e00 + byte))
    .join('')
    .slice(0, chars);
}
