import { beforeEach, describe, expect, it } from 'vitest';
import { PartitionsCannotShrink, TopicNotFound, Unavailable } from '../../../shared/domain/errors.ts';
import { HEAD_DEADLINE_MS } from '../../../shared/domain/limits.ts';
import { describePartitions, findOffsets } from '../../../shared/operations/partitions.ts';
import { deleteTopic, getTopic, listDeletedTopics, listTopics, putTopic } from '../../../shared/operations/topics.ts';
import { append, type Host, type LogBench, makeTopic, openLogBench, read } from '../../support/log-bench.ts';

let bench: LogBench;
let host: Host;
beforeEach(async () => {
  bench = await openLogBench();
  host = bench.host();
  return () => bench.close();
});

describe('a topic', () => {
  it('is made with the defaults that are documented', async () => {
    const { topic, created } = await putTopic(host.backbone, 'orders', {});
    expect(created).toBe(true);
    expect(topic).toMatchObject({ name: 'orders', partitions: 8, retentionMs: 604_800_000, hiddenUntil: 0 });
    expect(topic.id).toMatch(/^[0-9A-HJKMNP-TV-Z]{26}$/);
    expect(await getTopic(bench.host().backbone, 'orders')).toEqual(topic);
  });

  it('keeps what an update does not name, and grows with new partitions at offset 0', async () => {
    await putTopic(host.backbone, 'orders', { partitions: 2, retentionMs: -1 });
    const grown = await putTopic(host.backbone, 'orders', { partitions: 3 });
    expect(grown).toMatchObject({ created: false, keysMoved: true, topic: { partitions: 3, retentionMs: -1 } });
    expect(await append(host, 'orders', 'a', 1, 2)).toBe(0);
    expect(await putTopic(host.backbone, 'orders', {})).toMatchObject({ keysMoved: false, topic: { partitions: 3 } });
  });

  it('does not shrink', async () => {
    await putTopic(host.backbone, 'orders', { partitions: 3 });
    await expect(putTopic(host.backbone, 'orders', { partitions: 2 })).rejects.toBeInstanceOf(PartitionsCannotShrink);
    expect((await getTopic(host.backbone, 'orders')).partitions).toBe(3);
  });

  it('is made once when many make it at a time, and leaves no second incarnation behind', async () => {
    const hosts = Array.from({ length: 6 }, () => bench.host());
    const changes = await Promise.all(hosts.map(({ backbone }) => putTopic(backbone, 'orders', { partitions: 2 })));
    expect(changes.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(changes.map(({ topic }) => topic.id)).size).toBe(1);
    expect((await listDeletedTopics(host.backbone, { limit: 100 })).items).toEqual([]);
  });

  it('can be made by a repeat when the answer to the first try was lost', async () => {
    host.faults.next('TransactWriteItems', 'lose-answer', 3);
    await expect(putTopic(host.backbone, 'orders', {})).rejects.toBeInstanceOf(Unavailable);
    expect((await putTopic(host.backbone, 'orders', {})).created).toBe(false);
    expect(await append(host, 'orders', 'a')).toBe(0);
  });

  it('is seen by a writer whose copy is old as soon as it grew: a new partition is judged on a fresh copy', async () => {
    await putTopic(host.backbone, 'orders', { partitions: 1 });
    const other = bench.host();
    await append(other, 'orders', 'a');
    await putTopic(host.backbone, 'orders', { partitions: 2 });
    expect((await read(other, 'orders', 0, { partition: 1 })).got).toEqual([]);
  });
});

describe('a creation', () => {
  it('that was taken for abandoned meanwhile makes another incarnation, with heads of its own', async () => {
    const held = host.faults.hold('TransactWriteItems');
    const making = putTopic(host.backbone, 'orders', { partitions: 2 });
    await held.arrived;
    const [announced] = (await host.backbone.leftovers.list()).items;
    expect(announced).toMatchObject({ name: 'orders', partitions: 2, state: 'announced' });
    expect(await bench.host().backbone.leftovers.markAbandoned(announced!.id)).toBe(true);
    held.release();
    const { topic, created } = await making;
    expect(created).toBe(true);
    expect(topic.id).not.toBe(announced!.id);
    expect(await append(host, 'orders', 'a', 1, 1)).toBe(0);
    expect((await host.backbone.leftovers.list()).items).toMatchObject([{ id: announced!.id, state: 'abandoned' }]);
    expect((await listDeletedTopics(host.backbone, { limit: 100 })).items).toEqual([]);
  });

  it('cannot be taken for abandoned once it is through', async () => {
    const { topic } = await putTopic(host.backbone, 'orders', {});
    expect(await host.backbone.leftovers.markAbandoned(topic.id)).toBe(false);
  });

  it('that is refused because it had been carried out already is recognised as its own', async () => {
    const { topicItems } = host.backbone;
    const create = topicItems.create.bind(topicItems);
    topicItems.create = async (topic) => {
      expect(await create(topic)).toBe(true);
      return create(topic);
    };
    expect((await putTopic(host.backbone, 'orders', {})).created).toBe(true);
    expect(await append(host, 'orders', 'a')).toBe(0);
  });
});

describe('a growth that is broken off', () => {
  const heads = async (topicId: string) =>
    Promise.all([0, 1, 2, 3].map((partition) => host.backbone.heads.read({ topicId, partition })));
  const breakOff = async () => {
    const { topic } = await putTopic(host.backbone, 'orders', { partitions: 2 });
    host.faults.next('UpdateItem', 'lose-request', 3, 'REMOVE growingTo');
    await expect(putTopic(host.backbone, 'orders', { partitions: 4 })).rejects.toBeInstanceOf(Unavailable);
    return topic.id;
  };

  it('adds no partitions, and is finished by a repeat, or by a smaller one', async () => {
    const topicId = await breakOff();
    expect(await getTopic(host.backbone, 'orders')).toMatchObject({ partitions: 2, growingTo: 4 });
    expect(await heads(topicId)).not.toContain(undefined);
    const smaller = await putTopic(host.backbone, 'orders', { partitions: 3 });
    expect(smaller).toMatchObject({ keysMoved: true, topic: { partitions: 3, growingTo: 4 } });
    expect(await append(host, 'orders', 'a', 1, 2)).toBe(0);
    const { topic } = await putTopic(host.backbone, 'orders', { partitions: 4 });
    expect(topic).not.toHaveProperty('growingTo');
    expect(await getTopic(host.backbone, 'orders')).toEqual(topic);
  });

  it('leaves heads that a DELETE closes, and hands on to be removed', async () => {
    const topicId = await breakOff();
    await deleteTopic(bench.host().backbone, 'orders');
    const [leftover] = (await host.backbone.leftovers.list()).items;
    expect(leftover).toMatchObject({ id: topicId, partitions: 4, state: 'deleted', closedAt: bench.clock.now() });
    const reserve = (partition: number) =>
      host.backbone.heads.reserve(
        { topicId, partition },
        'ab'.repeat(12),
        { count: 1, time: bench.clock.now(), expiresAt: 0, settleMs: 2_000 },
        () => false,
      );
    expect(await Promise.all([0, 1, 2, 3].map(reserve))).toEqual(Array(4).fill(undefined));
  });

  it('by a DELETE grows the next incarnation instead', async () => {
    const { topic: old } = await putTopic(host.backbone, 'orders', { partitions: 2 });
    const held = host.faults.hold('UpdateItem', 'none', 'REMOVE growingTo');
    const growing = putTopic(host.backbone, 'orders', { partitions: 4 });
    await held.arrived;
    await deleteTopic(bench.host().backbone, 'orders');
    held.release();
    const { topic } = await growing;
    expect(topic).toMatchObject({ partitions: 4 });
    expect(topic.id).not.toBe(old.id);
    expect((await host.backbone.leftovers.list()).items).toMatchObject([{ id: old.id, partitions: 4 }]);
  });

  it('by the clock makes no head after its time: it would outlive the purge', async () => {
    await putTopic(host.backbone, 'orders', { partitions: 2 });
    const held = host.faults.hold('UpdateItem', 'none', 'growingTo');
    const growing = putTopic(host.backbone, 'orders', { partitions: 4 });
    await held.arrived;
    bench.clock.pass(HEAD_DEADLINE_MS + 1);
    held.release();
    await expect(growing).rejects.toBeInstanceOf(Unavailable);
    expect(host.faults.calls.filter((call) => call === 'PutItem')).toHaveLength(3); // the announcement, two heads
  });
});

describe('what a longer retention hides', () => {
  it('stays hidden, though a slow update began before the one that hid it', async () => {
    const slow = bench.host(-60_000);
    await makeTopic(slow, 'orders', { retentionMs: 3_600_000 });
    const held = slow.faults.hold('UpdateItem');
    const first = putTopic(slow.backbone, 'orders', { retentionMs: 7_200_000 });
    await held.arrived;
    bench.clock.pass(600_000);
    const { topic } = await putTopic(host.backbone, 'orders', { retentionMs: 7_200_000 });
    await putTopic(host.backbone, 'orders', { retentionMs: 3_600_000 });
    held.release();
    expect((await first).topic.hiddenUntil).toBeGreaterThanOrEqual(topic.hiddenUntil);
  });
});

describe('a deleted topic', () => {
  it('is gone at once, is listed until its data is, and shares nothing with its successor', async () => {
    await makeTopic(host, 'orders');
    await append(host, 'orders', 'old', 5);
    const { id } = await getTopic(host.backbone, 'orders');
    await deleteTopic(host.backbone, 'orders');
    await expect(getTopic(host.backbone, 'orders')).rejects.toBeInstanceOf(TopicNotFound);
    await expect(deleteTopic(host.backbone, 'orders')).rejects.toBeInstanceOf(TopicNotFound);
    await expect(append(host, 'orders', 'x')).rejects.toBeInstanceOf(TopicNotFound);
    expect((await listDeletedTopics(host.backbone, { limit: 10 })).items).toMatchObject([
      { name: 'orders', id, slotsLeft: 5 },
    ]);
    await makeTopic(host, 'orders');
    expect((await read(host, 'orders', 'earliest')).got).toEqual([]);
    expect(await append(host, 'orders', 'new')).toBe(0);
  });
});

describe('the list of topics', () => {
  it('is sorted by name and comes in pages', async () => {
    for (const name of ['b', 'a', '__proto__', 'C']) await makeTopic(host, name);
    const first = await listTopics(host.backbone, { limit: 3 });
    expect(first.items.map(({ name }) => name)).toEqual(['C', '__proto__', 'a']);
    const second = await listTopics(host.backbone, { limit: 3, after: first.next! });
    expect(second.items.map(({ name }) => name)).toEqual(['b']);
    expect(second.next).toBeUndefined();
  });
});

describe('the bounds of partitions', () => {
  it('are exact, though slots are in flight or void', async () => {
    await putTopic(host.backbone, 'orders', { partitions: 2 });
    await append(host, 'orders', 'a', 3);
    const writer = bench.host();
    const held = writer.faults.hold('PutItem');
    const slow = append(writer, 'orders', 'slow', 2);
    await held.arrived;
    await append(host, 'orders', 'b');
    expect(await describePartitions(host.backbone, 'orders')).toEqual([
      { partition: 0, logStartOffset: 0, highWatermark: 3, logEndOffset: 6 },
      { partition: 1, logStartOffset: 0, highWatermark: 0, logEndOffset: 0 },
    ]);
    bench.clock.pass(2_001);
    expect((await describePartitions(host.backbone, 'orders'))[0]).toMatchObject({ highWatermark: 6 });
    held.release();
    await slow;
    expect((await describePartitions(host.backbone, 'orders'))[0]).toMatchObject({ highWatermark: 8 });
  });

  it('start behind what is expired, and end there when nothing is left', async () => {
    await makeTopic(host, 'orders', { retentionMs: 3_600_000 });
    for (let i = 0; i < 20; i++) await append(host, 'orders', `r${i}`, 10);
    bench.clock.pass(1_800_000);
    for (let i = 0; i < 20; i++) await append(host, 'orders', `s${i}`, 10);
    bench.clock.pass(1_800_001);
    expect(await describePartitions(host.backbone, 'orders')).toMatchObject([
      { logStartOffset: 200, highWatermark: 400 },
    ]);
    bench.clock.pass(1_800_001);
    expect(await describePartitions(host.backbone, 'orders')).toMatchObject([
      { logStartOffset: 400, highWatermark: 400 },
    ]);
  });
});

describe('the offset of a time', () => {
  it('is that of the first record appended at or after it', async () => {
    await makeTopic(host, 'orders');
    const times: number[] = [];
    for (let i = 0; i < 60; i++) {
      times.push(bench.clock.now());
      await append(host, 'orders', `r${i}`, 2);
      bench.clock.pass(1_000);
    }
    const offsetOf = async (at: number) => (await findOffsets(host.backbone, 'orders', at))[0]!.offset;
    for (const i of [0, 1, 7, 30, 59]) {
      expect(await offsetOf(times[i]!)).toBe(i * 2);
      expect(await offsetOf(times[i]! - 999)).toBe(i * 2);
      expect(await offsetOf(times[i]! + 1)).toBe(i * 2 + 2);
    }
    expect(await offsetOf(0)).toBe(0);
    expect(await findOffsets(host.backbone, 'orders', 'earliest')).toEqual([{ partition: 0, offset: 0 }]);
    expect(await findOffsets(host.backbone, 'orders', 'latest')).toEqual([{ partition: 0, offset: 120 }]);
  });

  it('is exact though writers’ clocks differ, and never lies past an unsettled slot', async () => {
    await makeTopic(host, 'orders');
    const fast = bench.host(2_000);
    await append(fast, 'orders', 'fast');
    const time = bench.clock.now();
    await append(host, 'orders', 'right');
    expect((await findOffsets(host.backbone, 'orders', time + 1_000))[0]!.offset).toBe(0);
    const writer = bench.host();
    const held = writer.faults.hold('PutItem');
    const slow = append(writer, 'orders', 'slow');
    await held.arrived;
    await append(host, 'orders', 'after');
    expect((await findOffsets(host.backbone, 'orders', time + 10_000))[0]!.offset).toBe(2);
    held.release();
    await slow;
  });
});
