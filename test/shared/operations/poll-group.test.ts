import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { brief, Consumer, type GroupBench, type GroupHost, openGroupBench, poll } from '../../support/group-bench.ts';
import { append, makeTopic } from '../../support/log-bench.ts';

describe('a poll', () => {
  let bench: GroupBench;
  let host: GroupHost;

  beforeEach(async () => {
    bench = await openGroupBench();
    host = bench.host();
    await makeTopic(host, 't', { partitions: 2 });
  });
  afterEach(() => bench.close());

  it('joins, takes what is free, and brings its records in the same answer (G4)', async () => {
    await append(host, 't', 'a', 2, 0);
    await append(host, 't', 'b', 1, 1);
    const answer = await poll(host);
    expect(answer.records.toSorted()).toEqual(['0:0', '0:1', '1:0']);
    expect(brief(answer)).toEqual({ assigned: ['0@2', '1@1'], revoked: [], commits: [], errors: [] });
    expect(answer.memberId).toMatch(/^[0-9A-Z]{26}$/);
  });

  it('goes on behind what it gave when its positions are echoed, whoever answers', async () => {
    await append(host, 't', 'a', 2);
    const { memberId, assigned } = await poll(host);
    await append(host, 't', 'b');
    const other = await poll(bench.host(), { memberId, positions: assigned });
    expect(other.records).toEqual(['0:2']);
    expect(brief(other).assigned).toEqual(['0@3', '1@0']);
  });

  it('gives the same records again when it is repeated with the same positions', async () => {
    await append(host, 't', 'a', 3);
    const { memberId, assigned } = await poll(host, {}, { records: 1 });
    const lost = await poll(host, { memberId, positions: assigned });
    const repeated = await poll(bench.host(), { memberId, positions: assigned });
    expect(lost.records).toEqual(['0:1', '0:2']);
    expect(repeated).toEqual(lost);
  });

  it('gives the same records again when the join itself is repeated with its proposal', async () => {
    await append(host, 't', 'a', 3);
    const proposed = '01J00000000000000000000000';
    const lost = await poll(host, { proposed }, { records: 2 });
    const repeated = await poll(bench.host(), { proposed }, { records: 2 });
    expect(lost.memberId).toBe(proposed);
    expect(repeated).toEqual(lost);
  });

  it('reads a partition that is owned and not named from its committed offset', async () => {
    await append(host, 't', 'a', 3);
    const { memberId, assigned } = await poll(host);
    const commit = [{ topic: 't', partition: 0, offset: 2, epoch: assigned[0]!.epoch }];
    const answer = await poll(host, { memberId, commit, positions: [] });
    expect(brief(answer).commits).toEqual(['0@2 done']);
    expect(answer.records).toEqual(['0:2']);
  });

  it('does not read what is paused, and keeps its place', async () => {
    await append(host, 't', 'a', 1, 0);
    await append(host, 't', 'b', 1, 1);
    const { memberId, assigned } = await poll(host, { paused: [{ topic: 't', partition: 0 }] });
    const answer = await poll(host, { memberId, positions: assigned });
    expect(answer.records).toEqual(['0:0']);
  });

  it('waits for a record, and stays a member meanwhile', async () => {
    const { memberId, assigned } = await poll(host, { sessionTimeoutMs: 6_000 });
    const begun = bench.clock.now();
    const original = host.ports.sleep;
    const sleep = async (ms: number) => {
      await original(ms);
      if (bench.clock.now() - begun > 10_000) await append(host, 't', 'late');
    };
    const waiting = { ...host, ports: { ...host.ports, sleep } };
    const answer = await poll(waiting, { memberId, positions: assigned, waitMs: 20_000 });
    expect(answer.records[0]).toBe('0:0');
    expect(bench.clock.now() - begun).toBeLessThan(12_000);
  });

  it('answers without records when none came in time', async () => {
    const begun = bench.clock.now();
    expect((await poll(host, { waitMs: 2_000 })).records).toEqual([]);
    expect(bench.clock.now() - begun).toBeGreaterThanOrEqual(2_000);
  });

  it('begins at the end with autoOffsetReset latest, which is resolved once and stored', async () => {
    await append(host, 't', 'old', 3);
    const { memberId, assigned } = await poll(host, { autoOffsetReset: 'latest' });
    expect(brief({ ...(await poll(host, { memberId, positions: assigned })) }).assigned).toEqual(['0@3', '1@0']);
    await append(host, 't', 'new');
    const answer = await poll(bench.host(), { memberId, autoOffsetReset: 'latest', positions: [] });
    expect(answer.records).toEqual(['0:3']);
  });

  it('refuses a group without positions when autoOffsetReset is none, and leaves no member behind', async () => {
    await expect(poll(host, { autoOffsetReset: 'none' })).rejects.toMatchObject({ code: 'no_committed_offset' });
    const group = (await host.ports.groups.read('g', true))!;
    expect(await host.ports.members.all(group)).toEqual([]);
  });

  it('refuses to join for a topic that does not exist, and makes no group for it', async () => {
    await expect(poll(host, { topics: ['t', 'nowhere'] })).rejects.toMatchObject({ code: 'topic_not_found' });
    expect(await host.ports.groups.read('g', true)).toBeUndefined();
  });

  it('refuses members and groups that do not exist', async () => {
    const memberId = '01J00000000000000000000000';
    await expect(poll(host, { memberId })).rejects.toMatchObject({ code: 'group_not_found' });
    await poll(host);
    await expect(poll(host, { memberId })).rejects.toMatchObject({ code: 'member_not_found' });
    await expect(poll(host, { memberId: 'no id at all' })).rejects.toMatchObject({ code: 'member_not_found' });
  });

  it('tells of an offset that is out of range at its partition alone', async () => {
    await append(host, 't', 'a', 2, 1);
    const { memberId, assigned } = await poll(host);
    const positions = assigned.map((entry) => ({ ...entry, offset: entry.partition === 0 ? 7 : 0 }));
    const answer = await poll(host, { memberId, positions });
    expect(brief(answer).assigned).toEqual(['0@7 offset_out_of_range', '1@2']);
    expect(answer.records).toEqual(['1:0', '1:1']);
    const reset = await poll(host, { memberId, positions, reset: 'earliest' });
    expect(brief(reset).assigned).toEqual(['0@0', '1@2']);
  });

  it('tells of what went wrong with one partition, and gives the records of the others', async () => {
    await append(host, 't', 'a', 1, 0);
    await append(host, 't', 'b', 1, 1);
    const { memberId, assigned } = await poll(host, { paused: [0, 1].map((partition) => ({ topic: 't', partition })) });
    host.faults.next('Query', 'lose-request', 3, '.0"');
    const answer = await poll(host, { memberId, positions: assigned });
    expect(answer.records).toEqual(['1:0']);
    expect(brief(answer)).toMatchObject({ assigned: ['0@0', '1@1'], errors: ['0 unavailable'] });
    expect((await poll(host, { memberId, positions: answer.assigned })).records).toEqual(['0:0']);
  });

  it('is kept alive by polls, however long, and expires without them', async () => {
    const consumer = new Consumer(host, { sessionTimeoutMs: 6_000 });
    for (let i = 0; i < 10; i++) {
      await consumer.poll();
      bench.clock.pass(3_000);
    }
    bench.clock.pass(9_000);
    await expect(consumer.poll()).rejects.toMatchObject({ code: 'member_not_found' });
  });
});

describe('the room of a poll', () => {
  let bench: GroupBench;
  let host: GroupHost;

  beforeEach(async () => {
    bench = await openGroupBench();
    host = bench.host();
  });
  afterEach(() => bench.close());

  const held = async (partitions: number) => {
    await makeTopic(host, 't', { partitions });
    const consumer = new Consumer(host);
    while (consumer.held.length < partitions) await consumer.poll();
    return consumer;
  };

  it('is shared by the partitions that have something', async () => {
    const consumer = await held(3);
    await append(host, 't', 'a', 10, 0);
    await append(host, 't', 'b', 10, 2);
    const { records } = await consumer.poll({}, { records: 4 });
    expect(records.toSorted()).toEqual(['0:0', '0:1', '2:0', '2:1']);
  });

  it('goes to those that have more where others have less', async () => {
    const consumer = await held(2);
    await append(host, 't', 'a', 1, 0);
    await append(host, 't', 'b', 10, 1);
    expect((await consumer.poll({}, { records: 8 })).records).toHaveLength(8);
    expect((await consumer.poll({}, { records: 8 })).records).toEqual(['1:7', '1:8', '1:9']);
  });

  it('gives one record that is larger than all of it', async () => {
    const consumer = await held(2);
    await append(host, 't', 'x'.repeat(100), 2, 0);
    await append(host, 't', 'y'.repeat(100), 2, 1);
    expect((await consumer.poll({}, { bytes: 50 })).records).toHaveLength(1);
    expect((await consumer.poll({}, { bytes: -1 })).records).toHaveLength(1);
    expect((await consumer.poll({}, { bytes: 200 })).records).toHaveLength(2);
  });

  it('is enough for fewer records than partitions', async () => {
    const consumer = await held(5);
    for (let partition = 0; partition < 5; partition++) await append(host, 't', 'a', 2, partition);
    const seen = new Set<string>();
    for (let i = 0; i < 5; i++)
      for (const record of (await consumer.poll({}, { records: 2 })).records) seen.add(record);
    expect(seen.size).toBe(10);
  });

  it('lets partitions beyond 32 have their turn, by the number that the answer before gave', async () => {
    const consumer = await held(70);
    for (let partition = 0; partition < 70; partition++) await append(host, 't', 'a', 1, partition);
    const seen: string[] = [];
    let turn = 0;
    for (let i = 0; i < 3; i++) {
      const answer = await consumer.poll({ turn });
      expect(answer.records.length).toBeLessThanOrEqual(32);
      seen.push(...answer.records);
      turn = answer.turn!;
    }
    expect(new Set(seen).size).toBe(70);
  });

  it('lets them have their turn without it, too', async () => {
    const consumer = await held(70);
    await append(host, 't', 'a', 1, 69);
    let polls = 0;
    while (consumer.records.length === 0 && ++polls < 60) {
      await consumer.poll();
      bench.clock.pass(1_000);
    }
    expect(consumer.records).toEqual(['69:0']);
  });
});
