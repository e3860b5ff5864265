import { randomBytes } from 'node:crypto';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { describe, expect, it } from 'vitest';
import { openSweep } from '../../functions/sweep.ts';
import { INLINE_DEAD_LETTER_BYTES_MAX, LATE_MAX_MS, SWEEP_RUN_MS } from '../../shared/domain/limits.ts';
import { sweep } from '../../shared/operations/sweep.ts';
import { openGroupBench } from '../support/group-calls.ts';

const bench = openGroupBench();
const { newGroup, clock } = bench;

describe('a reset', () => {
  it('leads a group without members to an end, a time or an offset, and back again', async () => {
    const group = await newGroup(2);
    await group.produce(0, 'a', 'b');
    clock.pass(10_000);
    const at = new Date(clock.now()).toISOString();
    await group.produce(0, 'c');
    await group.produce(1, 'd');
    const { memberId, assigned } = await group.polled({ topics: [group.topic] });
    await group.call('leave', { memberId });
    const reset = async (to: unknown, more = {}) => {
      const reply = await bench.api.put(`${group.path}/offsets`, { topic: group.topic, to, ...more });
      expect(reply.status, reply.text).toBe(200);
      return reply.json<{ offsets: { partition: number; offset: number }[] }>().offsets;
    };
    const committed = async () => (await group.described()).offsets.map((offset) => offset.committed);
    expect(await reset('latest')).toMatchObject([
      { topic: group.topic, partition: 0, offset: 3 },
      { topic: group.topic, partition: 1, offset: 1 },
    ]);
    expect(await committed()).toEqual([3, 1]);
    expect(await reset({ at }, { partitions: [0] })).toMatchObject([{ partition: 0, offset: 2 }]);
    expect(await committed()).toEqual([2, 1]);
    expect(await reset({ offset: 1 })).toMatchObject([{ offset: 1 }, { offset: 1 }]);
    expect(await reset('earliest')).toMatchObject([{ offset: 0 }, { offset: 0 }]);
    const zombie = await group.call('commits', { memberId, offsets: [{ ...assigned[0]!, offset: 3 }] });
    expect(zombie.json()).toMatchObject({ status: 409, code: 'fenced' });
    const { records } = await group.polled({ topics: [group.topic] });
    expect(records.map(({ value }) => value)).toEqual(['a', 'b', 'c', 'd']);
  });

  it('makes the positions that a group has not had yet, and they are read from there', async () => {
    const group = await newGroup(1);
    await group.produce(0, 'a', 'b');
    const { memberId } = await group.polled({ topics: [group.topic] });
    await group.call('leave', { memberId });
    const other = await newGroup(1);
    await other.produce(0, 'c', 'd');
    await bench.api.put(`${group.path}/offsets`, { topic: other.topic, to: { offset: 1 } });
    const { records } = await group.polled({ topics: [other.topic], autoOffsetReset: 'none' });
    expect(records.map(({ value }) => value)).toEqual(['d']);
  });

  it('is refused when a member joins in the middle, and leaves that member what it took', async () => {
    const group = await newGroup(1);
    await group.produce(0, 'a', 'b');
    const { memberId } = await group.polled({ topics: [group.topic] });
    await group.call('leave', { memberId });
    const held = bench.api.faults.hold('UpdateItem', 'none', '":to"');
    const reset = bench.api.put(`${group.path}/offsets`, { topic: group.topic, to: 'latest' });
    await held.arrived;
    const joined = await group.polled({ topics: [group.topic] });
    expect(joined.records).toHaveLength(2);
    held.release();
    expect((await reset).json()).toMatchObject({ status: 409, code: 'group_active', members: 1 });
    const offsets = [{ ...joined.assigned[0]!, offset: 2 }];
    const committed = await group.call('commits', { memberId: joined.memberId, offsets });
    expect(committed.json()).toEqual({ commits: [{ topic: group.topic, partition: 0, offset: 2 }] });
  });

  it('puts out a session that has ended: its late heartbeat finds no member', async () => {
    const group = await newGroup(1);
    const { memberId } = await group.polled({ topics: [group.topic], sessionTimeoutMs: 6_000 });
    clock.pass(8_001);
    const reply = await bench.api.put(`${group.path}/offsets`, { topic: group.topic, to: 'latest' });
    expect(reply.status).toBe(200);
    clock.pass(-8_001); // a host whose clock is behind
    expect((await group.call('heartbeat', { memberId })).json()).toMatchObject({ code: 'member_not_found' });
    clock.pass(8_001);
  });

  it('goes on where it was when the store failed in the middle', async () => {
    const group = await newGroup(2);
    for (const partition of [0, 1]) await group.produce(partition, 'a');
    const { memberId } = await group.polled({ topics: [group.topic] });
    await group.call('leave', { memberId });
    const reset = () => bench.api.put(`${group.path}/offsets`, { topic: group.topic, to: 'latest' });
    for (const fault of ['lose-request', 'lose-answer'] as const) {
      bench.api.faults.next('UpdateItem', fault, 1, group.path.split('/').at(-1)!);
      expect((await reset()).json()).toMatchObject({ code: 'unavailable' });
    }
    expect((await reset()).status).toBe(200);
    expect((await group.described()).offsets).toMatchObject([{ committed: 1 }, { committed: 1 }]);
  });
});

describe('groups', () => {
  it('are listed by name, page by page', async () => {
    const made: string[] = [];
    for (let i = 0; i < 3; i++) {
      const group = await newGroup(1);
      await group.polled({ topics: [group.topic] });
      made.push(group.path.split('/').at(-1)!);
    }
    const seen: string[] = [];
    for (let token: string | undefined = ''; token !== undefined; ) {
      const reply = await bench.api.get(`/v1/groups?limit=2${token && `&nextToken=${token}`}`);
      const page = reply.json<{ groups: { group: string; id: string }[]; nextToken?: string }>();
      seen.push(...page.groups.map(({ group }) => group));
      token = page.nextToken;
    }
    expect(seen).toEqual([...seen].sort());
    expect(seen).toEqual(expect.arrayContaining(made));
  });

  it('are described by who lives, and how far behind they are, exactly', async () => {
    const group = await newGroup(2);
    await group.produce(0, 'a', 'b', 'c');
    const first = await group.polled({ topics: [group.topic], sessionTimeoutMs: 6_000 });
    await group.polled({ memberId: first.memberId, commit: [{ ...first.assigned[0]!, offset: 1 }] });
    expect(await group.described()).toMatchObject({
      members: [{ memberId: first.memberId, assigned: [{ partition: 0 }, { partition: 1 }] }],
      offsets: [
        { topic: group.topic, partition: 0, committed: 1, highWatermark: 3, lag: 2 },
        { topic: group.topic, partition: 1, committed: 0, highWatermark: 0, lag: 0 },
      ],
    });
    clock.pass(8_001);
    await bench.api.put(`/v1/topics/${group.topic}`, { partitions: 3 });
    await group.produce(2, 'd');
    expect(await group.described()).toMatchObject({
      members: [],
      offsets: [{}, {}, { partition: 2, committed: null, highWatermark: 1, lag: 1 }],
    });
  });

  it('that are deleted are gone for their members, share nothing with their successors, and are purged', async () => {
    const group = await newGroup(1);
    await group.produce(0, randomBytes(INLINE_DEAD_LETTER_BYTES_MAX).toString('base64'), 'b');
    const { memberId, assigned } = await group.polled({ topics: [group.topic] });
    const { topic, partition, epoch } = assigned[0]!;
    const error = { name: 'Error', message: '' };
    const letter = { memberId, topic, partition, epoch, offset: 0, error, attempts: 1 };
    expect((await group.call('dead-letters', letter)).status).toBe(200);
    expect(await deadLetterObjects()).toHaveLength(1);
    expect((await bench.api.delete(group.path)).status).toBe(204);
    for (const act of ['poll', 'heartbeat', 'leave']) {
      expect((await group.call(act, { memberId })).json()).toMatchObject({ status: 404, code: 'group_not_found' });
    }
    const late = await group.call('commits', { memberId, offsets: [{ ...assigned[0]!, offset: 2 }] });
    expect(late.json()).toMatchObject({ code: 'group_not_found' });

    clock.pass(1);
    const again = await group.polled({ topics: [group.topic] });
    expect(again.assigned[0]!.epoch).toBeGreaterThan(epoch);
    expect(again.records[0]).toMatchObject({ offset: 0 });
    expect((await bench.api.get(`${group.path}/dead-letters`)).json()).toEqual({ deadLetters: [] });
    const zombie = await group.call('commits', { memberId, offsets: [{ ...assigned[0]!, offset: 2 }] });
    expect(zombie.json()).toMatchObject({ status: 409, code: 'fenced' });

    await bench.api.delete(group.path);
    await runSweep();
    expect((await itemsNaming(group.path.split('/').at(-1)!)).length).toBeGreaterThan(2); // not before nothing can land
    clock.pass(LATE_MAX_MS);
    await runSweep();
    const left = await itemsNaming(group.path.split('/').at(-1)!);
    expect(left.filter((item) => !item.includes('#assignment'))).toEqual([]); // those expire by themselves
    expect(await deadLetterObjects()).toEqual([]);
  });
});

async function runSweep(): Promise<void> {
  const { tables } = bench.api;
  const s3 = new S3Client({ ...tables.aws.clientConfig(), maxAttempts: 1 });
  const ports = openSweep({ dynamodb: tables.dynamodb, s3 }, tables, undefined, clock);
  expect(await sweep(ports, clock.now() + SWEEP_RUN_MS)).toEqual([]);
  s3.destroy();
}

/** Items of the State table that belong to a group, as JSON. */
async function itemsNaming(group: string): Promise<string[]> {
  const { dynamodb, stateTable } = bench.api.tables;
  const { Items = [] } = await dynamodb.send(new ScanCommand({ TableName: stateTable }));
  return Items.map((item) => JSON.stringify(item)).filter(
    (item) => item.includes(`"${group}"`) || item.includes(`"${group}#`) || item.includes(`#${group}"`),
  );
}

async function deadLetterObjects(): Promise<unknown[]> {
  const { s3, bucket: Bucket } = bench.api.tables;
  return (await s3.send(new ListObjectsV2Command({ Bucket, Prefix: 'dead-letters/' }))).Contents ?? [];
}
