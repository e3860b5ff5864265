import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, openApi } from '../support/api.ts';
import { refusingApi, says } from '../support/refusals.ts';

const GROUP = '/v1/groups/billing';
const POLL = `${GROUP}/poll`;
const INVALID = [400, 'invalid_request'] as const;
const JSON_TYPE = { 'content-type': 'application/json' };
const join = { topics: ['orders'] };
const ULID = '01J0000000000000000000000A';

describe('a poll', () => {
  const refuses = refusingApi();
  refuses('POST', POLL, ...INVALID, {
    'no body': [{}, { field: 'topics' }],
    'no JSON': [{ body: '{', headers: JSON_TYPE }, says('JSON')],
    'a list': [{ body: '[]', headers: JSON_TYPE }, says('object')],
    'half of a surrogate pair in a topic': [
      { body: '{"topics":["\\ud800"]}', headers: JSON_TYPE },
      { field: 'topics[0]' },
    ],
    'half of a surrogate pair in an instanceId': [
      { body: '{"topics":["orders"],"instanceId":"\\udfff"}', headers: JSON_TYPE },
      { field: 'instanceId' },
    ],
    'a fractional offset': [
      { body: { ...join, commit: [{ topic: 'orders', partition: 0, epoch: 1, offset: 0.5 }] } },
      { field: 'commit[0].offset' },
    ],
    'an offset past 2^53': [
      {
        body: '{"topics":["orders"],"positions":[{"topic":"orders","partition":0,"epoch":1,"offset":9007199254740993}]}',
        headers: JSON_TYPE,
      },
      { field: 'positions[0].offset' },
    ],
    'no gzip': [{ body: JSON.stringify(join), headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } }, says('gzip')],
  });
  refuses('POST', `${POLL}?waitMs=5`, ...INVALID, { 'an unknown parameter': [{ body: join }, says('waitMs')] });
  refuses('POST', '/v1/groups/a%0Ab/poll', ...INVALID, { 'an illegal name': [{ body: join }, { field: 'group' }] });
  refuses('POST', POLL, 404, 'topic_not_found', {
    'to join for a topic that is not there': [{ body: { topics: ['orders', 'nobody'] } }, { topic: 'nobody' }],
  });
  refuses('POST', POLL, 404, 'group_not_found', {
    'a member of no group': [{ body: { memberId: ULID } }, { group: 'billing' }],
    'what is no member id': [{ body: { memberId: `${'x'.repeat(200)}` } }, { group: 'billing' }],
  });
  refuses('POST', POLL, 413, 'request_too_large', {
    'a gzip body that inflates past the limit': [
      { body: gzipSync(Buffer.alloc(5_000_000, ' ')), headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } },
      { maxBytes: 4_500_000 },
    ],
  });
  refuses('POST', POLL, 415, 'unsupported_media_type', {
    NDJSON: [{ body: '{}', headers: { 'content-type': 'application/x-ndjson' } }],
  });
  refuses('GET', POLL, 405, 'method_not_allowed', { GET: [{}, { allowed: ['POST'] }] });
  // Not DELETE, which is there for a dead letter of whatever id.
  refuses('GET', `${GROUP}/dead-letters/redrive`, 405, 'method_not_allowed', { GET: [{}, { allowed: ['POST'] }] });
  refuses('POST', '/v1/groups//poll', 404, 'not_found', { 'no name': [{ body: join }] });
});

describe('other calls of a group that is not there', () => {
  const refuses = refusingApi();
  const nobody = { group: 'billing' };
  const letter = { topic: 'orders', partition: 0, offset: 0, epoch: 1, error: { name: 'E', message: '' }, attempts: 1 };
  const offsets = [{ topic: 'orders', partition: 0, offset: 0, epoch: 1 }];
  const calls: [method: string, path: string, body?: object][] = [
    ['POST', '/heartbeat', { memberId: ULID }],
    ['POST', '/leave', { memberId: ULID }],
    ['POST', '/commits', { offsets }],
    ['POST', '/dead-letters', { memberId: ULID, ...letter }],
    ['GET', '/dead-letters'],
    ['DELETE', `/dead-letters/${ULID}.0.0`],
    ['GET', ''],
    ['DELETE', ''],
    ['PUT', '/offsets', { topic: 'orders', to: 'latest' }],
  ];
  for (const [method, path, body] of calls) {
    refuses(method, `${GROUP}${path}`, 404, 'group_not_found', {
      [`${method} ${path}`]: [body ? { body } : {}, nobody],
    });
  }
  refuses('POST', `${GROUP}/commits`, 404, 'topic_not_found', {
    'commits for topics that are not there': [{ body: { offsets: [{ topic: 'nobody', partition: 0, offset: 0 }] } }],
  });
  refuses('GET', '/v1/groups?limit=1001', ...INVALID, { 'too long a page': [{}, { parameter: 'limit' }] });
  refuses('GET', '/v1/groups?nextToken=dG9waWNzOmE', ...INVALID, {
    'the token of another list': [{}, { parameter: 'nextToken' }],
  });
});

describe('a group that is there', () => {
  let api: Api;
  let memberId: string;
  let held: { topic: string; partition: number; epoch: number; offset: number };
  beforeAll(async () => {
    api = await openApi();
    await api.put('/v1/topics/orders', { partitions: 1 });
    await api.post('/v1/topics/orders/records', { records: [{ value: 1 }, { value: 2 }] });
    const joined = (await api.post(POLL, join)).json<{ memberId: string; assigned: (typeof held)[] }>();
    memberId = joined.memberId;
    held = joined.assigned[0]!;
  });
  afterAll(() => api.close());

  it.each(['poll', 'heartbeat', 'leave'])('answers 404 member_not_found to the %s of nobody', async (act) => {
    for (const nobody of [ULID, `worker-${ULID}`, 'worker', 'é'.repeat(20)]) {
      const before = await api.stored();
      const reply = await api.post(`${GROUP}/${act}`, { memberId: nobody });
      expect(reply.json()).toMatchObject({ status: 404, code: 'member_not_found', group: 'billing' });
      expect(await api.stored()).toEqual(before);
    }
  });

  it('answers 409 group_active to a reset while a member lives, and changes nothing', async () => {
    const before = await api.stored();
    const reply = await api.put(`${GROUP}/offsets`, { topic: 'orders', to: 'earliest' });
    expect(reply.json()).toMatchObject({ status: 409, code: 'group_active', members: 1 });
    expect(await api.stored()).toEqual(before);
  });

  it.each([
    ['a stale epoch', { epoch: 1 }, 'fenced'],
    ['an epoch that is none yet', { epoch: Number.MAX_SAFE_INTEGER }, 'fenced'],
    ['more than the high watermark', { offset: 3 }, 'offset_out_of_range'],
  ])('refuses a commit with %s', async (_, wrong, code) => {
    const before = await api.stored();
    const reply = await api.post(`${GROUP}/commits`, { memberId, offsets: [{ ...held, ...wrong }] });
    expect(reply.status).toBe(code === 'fenced' ? 409 : 200);
    expect(reply.json()).toMatchObject({ commits: [{ topic: 'orders', partition: 0, error: { code } }] });
    expect(await api.stored()).toEqual(before);
  });

  it('answers 404 to a topic, and 400 to a partition, that a reset names in vain', async () => {
    const idle = '/v1/groups/idle';
    await api.post(`${idle}/commits`, { offsets: [{ topic: 'orders', partition: 0, offset: 1 }] });
    const reset = async (body: object) => (await api.put(`${idle}/offsets`, { to: 'latest', ...body })).json();
    expect(await reset({ topic: 'nobody' })).toMatchObject({ status: 404, code: 'topic_not_found' });
    expect(await reset({ topic: 'orders', partitions: [1] })).toMatchObject({ status: 400, field: 'partitions[0]' });
    expect(await reset({ topic: 'orders', to: { offset: 3 } })).toMatchObject({
      ...{ status: 416, code: 'offset_out_of_range', partition: 0, logStartOffset: 0, highWatermark: 2 },
    });
    expect((await api.get(idle)).json()).toMatchObject({ offsets: [{ committed: 1 }] });
  });
});
