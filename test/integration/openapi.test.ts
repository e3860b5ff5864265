import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SPILL_ABOVE_BYTES_DEFAULT } from '../../shared/domain/limits.ts';
import { encodeRecordBatch } from '../../shared/wire/record-batch.ts';
import { ROUTES } from '../../shared/wire/routes.ts';
import { type Api, openApi } from '../support/api.ts';
import {
  broken,
  type Drive,
  driveAll,
  type Faults,
  invalid,
  refused,
  tooLarge,
  unreadable,
} from '../support/drives.ts';
import type { Sent } from '../support/gateway-call.ts';
import { HandClock } from '../support/log-bench.ts';
import { DESCRIBED, resolve } from '../support/openapi-page.ts';

const TOPIC = '/v1/topics/orders';
const UPLOADS = `${TOPIC}/uploads`;
const RAW = `${TOPIC}/partitions/1/records`;
const JSON_TYPE = { 'content-type': 'application/json' };
const RAW_TYPE = 'application/vnd.kafka.recordbatch';
const batchOf = (value: Buffer): Sent => ({
  body: encodeRecordBatch([{ key: null, value, headers: [] }], 0),
  headers: { 'content-type': RAW_TYPE },
});
const batch = batchOf(Buffer.from('1'));
const otherBatch = batchOf(Buffer.from('2'));
const KEYS = '/v1/api-keys';
const KEY_ID = '01J0000000000000000000000K';
const apiKey: Sent = { body: { name: 'shop', rights: [{ topics: 'orders-*', allow: ['produce'] }] } };
const records: Sent = { body: { records: [0, 1].map((partition) => ({ partition, value: 1 })) } };
const payload: Sent = { body: { size: 5_000_000_000, sha256: 'ab'.repeat(32) } };
/** With what is given when it is prepared. */
const prepared: { body?: object } = {};
const unknownUpload = { value: { uploadId: '01J00000000000000000000000' }, valueEncoding: 'upload' };

const eventWith = (id: string, data: unknown) => ({
  specversion: '1.0',
  id,
  source: '/test',
  type: 'test',
  partitionkey: id,
  data,
});
const eventOf = (id: string, data: unknown): Sent => ({
  body: eventWith(id, data),
  headers: { 'content-type': 'application/cloudevents+json' },
});
const eventsOf = (ids: readonly string[]): Sent => ({
  body: JSON.stringify(ids.map((id) => eventWith(id, 1))),
  headers: { 'content-type': 'application/cloudevents-batch+json' },
});
/** Nobody knows whether it was stored. */
const LOST_FILL: Faults = [
  ['PutItem', 'lose-request', 1, '"batch"'],
  ['PutItem', 'lose-request', 1, '"void"'],
];

/** First a call of which nobody knows what became; then it is still at work; and then other records come with its key. */
const keyed = (target: string, first: Sent, other: Sent): Drive[] => {
  const underKey = ({ body, headers }: Sent): Sent => ({
    ...(body !== undefined && { body }),
    headers: { ...headers, 'idempotency-key': target },
  });
  return [
    { status: 504, target, sent: underKey(first), faults: LOST_FILL },
    { status: 409, target, sent: underKey(first) },
    { status: 422, target, sent: underKey(other) },
  ];
};
/** A partition whose one batch was lost from the bucket. */
const LOST = '/v1/topics/lost/partitions/0/records?offset=0';

/** Those of groups and of subscriptions are driven in files of their own. */
type Route = Exclude<(typeof ROUTES)[number]['key'], `${string} /v1/${'groups' | 'subscriptions'}${string}`>;

const DRIVES: { readonly [route in Route]: readonly Drive[] } = {
  'POST /v1/topics/{topic}/records': [
    { status: 200, target: `${TOPIC}/records`, sent: records },
    { status: 207, target: `${TOPIC}/records`, sent: records, faults: [['PutItem', 'throttle']] },
    invalid(`${TOPIC}/records`),
    { status: 400, target: `${TOPIC}/records`, sent: { body: { records: [unknownUpload] } } },
    { status: 404, target: '/v1/topics/nobody/records', sent: records },
    { status: 413, target: `${TOPIC}/records`, sent: { body: tooLarge } },
    { status: 415, target: `${TOPIC}/records`, sent: { body: 'x', headers: { 'content-type': 'text/plain' } } },
    ...refused(`${TOPIC}/records`, 'UpdateItem', records),
    ...keyed(`${TOPIC}/records`, { body: { records: [{ value: 1 }] } }, records),
    broken(`${TOPIC}/records`),
  ],
  'POST /v1/topics/{topic}/partitions/{partition}/records': [
    { status: 200, target: RAW, sent: batch },
    invalid(RAW),
    { status: 404, target: '/v1/topics/nobody/partitions/0/records', sent: batch },
    { status: 404, target: `${TOPIC}/partitions/9/records`, sent: batch },
    ...unreadable(RAW, batch.headers!),
    ...refused(RAW, 'UpdateItem', batch),
    ...keyed(RAW, batch, otherBatch),
    broken(RAW),
  ],
  'POST /v1/topics/{topic}/events': [
    { status: 200, target: `${TOPIC}/events`, sent: eventOf('a', 1) },
    {
      status: 207,
      target: `${TOPIC}/events`,
      sent: eventsOf(['b', 'c']),
      faults: [['PutItem', 'throttle', 1, '"claim"']],
    },
    invalid(`${TOPIC}/events`),
    { status: 404, target: '/v1/topics/nobody/events', sent: eventOf('a', 1) },
    { status: 413, target: `${TOPIC}/events`, sent: { ...eventOf('a', 1), body: tooLarge } },
    { status: 415, target: `${TOPIC}/events`, sent: { body: 'x', headers: { 'content-type': 'text/plain' } } },
    ...refused(`${TOPIC}/events`, 'UpdateItem', eventOf('d', 1)),
    { status: 504, target: `${TOPIC}/events`, sent: eventOf('e', 1), faults: LOST_FILL },
    { status: 409, target: `${TOPIC}/events`, sent: eventOf('e', 1) },
    { status: 422, target: `${TOPIC}/events`, sent: eventOf('e', 2) },
    broken(`${TOPIC}/events`),
  ],
  'POST /v1/topics/{topic}/prepare': [
    { status: 200, target: `${TOPIC}/prepare`, sent: records },
    invalid(`${TOPIC}/prepare`),
    { status: 404, target: '/v1/topics/nobody/prepare', sent: records },
    { status: 413, target: `${TOPIC}/prepare`, sent: { body: tooLarge } },
    ...unreadable(`${TOPIC}/prepare`, JSON_TYPE),
    ...refused(`${TOPIC}/prepare`, 'UpdateItem', records),
    broken(`${TOPIC}/prepare`),
  ],
  'POST /v1/topics/{topic}/settle': [
    { status: 200, target: `${TOPIC}/settle`, sent: prepared },
    invalid(`${TOPIC}/settle`),
    ...unreadable(`${TOPIC}/settle`, JSON_TYPE),
    ...refused(`${TOPIC}/settle`, 'PutItem', prepared),
    { status: 504, target: `${TOPIC}/settle`, sent: prepared, hold: 'PutItem' },
    broken(`${TOPIC}/settle`),
  ],
  'POST /v1/topics/{topic}/uploads': [
    { status: 201, target: UPLOADS, sent: payload },
    invalid(UPLOADS),
    { status: 404, target: '/v1/topics/nobody/uploads', sent: payload },
    ...unreadable(UPLOADS, JSON_TYPE),
    ...refused(UPLOADS, 'PutItem', payload),
    { status: 504, target: UPLOADS, sent: payload, hold: 'GetItem' },
    broken(UPLOADS),
  ],
  'GET /v1/topics/{topic}/partitions/{partition}/records': [
    { status: 200, target: `${RAW}?offset=0` },
    { status: 200, target: `${RAW}?offset=0`, sent: { headers: { accept: RAW_TYPE } } },
    { status: 200, target: LOST },
    { status: 500, target: LOST, sent: { headers: { accept: RAW_TYPE } } },
    invalid(`${RAW}?offset=0`),
    { status: 404, target: '/v1/topics/nobody/partitions/0/records?offset=0' },
    { status: 404, target: `${TOPIC}/partitions/9/records?offset=0` },
    { status: 416, target: `${RAW}?offset=99` },
    ...refused(`${RAW}?offset=0`, 'Query'),
    broken(`${RAW}?offset=0`),
  ],
  'GET /v1/topics': [
    { status: 200, target: '/v1/topics?limit=1' },
    { status: 200, target: '/v1/topics?deleted=true' },
    invalid('/v1/topics'),
    ...refused('/v1/topics', 'Query'),
    broken('/v1/topics'),
  ],
  'PUT /v1/topics/{topic}': [
    { status: 201, target: '/v1/topics/another', sent: { body: { partitions: 1, retentionMs: 3_600_000 } } },
    { status: 200, target: '/v1/topics/another', sent: { body: { partitions: 2, retentionMs: -1 } } },
    invalid(TOPIC),
    { status: 409, target: '/v1/topics/another', sent: { body: { partitions: 1 } } },
    ...unreadable(TOPIC, JSON_TYPE),
    ...refused(TOPIC, 'GetItem'),
    { status: 504, target: TOPIC, hold: 'GetItem' },
    broken(TOPIC),
  ],
  'GET /v1/topics/{topic}': [
    { status: 200, target: TOPIC },
    invalid(TOPIC),
    { status: 404, target: '/v1/topics/nobody' },
    ...refused(TOPIC, 'GetItem'),
    broken(TOPIC),
  ],
  'DELETE /v1/topics/{topic}': [
    invalid(TOPIC),
    { status: 404, target: '/v1/topics/nobody' },
    ...refused(TOPIC, 'GetItem'),
    { status: 204, target: '/v1/topics/another' },
    { status: 504, target: '/v1/topics/another', hold: 'GetItem' },
    broken(TOPIC),
  ],
  'GET /v1/topics/{topic}/partitions': [
    { status: 200, target: `${TOPIC}/partitions` },
    invalid(`${TOPIC}/partitions`),
    { status: 404, target: '/v1/topics/nobody/partitions' },
    ...refused(`${TOPIC}/partitions`, 'GetItem'),
    broken(`${TOPIC}/partitions`),
  ],
  'GET /v1/topics/{topic}/offsets': [
    { status: 200, target: `${TOPIC}/offsets?at=2026-01-01T00:00:00Z` },
    invalid(`${TOPIC}/offsets?at=latest`),
    { status: 404, target: '/v1/topics/nobody/offsets?at=latest' },
    ...refused(`${TOPIC}/offsets?at=latest`, 'GetItem'),
    broken(`${TOPIC}/offsets?at=latest`),
  ],
  'POST /v1/api-keys': [
    { status: 201, target: KEYS, sent: apiKey },
    invalid(KEYS),
    ...unreadable(KEYS, JSON_TYPE),
    ...refused(KEYS, 'PutItem', apiKey),
    { status: 504, target: KEYS, sent: apiKey, hold: 'PutItem' },
    broken(KEYS),
  ],
  'GET /v1/api-keys': [
    { status: 200, target: `${KEYS}?limit=1` },
    invalid(KEYS),
    ...refused(KEYS, 'Query'),
    broken(KEYS),
  ],
  'DELETE /v1/api-keys/{id}': [
    { status: 204, target: `${KEYS}/${KEY_ID}` },
    { status: 404, target: `${KEYS}/${KEY_ID}` },
    invalid(`${KEYS}/${KEY_ID}`),
    ...refused(`${KEYS}/${KEY_ID}`, 'DeleteItem'),
    { status: 504, target: `${KEYS}/${KEY_ID}`, hold: 'DeleteItem' },
    broken(`${KEYS}/${KEY_ID}`),
  ],
  'GET /v1/health': [{ status: 200, target: '/v1/health' }, invalid('/v1/health'), broken('/v1/health')],
  'GET /v1/openapi.json': [
    { status: 200, target: '/v1/openapi.json' },
    invalid('/v1/openapi.json'),
    broken('/v1/openapi.json'),
  ],
};

describe('the OpenAPI page', () => {
  let api: Api;
  beforeAll(async () => {
    // The clock stands still, so that what is at work stays so.
    api = await openApi({ clock: new HandClock() });
    await api.put(TOPIC, { partitions: 2 });
    await api.put('/v1/topics/lost', { partitions: 1 });
    const { body, headers } = batchOf(randomBytes(SPILL_ABOVE_BYTES_DEFAULT));
    await api.post('/v1/topics/lost/partitions/0/records', body, headers);
    await removeObjects(api);
    const { token } = (await api.post(`${TOPIC}/prepare`, records.body)).json<{ token: string }>();
    prepared.body = { token };
    const key = {
      name: 'shop',
      hash: '',
      rights: [{ topics: '*', allow: ['produce' as const] }],
      createdAt: 0,
      createdBy: 'anybody',
    };
    await api.backbone.apiKeys.create({ ...key, id: KEY_ID });
  });
  afterAll(() => api.close());

  it('is what the API serves, small enough for a bundle', async () => {
    const reply = await api.get('/v1/openapi.json');
    expect(reply.json()).toMatchObject({ openapi: '3.1.0', info: { title: 'Vertebra' } });
    expect(reply.bytes.length).toBeLessThan(100_000);
  });

  it('describes every route and no other', () => {
    expect([...DESCRIBED.keys()].sort()).toEqual(ROUTES.map(({ key }) => key).sort());
  });

  it('points nowhere in vain, and names every parameter of a path', () => {
    for (const [route, { parameters, responses }] of DESCRIBED) {
      const described = parameters.map(({ $ref }) => resolve($ref));
      const inPath = described.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`);
      expect(route.match(/\{\w+\}/g) ?? []).toEqual(inPath);
      expect(Object.keys(responses).length).toBeGreaterThan(2);
    }
    const references = JSON.stringify([...DESCRIBED]).match(/#\/components[\w/]+/g) ?? [];
    for (const reference of references) resolve(reference);
  });

  it('has examples that work', async () => {
    let groups = 0;
    const subscription = '/v1/subscriptions/example';
    for (const [route, { requestBody }] of DESCRIBED) {
      const [method, path] = route.split(' ') as [string, string];
      for (const [type, { example }] of Object.entries(requestBody?.content ?? {})) {
        if (example === undefined) continue;
        // No test depends on a name on the Internet.
        const text = typeof example === 'string' ? example : JSON.stringify(example);
        const body = text.replace('https://example.com', 'http://127.0.0.1:9009');
        const group = `/v1/groups/examples${++groups}`;
        const target = path
          .replace('{topic}', 'examples')
          .replace('/v1/groups/{group}', group)
          .replace('/v1/subscriptions/{name}', subscription);
        const attempt = () => api.send(method, target, { body, headers: { 'content-type': type } });
        const reply = await attempt();
        if (reply.status === 404 && reply.code === 'topic_not_found') await api.put('/v1/topics/examples');
        if (reply.status === 404 && reply.code === 'group_not_found') await makeGroup(api, group);
        if (reply.code === 'subscription_not_found') await makeSubscription(api, subscription);
        expect([200, 201, 202]).toContain((await attempt()).status);
      }
    }
  });

  it.each(Object.entries(DRIVES))('says exactly what %s answers', (route, drives) => driveAll(api, route, drives));
});

async function removeObjects({ tables: { s3, bucket: Bucket } }: Api): Promise<void> {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
  for (const { Key } of Contents) await s3.send(new DeleteObjectCommand({ Bucket, Key }));
}

async function makeSubscription(api: Api, path: string): Promise<void> {
  await api.put('/v1/topics/orders');
  await api.put(path, { topics: ['orders'], target: { http: { url: 'http://127.0.0.1:9009' } } });
}

/** A group without members. */
async function makeGroup(api: Api, group: string): Promise<void> {
  await api.post(`${group}/commits`, { offsets: [{ topic: 'orders', partition: 0, offset: 0 }] });
}
