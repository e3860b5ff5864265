import { GetItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Group, type Member, memberExpiry } from '../../shared/domain/group.ts';
import type { Plan } from '../../shared/domain/plan.ts';
import { Assignments } from '../../shared/store/assignments.ts';
import { GroupRedriveMarks } from '../../shared/store/group-redrives.ts';
import { GroupTopics } from '../../shared/store/group-topics.ts';
import { Groups } from '../../shared/store/groups.ts';
import { memberKey } from '../../shared/store/keys.ts';
import { Members } from '../../shared/store/members.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

const NOW = 1_800_000_000_000;

describe.each(STORE_ENGINES)('on %s', (_, open) => {
  let engine: StoreEngine;
  let groups: Groups;
  let members: Members;
  let assignments: Assignments;
  let groupTopics: GroupTopics;
  beforeAll(async () => {
    engine = await open();
    groups = new Groups(engine.dynamodb, engine.stateTable);
    members = new Members(engine.dynamodb, engine.stateTable);
    assignments = new Assignments(engine.dynamodb, engine.stateTable);
    groupTopics = new GroupTopics(engine.dynamodb, engine.stateTable);
  });
  afterAll(() => engine.close());

  let ids = 0;
  const newId = () => (++ids).toString().padStart(26, '0');
  let group: Group;
  beforeEach(() => {
    const id = newId();
    group = { name: `g${id.slice(-4)}`, id, createdAt: NOW, version: 0, checkAt: NOW, busyUntil: 0 };
  });

  describe('a group', () => {
    const again = () => ({ ...group, id: newId() });
    const listed = async () => (await groups.list(100)).items.filter(({ name }) => name === group.name);

    it('is made by one of many, comes back as it was made, and stands in the list', async () => {
      expect(await groups.read(group.name, true)).toBeUndefined();
      const all = [group, again(), again(), again()];
      const made = await Promise.all(all.map((one) => groups.create(one)));
      expect(made.filter(Boolean)).toHaveLength(1);
      const winner = all[made.indexOf(true)]!;
      expect(await groups.read(group.name, true)).toEqual(winner);
      expect(await groups.read(group.name, false)).toEqual(winner);
      expect(await listed()).toEqual([{ name: group.name, id: winner.id, createdAt: NOW }]);
    });

    it('is listed by name, in pages', async () => {
      const names = ['page-c', 'page-a', 'page-b'].map((name) => `${name}-${group.id}`);
      await Promise.all(names.map((name) => groups.create({ ...again(), name })));
      const first = await groups.list(1, `page-a-${'0'.repeat(26)}`);
      expect(first).toMatchObject({ items: [{ name: names[1] }], next: names[1] });
      expect((await groups.list(2, first.next)).items.map(({ name }) => name)).toEqual([names[2], names[0]]);
    });

    it('tells of redrives to its members: as long as there may be some, and how many failed in a row', async () => {
      const marks = new GroupRedriveMarks(engine.dynamodb, engine.stateTable);
      const read = async () => (await groups.read(group.name, true))?.redrives;
      expect(await marks.mark(group, NOW)).toBe(false);
      await groups.create(group);
      expect(await marks.mark({ ...group, id: newId() }, NOW)).toBe(false);
      expect(await read()).toBeUndefined();
      expect(await marks.mark(group, NOW)).toBe(true);
      expect([await marks.fail(group), await marks.fail(group)]).toEqual([1, 2]);
      await marks.stop(group, NOW + 1);
      expect(await read()).toEqual({ at: NOW, failed: 2, stoppedAt: NOW + 1 });
      await marks.succeed(group);
      expect(await read()).toEqual({ at: NOW, stoppedAt: NOW + 1 });
      await marks.mark(group, NOW + 2);
      await marks.unmark(group, NOW);
      expect(await read()).toEqual({ at: NOW + 2, stoppedAt: NOW + 1 });
      await marks.unmark(group, NOW + 2);
      expect(await read()).toEqual({ stoppedAt: NOW + 1 });
      expect(await marks.fail({ ...group, id: newId() })).toBe(0);
    });

    it('is deleted as one incarnation, once, and the next is not touched', async () => {
      expect(await groups.delete(group, NOW)).toBe(false);
      await groups.create(group);
      expect(await groups.delete(again(), NOW)).toBe(false);
      expect(await groups.delete(group, NOW + 5)).toBe(true);
      expect(await groups.read(group.name, true)).toBeUndefined();
      expect(await listed()).toEqual([]);
      const next = again();
      expect(await groups.create(next)).toBe(true);
      expect(await groups.delete(group, NOW + 6)).toBe(false);
      expect(await groups.read(group.name, true)).toEqual(next);
      const deleted = async () => (await groups.listDeleted(1_000)).filter(({ id }) => id === group.id);
      expect(await deleted()).toEqual([{ name: group.name, id: group.id, at: NOW + 5 }]);
      await groups.forget(group.id);
      await groups.forget(group.id);
      expect(await deleted()).toEqual([]);
    });

    it('has its check claimed by one of many who saw the same', async () => {
      await groups.create(group);
      const claims = await Promise.all(Array.from({ length: 8 }, () => groups.claim(group, NOW + 5_000)));
      expect(claims.filter(Boolean)).toHaveLength(1);
      const claimed = { ...group, checkAt: NOW + 5_000, busyUntil: NOW + 5_000 };
      expect(await groups.read(group.name, true)).toEqual(claimed);
      expect(await groups.claim(group, NOW + 6_000)).toBe(false);
      // Its checker died: the next one sees what it left.
      expect(await groups.claim(claimed, NOW + 10_000)).toBe(true);
      expect(await groups.finish(claimed, 1, NOW + 30_000)).toBe('lost');
    });

    it('has a finished check’s version and time, and is free', async () => {
      await groups.create(group);
      await groups.claim(group, NOW + 5_000);
      const claimed = { ...group, checkAt: NOW + 5_000, busyUntil: NOW + 5_000 };
      expect(await groups.finish(claimed, 1, NOW + 30_000)).toBe('done');
      expect(await groups.read(group.name, true)).toEqual({
        ...group,
        version: 1,
        checkAt: NOW + 30_000,
        busyUntil: 0,
      });
      expect(await groups.finish(claimed, 1, NOW + 30_000)).toBe('lost');
    });

    it('that was marked during a check has its version, and stays due', async () => {
      await groups.create(group);
      await groups.claim(group, NOW + 5_000);
      const claimed = { ...group, checkAt: NOW + 5_000, busyUntil: NOW + 5_000 };
      await groups.markDue(group, NOW + 100);
      expect(await groups.finish(claimed, 1, NOW + 30_000)).toBe('left due');
      expect(await groups.read(group.name, true)).toEqual({ ...group, version: 1, checkAt: NOW + 100, busyUntil: 0 });
    });

    it('is marked as due, never as due later, and only as this incarnation', async () => {
      await groups.create({ ...group, checkAt: NOW + 100 });
      await groups.markDue(group, NOW + 200);
      await groups.markDue(again(), NOW);
      expect(await groups.read(group.name, true)).toMatchObject({ checkAt: NOW + 100 });
      await groups.markDue(group, NOW + 50);
      expect(await groups.read(group.name, true)).toMatchObject({ checkAt: NOW + 50 });
      await groups.delete(group, NOW);
      await groups.markDue(group, NOW);
      expect(await groups.claim({ ...group, checkAt: NOW + 50 }, NOW + 5_000)).toBe(false);
      expect(await groups.finish(group, 1, NOW)).toBe('lost');
      expect(await groups.read(group.name, true)).toBeUndefined();
    });
  });

  describe('a member', () => {
    const memberOf = (key: string, memberId = key): Member => ({
      key,
      memberId,
      lastSeenAt: NOW,
      sessionTimeoutMs: 30_000,
      topics: ['a', 'b'],
      joinedAt: NOW - 5,
    });
    const fixed: Member = { ...memberOf('i.YQ', 'a-1'), instanceId: 'a', topics: [] };
    const read = (key: string) => members.read(group, key, true);

    it('comes back as it joined, once; a later join of the same has to look at it', async () => {
      const member = memberOf('m');
      expect(await members.join(group, member)).toBe(true);
      expect(await members.join(group, member)).toBe(true); // a retry recognises itself
      expect(await members.join(group, { ...member, lastSeenAt: NOW + 9 })).toBe(false);
      expect(await read('m')).toEqual(member);
      expect(await members.read(group, 'm', false)).toEqual(member);
      expect(await members.join(group, { ...member, memberId: 'other' })).toBe(false);
      expect(await members.read({ ...group, id: newId() }, 'm', true)).toBeUndefined();
    });

    it('that is static has its session replaced by one of many', async () => {
      expect(await members.join(group, fixed)).toBe(true);
      const sessions = ['a-2', 'a-3', 'a-4'].map((memberId) => ({ ...fixed, memberId }));
      const joined = await Promise.all(sessions.map((session) => members.join(group, session, fixed)));
      expect(joined.filter(Boolean)).toHaveLength(1);
      const winner = sessions[joined.indexOf(true)]!;
      expect(await read(fixed.key)).toEqual(winner);
      expect(await members.join(group, winner, fixed)).toBe(true);
      expect(await members.heartbeat(group, { ...fixed, lastSeenAt: NOW + 1 })).toBe(false);
      expect(await members.leave(group, fixed.key, fixed.memberId)).toBe(false);
      expect(await members.expire(group, fixed)).toBe(false);
      expect(await read(fixed.key)).toEqual(winner);
    });

    it('whose session is gone is not replaced', async () => {
      expect(await members.join(group, { ...fixed, memberId: 'a-2' }, fixed)).toBe(false);
      expect(await read(fixed.key)).toBeUndefined();
    });

    it('is seen later, never earlier, and wants what it last said', async () => {
      const member = memberOf('m');
      await members.join(group, member);
      expect(await members.heartbeat(group, { ...member, lastSeenAt: NOW + 100 })).toBe(true);
      expect(await members.heartbeat(group, { ...member, lastSeenAt: NOW + 50 })).toBe(true);
      expect(await read('m')).toEqual({ ...member, lastSeenAt: NOW + 100 });
      const other = { ...member, lastSeenAt: NOW + 60, topics: ['c'], sessionTimeoutMs: 60_000 };
      expect(await members.heartbeat(group, other)).toBe(true);
      expect(await read('m')).toEqual({ ...other, lastSeenAt: NOW + 100 });
    });

    it('is expired or seen, one of both', async () => {
      const all = Array.from({ length: 12 }, (_, i) => memberOf(`m${i}`));
      for (const member of all) {
        await members.join(group, member);
        const [isSeen, isExpired] = await Promise.all([
          members.heartbeat(group, { ...member, lastSeenAt: NOW + 40_000 }),
          members.expire(group, member),
        ]);
        expect([isSeen, isExpired].filter(Boolean)).toHaveLength(1);
        expect((await read(member.key)) !== undefined).toBe(isSeen);
      }
    });

    it('that is gone does not come back by a heartbeat, and leaves once', async () => {
      const member = memberOf('m');
      await members.join(group, member);
      expect(await members.leave(group, 'm', 'm')).toBe(true);
      expect(await members.leave(group, 'm', 'm')).toBe(false);
      expect(await members.heartbeat(group, { ...member, lastSeenAt: NOW + 1 })).toBe(false);
      expect(await members.expire(group, member)).toBe(true);
      expect(await read('m')).toBeUndefined();
    });

    it('is listed with all of its group, by key, however many pages they fill', async () => {
      const topics = Array.from({ length: 256 }, (_, i) => `${'t'.repeat(200)}${i}`);
      const all = Array.from({ length: 25 }, (_, i) => ({ ...memberOf(`m${String(i).padStart(2, '0')}`), topics }));
      await Promise.all(all.map((member) => members.join(group, member)));
      expect(await members.all(group)).toEqual(all);
      expect(await members.all({ ...group, id: newId() })).toEqual([]);
    });

    it('goes by itself in the end, long after its session', async () => {
      expect(memberExpiry(memberOf('m'))).toBe(NOW + 32_001);
      await members.join(group, memberOf('m'));
      const { pk, sk } = memberKey(group, 'm');
      const Key = { pk: { S: pk }, sk: { S: sk } };
      const { Item } = await engine.dynamodb.send(new GetItemCommand({ TableName: engine.stateTable, Key }));
      expect(Number(Item!.expiresAt!.N)).toBe(Math.ceil((NOW + 32_001 + 24 * 3_600_000) / 1_000));
    });
  });

  describe('an assignment', () => {
    const plan: Plan = {
      topics: [
        { name: 'a', id: 'x', partitions: 3 },
        { name: 'b', id: 'y', partitions: 0 },
      ],
      members: [
        { key: 'k', sessionTimeoutMs: 6_000 },
        { key: 'i.YQ', sessionTimeoutMs: 30_000 },
      ],
      owners: [[0, -1, 1], []],
      epochFrom: [[NOW, NOW + 1, NOW], []],
    };

    it('comes back as it was written, and is written once per version', async () => {
      expect(await assignments.read(group, 1)).toBeUndefined();
      const plans = Array.from({ length: 4 }, (_, i) => ({ ...plan, members: plan.members.slice(0, 2 - (i % 2)) }));
      const written = await Promise.all(plans.map((each, i) => assignments.put(group, 1, each, NOW + i)));
      expect(written.filter(Boolean)).toHaveLength(1);
      const winner = written.indexOf(true);
      expect(await assignments.read(group, 1)).toEqual({ at: NOW + winner, plan: plans[winner] });
      expect(await assignments.put(group, 2, plan, NOW)).toBe(true);
      expect(await assignments.read({ ...group, id: newId() }, 1)).toBeUndefined();
    });

    it('of the largest group fits an item', async () => {
      const count = 1_000;
      const random = (i: number) => Buffer.from(String(i * 7_919).repeat(40)).toString('base64url');
      const owners = Array.from({ length: 4 }, (_, t) => Array.from({ length: 1_024 }, (_, p) => (p * 31 + t) % count));
      const large: Plan = {
        topics: owners.map((list, t) => ({ name: `${t}`.repeat(249), id: newId(), partitions: list.length })),
        members: Array.from({ length: count }, (_, i) => ({
          key: `i.${random(i).slice(0, 256)}`,
          sessionTimeoutMs: 6_000 + i,
        })),
        owners,
        epochFrom: owners.map((list) => list.map((owner) => NOW + owner * 997)),
      };
      expect(await assignments.put(group, 1, large, NOW)).toBe(true);
      expect(await assignments.read(group, 1)).toEqual({ at: NOW, plan: large });
    });
  });

  describe('a topic of a group', () => {
    const seen = (partitions: number) => ({ id: 'T', name: 'orders', partitions });

    it('is known as it was first seen, and grows only', async () => {
      await groupTopics.note(group, seen(4));
      expect(await groupTopics.all(group)).toEqual([{ topicId: 'T', name: 'orders', known: 4, partitions: 4 }]);
      await groupTopics.note(group, seen(8));
      await groupTopics.note(group, seen(6));
      expect(await groupTopics.all(group)).toEqual([{ topicId: 'T', name: 'orders', known: 4, partitions: 8 }]);
      expect(await groupTopics.all({ ...group, id: newId() })).toEqual([]);
    });

    it('is one of several, by id, and is forgotten', async () => {
      for (const id of ['V', 'T', 'U']) await groupTopics.note(group, { ...seen(1), id });
      expect((await groupTopics.all(group)).map(({ topicId }) => topicId)).toEqual(['T', 'U', 'V']);
      await groupTopics.remove(group, 'U');
      await groupTopics.remove(group, 'U');
      expect((await groupTopics.all(group)).map(({ topicId }) => topicId)).toEqual(['T', 'V']);
    });
  });
});
