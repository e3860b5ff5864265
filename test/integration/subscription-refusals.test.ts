import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, openApi } from '../support/api.ts';
import { HandClock } from '../support/log-bench.ts';

const PATH = '/v1/subscriptions/invoices';
const HTTP = { http: { url: 'http://127.0.0.1:9009/hook' } };
const GOOD = { topics: ['orders'], target: HTTP };

let api: Api;
beforeAll(async () => {
  api = await openApi({ clock: new HandClock() });
  await api.put('/v1/topics/orders', { partitions: 1 });
});
afterAll(() => api.close());

/** Refused, and nothing is stored. */
async function isRefused(body: object, status: number, code: string, data: object = {}): Promise<string> {
  const before = await api.stored();
  const reply = await api.put(PATH, body);
  expect(reply.json()).toMatchObject({ status, code, ...data });
  expect(await api.stored()).toEqual(before);
  return reply.json<{ detail: string }>().detail;
}

describe('a subscription is refused', () => {
  it.each([
    ['no topics', { target: HTTP }, 'topics'],
    ['no target', { topics: ['orders'] }, 'target'],
    ['an empty list of topics', { ...GOOD, topics: [] }, 'topics'],
    ['a topic twice', { ...GOOD, topics: ['orders', 'orders'] }, 'topics[1]'],
    ['an illegal topic', { ...GOOD, topics: ['a b'] }, 'topics[0]'],
    ['no kind of target', { ...GOOD, target: {} }, 'target'],
    ['two kinds of target', { ...GOOD, target: { ...HTTP, lambda: { functionArn: 'x' } } }, 'target'],
    ['another kind of target', { ...GOOD, target: { kafka: {} } }, 'target.kafka'],
    ['a weak secret', { ...GOOD, target: { http: { ...HTTP.http, secret: 'whsec_c2hvcnQ=' } } }, 'target.http.secret'],
    ['an unknown start', { ...GOOD, from: 'now' }, 'from'],
    ['a start at an offset', { ...GOOD, from: { offset: 0 } }, 'from'],
    ['a start at no time', { ...GOOD, from: { at: 'noon' } }, 'from.at'],
    ['a batch of nothing', { ...GOOD, batch: { maxRecords: 0 } }, 'batch.maxRecords'],
    ['a batch that is too large', { ...GOOD, batch: { maxBytes: 5 * 1024 * 1024 + 1 } }, 'batch.maxBytes'],
    ['a timeout that is too short', { ...GOOD, timeoutMs: 999 }, 'timeoutMs'],
    ['a timeout that is too long for an endpoint', { ...GOOD, timeoutMs: 60_001 }, 'timeoutMs'],
    ['101 attempts', { ...GOOD, retry: { maxAttempts: 101 } }, 'retry.maxAttempts'],
    ['a back-off below 10 ms', { ...GOOD, retry: { minBackoffMs: 9 } }, 'retry.minBackoffMs'],
    ['a back-off beyond a day', { ...GOOD, retry: { maxBackoffMs: 86_400_001 } }, 'retry.maxBackoffMs'],
    ['a back-off that ends before it begins', { ...GOOD, retry: { minBackoffMs: 60_001 } }, 'retry.minBackoffMs'],
    ['an unknown policy', { ...GOOD, onFailure: 'Park' }, 'onFailure'],
    ['a fraction', { ...GOOD, haltAfterDeadLetters: 1.5 }, 'haltAfterDeadLetters'],
    ['an unknown field', { ...GOOD, parallel: 3 }, 'parallel'],
  ])('for %s', async (_, body, field) => {
    expect(await isRefused(body, 400, 'invalid_request', { field })).toContain(field);
  });

  it('for a malformed pattern, with the reason and where', async () => {
    const filter = { value: { total: [{ numeric: ['>', 'ten'] }] } };
    const detail = await isRefused({ ...GOOD, filter }, 400, 'invalid_request', {
      path: expect.stringContaining('filter.value.total[0]'),
    });
    expect(detail).toContain('numeric');
    await isRefused({ ...GOOD, filter: { body: [1] } }, 400, 'invalid_request', { path: 'filter.body' });
  });

  it('for a topic that is not there', async () => {
    await isRefused({ ...GOOD, topics: ['orders', 'nobody'] }, 404, 'topic_not_found');
  });

  it.each([
    ['http://example.com/', 'https'],
    ['https://user:secret@example.com/', 'user'],
    ['https://example.com:22/', 'port'],
    ['https://10.0.0.1/', 'public'],
    ['https://169.254.169.254/latest/meta-data/', 'public'],
    ['https://[::ffff:127.0.0.1]/', 'public'],
    ['https://2130706433/', 'public'],
    ['https://name.invalid/', 'resolved'],
    ['ftp://example.com/', 'https'],
    ['nonsense', 'read'],
  ])('for the endpoint %s', async (url, reason) => {
    expect(await isRefused({ ...GOOD, target: { http: { url } } }, 400, 'target_not_allowed')).toContain(reason);
  });

  it('for a function that is not there, or is none', async () => {
    const named = (functionArn: string) => ({ ...GOOD, target: { lambda: { functionArn } } });
    expect(await isRefused(named('file:./nobody.mjs'), 400, 'target_not_allowed')).toContain('nobody.mjs');
    const elsewhere = named('arn:aws:lambda:us-east-1:000000000000:function:x');
    expect(await isRefused(elsewhere, 400, 'target_not_allowed')).toContain('file:');
  });

  it('for a target that has not opted in, with the command by which it does', async () => {
    const target = { sqs: { queueUrl: 'https://sqs.us-east-1.amazonaws.com/000000000000/mine' } };
    await isRefused({ ...GOOD, target }, 403, 'target_forbidden', { command: expect.stringContaining('aws sqs') });
  });

  it("for the name of a pull group, and pull calls are refused for a subscription's", async () => {
    await api.post('/v1/groups/pulling/poll', { topics: ['orders'] });
    const reply = await api.put('/v1/subscriptions/pulling', GOOD);
    expect(reply.json()).toMatchObject({ status: 409, code: 'group_is_pull', group: 'pulling' });

    expect((await api.put(PATH, GOOD)).status).toBe(201);
    const group = '/v1/groups/invoices';
    const memberId = '01J00000000000000000000000';
    const at = { topic: 'orders', partition: 0, offset: 0 };
    const error = { name: 'Error', message: '' };
    const calls = [
      await api.post(`${group}/poll`, { topics: ['orders'] }),
      await api.post(`${group}/poll`, { memberId }),
      await api.post(`${group}/heartbeat`, { memberId }),
      await api.post(`${group}/leave`, { memberId }),
      await api.post(`${group}/commits`, { offsets: [at] }),
      await api.post(`${group}/commits`, { offsets: [{ ...at, epoch: 1 }] }),
      await api.post(`${group}/dead-letters`, { memberId, ...at, epoch: 1, error, attempts: 1 }),
      await api.put(`${group}/offsets`, { topic: 'orders', to: 'latest' }),
      await api.delete(group),
    ];
    for (const call of calls) expect(call.json()).toMatchObject({ status: 409, code: 'group_is_subscription' });
    await api.delete(PATH);
  });

  it('where there is none: every other call answers 404', async () => {
    const nobody = '/v1/subscriptions/nobody';
    const calls = [
      await api.get(nobody),
      await api.delete(nobody),
      await api.post(`${nobody}/pause`),
      await api.post(`${nobody}/resume`),
      await api.post(`${nobody}/seek`, { to: 'latest' }),
      await api.post(`${nobody}/rotate-secret`),
      await api.get(`${nobody}/parked`),
      await api.post(`${nobody}/parked/resume`),
      await api.post(`${nobody}/parked/dead-letter`, {}),
    ];
    for (const call of calls) expect(call.json()).toMatchObject({ status: 404, code: 'subscription_not_found' });
  });

  it('to seek in a topic that it does not name, or to one offset in several, or to rotate a secret that it has not', async () => {
    await api.put('/v1/topics/more', { partitions: 1 });
    await api.put(PATH, {
      ...GOOD,
      topics: ['more', 'orders'],
      target: { lambda: { functionArn: 'file:./package.json' } },
    });
    for (const body of [{ topic: 'other', to: 'latest' }, { to: { offset: 0 } }, { partitions: [0], to: 'latest' }]) {
      expect((await api.post(`${PATH}/seek`, body)).json()).toMatchObject({ code: 'invalid_request', field: 'topic' });
    }
    expect((await api.post(`${PATH}/rotate-secret`)).json()).toMatchObject({ code: 'invalid_request' });
  });
});

describe('a redrive is refused', () => {
  const id = '01J00000000000000000000000.3.41';
  it.each([
    [{}, 'ids'],
    [{ ids: [id], filter: {} }, 'ids'],
    [{ ids: [] }, 'ids'],
    [{ ids: [id, id] }, 'ids[1]'],
    [{ ids: ['x'] }, 'ids[0]'],
    [{ filter: { key: 7 } }, 'filter.key'],
    [{ filter: { state: 'gone' } }, 'filter.state'],
    [{ filter: { since: 7 } }, 'filter.since'],
    [{ filter: {}, ratePerSecond: 0 }, 'ratePerSecond'],
    [{ filter: {}, dryRun: 'yes' }, 'dryRun'],
    [{ filter: {}, records: [{ id }] }, 'ids'],
    [{ records: [] }, 'records'],
    [{ records: [{ value: 1 }] }, 'records[0].id'],
    [{ records: [{ id, key: 'other' }] }, 'records[0].key'],
    [{ records: [{ id }, { id }] }, 'records[1]'],
    [{ records: [{ id, value: 1, valueEncoding: 'base64' }] }, 'records[0].value'],
    [{ records: [{ id, valueEncoding: 'json' }] }, 'records[0].value'],
    [{ records: [{ id, value: { uploadId: 'x' }, valueEncoding: 'upload' }] }, 'records[0].valueEncoding'],
    [{ records: [{ id, headers: { a: 1 } }] }, 'records[0].header "a"'],
  ])('for %j', async (body, field) => {
    await api.put('/v1/subscriptions/redriven', GOOD);
    const reply = await api.post('/v1/subscriptions/redriven/dead-letters/redrive', body);
    expect(reply.json()).toMatchObject({ status: 400, code: 'invalid_request', field });
  });

  it('for a dead letter that is not there, corrected or not', async () => {
    await api.put('/v1/subscriptions/redriven', GOOD);
    for (const body of [{ ids: [id] }, { records: [{ id, value: 1 }] }]) {
      const reply = await api.post('/v1/subscriptions/redriven/dead-letters/redrive', body);
      expect(reply.json()).toMatchObject({ status: 404, code: 'dead_letter_not_found', id });
    }
  });
});

describe.each(['resume', 'dead-letter'])('of parked keys, %s is refused', (act) => {
  const id = '01J00000000000000000000000.3.8f14e45fceea167a';
  const path = `/v1/subscriptions/parking/parked/${act}`;
  beforeAll(() => api.put('/v1/subscriptions/parking', { ...GOOD, onFailure: 'park' }));

  it.each([
    [{ ids: [] }, 'ids'],
    [{ ids: id }, 'ids'],
    [{ ids: null }, 'ids'],
    [{ ids: Array(101).fill(id) }, 'ids'],
    [{ ids: [id, 7] }, 'ids[1]'],
    [{ ids: ['x'] }, 'ids[0]'],
    [{ ids: [`${id}0`] }, 'ids[0]'],
    [{ ids: [id.toUpperCase()] }, 'ids[0]'],
    [{ ids: ['01J00000000000000000000000.4096.8f14e45fceea167a'] }, 'ids[0]'],
    [{ ids: [id], filter: {} }, 'filter'],
    [{ all: true }, 'all'],
  ])('that says %j', async (body, field) => {
    expect((await api.post(path, body)).json()).toMatchObject({ status: 400, code: 'invalid_request', field });
  });

  it('for a key that is not parked, and does nothing', async () => {
    const stored = await api.stored();
    const reply = await api.post(path, { ids: [id, id] });
    expect(reply.json()).toMatchObject({ status: 404, code: 'parked_key_not_found', subscription: 'parking', id });
    expect(await api.stored()).toEqual(stored);
    expect((await api.post(path)).json()).toEqual({
      [act === 'resume' ? 'resuming' : 'deadLettering']: 0,
      more: false,
    });
  });
});

describe('a list of parked keys is refused', () => {
  it.each(['limit=0', 'limit=1001', 'nextToken=x', 'topic=orders'])('that says %s', async (query) => {
    await api.put('/v1/subscriptions/parking', GOOD);
    expect((await api.get(`/v1/subscriptions/parking/parked?${query}`)).json()).toMatchObject({
      ...{ status: 400, code: 'invalid_request' },
    });
  });

  it('with the token of another list', async () => {
    const token = Buffer.from('deadLetters:x').toString('base64url');
    const reply = await api.get(`/v1/subscriptions/parking/parked?nextToken=${token}`);
    expect(reply.json()).toMatchObject({ code: 'invalid_request', parameter: 'nextToken' });
  });
});
