import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { memberExpiry } from '../../../shared/domain/group.ts';
import { CLOCK_MARGIN_MS } from '../../../shared/domain/limits.ts';
import { TopicCache } from '../../../shared/operations/topic-cache.ts';
import { deleteTopic, putTopic } from '../../../shared/operations/topics.ts';
import { brief, Consumer, type GroupBench, type GroupHost, openGroupBench, poll } from '../../support/group-bench.ts';
import { append, makeTopic } from '../../support/log-bench.ts';

const SESSION_MS = 30_000;

let bench: GroupBench;
let host: GroupHost;

beforeEach(async () => {
  bench = await openGroupBench();
  host = bench.host();
});
afterEach(() => bench.close());

/** Every member polls and gives back what it is asked for, until nothing moves any more. */
async function settle(members: readonly Consumer[], rounds = 6): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    for (const member of members) {
      await member.poll();
      if (member.revoked.length > 0) await member.giveBack();
    }
  }
}

const owned = (members: readonly Consumer[]) => members.flatMap(({ partitions }) => partitions).map(Number);
const all = (partitions: number) => Array.from({ length: partitions }, (_, partition) => partition);
const sorted = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b);

describe('members of one group', () => {
  it('share partitions by giving them back: nothing is read by two, nothing is skipped', async () => {
    await makeTopic(host, 't', { partitions: 4 });
    for (const partition of all(4)) await append(host, 't', 'a', 3, partition);
    const [first, second] = [new Consumer(host), new Consumer(bench.host())];
    await first.poll({}, { records: 4 });
    await second.poll();
    expect(second.held).toEqual([]); // all are owned still
    const told = await first.poll({}, { records: 0 });
    expect(told.revoked).toHaveLength(2);
    const commit = told.revoked.map((entry) => ({ ...entry, offset: 1 }));
    const release = told.revoked;
    first.revoked = [];
    await first.poll({ commit, release });
    await second.poll();
    await settle([first, second]);
    expect(sorted(owned([first, second]))).toEqual([0, 1, 2, 3]);
    expect(first.held).toHaveLength(2);
    const records = [...first.records, ...second.records];
    expect(records).toHaveLength(12);
    expect(new Set(records).size).toBe(12);
  });

  it('keep what they have while others come and go', async () => {
    await makeTopic(host, 't', { partitions: 6 });
    const [a, b, c] = [new Consumer(host), new Consumer(host), new Consumer(host)];
    await settle([a, b]);
    const before = new Set(a.partitions);
    await settle([a, b, c]);
    expect(a.partitions.every((partition) => before.has(partition))).toBe(true);
    expect([a, b, c].map(({ held }) => held.length)).toEqual([2, 2, 2]);
    await c.leave();
    await settle([a, b]);
    expect(sorted(owned([a, b]))).toEqual(all(6));
  });

  it('stand by when there are more of them than partitions, and take over from one that leaves', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    await append(host, 't', 'a');
    const [owner, spare] = [new Consumer(host), new Consumer(host)];
    await settle([owner, spare], 2);
    expect([owner.held.length, spare.held.length]).toEqual([1, 0]);
    await owner.leave();
    await expect(owner.leave()).rejects.toMatchObject({ code: 'member_not_found' });
    expect((await spare.poll()).records).toEqual(['0:0']);
  });

  it('take over from one that is silent within its session, a third of it and one poll', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    const [owner, spare] = [new Consumer(host), new Consumer(host)];
    await settle([owner, spare], 2);
    const silentSince = bench.clock.now();
    for (; spare.held.length === 0; bench.clock.pass(1_000)) await spare.poll();
    expect(bench.clock.now() - silentSince).toBeLessThanOrEqual(SESSION_MS + SESSION_MS / 3 + 1_000);
    await expect(owner.poll()).rejects.toMatchObject({ code: 'member_not_found' });
  });

  it('take a partition that its owner does not release within its session; the epoch fences it', async () => {
    await makeTopic(host, 't', { partitions: 2 });
    await append(host, 't', 'a', 5, 0);
    await append(host, 't', 'b', 5, 1);
    const [keeper, joiner] = [new Consumer(host), new Consumer(host)];
    await keeper.poll();
    await joiner.poll();
    const revoked = (await keeper.poll()).revoked;
    expect(revoked).toHaveLength(1);
    const begun = bench.clock.now();
    for (; joiner.held.length === 0; bench.clock.pass(1_000)) {
      await keeper.poll(); // alive, but releases nothing
      await joiner.poll();
    }
    const tookMs = bench.clock.now() - begun;
    expect(tookMs).toBeGreaterThan(SESSION_MS);
    expect(tookMs).toBeLessThanOrEqual(SESSION_MS + CLOCK_MARGIN_MS + 2_000);
    const late = await keeper.poll({ commit: [{ ...revoked[0]!, offset: 5 }] });
    expect(brief(late).commits).toEqual([`${revoked[0]!.partition}@5 fenced`]);
    expect(joiner.records.map((record) => record.split(':')[0])).toEqual(Array(5).fill(String(revoked[0]!.partition)));
  });

  it('all have their share when 50 join within a second: three assignments, three polls each, no record twice', async () => {
    await makeTopic(host, 't', { partitions: 100 });
    await Promise.all(all(100).map((partition) => append(host, 't', 'a', 2, partition)));
    const begun = Date.now();
    const sleep = async (ms: number) => {
      await pause(ms);
    };
    const hosts = Array.from({ length: 5 }, () => {
      const one = bench.host();
      return { ...one, ports: { ...one.ports, clock: Date, sleep } };
    });
    const members = Array.from({ length: 50 }, (_, i) => new Consumer(hosts[i % 5]!));
    await Promise.all(members.map((member) => member.poll()));
    const isQuiet = async () => (await host.ports.groups.read('g', true))!.checkAt > Date.now();
    while (!(await isQuiet())) {
      await pause(50);
      await members[0]!.poll();
    }
    const gatheredMs = Date.now() - begun;
    expect((await host.ports.groups.read('g', true))!.version).toBeLessThanOrEqual(1 + Math.ceil(gatheredMs / 500));
    for (let polls = 0; polls < 3; polls++) {
      await Promise.all(members.map(async (member) => (member.revoked.length > 0 ? member.giveBack() : member.poll())));
    }
    expect(members.map(({ held }) => held.length)).toEqual(Array(50).fill(2));
    expect(new Set(owned(members)).size).toBe(100);
    expect(members.flatMap(({ records }) => records)).toHaveLength(200);
    expect(new Set(members.flatMap(({ records }) => records)).size).toBe(200);
  });
});

describe('a static member', () => {
  const instance = { instanceId: 'pod-1' };

  beforeEach(async () => {
    await makeTopic(host, 't', { partitions: 4 });
    for (const partition of all(4)) await append(host, 't', 'a', 1, partition);
  });

  it('takes its former session’s place, partitions and all; that one is fenced', async () => {
    const [former, other] = [new Consumer(host, instance), new Consumer(host)];
    await settle([former, other]);
    const { version } = (await host.ports.groups.read('g', true))!;
    const next = new Consumer(bench.host(), instance);
    await next.poll();
    expect(next.partitions).toEqual(former.partitions);
    expect(next.memberId).not.toBe(former.memberId);
    expect((await host.ports.groups.read('g', true))!.version).toBe(version);
    await expect(former.poll()).rejects.toMatchObject({ code: 'instance_fenced' });
    await expect(former.beat()).rejects.toMatchObject({ code: 'instance_fenced' });
    await expect(former.leave()).rejects.toMatchObject({ code: 'instance_fenced' });
    expect(next.records.length).toBeGreaterThan(0); // nothing had been committed
  });

  it('commits nothing any more once another session has its place', async () => {
    const former = new Consumer(host, instance);
    await former.poll();
    await new Consumer(host, instance).poll();
    const { group } = { group: (await host.ports.groups.read('g', true))! };
    const id = { group, topicId: (await host.ports.topics.get('t')).id, partition: 0 };
    const by = { owner: former.memberId!, epoch: former.held[0]!.epoch };
    expect(await host.ports.positions.commit(id, by, 1, {})).toMatchObject({ committed: 0 });
  });

  it('is the same one when its join is repeated with its proposal', async () => {
    const proposal = { ...instance, proposed: '01J00000000000000000000000' };
    const lost = await poll(host, proposal);
    expect(await poll(bench.host(), proposal)).toEqual(lost);
  });

  it('comes back after its session had ended', async () => {
    const former = new Consumer(host, instance);
    await former.poll();
    bench.clock.pass(10 * SESSION_MS);
    const next = new Consumer(host, instance);
    await next.poll();
    expect(next.held).toHaveLength(4);
  });
});

describe('a topic under a running group', () => {
  it('that grows is read from the first record of what was added, whatever autoOffsetReset says (G5)', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    await append(host, 't', 'old', 2);
    const member = new Consumer(host, { autoOffsetReset: 'latest' });
    await member.poll({ autoOffsetReset: 'latest' });
    await putTopic(host.backbone, 't', { partitions: 3 });
    await append(host, 't', 'new', 2, 2);
    bench.clock.pass(11_000); // copies of the topic's settings have aged
    await member.poll({ autoOffsetReset: 'latest' });
    expect(member.records).toEqual(['2:0', '2:1']);
    expect(member.partitions).toEqual(['0', '1', '2']);
  });

  it('that is deleted is told of, and does not hold up the others', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    await makeTopic(host, 'u', { partitions: 1 });
    const member = new Consumer(host, { topics: ['t', 'u'] });
    await member.poll();
    await append(host, 'u', 'a');
    await deleteTopic(host.backbone, 't');
    const answer = await member.poll();
    expect(brief(answer)).toEqual({
      ...{ assigned: ['u:0@1'], revoked: ['0'], commits: [] },
      errors: [' topic_not_found'],
    });
    expect(answer.records).toEqual(['u:0:0']);
  });

  it('that is made again begins at its start, and no offset of the former one is believed or committed', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    await append(host, 't', 'former', 5);
    const member = new Consumer(host);
    await member.poll();
    await deleteTopic(host.backbone, 't');
    await makeTopic(host, 't', { partitions: 1 });
    await append(host, 't', 'next', 2);
    const commit = [{ topic: 't', partition: 0, offset: 2, epoch: member.held[0]!.epoch }];
    const answer = await member.poll({ commit });
    expect(brief(answer)).toMatchObject({ assigned: ['0@2'], commits: ['0@2 fenced'] });
    expect(answer.records).toEqual(['0:0', '0:1']);
  });

  it('that is gone leaves nothing of its positions behind', async () => {
    await makeTopic(host, 't', { partitions: 2 });
    await makeTopic(host, 'u', { partitions: 1 });
    const member = new Consumer(host, { topics: ['t', 'u'] });
    await member.poll();
    const [group, topic] = [(await host.ports.groups.read('g', true))!, await host.ports.topics.get('t')];
    await deleteTopic(host.backbone, 't');
    for (let i = 0; i < 10; i++) {
      await member.poll();
      bench.clock.pass(9_000);
    }
    expect((await host.ports.groupTopics.all(group)).map(({ name }) => name)).toEqual(['u']);
    expect(await host.ports.positions.read({ group, topicId: topic.id, partition: 1 })).toBeUndefined();
  });
});

describe('what a member may change', () => {
  it('is its topics, for which the others make room', async () => {
    await makeTopic(host, 't', { partitions: 2 });
    await makeTopic(host, 'u', { partitions: 2 });
    const [a, b] = [new Consumer(host), new Consumer(host, { topics: ['t', 'u'] })];
    await settle([a, b]);
    expect(b.partitions).toEqual(['u:0', 'u:1']);
    await a.poll({ topics: ['t', 'u'] });
    await settle([a, b]);
    expect([a.held.length, b.held.length]).toEqual([2, 2]);
    await a.poll({ topics: ['u'] });
    await settle([a, b]);
    expect(a.partitions.every((partition) => partition.startsWith('u'))).toBe(true);
  });

  it('may name a topic that comes later', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    const member = new Consumer(host);
    await member.poll();
    expect(brief(await member.poll({ topics: ['t', 'u'] })).errors).toEqual(['u: topic_not_found']);
    await makeTopic(host, 'u', { partitions: 1 });
    await append(host, 'u', 'a');
    expect((await member.poll()).records).toEqual(['u:0:0']);
  });
});

describe('a group', () => {
  it('that is deleted knows its members no more; made again it shares nothing with the former', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    await append(host, 't', 'a', 3);
    const member = new Consumer(host);
    await member.poll();
    await member.poll({ commit: [{ topic: 't', partition: 0, offset: 3, epoch: member.held[0]!.epoch }] });
    const group = (await host.ports.groups.read('g', true))!;
    expect(await host.backbone.groups.delete(group, bench.clock.now())).toBe(true);
    await expect(member.poll()).rejects.toMatchObject({ code: 'group_not_found' });
    const next = new Consumer(bench.host());
    await next.poll();
    await expect(member.poll()).rejects.toMatchObject({ code: 'member_not_found' });
    expect(next.records).toHaveLength(3);
  });

  it('that is deleted and made again in mid-poll takes no commit of the former', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    await append(host, 't', 'a', 3);
    const member = new Consumer(host);
    await member.poll();
    const held = host.faults.hold('UpdateItem', 'none', '#committed');
    const commit = [{ topic: 't', partition: 0, offset: 3, epoch: member.held[0]!.epoch }];
    const late = member.poll({ commit });
    await held.arrived;
    const other = bench.host();
    await other.backbone.groups.delete((await other.ports.groups.read('g', true))!, bench.clock.now());
    const next = new Consumer(other);
    await next.poll();
    held.release();
    await late.catch(() => undefined);
    const group = (await other.ports.groups.read('g', true))!;
    const topicId = (await other.ports.topics.get('t')).id;
    expect(await other.ports.positions.read({ group, topicId, partition: 0 })).toMatchObject({ committed: 0 });
  });

  it('is full of partitions before it has too many', async () => {
    const settings = { partitions: 1_024, retentionMs: -1, createdAt: 0, hiddenUntil: 0 };
    const read = async (name: string) => ({ name, id: `01J0000000000000000000000${name}`, ...settings });
    const wide = { ...host, ports: { ...host.ports, topics: new TopicCache({ read }, bench.clock) } };
    await poll(wide, { topics: ['A', 'B', 'C', 'D'] });
    await expect(poll(wide, { topics: ['E'] })).rejects.toMatchObject({
      code: 'group_full',
      data: { maxPartitions: 4_096 },
    });
  });

  it('is full of members: who comes after the thousandth is none, and nobody moves for it', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    await poll(host);
    const group = (await host.ports.groups.read('g', true))!;
    const now = bench.clock.now();
    const times = { lastSeenAt: now, joinedAt: now, sessionTimeoutMs: SESSION_MS };
    const ids = all(999).map((i) => `01J0000000000000000000${String(i).padStart(4, '0')}`);
    await Promise.all(
      ids.map((id) => host.ports.members.join(group, { key: id, memberId: id, topics: ['t'], ...times })),
    );
    bench.clock.pass(1);
    await expect(poll(host)).rejects.toMatchObject({ code: 'group_full', data: { maxMembers: 1_000 } });
    expect(await host.ports.members.all(group)).toHaveLength(1_000);
    expect((await poll(host, { memberId: ids[0]! })).memberId).toBe(ids[0]);
  });
});

describe('expiry', () => {
  it('and a heartbeat at the same time: exactly one of them wins', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    for (const first of ['heartbeat', 'expiry'] as const) {
      const [slow, other] = [new Consumer(host, {}, first), new Consumer(bench.host(), {}, first)];
      await slow.poll();
      await other.poll();
      const group = (await host.ports.groups.read(first, true))!;
      const member = (await host.ports.members.read(group, slow.memberId!, true))!;
      bench.clock.pass(memberExpiry(member) - 1 - bench.clock.now());
      // The member looked while its session lasted, its write comes when that is over.
      const held = host.faults.hold('UpdateItem', 'none', 'lastSeenAt');
      const beat = slow.beat().then(
        () => 'alive',
        ({ code }) => code,
      );
      await held.arrived;
      if (first === 'heartbeat') {
        held.release();
        expect(await beat).toBe('alive');
      }
      bench.clock.pass(1);
      const joiner = new Consumer(bench.host(), {}, first);
      await joiner.poll();
      held.release();
      expect(await beat).toBe(first === 'heartbeat' ? 'alive' : 'member_not_found');
      const ids = (await host.ports.members.all(group)).map(({ memberId }) => memberId);
      expect(ids.includes(slow.memberId!)).toBe(first === 'heartbeat');
    }
  });
});
