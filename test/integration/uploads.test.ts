import { ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { PRESIGNED_LIFE_MS, UPLOAD_BYTES_MAX, UPLOAD_LIFE_MS } from '../../shared/domain/limits.ts';
import { decodeRecordBatch } from '../../shared/wire/record-batch.ts';
import type { Reply } from '../support/gateway-call.ts';
import { HandClock } from '../support/log-bench.ts';
import { undescribed } from '../support/openapi-page.ts';
import { openTopicBench } from '../support/topic-bench.ts';
import { announce, sendPayload, sha256Of, upload } from '../support/upload.ts';

const clock = new HandClock();
const bench = openTopicBench({ clock });
const PAYLOAD = Buffer.from('{"a payload": "of its own"}');
const RAW = { headers: { accept: 'application/vnd.kafka.recordbatch' } };

const named = (uploadId: unknown, more: object = {}) => ({ value: { uploadId }, valueEncoding: 'upload', ...more });
const produce = (topic: string, records: object[], headers?: Record<string, string>) =>
  bench.api.post(`${topic}/records`, { records }, headers);

/** Does something after a while; then it is now again: S3 takes no URLs that were signed in the future. */
async function later(ms: number, act: () => Promise<void>): Promise<void> {
  clock.pass(ms);
  await act().finally(() => clock.pass(-ms));
}

/** Anything but 200 fails the test. */
async function produced(topic: string, records: object[], headers?: Record<string, string>): Promise<Reply> {
  const reply = await produce(topic, records, headers);
  expect([reply.status, reply.status === 200 ? '' : reply.text]).toEqual([200, '']);
  expect(undescribed('POST', `${topic}/records`, reply)).toEqual([]);
  return reply;
}

/** A refusal for its uploads, and nothing is stored. */
async function refused(topic: string, records: object[], reason: string, indexes: number[]): Promise<void> {
  const before = await bench.api.stored();
  const reply = await produce(topic, records);
  expect(reply.json()).toMatchObject({ status: 400, code: 'upload_invalid', reason, index: indexes[0], indexes });
  expect(undescribed('POST', `${topic}/records`, reply)).toEqual([]);
  expect(await bench.api.stored()).toEqual(before);
}

describe('an upload', () => {
  it('is announced, put, named by a record, and had from its URL, byte for byte', async () => {
    const topic = await bench.newTopic();
    const announced = await announce(bench.api, topic, PAYLOAD);
    expect(announced).toEqual({
      uploadId: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
      url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/payloads\/uploads\//),
      headers: { 'content-length': '27', 'x-amz-checksum-sha256': expect.any(String) },
      expiresAt: clock.now() + UPLOAD_LIFE_MS,
      urlExpiresAt: clock.now() + PRESIGNED_LIFE_MS,
    });
    expect((await sendPayload(announced, PAYLOAD)).status).toBe(200);
    const headers = { trace: 'x' };
    await produced(topic, [named(announced.uploadId, { key: 'k', headers, timestamp: 7 }), { value: 'beside' }]);

    const { records } = await bench.fetched(topic);
    const value = { url: expect.any(String), size: PAYLOAD.length, sha256: sha256Of(PAYLOAD) };
    expect(records).toEqual([
      { offset: 0, timestamp: 7, key: 'k', value, valueEncoding: 'url', headers: [['trace', 'x']] },
      { offset: 1, timestamp: clock.now(), key: null, value: 'beside', headers: [] },
    ]);
    const got = await fetch((records[0]!.value as { url: string }).url);
    expect([got.status, Buffer.from(await got.arrayBuffer())]).toEqual([200, PAYLOAD]);
  });

  it('comes as a URL whatever form is asked for, and as it is stored in a batch', async () => {
    const topic = await bench.newTopic();
    const uploadId = await upload(bench.api, topic, PAYLOAD);
    await produced(topic, [named(uploadId)]);
    for (const values of ['json', 'utf8', 'base64']) {
      const { records } = await bench.fetched(topic, `offset=0&values=${values}`);
      expect(records[0]).toMatchObject({ valueEncoding: 'url', value: { size: PAYLOAD.length } });
    }
    const [stored] = decodeRecordBatch((await bench.api.get(`${topic}/partitions/0/records?offset=0`, RAW)).bytes, 0);
    const value = JSON.parse(Buffer.from(stored!.value!).toString());
    expect(value).toEqual({ uploadId, size: PAYLOAD.length, sha256: sha256Of(PAYLOAD) });
  });

  it('is told from a value that looks like one, whichever way', async () => {
    const topic = await bench.newTopic();
    const uploadId = await upload(bench.api, topic, PAYLOAD);
    const pointer = { uploadId, size: PAYLOAD.length, sha256: sha256Of(PAYLOAD) };
    const link = { url: 'https://example.com', size: 1, sha256: 'x' };
    await produced(topic, [{ value: pointer }, named(uploadId), { value: { uploadId } }, { value: link }]);
    const { records } = await bench.fetched(topic);
    expect(records.map(({ valueEncoding }) => valueEncoding)).toEqual([undefined, 'url', undefined, undefined]);
    expect([records[0]!.value, records[2]!.value, records[3]!.value]).toEqual([pointer, { uploadId }, link]);
  });

  it('may stand among large values, over partitions, and be read from the middle', async () => {
    const topic = await bench.newTopic(2);
    const large = 'x'.repeat(200_000);
    const payloads = Array.from({ length: 6 }, (_, i) => Buffer.from(`payload ${i}`));
    const ids = await Promise.all(payloads.map((payload) => upload(bench.api, topic, payload)));
    const records = ids.flatMap((id, i) => [named(id, { partition: i % 2 }), { value: large, partition: i % 2 }]);
    await produced(topic, records);
    for (const partition of [0, 1]) {
      const { records: got } = await bench.fetched(topic, 'offset=2&maxRecords=3', partition);
      expect(got.map(({ offset, valueEncoding }) => [offset, valueEncoding])).toEqual([
        [2, 'url'],
        [3, undefined],
        [4, 'url'],
      ]);
      const { url } = got[0]!.value as { url: string };
      expect(await (await fetch(url)).text()).toBe(`payload ${partition + 2}`);
    }
    const least = await bench.fetched(topic, 'offset=0&maxBytes=1');
    expect(least.records).toHaveLength(1);
    expect(least.nextOffset).toBe(1);
  });

  it('fills no answer beyond its bytes', async () => {
    const topic = await bench.newTopic();
    const ids = await Promise.all(Array.from({ length: 8 }, (_, i) => upload(bench.api, topic, Buffer.from([i]))));
    await produced(
      topic,
      ids.map((id) => named(id)),
    );
    let offset = 0;
    while (offset < 8) {
      const reply = await bench.api.get(`${topic}/partitions/0/records?offset=${offset}&maxBytes=2500`);
      const { records, nextOffset } = reply.json<{ records: object[]; nextOffset: number }>();
      expect(reply.bytes.length).toBeLessThanOrEqual(2_500);
      expect(nextOffset).toBe(offset + records.length);
      expect(records.length).toBeGreaterThan(1);
      offset = nextOffset;
    }
  });
});

describe('a record that names an upload', () => {
  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', '01J00000000000000000000000'],
    ['an array', ['01J00000000000000000000000']],
    ['an object without an id', {}],
    ['an id that is no text', { uploadId: 7 }],
    ['more than an id', { uploadId: '01J00000000000000000000000', size: 1 }],
  ])('by %s is malformed', async (_, value) => {
    const topic = await bench.newTopic();
    const reply = await produce(topic, [{ value: 1 }, { value, valueEncoding: 'upload' }]);
    expect(reply.json()).toMatchObject({ status: 400, code: 'invalid_request', index: 1, field: 'value' });
  });

  it.each([
    '../orders/0',
    '..',
    '',
    '01J00000000000000000000000/x',
    '01j00000000000000000000000',
    '01J00000000000000000000000',
    '%2e%2e',
    'x'.repeat(100_000),
    'Ä'.repeat(26),
  ])('by an id that no upload has is refused: %.30s', async (uploadId) => {
    await refused(await bench.newTopic(), [{ value: 1 }, named(uploadId)], 'unknown', [1]);
  });

  it('of another topic, or of an earlier one of the same name, is refused', async () => {
    const [mine, other] = [await bench.newTopic(), await bench.newTopic()];
    const uploadId = await upload(bench.api, other, PAYLOAD);
    await refused(mine, [named(uploadId)], 'unknown', [0]);
    expect((await bench.api.delete(other)).status).toBe(204);
    expect((await bench.api.put(other)).status).toBe(201);
    await refused(other, [named(uploadId)], 'unknown', [0]);
  });

  it('that was not put is refused, and taken once it was', async () => {
    const topic = await bench.newTopic();
    const announced = await announce(bench.api, topic, PAYLOAD);
    const records = [{ value: 1 }, named(announced.uploadId), { value: 2 }];
    await refused(topic, records, 'not_uploaded', [1]);
    await sendPayload(announced, PAYLOAD);
    await produced(topic, records);
  });

  it('that has another size or another hash than was announced is refused', async () => {
    const topic = await bench.newTopic();
    const { s3, bucket } = bench.api.tables;
    const others = { wrong_size: 'short', wrong_checksum: PAYLOAD.toString().replace('own', 'OWN') };
    for (const [reason, Body] of Object.entries(others)) {
      const { uploadId, url } = await announce(bench.api, topic, PAYLOAD);
      const Key = new URL(url).pathname.split('/').slice(2).join('/');
      await s3.send(new PutObjectCommand({ Bucket: bucket, Key, Body, ChecksumAlgorithm: 'SHA256' }));
      await refused(topic, [named(uploadId)], reason, [0]);
    }
  });

  it('that is the value of another record is refused: in another request, or twice in the same one', async () => {
    const topic = await bench.newTopic(2);
    const uploadId = await upload(bench.api, topic, PAYLOAD);
    await refused(topic, [named(uploadId), { value: 1 }, named(uploadId, { partition: 1 })], 'used', [2]);
    await produced(topic, [named(uploadId, { partition: 0 })]);
    await refused(topic, [{ value: 1 }, named(uploadId, { partition: 1 })], 'used', [1]);
    await refused(topic, [named(uploadId, { partition: 0 })], 'used', [0]);
  });

  it('is refused with every other at fault, the first one told', async () => {
    const topic = await bench.newTopic();
    const good = await upload(bench.api, topic, PAYLOAD);
    const missing = (await announce(bench.api, topic, PAYLOAD)).uploadId;
    await refused(topic, [named(good), named(missing), { value: 1 }, named('?')], 'not_uploaded', [1, 3]);
    await produced(topic, [named(good)]);
  });

  it('comes too late after a day; one that was named in time can be had as before', async () => {
    const topic = await bench.newTopic();
    const [used, unused] = [await upload(bench.api, topic, PAYLOAD), await upload(bench.api, topic, PAYLOAD)];
    await produced(topic, [named(used)]);
    await later(UPLOAD_LIFE_MS, async () => {
      await refused(topic, [named(unused)], 'expired', [0]);
      expect((await bench.fetched(topic)).records[0]).toMatchObject({ valueEncoding: 'url' });
    });
  });
});

describe('a request with a key that names an upload', () => {
  const KEY = { 'idempotency-key': 'once' };

  it('gets its first answer again, though the upload is used, and has expired', async () => {
    const topic = await bench.newTopic();
    const uploadId = await upload(bench.api, topic, PAYLOAD);
    await later(UPLOAD_LIFE_MS - 60_000, async () => {
      const first = (await produced(topic, [named(uploadId)], KEY)).json();
      const again = { ...first, duplicate: true };
      expect((await produced(topic, [named(uploadId)], KEY)).json()).toEqual(again);
      await later(120_000, async () => expect((await produced(topic, [named(uploadId)], KEY)).json()).toEqual(again));
      expect((await bench.fetched(topic)).records).toHaveLength(1);
    });
  });

  it('is another one than the same text as JSON, or another upload', async () => {
    const topic = await bench.newTopic();
    const [uploadId, other] = [await upload(bench.api, topic, PAYLOAD), await upload(bench.api, topic, PAYLOAD)];
    await produced(topic, [named(uploadId)], KEY);
    for (const record of [{ value: { uploadId } }, named(other)]) {
      expect((await produce(topic, [record], KEY)).code).toBe('idempotency_key_reused');
    }
  });

  it('does not get an upload that another request has', async () => {
    const topic = await bench.newTopic();
    const uploadId = await upload(bench.api, topic, PAYLOAD);
    await produced(topic, [named(uploadId)], KEY);
    const reply = await produce(topic, [named(uploadId)], { 'idempotency-key': 'twice' });
    expect(reply.json()).toMatchObject({ code: 'upload_invalid', reason: 'used' });
  });
});

describe('announcing an upload', () => {
  const sha256 = 'ab'.repeat(32);
  const bad: [string, unknown][] = [
    ['no body', ''],
    ['an array', '[]'],
    ['no size', { sha256 }],
    ['size 0', { size: 0, sha256 }],
    ['a negative size', { size: -1, sha256 }],
    ['half a byte', { size: 1.5, sha256 }],
    ['a size as text', { size: '1', sha256 }],
    ['more than 5 GB', { size: UPLOAD_BYTES_MAX + 1, sha256 }],
    ['no hash', { size: 1 }],
    ['a hash in base64', { size: 1, sha256: Buffer.from(sha256, 'hex').toString('base64') }],
    ['a hash that is too short', { size: 1, sha256: sha256.slice(1) }],
    ['a hash that is too long', { size: 1, sha256: `${sha256}a` }],
    ['a hash with a line end', { size: 1, sha256: `${sha256}\n` }],
    ['a key of its own', { size: 1, sha256, key: '../x' }],
  ];
  it.each(bad)('with %s is refused, and nothing is noted', async (_, body) => {
    const topic = await bench.newTopic();
    const before = await bench.api.stored();
    const reply = await bench.api.post(`${topic}/uploads`, body as object, { 'content-type': 'application/json' });
    expect([reply.status, reply.code]).toEqual([400, 'invalid_request']);
    expect(await bench.api.stored()).toEqual(before);
  });

  it('takes all that one PUT can carry, and hex digits of either case', async () => {
    const topic = await bench.newTopic();
    const largest = await bench.api.post(`${topic}/uploads`, { size: UPLOAD_BYTES_MAX, sha256 });
    expect(largest.json()).toMatchObject({ headers: { 'content-length': '5368709120' } });
    expect(undescribed('POST', `${topic}/uploads`, largest)).toEqual([]);
    const body = { size: PAYLOAD.length, sha256: sha256Of(PAYLOAD).toUpperCase() };
    const announced = (await bench.api.post(`${topic}/uploads`, body)).json<Parameters<typeof sendPayload>[0]>();
    await sendPayload(announced, PAYLOAD);
    await produced(topic, [named(announced.uploadId)]);
    expect((await bench.fetched(topic)).records[0]!.value).toMatchObject({ sha256: sha256Of(PAYLOAD) });
  });

  it('to a topic that is not there is refused', async () => {
    const reply = await bench.api.post('/v1/topics/nobody/uploads', { size: 1, sha256 });
    expect([reply.status, reply.code]).toEqual([404, 'topic_not_found']);
  });

  it('that fails midway hands out no URL, and says so', async () => {
    const topic = await bench.newTopic();
    for (const naming of ['#upload.', 'uploads#']) {
      bench.api.faults.next('PutItem', 'lose-request', 1, naming);
      expect((await bench.api.post(`${topic}/uploads`, { size: 1, sha256 })).status).toBe(503);
      bench.api.faults.next('PutItem', 'throttle', 1, naming);
      expect((await bench.api.post(`${topic}/uploads`, { size: 1, sha256 })).status).toBe(429);
    }
  });
});

it('never reads a payload, and holds none', async () => {
  const topic = await bench.newTopic();
  const payload = Buffer.alloc(8_000_000, 'x');
  const uploadId = await upload(bench.api, topic, payload);
  const { calls } = bench.api.faults;
  await produced(topic, [named(uploadId)]);
  // The upload, its object's head, the reservation, the upload's use, the slot.
  expect(calls.slice(-5)).toEqual(['GetItem', 'HeadObject', 'UpdateItem', 'UpdateItem', 'PutItem']);
  calls.length = 0;
  await bench.fetched(topic);
  expect(calls.filter((call) => !['Query', 'GetItem'].includes(call))).toEqual([]);
  const { Contents } = await bench.api.tables.s3.send(
    new ListObjectsV2Command({ Bucket: bench.api.tables.bucket, Prefix: 'uploads/' }),
  );
  expect(Contents!.map(({ Key }) => Key!.split('/').at(-1))).toContain(uploadId);
});
