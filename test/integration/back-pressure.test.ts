import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LAG_MEASURE_MS } from '../../shared/domain/quota-limits.ts';
import { type Api, openApi } from '../support/api.ts';
import { callerKnownAs, callerWith, keyWith } from '../support/callers.ts';
import { HandClock } from '../support/log-bench.ts';

const clock = new HandClock();
let api: Api;
let topic: string;
let made = 0;
beforeAll(async () => {
  api = await openApi({ clock });
});
afterAll(() => api.close());
beforeEach(() => {
  topic = `/v1/topics/t${++made}`;
});

const record = { value: 1, partition: 0 };
const produce = (count = 1, headers = {}) =>
  api.post(`${topic}/records`, { records: Array.from({ length: count }, () => record) }, headers);
const RAW = { 'content-type': 'application/vnd.kafka.recordbatch' };
const EVENTS = { 'content-type': 'application/cloudevents-batch+json' };

describe('a topic', () => {
  it('shows its quota and its bound on lag wherever it is shown, and neither where it has none', async () => {
    const quota = { bytesPerSecond: 1_000, perCaller: { recordsPerSecond: 1 } };
    const maxLag = { groups: ['billing'], records: 1_000 };
    const put = await api.put(topic, { partitions: 1, quota, maxLag });
    expect(put.json()).toMatchObject({ quota, maxLag });
    expect((await api.get(topic)).json()).toMatchObject({ quota, maxLag });
    expect((await api.get('/v1/topics')).json()).toMatchObject({ topics: [{ quota, maxLag }] });
    const taken = await api.put(topic, { quota: null, maxLag: null });
    expect(Object.keys(taken.json<object>())).toEqual(['name', 'id', 'partitions', 'retentionMs', 'createdAt']);
    expect((await api.put(topic, { quota: { perSecond: 1 } })).status).toBe(400);
  });
});

describe('whoever appends more than the quota', () => {
  it('is answered with 429 and when to come back, by every route that appends', async () => {
    await api.put(topic, { partitions: 1, quota: { recordsPerSecond: 10 } });
    expect((await produce(40)).status).toBe(200);
    const reply = await produce();
    expect(reply.status).toBe(429);
    expect(reply.headers['retry-after']).toBe('3');
    expect(reply.json()).toMatchObject({ code: 'throttled', reason: 'quota', scope: 'topic', retryAfterMs: 3_000 });
    const batch = (
      await api.get(`${topic}/partitions/0/records?offset=0`, { headers: { accept: RAW['content-type'] } })
    ).bytes;
    expect((await api.post(`${topic}/partitions/0/records`, batch, RAW)).status).toBe(429);
    const event = { specversion: '1.0', type: 'a', source: '/s', id: '1', data: 1 };
    expect((await api.post(`${topic}/events`, JSON.stringify([event]), EVENTS)).status).toBe(429);
    expect((await api.post(`${topic}/prepare`, { records: [record] })).status).toBe(429);
    clock.pass(3_000);
    expect((await produce()).status).toBe(200);
  });

  it('has appended nothing, and with a key may repeat it as it was', async () => {
    await api.put(topic, { partitions: 1, quota: { recordsPerSecond: 10 } });
    await produce(40);
    const before = await api.stored();
    const key = { 'Idempotency-Key': 'k' };
    expect((await produce(1, key)).status).toBe(429);
    expect(await api.stored()).toEqual(before);
    clock.pass(3_000);
    expect((await produce(1, key)).json()).toMatchObject({ duplicate: false });
    expect((await produce(1, key)).json()).toMatchObject({ duplicate: true });
  });
});

describe('a quota per caller', () => {
  it('is one for each principal, and one for all of whom nobody asks who they are', async () => {
    await api.put(topic, { partitions: 1, quota: { perCaller: { recordsPerSecond: 10 } } });
    expect((await produce(40)).status).toBe(200);
    expect((await produce()).json()).toMatchObject({ scope: 'caller' });
    const keyed = await openApi({ clock, access: { auth: 'apiKey', storedGrants: false } });
    try {
      const rights = [{ topics: '*', allow: ['produce', 'admin'] }] as const;
      const [shop, till] = [
        callerWith(keyed, await keyWith(keyed, rights)),
        callerWith(keyed, await keyWith(keyed, rights)),
      ];
      const body = (count: number) => ({ body: { records: Array.from({ length: count }, () => record) } });
      await shop('PUT', topic, { body: { partitions: 1, quota: { perCaller: { recordsPerSecond: 10 } } } });
      expect((await shop('POST', `${topic}/records`, body(40))).status).toBe(200);
      expect((await shop('POST', `${topic}/records`, body(1))).status).toBe(429);
      expect((await till('POST', `${topic}/records`, body(1))).status).toBe(200);
    } finally {
      await keyed.close();
    }
  });

  it('knows an IAM role by its name, whatever the session', async () => {
    const signed = await openApi({ clock, access: { auth: 'iam', storedGrants: false } });
    try {
      const as = (role: string, session: string) =>
        callerKnownAs(signed, { iam: { userArn: `arn:aws:sts::111122223333:assumed-role/${role}/${session}` } });
      const body = (count: number) => ({ body: { records: Array.from({ length: count }, () => record) } });
      await as('Shop', 'a')('PUT', topic, { body: { partitions: 1, quota: { perCaller: { recordsPerSecond: 10 } } } });
      expect((await as('Shop', 'a')('POST', `${topic}/records`, body(40))).status).toBe(200);
      expect((await as('Shop', 'b')('POST', `${topic}/records`, body(1))).status).toBe(429);
      expect((await as('Till', 'a')('POST', `${topic}/records`, body(1))).status).toBe(200);
    } finally {
      await signed.close();
    }
  });
});

describe('maxLag', () => {
  it('holds appends back until the group has read, and never its own reading', async () => {
    const group = `g${made}`;
    await api.put(topic, { partitions: 1, maxLag: { groups: [group], records: 10 } });
    const name = topic.split('/').at(-1)!;
    const poll = (more: object) => api.post(`/v1/groups/${group}/poll`, { topics: [name], ...more });
    const joined = (await poll({ memberId: null })).json<{ memberId: string; assigned: { epoch: number }[] }>();
    expect((await produce(11)).status).toBe(200);
    clock.pass(LAG_MEASURE_MS);
    const reply = await produce();
    expect(reply.status).toBe(429);
    expect(reply.headers['retry-after']).toBe('5');
    expect(reply.json()).toMatchObject({ code: 'throttled', reason: 'lag', group, lag: 11, maxLag: 10 });
    const { memberId, assigned } = joined;
    const commit = [{ topic: name, partition: 0, offset: 11, epoch: assigned[0]!.epoch }];
    expect((await poll({ memberId, commit })).status).toBe(200);
    clock.pass(LAG_MEASURE_MS);
    expect((await produce()).status).toBe(200);
  });
});
