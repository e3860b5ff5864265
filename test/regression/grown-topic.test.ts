import { expect, it } from 'vitest';
import { openTopicBench } from '../support/topic-bench.ts';

const bench = openTopicBench();
const KEYS = ['user-1', 'user-2', 'user-3', 'user-4'];

// Growing is an event in the data: keys move, and what is written to a new partition must be readable from its start (F40).
it('a topic that grows says that keys move, sends them on, and loses nothing', async () => {
  const topic = await bench.newTopic(3);
  const produce = async (round: number) => {
    const records = KEYS.map((key) => ({ key, value: round }));
    const reply = await bench.api.post(`${topic}/records`, { records });
    return reply.json<{ offsets: { partition: number }[] }>().offsets.map(({ partition }) => partition);
  };
  expect(await produce(1)).toEqual([2, 2, 2, 1]);
  expect((await bench.api.get(`${topic}/partitions/3/records?offset=0`)).json()).toMatchObject({
    status: 404,
    code: 'partition_not_found',
    partitions: 3,
  });
  expect((await bench.api.put(topic, { partitions: 4 })).json()).toMatchObject({ partitions: 4, keysMoved: true });
  expect(await produce(2)).toEqual([0, 0, 3, 3]);

  const of = (page: { records: readonly Record<string, unknown>[] }) =>
    page.records.map(({ key, value }) => `${key}:${value}`);
  expect(of(await bench.fetched(topic, 'offset=earliest', 0))).toEqual(['user-1:2', 'user-2:2']);
  expect(of(await bench.fetched(topic, 'offset=0', 1))).toEqual(['user-4:1']);
  expect(of(await bench.fetched(topic, 'offset=0', 2))).toEqual(['user-1:1', 'user-2:1', 'user-3:1']);
  expect(await bench.fetched(topic, 'offset=earliest', 3)).toMatchObject({ logStartOffset: 0, nextOffset: 2 });
  expect(of(await bench.fetched(topic, 'offset=0', 3))).toEqual(['user-3:2', 'user-4:2']);
  expect((await bench.api.put(topic, { partitions: 3 })).code).toBe('partitions_cannot_shrink');
});
