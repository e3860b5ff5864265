import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, openApi } from '../support/api.ts';

let api: Api;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

const describeTopic = async (name: string) => (await api.get(`/v1/topics/${name}`)).json();

describe('a topic', () => {
  it('is made with its defaults, and described', async () => {
    const made = await api.put('/v1/topics/plain');
    expect(made.status).toBe(201);
    expect(made.json()).toEqual({
      name: 'plain',
      id: expect.stringMatching(/^[0-9A-HJKMNP-TV-Z]{26}$/),
      partitions: 8,
      retentionMs: 604_800_000,
      createdAt: expect.any(Number),
    });
    expect(await describeTopic('plain')).toEqual(made.json());
  });

  it('keeps what a change does not name, and says when keys move', async () => {
    await api.put('/v1/topics/grows', { partitions: 3, retentionMs: 3_600_000 });
    const same = await api.put('/v1/topics/grows', { partitions: 3 });
    expect(same).toMatchObject({ status: 200 });
    expect(same.json()).not.toHaveProperty('keysMoved');
    const grown = await api.put('/v1/topics/grows', { partitions: 4 });
    expect(grown).toMatchObject({ status: 200 });
    expect(grown.json()).toMatchObject({ partitions: 4, retentionMs: 3_600_000, keysMoved: true });
    expect(await describeTopic('grows')).toMatchObject({ partitions: 4, retentionMs: 3_600_000 });
    const offsets = await api.post('/v1/topics/grows/records', { records: [{ partition: 3, value: 1 }] });
    expect(offsets.status).toBe(200);
  });

  it('says from when on a longer retention holds', async () => {
    await api.put('/v1/topics/lasts', { retentionMs: 3_600_000 });
    const longer = await api.put('/v1/topics/lasts', { retentionMs: -1 });
    expect(longer.json()).toMatchObject({ retentionMs: -1, retentionAppliesTo: 'later_appends' });
    expect((await api.put('/v1/topics/lasts', { retentionMs: 3_600_000 })).json()).not.toHaveProperty(
      'retentionAppliesTo',
    );
  });

  it('may have any legal name, those that every object has included', async () => {
    const names = [
      '__proto__',
      'constructor',
      'toString',
      'hasOwnProperty',
      'UPPER',
      'upper',
      'orders.v1',
      'orders_v1',
      'x'.repeat(249),
    ];
    for (const name of names) {
      expect((await api.get(`/v1/topics/${name}`)).code).toBe('topic_not_found');
      expect((await api.put(`/v1/topics/${name}`, { partitions: 1 })).status).toBe(201);
      const reply = await api.post(`/v1/topics/${name}/records`, { records: [{ value: name }] });
      expect(reply.status).toBe(200);
    }
    for (const name of names) {
      const reply = await api.get(`/v1/topics/${name}/partitions/0/records?offset=0`);
      expect(reply.json()).toMatchObject({ nextOffset: 1, records: [{ value: name }] });
    }
    expect(({} as { partitions?: unknown }).partitions).toBeUndefined();
  });

  it('is gone when it was deleted, its name free at once, its successor empty', async () => {
    await api.put('/v1/topics/brief', { partitions: 1 });
    await api.post('/v1/topics/brief/records', { records: [{ value: 1 }] });
    const { id } = await describeTopic('brief');
    const reply = await api.delete('/v1/topics/brief');
    expect({ status: reply.status, text: reply.text }).toEqual({ status: 204, text: '' });
    expect((await api.get('/v1/topics/brief')).code).toBe('topic_not_found');
    expect((await api.delete('/v1/topics/brief')).code).toBe('topic_not_found');
    expect((await api.post('/v1/topics/brief/records', { records: [{ value: 1 }] })).code).toBe('topic_not_found');
    const deleted = (await api.get('/v1/topics?deleted=true')).json<{ topics: unknown[] }>().topics;
    expect(deleted).toContainEqual({ name: 'brief', id, deletedAt: expect.any(Number), slotsLeft: 1 });

    expect((await api.put('/v1/topics/brief', { partitions: 1 })).status).toBe(201);
    expect((await describeTopic('brief')).id).not.toBe(id);
    expect((await api.get('/v1/topics/brief/partitions')).json()).toEqual({
      partitions: [{ partition: 0, logStartOffset: 0, highWatermark: 0, logEndOffset: 0 }],
    });
  });

  it('tells the bounds of its partitions, and the offsets at a time', async () => {
    await api.put('/v1/topics/timed', { partitions: 2 });
    await api.post('/v1/topics/timed/records', {
      records: [
        { partition: 1, value: 1 },
        { partition: 1, value: 2 },
      ],
    });
    expect((await api.get('/v1/topics/timed/partitions')).json()).toEqual({
      partitions: [
        { partition: 0, logStartOffset: 0, highWatermark: 0, logEndOffset: 0 },
        { partition: 1, logStartOffset: 0, highWatermark: 2, logEndOffset: 2 },
      ],
    });
    const at = async (time: string) => (await api.get(`/v1/topics/timed/offsets?at=${time}`)).json().offsets;
    const both = (offset: number) => [
      { partition: 0, offset: 0 },
      { partition: 1, offset },
    ];
    expect(await at('earliest')).toEqual(both(0));
    expect(await at('latest')).toEqual(both(2));
    expect(await at('2026-01-01T00:00:00Z')).toEqual(both(0));
    expect(await at('2999-01-01T00:00:00%2B02:00')).toEqual(both(2));
    expect(await at('0001-01-01T00:00:00Z')).toEqual(both(0));
  });
});

describe('the list of topics', () => {
  it('comes in pages, by name, each topic once', async () => {
    const own = await openApi();
    try {
      const names = Array.from({ length: 7 }, (_, i) => `t${i}`);
      for (const name of names.toReversed()) await own.put(`/v1/topics/${name}`, { partitions: 1 });
      const seen: string[] = [];
      let query = 'limit=3';
      for (let page = 0; page < 4 && query !== ''; page++) {
        const reply = (await own.get(`/v1/topics?${query}`)).json<{ topics: { name: string }[]; nextToken?: string }>();
        seen.push(...reply.topics.map(({ name }) => name));
        query = reply.nextToken === undefined ? '' : `limit=3&nextToken=${reply.nextToken}`;
      }
      expect(seen).toEqual(names);
      expect(query).toBe('');
    } finally {
      await own.close();
    }
  });
});

describe('the service', () => {
  it('says that it is well, and which version it is', async () => {
    const { version } = (await import('../../package.json', { with: { type: 'json' } })).default;
    expect((await api.get('/v1/health')).json()).toEqual({ status: 'ok', version });
  });
});
