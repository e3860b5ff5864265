import { randomBytes } from 'node:crypto';
import { DeleteObjectCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { handler as fetchWithoutEnv } from '../../functions/fetch.ts';
import { handler as produceWithoutEnv } from '../../functions/produce.ts';
import { handler as topicsWithoutEnv } from '../../functions/topics.ts';
import type { LambdaHandler } from '../../local/invocation.ts';
import { SPILL_ABOVE_BYTES_DEFAULT } from '../../shared/domain/limits.ts';
import { encodeRecordBatch } from '../../shared/wire/record-batch.ts';
import { ROUTES } from '../../shared/wire/routes.ts';
import { type Api, openApi } from '../support/api.ts';
import type { Fault } from '../support/fault-handler.ts';
import { gatewayEvent, type Reply, type Sent, send } from '../support/gateway-call.ts';
import { HandClock } from '../support/log-bench.ts';
import { DESCRIBED, resolve, undescribed } from '../support/openapi-page.ts';

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
const records: Sent = { body: { records: [0, 1].map((partition) => ({ partition, value: 1 })) } };
const payload: Sent = { body: { size: 5_000_000_000, sha256: 'ab'.repeat(32) } };
const unknownUpload = { value: { uploadId: '01J00000000000000000000000' }, valueEncoding: 'upload' };
const tooLarge = Buffer.alloc(4_500_001, ' ');

/** Operations of the store that go wrong first, how often, and on which item. */
type Faults = readonly [operation: string, fault: Fault, times?: number, naming?: string][];
/** What makes a route answer with a status: what is sent, and what goes wrong meanwhile. */
interface Drive {
  readonly status: number;
  readonly target: string;
  readonly sent?: Sent;
  readonly faults?: Faults;
  /** The function has no time left to answer when the store does not. */
  readonly hold?: string;
  /** The function is deployed without its environment. */
  readonly broken?: true;
}

/** A read that the store refuses, or does not answer. */
const refused = (target: string, operation: string, sent: Sent = {}): Drive[] => [
  { status: 429, target, sent, faults: [[operation, 'throttle']] },
  { status: 503, target, sent, faults: [[operation, 'internal-error']] },
];
const invalid = (target: string): Drive => ({
  status: 400,
  target: `${target}${target.includes('?') ? '&' : '?'}no=1`,
});
const broken = (target: string): Drive => ({ status: 500, target, broken: true });
const unreadable = (target: string, headers: NonNullable<Sent['headers']>): Drive[] => [
  { status: 413, target, sent: { body: tooLarge, headers } },
  { status: 415, target, sent: { body: 'x', headers: { 'content-type': 'text/plain' } } },
];

/** First a call of which nobody knows what became; then it is still at work; and then other records come with its key. */
const keyed = (target: string, first: Sent, other: Sent): Drive[] => {
  const underKey = ({ body, headers }: Sent): Sent => ({
    ...(body !== undefined && { body }),
    headers: { ...headers, 'idempotency-key': target },
  });
  const lost: Faults = [
    ['PutItem', 'lose-request', 1, '"batch"'],
    ['PutItem', 'lose-request', 1, '"void"'],
  ];
  return [
    { status: 504, target, sent: underKey(first), faults: lost },
    { status: 409, target, sent: underKey(first) },
    { status: 422, target, sent: underKey(other) },
  ];
};
/** A partition whose one batch was lost from the bucket. */
const LOST = '/v1/topics/lost/partitions/0/records?offset=0';

const DRIVES: { readonly [route in (typeof ROUTES)[number]['key']]: readonly Drive[] } = {
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
  'GET /v1/health': [{ status: 200, target: '/v1/health' }, invalid('/v1/health'), broken('/v1/health')],
  'GET /v1/openapi.json': [
    { status: 200, target: '/v1/openapi.json' },
    invalid('/v1/openapi.json'),
    broken('/v1/openapi.json'),
  ],
};

const WITHOUT_ENV = { produce: produceWithoutEnv, fetch: fetchWithoutEnv, topics: topicsWithoutEnv };

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
  });
  afterAll(() => api.close());

  it('is what the API serves, small enough for a bundle', async () => {
    const reply = await api.get('/v1/openapi.json');
    expect(reply.json()).toMatchObject({ openapi: '3.1.0', info: { title: 'Vertebra' } });
    expect(reply.bytes.length).toBeLessThan(32_000);
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
    for (const [route, { requestBody }] of DESCRIBED) {
      const [method, path] = route.split(' ') as [string, string];
      for (const [type, { example }] of Object.entries(requestBody?.content ?? {})) {
        if (example === undefined) continue;
        const body = typeof example === 'string' ? example : JSON.stringify(example);
        const reply = await api.send(method, path.replace('{topic}', 'examples'), {
          body,
          headers: { 'content-type': type },
        });
        if (reply.status === 404) await api.put('/v1/topics/examples');
        const again = await api.send(method, path.replace('{topic}', 'examples'), {
          body,
          headers: { 'content-type': type },
        });
        expect([200, 201]).toContain(again.status);
      }
    }
  });

  it.each(Object.entries(DRIVES))('says exactly what %s answers', async (route, drives) => {
    const method = route.split(' ')[0]!;
    const seen = new Set<string>();
    for (const drive of drives) {
      const reply = await answerTo(api, method, drive);
      expect([drive.target, reply.status, reply.status >= 400 && reply.code]).toEqual([
        drive.target,
        drive.status,
        expect.anything(),
      ]);
      expect(undescribed(method, drive.target, reply)).toEqual([]);
      seen.add(String(reply.status));
    }
    expect([...seen].sort()).toEqual(Object.keys(DESCRIBED.get(route)!.responses).sort());
  });
});

async function removeObjects({ tables: { s3, bucket: Bucket } }: Api): Promise<void> {
  const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket }));
  for (const { Key } of Contents) await s3.send(new DeleteObjectCommand({ Bucket, Key }));
}

async function answerTo(api: Api, method: string, drive: Drive): Promise<Reply> {
  if (drive.broken) return send(WITHOUT_ENV, method, drive.target);
  for (const fault of drive.faults ?? []) api.faults.next(...fault);
  if (drive.hold === undefined) return api.send(method, drive.target, drive.sent);
  const held = api.faults.hold(drive.hold);
  const { function: name } = gatewayEvent(method, drive.target);
  const late: LambdaHandler = (event, context) =>
    api.handlers[name](event, { ...context, getRemainingTimeInMillis: () => 520 });
  const reply = await send({ [name]: late }, method, drive.target, drive.sent);
  held.release();
  return reply;
}
