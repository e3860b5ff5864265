import { gunzipSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Assigned, openGroupBench, type Polled } from '../support/group-calls.ts';

const bench = openGroupBench();
const { newGroup } = bench;

describe('a member', () => {
  it('that joins a free group has its data in the same answer, and goes on where `assigned` says', async () => {
    const group = await newGroup(2);
    await group.produce(0, 'a', 'b');
    await group.produce(1, 'c');
    const first = await group.polled({ topics: [group.topic] });
    expect(first.assigned.map(({ partition, offset }) => [partition, offset])).toEqual([
      [0, 2],
      [1, 1],
    ]);
    expect(first.records).toEqual([
      expect.objectContaining({ topic: group.topic, partition: 0, offset: 0, key: null, value: 'a', headers: [] }),
      expect.objectContaining({ topic: group.topic, partition: 0, offset: 1, value: 'b' }),
      expect.objectContaining({ topic: group.topic, partition: 1, offset: 0, value: 'c' }),
    ]);
    expect(Object.keys(first)).toEqual(['memberId', 'assigned', 'revoked', 'commits', 'records', 'errors']);

    await group.produce(1, 'd');
    const next = await group.polled({ memberId: first.memberId, positions: first.assigned });
    expect(values(next)).toEqual(['d']);
    // The answer got lost: the same positions bring the same records.
    const again = await group.polled({ memberId: first.memberId, positions: first.assigned });
    expect(again.records).toEqual(next.records);
    expect(again.assigned).toEqual(next.assigned);
  });

  it('hands over what another is to have: revoked, committed, released, taken', async () => {
    const group = await newGroup(2);
    await group.produce(0, 'a');
    await group.produce(1, 'b');
    const first = await group.polled({ topics: [group.topic] });
    const second = await group.polled({ topics: [group.topic] });
    expect(second.assigned).toEqual([]);
    const asked = await group.polled({ memberId: first.memberId, positions: first.assigned });
    const { epoch, partition } = asked.revoked[0]!;
    expect(asked).toMatchObject({ revoked: [{ topic: group.topic }], assigned: [{ topic: group.topic }], records: [] });
    const given = { topic: group.topic, partition, epoch };
    const heard = await group.call('heartbeat', {
      ...{ memberId: first.memberId, positions: asked.assigned },
      ...{ commit: [{ ...given, offset: 1 }], release: [given] },
    });
    expect(heard.json()).toMatchObject({ commits: [{ topic: group.topic, partition, offset: 1 }], revoked: [] });
    expect(heard.json()).not.toHaveProperty('records');
    const taken = await group.polled({ memberId: second.memberId, positions: second.assigned });
    expect(taken.assigned).toEqual([{ topic: group.topic, partition, epoch: expect.any(Number), offset: 1 }]);
    expect(taken.assigned[0]!.epoch).toBeGreaterThan(epoch);
    const late = await group.call('commits', { memberId: first.memberId, offsets: [{ ...given, offset: 1 }] });
    expect(late.json()).toMatchObject({ status: 409, code: 'fenced', commits: [{ error: { code: 'fenced' } }] });
  });

  it('joins however often as the same one when it proposes a name', async () => {
    const group = await newGroup(1);
    const memberId = 'new:01J0000000000000000000000A';
    const first = await group.polled({ memberId, topics: [group.topic] });
    const second = await group.polled({ memberId, topics: [group.topic] });
    expect([first.memberId, second.memberId]).toEqual([memberId.slice(4), memberId.slice(4)]);
    expect((await group.described()).members).toHaveLength(1);
  });

  it('with the instanceId of a live one replaces it, with the same partitions', async () => {
    const group = await newGroup(2);
    const first = await group.polled({ topics: [group.topic], instanceId: 'worker-1' });
    const second = await group.polled({ topics: [group.topic], instanceId: 'worker-1' });
    expect(second.assigned.map(({ partition }) => partition)).toEqual([0, 1]);
    for (const act of ['poll', 'heartbeat', 'leave']) {
      const reply = await group.call(act, { memberId: first.memberId });
      expect(reply.json()).toMatchObject({ status: 409, code: 'instance_fenced', instanceId: 'worker-1' });
    }
    const { members } = await group.described();
    expect(members).toMatchObject([{ memberId: second.memberId, instanceId: 'worker-1' }]);
  });

  it('is told what is larger than it asked for, and never more than that beside it', async () => {
    const group = await newGroup(2);
    const large = 'x'.repeat(2_000);
    await group.produce(0, large, large, 'tail');
    await group.produce(1, large);
    const seen: unknown[] = [];
    const first = await group.polled({ topics: [group.topic], maxBytes: 1 });
    const { memberId } = first;
    let { assigned, records } = first;
    for (let polls = 0; records.length > 0 && polls < 10; polls++) {
      expect(records).toHaveLength(1);
      seen.push(...records.map(({ partition, offset }) => `${partition}:${offset}`));
      ({ assigned, records } = await group.polled({ memberId, positions: assigned, maxBytes: 1 }));
    }
    expect(seen.sort()).toEqual(['0:0', '0:1', '0:2', '1:0']);
    const bounded = await group.call('poll', { memberId, maxBytes: 8_000 });
    expect(bounded.json<Polled>().records.length).toBeGreaterThan(1);
    expect(bounded.bytes.length).toBeLessThanOrEqual(8_000);
  });

  it('gets values in the form that it asks for', async () => {
    const group = await newGroup(1);
    await group.produce(0, { n: 1 });
    const { records } = await group.polled({ topics: [group.topic], values: 'base64' });
    const value = Buffer.from('{"n":1}').toString('base64');
    expect(records).toMatchObject([{ value, valueEncoding: 'base64' }]);
  });

  it('may send gzip, and gets it', async () => {
    const group = await newGroup(1);
    await group.produce(0, 'x'.repeat(3_000));
    const body = gzipSync(JSON.stringify({ topics: [group.topic] }));
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip', 'accept-encoding': 'gzip' };
    const reply = await bench.api.post(`${group.path}/poll`, body, headers);
    expect(reply).toMatchObject({ status: 200, headers: { 'content-encoding': 'gzip' } });
    expect(JSON.parse(gunzipSync(reply.bytes).toString()).records).toHaveLength(1);
  });
});

describe('topics under a group', () => {
  it('that grow are read from their first new record on, whatever autoOffsetReset says', async () => {
    const group = await newGroup(1);
    await group.produce(0, 'before');
    const first = await group.polled({ topics: [group.topic], autoOffsetReset: 'latest' });
    expect(first.records).toEqual([]);
    await bench.api.put(`/v1/topics/${group.topic}`, { partitions: 2 });
    await group.produce(1, 'in the new one');
    bench.clock.pass(11_000); // copies of the topic are as old as they may be
    const { memberId, assigned: positions } = first;
    const next = await group.polled({ memberId, positions, autoOffsetReset: 'latest' });
    expect(values(next)).toEqual(['in the new one']);
    expect(next.assigned.map(({ partition }) => partition)).toEqual([0, 1]);
  });

  it('that are deleted are told as errors, and the others are read on', async () => {
    const group = await newGroup(1);
    const other = `${group.topic}-other`;
    await bench.api.put(`/v1/topics/${other}`, { partitions: 1 });
    const { memberId, assigned: positions } = await group.polled({ topics: [group.topic, other] });
    expect(positions).toHaveLength(2);
    await bench.api.delete(`/v1/topics/${other}`);
    await group.produce(0, 'still there');
    bench.clock.pass(11_000);
    const next = await group.polled({ memberId, positions });
    expect(values(next)).toEqual(['still there']);
    expect(next.errors).toEqual([
      { topic: other, code: 'topic_not_found', detail: `Topic '${other}' does not exist`, retryable: false },
    ]);
    expect(next.assigned.map(({ topic }) => topic)).toEqual([group.topic]);
    expect((await group.described()).offsets.map(({ topic }) => topic)).toEqual([group.topic]);
  });

  it('that are made again are other ones: nothing is known of them, and no epoch fits', async () => {
    const group = await newGroup(1);
    await group.produce(0, 'a', 'b');
    const { memberId, assigned: positions } = await group.polled({ topics: [group.topic] });
    await bench.api.delete(`/v1/topics/${group.topic}`);
    await bench.api.put(`/v1/topics/${group.topic}`, { partitions: 1 });
    await group.produce(0, 'c');
    bench.clock.pass(11_000);
    const old = await group.call('commits', { memberId, offsets: [{ ...positions[0]!, offset: 1 }] });
    expect(old).toMatchObject({ status: 409 });
    const next = await group.polled({ memberId, positions });
    expect(values(next)).toEqual(['c']);
    expect(next.assigned).toMatchObject([{ partition: 0, offset: 1 }]);
    expect(next.assigned[0]!.epoch).toBeGreaterThan(positions[0]!.epoch);
  });
});

describe('commits', () => {
  it('are judged one by one', async () => {
    const group = await newGroup(3);
    for (const partition of [0, 1, 2]) await group.produce(partition, 'a', 'b');
    const { memberId, assigned } = await group.polled({ topics: [group.topic] });
    const [zero, one, two] = assigned as [Assigned, Assigned, Assigned];
    await group.call('commits', { memberId, offsets: [{ ...one, offset: 2 }] });
    const offsets = [
      { ...two, offset: 3 },
      { ...zero, offset: 1, metadata: 'half' },
      { ...one, offset: 1 },
      { topic: group.topic, partition: 7, offset: 0, epoch: 1 },
    ];
    const reply = await group.call('commits', { memberId, offsets });
    expect(reply.status).toBe(200);
    expect(reply.json().commits).toEqual([
      { topic: group.topic, partition: 2, offset: 3, error: expect.objectContaining({ code: 'offset_out_of_range' }) },
      { topic: group.topic, partition: 0, offset: 1 },
      { topic: group.topic, partition: 1, offset: 1, error: expect.objectContaining({ code: 'commit_regressed' }) },
      { topic: group.topic, partition: 7, offset: 0, error: expect.objectContaining({ code: 'partition_not_found' }) },
    ]);
    expect(reply.json().commits).toMatchObject([{ error: { logStartOffset: 0, highWatermark: 2 } }, {}, {}, {}]);
    const again = await group.call('commits', { memberId, offsets: [offsets[1]!] });
    expect(again.json()).toEqual({ commits: [{ topic: group.topic, partition: 0, offset: 1 }] });
    expect((await group.described()).offsets).toMatchObject([
      { committed: 1, highWatermark: 2, lag: 1, metadata: 'half' },
      { committed: 2, lag: 0 },
      { committed: 0, lag: 2 },
    ]);
  });

  it('without epochs make a group that has no member, and are refused while it has one', async () => {
    const group = await newGroup(1);
    await group.produce(0, 'a');
    const offsets = [{ topic: group.topic, partition: 0, offset: 1 }];
    expect((await group.call('commits', { offsets })).json()).toEqual({ commits: offsets });
    expect((await group.described()).offsets).toMatchObject([{ committed: 1, lag: 0 }]);
    await group.polled({ topics: [group.topic] });
    const reply = await group.call('commits', { offsets });
    expect(reply.json()).toMatchObject({ status: 409, code: 'fenced', commits: [{ error: { code: 'fenced' } }] });
  });
});

function values({ records }: Polled): unknown[] {
  return records.map(({ value }) => value);
}
