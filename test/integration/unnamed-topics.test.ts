import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RIGHTS, type Rights } from '../../shared/domain/rights.ts';
import { type Api, openApi } from '../support/api.ts';
import { callerWith, keyWith } from '../support/callers.ts';

// What a request concerns without naming it.

let api: Api;
let admin: ReturnType<typeof callerWith>;
const callerOf = async (...rights: Rights[]) => callerWith(api, await keyWith(api, rights));
const records = (value: string) => ({ body: { records: [{ value, partition: 0 }] } });

beforeAll(async () => {
  api = await openApi({ access: { auth: 'apiKey', storedGrants: false } });
  admin = await callerOf({ topics: '*', groups: '*', targets: '*', allow: RIGHTS });
  for (const topic of ['open', 'secret']) {
    await admin('PUT', `/v1/topics/${topic}`, { body: { partitions: 1 } });
    await admin('POST', `/v1/topics/${topic}/records`, records(`of ${topic}`));
  }
});
afterAll(() => api.close());

interface Polled {
  readonly memberId: string;
  readonly assigned: readonly { readonly topic: string; readonly epoch: number; readonly partition: number }[];
  readonly records: readonly { readonly topic: string }[];
}

describe('a group', () => {
  const POLL = '/v1/groups/mixed/poll';

  it('gives no record of a topic that the caller may not read, whoever the member was', async () => {
    const joined = (await admin('POST', POLL, { body: { topics: ['open', 'secret'] } })).json<Polled>();
    expect(joined.records.map(({ topic }) => topic).sort()).toEqual(['open', 'secret']);
    const { memberId } = joined;
    const mallory = await callerOf({ topics: 'open', groups: 'mixed', allow: ['consume'] });
    const reply = await mallory('POST', POLL, { body: { memberId } });
    expect(reply.json()).toMatchObject({ status: 403, code: 'forbidden', right: 'consume', topic: 'secret' });
    expect(reply.text).not.toContain('of secret');
    // Without that topic the member is one that the caller may be.
    const narrowed = (await mallory('POST', POLL, { body: { memberId, topics: ['open'] } })).json<Polled>();
    expect(narrowed.records.map(({ topic }) => topic)).toEqual(['open']);
    await admin('POST', '/v1/groups/mixed/leave', { body: { memberId } });
  });

  it('shows dead letters of those topics alone that the caller may read', async () => {
    const group = '/v1/groups/letters';
    const { memberId, assigned } = (
      await admin('POST', `${group}/poll`, { body: { topics: ['open', 'secret'] } })
    ).json<Polled>();
    const error = { name: 'Error', message: 'no' };
    for (const { topic, partition, epoch } of assigned) {
      const body = { memberId, topic, partition, epoch, offset: 0, error, attempts: 1 };
      expect((await admin('POST', `${group}/dead-letters`, { body })).status).toBe(200);
    }
    const reader = await callerOf({ topics: 'open', groups: 'letters', allow: ['consume'] });
    const { deadLetters } = (await reader('GET', `${group}/dead-letters`)).json<{ deadLetters: { topic: string }[] }>();
    expect(deadLetters.map(({ topic }) => topic)).toEqual(['open']);
    expect(await reader('GET', `${group}/dead-letters?topic=secret`)).toMatchObject({ status: 403 });
    expect(await reader('GET', `${group}/dead-letters?topic=open&topic=secret`)).toMatchObject({ status: 403 });
    expect((await admin('GET', `${group}/dead-letters`)).json<typeof Object>()).toMatchObject({
      deadLetters: [{ topic: expect.any(String) }, { topic: expect.any(String) }],
    });
  });

  it('lets dead letters of those topics alone be redriven, settled and forgotten that the caller may read', async () => {
    const group = '/v1/groups/kept';
    const letters = `${group}/dead-letters`;
    const { memberId, assigned } = (
      await admin('POST', `${group}/poll`, { body: { topics: ['open', 'secret'] } })
    ).json<Polled>();
    const ids: Record<string, string> = {};
    for (const { topic, partition, epoch } of assigned) {
      const error = { name: 'Error', message: 'no' };
      const body = { memberId, topic, partition, epoch, offset: 0, error, attempts: 1 };
      ids[topic] = (await admin('POST', letters, { body })).json<{ id: string }>().id;
    }
    const { open, secret } = ids as { open: string; secret: string };
    const mallory = await callerOf({ topics: 'open', groups: 'kept', allow: ['consume'] });
    const refused = { status: 403, code: 'forbidden', right: 'consume', topic: 'secret' };
    const stored = await api.stored();
    const forged = { records: [{ id: secret, value: 'forged' }] };
    for (const body of [forged, { ids: [open, secret] }, { ids: [secret], dryRun: true }]) {
      expect((await mallory('POST', `${letters}/redrive`, { body })).json()).toMatchObject(refused);
    }
    expect((await mallory('DELETE', `${letters}/${secret}`)).json()).toMatchObject(refused);
    expect(await api.stored()).toEqual(stored);
    expect((await mallory('POST', `${letters}/redrive`, { body: { filter: {} } })).json()).toMatchObject({
      redriving: 1,
    });
    // On its way back, it is settled by whoever may read it.
    await admin('POST', `${letters}/redrive`, { body: { ids: [secret] } });
    const [at] = assigned.filter(({ topic }) => topic === 'secret');
    await admin('POST', `${group}/poll`, {
      body: { memberId, positions: assigned.map((one) => ({ ...one, offset: 1 })) },
    });
    const body = { memberId, redriven: [{ id: secret, epoch: at!.epoch, done: true }] };
    for (const call of ['poll', 'heartbeat']) {
      const reply = await mallory('POST', `${group}/${call}`, {
        body: { ...body, ...(call === 'poll' && { topics: ['open'] }) },
      });
      expect(reply.json()).toMatchObject(refused);
    }
    expect((await admin('GET', `${letters}/${secret}`)).json()).toMatchObject({ state: 'redriving' });
    expect((await mallory('DELETE', `${letters}/${open}`)).status).toBe(204);
    await admin('DELETE', group);
  });
});

describe('a subscription', () => {
  const PUT = '/v1/subscriptions/pushed';
  const hook = (path: string) => ({ target: { http: { url: `http://127.0.0.1:9009/${path}` } } });

  it('is made and changed by those alone who may push all its topics to its target', async () => {
    const entry = { groups: 'pushed', allow: ['subscribe'] as const };
    const here = { targets: 'http:http://127.0.0.1:9009/a/*' };
    const mallory = await callerOf({ ...entry, ...here, topics: 'open' }, { ...entry, topics: 'secret' });
    const put = (body: object) => mallory('PUT', PUT, { body });
    const stored = await api.stored();
    // Each is allowed somewhere, not both together.
    expect((await put({ topics: ['open', 'secret'], ...hook('a/x') })).json()).toMatchObject({
      ...{ status: 403, code: 'forbidden', right: 'subscribe' },
      ...{ topic: 'secret', group: 'pushed', target: 'http:http://127.0.0.1:9009/a/x' },
    });
    for (const path of ['b/x', 'a/../b', 'a/%2e%2e/b']) {
      expect(await put({ topics: ['open'], ...hook(path) })).toMatchObject({ status: 403 });
    }
    expect(await put({ topics: ['open'], target: { sqs: { queueUrl: 'https://q' } } })).toMatchObject({ status: 403 });
    expect(await api.stored()).toEqual(stored);
    expect((await put({ topics: ['open'], ...hook('a/x') })).status).toBe(201);
    // What it has already counts as what is named.
    await admin('PUT', PUT, { body: { topics: ['open', 'secret'] } });
    const before = await api.stored();
    expect((await put(hook('a/y'))).json()).toMatchObject({ status: 403, topic: 'secret' });
    expect((await put({ batch: { maxRecords: 7 } })).status).toBe(403);
    expect(await api.stored()).toEqual(before);
    expect((await put({ topics: ['open'], ...hook('a/y') })).status).toBe(200);
  });
});

describe('the parked keys of a subscription', () => {
  it('are shown, resumed and given up by those alone who may push their topics', async () => {
    const path = '/v1/subscriptions/parking';
    const target = { http: { url: 'http://127.0.0.1:9009/parking' } };
    await admin('PUT', path, { body: { topics: ['open', 'secret'], target, onFailure: 'park', from: 'earliest' } });
    const { backbone } = api;
    const { group } = (await backbone.subscriptions.read('parking'))!;
    const lane = '8f14e45fceea167a';
    const ids: Record<string, string> = {};
    for (const topic of ['open', 'secret']) {
      const { id: topicId } = await backbone.topics.fresh(topic);
      const position = { group, topicId, partition: 0 };
      const [now, until, push] = [Date.now(), Date.now() + 60_000, {}];
      const seen = (await backbone.positions.read(position))!;
      const by = { owner: 'run', epoch: seen.epoch + 1 };
      await backbone.pushPositions.take(position, seen, { ...by, until, now });
      const failure = { retryAt: until, attempts: 2, absences: 0, span: 1, end: 1, firstFailedAt: now };
      const about = { key: Buffer.from(`of ${topic}`), keyBytes: 9, parkedAt: now };
      const step = { committed: 1, epoch: by.epoch + 1, until, push };
      const made = { epoch: now, committed: 0, push: { failure }, about };
      expect(await backbone.lanes.park({ group, topic, known: 1 }, { ...position, lane }, by, step, made)).toBe(true);
      ids[topic] = `${topicId}.0.${lane}`;
    }
    const mallory = await callerOf({ topics: 'open', groups: 'parking', allow: ['subscribe'] });
    const reader = await callerOf({ topics: '*', groups: 'parking', allow: ['consume', 'admin', 'produce'] });
    expect((await mallory('GET', `${path}/parked`)).json()).toMatchObject({ parked: [{ id: ids.open }] });
    expect((await admin('GET', `${path}/parked`)).json<{ parked: object[] }>().parked).toHaveLength(2);
    expect((await reader('GET', `${path}/parked`)).status).toBe(403);
    const stored = await api.stored();
    for (const act of ['resume', 'dead-letter']) {
      const refused = { status: 403, code: 'forbidden', right: 'subscribe', topic: 'secret' };
      const body = { ids: [ids.open, ids.secret] };
      expect((await mallory('POST', `${path}/parked/${act}`, { body })).json()).toMatchObject(refused);
      expect((await reader('POST', `${path}/parked/${act}`)).status).toBe(403);
    }
    expect(await api.stored()).toEqual(stored);
    expect((await mallory('POST', `${path}/parked/resume`)).json()).toEqual({ resuming: 1, more: false });
    const { parked } = (await admin('GET', `${path}/parked`)).json<{ parked: { id: string; attempts: number }[] }>();
    const attempts = Object.fromEntries(parked.map((key) => [key.id, key.attempts]));
    expect(attempts).toEqual({ [ids.open!]: 0, [ids.secret!]: 2 });
    expect((await admin('GET', path)).json()).toMatchObject({ partitions: [{ parked: 1 }, { parked: 1 }] });
    expect((await admin('GET', '/v1/groups/parking')).json()).toMatchObject({
      offsets: [{ parked: 1 }, { parked: 1 }],
    });
    await admin('DELETE', path);
  });
});

describe('the group of a subscription', () => {
  it('has its dead letters redriven and forgotten by those alone who may subscribe, by whatever path', async () => {
    const target = { http: { url: 'http://127.0.0.1:9009/fed' } };
    await admin('PUT', '/v1/subscriptions/fed', { body: { topics: ['open'], target } });
    const over = { topics: 'open', groups: 'fed' };
    const [reader, both] = [
      await callerOf({ ...over, allow: ['consume'] }),
      await callerOf({ ...over, allow: ['consume', 'subscribe'] }),
    ];
    const letters = '/v1/groups/fed/dead-letters';
    const refused = { status: 403, code: 'forbidden', right: 'subscribe', group: 'fed' };
    const id = `01J00000000000000000000000.0.0`;
    for (const body of [{ filter: {} }, { ids: [id] }, { records: [{ id, value: 'forged' }] }]) {
      expect((await reader('POST', `${letters}/redrive`, { body })).json()).toMatchObject(refused);
    }
    expect((await reader('DELETE', `${letters}/${id}`)).json()).toMatchObject(refused);
    expect((await reader('GET', letters)).status).toBe(200);
    expect((await both('POST', `${letters}/redrive`, { body: { filter: {} } })).status).toBe(202);
    expect((await both('DELETE', `${letters}/${id}`)).status).toBe(404);
    await admin('DELETE', '/v1/subscriptions/fed');
  });
});

describe('a list', () => {
  it('shows what the caller has any right over, and nothing else', async () => {
    await admin('PUT', '/v1/topics/gone');
    await admin('DELETE', '/v1/topics/gone');
    const names = async (call: typeof admin) => {
      const [topics, deleted, groups, subscriptions] = await Promise.all(
        ['topics', 'topics?deleted=true', 'groups', 'subscriptions'].map((list) => call('GET', `/v1/${list}`)),
      );
      return [
        topics!.json<{ topics: { name: string }[] }>().topics.map(({ name }) => name),
        deleted!.json<{ topics: { name: string }[] }>().topics.map(({ name }) => name),
        groups!.json<{ groups: { group: string }[] }>().groups.map(({ group }) => group),
        subscriptions!.json<{ subscriptions: { name: string }[] }>().subscriptions.map(({ name }) => name),
      ];
    };
    expect(await names(admin)).toEqual([['open', 'secret'], ['gone'], ['letters', 'mixed', 'pushed'], ['pushed']]);
    expect(await names(await callerOf({ topics: 'o*', allow: ['produce'] }))).toEqual([['open'], [], [], []]);
    const groups = await callerOf({ groups: '*ed', allow: ['admin'] });
    expect(await names(groups)).toEqual([[], [], ['mixed', 'pushed'], ['pushed']]);
  });

  it('goes on behind what it does not show', async () => {
    const last = await callerOf({ topics: 'secret', allow: ['consume'] });
    const page = (await last('GET', '/v1/topics?limit=1')).json<{ topics: object[]; nextToken: string }>();
    expect(page.topics).toEqual([]);
    const next = await last('GET', `/v1/topics?limit=1&nextToken=${page.nextToken}`);
    expect(next.json()).toMatchObject({ topics: [{ name: 'secret' }] });
  });
});
