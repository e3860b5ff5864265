import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, openApi } from '../support/api.ts';

let api: Api;
beforeAll(async () => {
  api = await openApi();
});
afterAll(() => api.close());

const times = <T>(count: number, act: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => act(i)));

describe('a topic that many touch at once', () => {
  it('is made once, and all are told of the same one', async () => {
    const made = await times(12, () => api.put('/v1/topics/once', { partitions: 2 }));
    expect(made.map(({ status }) => status).sort()).toEqual([...Array(11).fill(200), 201]);
    expect(new Set(made.map((reply) => reply.json().id)).size).toBe(1);
  });

  it('grows to the most that is asked for, and never shrinks', async () => {
    await api.put('/v1/topics/grown', { partitions: 1 });
    // Changes that keep losing to others are sent away with 503, and may come again.
    const grow = async (partitions: number) => {
      let reply = await api.put('/v1/topics/grown', { partitions });
      for (let n = 0; reply.status === 503 && n < 12; n++) reply = await api.put('/v1/topics/grown', { partitions });
      return reply;
    };
    const grown = await times(6, (i) => grow(i + 1));
    for (const reply of grown.filter(({ status }) => status !== 200)) {
      expect(reply.json()).toMatchObject({ status: 409, code: 'partitions_cannot_shrink' });
    }
    expect((await api.get('/v1/topics/grown')).json().partitions).toBe(6);
    const last = await api.post('/v1/topics/grown/records', { records: [{ value: 1, partition: 5 }] });
    expect(last.status).toBe(200);
  });

  it('is deleted once', async () => {
    await api.put('/v1/topics/brief', { partitions: 1 });
    const deleted = await times(8, () => api.delete('/v1/topics/brief'));
    expect(deleted.map(({ status }) => status).sort()).toEqual([204, ...Array(7).fill(404)]);
  });

  it('that is deleted and made again under its writers keeps what its last incarnation acknowledged', async () => {
    const stored: { value: number; partition: number; offset: number }[] = [];
    let value = 0;
    const write = async () => {
      for (let n = 0; n < 12; n++) {
        const mine = value++;
        const reply = await api.post('/v1/topics/again/records', { records: [{ value: mine }] });
        if (reply.status === 200) stored.push({ value: mine, ...reply.json<{ offsets: [Placed] }>().offsets[0] });
        else expect(['topic_not_found', 'unavailable']).toContain(reply.code); // either says that nothing is stored
      }
    };
    const renew = async () => {
      for (let n = 0; n < 6; n++) {
        expect([200, 201]).toContain((await api.put('/v1/topics/again', { partitions: 1 })).status);
        expect([204, 404]).toContain((await api.delete('/v1/topics/again')).status);
      }
      await api.put('/v1/topics/again', { partitions: 1 });
    };
    await Promise.all([write(), write(), write(), renew()]);
    await write();

    const page = await api.get('/v1/topics/again/partitions/0/records?offset=0&maxRecords=1000');
    const { records } = page.json<{ records: { offset: number; value: number }[] }>();
    const last = new Map(stored.map((record) => [`${record.offset}:${record.value}`, record]));
    // Each record was acknowledged at the offset where it is, and the last twelve are all there.
    for (const { offset, value } of records) expect([...last.keys()]).toContain(`${offset}:${value}`);
    const read = new Set(records.map((record) => record.value));
    expect(stored.slice(-12).filter((record) => !read.has(record.value))).toEqual([]);
  });
});

interface Placed {
  readonly partition: number;
  readonly offset: number;
}
