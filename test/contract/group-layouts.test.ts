import { type AttributeValue, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { UnknownLayout } from '../../shared/domain/errors.ts';
import type { Group, Member } from '../../shared/domain/group.ts';
import { Assignments } from '../../shared/store/assignments.ts';
import { deadLetterKey } from '../../shared/store/dead-letter-keys.ts';
import { DeadLetters } from '../../shared/store/dead-letters.ts';
import { GroupTopics } from '../../shared/store/group-topics.ts';
import { Groups } from '../../shared/store/groups.ts';
import {
  assignmentKey,
  deletedGroupKey,
  groupEntryKey,
  groupKey,
  groupTopicKey,
  logKey,
  memberKey,
  positionKey,
  type StateKey,
} from '../../shared/store/keys.ts';
import { Members } from '../../shared/store/members.ts';
import { PendingPositions } from '../../shared/store/pending.ts';
import { Positions } from '../../shared/store/positions.ts';
import { pendingKey, subscriberKey, touchedKey } from '../../shared/store/push-keys.ts';
import { PushPositions } from '../../shared/store/push-positions.ts';
import { Subscribers } from '../../shared/store/subscribers.ts';
import { Touched } from '../../shared/store/touched.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

describe.each(STORE_ENGINES)('on %s, an item of a layout that is not known', (_, open) => {
  let engine: StoreEngine;
  let stores: ReturnType<typeof openStores>;
  const openStores = ({ dynamodb, stateTable }: StoreEngine) => ({
    groups: new Groups(dynamodb, stateTable),
    members: new Members(dynamodb, stateTable),
    assignments: new Assignments(dynamodb, stateTable),
    groupTopics: new GroupTopics(dynamodb, stateTable),
    positions: new Positions(dynamodb, stateTable),
    letters: new DeadLetters(dynamodb, stateTable),
  });
  beforeAll(async () => {
    engine = await open();
    stores = openStores(engine);
  });
  afterAll(() => engine.close());

  let ids = 0;
  let group: Group;
  beforeEach(async () => {
    const id = (++ids).toString().padStart(26, '0');
    group = { name: `g${ids}`, id, createdAt: 1, version: 0, checkAt: 100, busyUntil: 0 };
    await stores.groups.create(group);
  });

  /** Whatever is tried with it is refused by name, or at least leaves it as it was. */
  async function isLeftAlone(
    { pk, sk }: StateKey,
    refused: Readonly<Record<string, () => Promise<unknown>>>,
    failing: Readonly<Record<string, () => Promise<unknown>>> = {},
  ): Promise<void> {
    const Key: Record<string, AttributeValue> = { pk: { S: pk }, sk: { S: sk } };
    const TableName = engine.stateTable;
    const read = async () => (await engine.dynamodb.send(new GetItemCommand({ TableName, Key }))).Item;
    expect(await read()).toBeDefined();
    const later = { ':later': { N: '2' } };
    const change = { UpdateExpression: 'SET v = :later', ExpressionAttributeValues: later };
    await engine.dynamodb.send(new UpdateItemCommand({ TableName, Key, ...change }));
    const before = await read();
    for (const [what, act] of Object.entries(refused)) {
      await expect(act(), what).rejects.toBeInstanceOf(UnknownLayout);
      expect(await read(), what).toEqual(before);
    }
    for (const [what, act] of Object.entries(failing)) {
      expect(await act(), what).toBe(false);
      expect(await read(), what).toEqual(before);
    }
  }

  it('is a group', async () => {
    const { groups, positions } = stores;
    await isLeftAlone(
      groupKey(group.name),
      {
        read: () => groups.read(group.name, true),
        claim: () => groups.claim(group, 200),
        markDue: () => groups.markDue(group, 50),
        finish: () => groups.finish(group, 1, 300),
      },
      {
        create: () => groups.create(group),
        delete: () => groups.delete(group, 1),
        position: () => positions.create({ group, topicId: 'T', partition: 0 }, { epoch: 1, committed: 0 }),
      },
    );
  });

  it('is a position of a subscription, or what wakes it', async () => {
    const { dynamodb, stateTable } = engine;
    const partition = { topicId: '01ARZ3NDEKTSV4RRFFQ69G5FAV', partition: ids };
    const push = new PushPositions(dynamodb, stateTable);
    const seen = { epoch: 1, committed: 0 };
    await stores.positions.create({ group, ...partition }, seen);
    const by = { owner: 'run', epoch: 2, until: 2, now: 1 };
    await isLeftAlone(positionKey({ group, ...partition }), {
      take: () => push.take({ group, ...partition }, seen, by),
      step: () => push.step({ group, ...partition }, by, { committed: 1, epoch: 2, push: {} }),
    });
    const to = { group: { name: group.name, id: group.id }, topic: 't', known: 1 };
    const subscribers = new Subscribers(dynamodb, stateTable);
    const topicId = `01ARZ3NDEKTSV4RRFFQ69G${String(ids).padStart(4, '0')}`;
    await subscribers.put(topicId, to);
    await isLeftAlone(subscriberKey(topicId, group.name), { of: () => subscribers.of(topicId) });
    const pending = new PendingPositions(dynamodb, stateTable);
    const mark = { ...partition, to, dueAt: 5 };
    await pending.put(mark);
    await isLeftAlone(pendingKey({ group, ...partition }), {
      list: () => pending.list(1_000),
      put: () => pending.put(mark),
      remove: () => pending.remove(mark),
    });
    const touched = new Touched(dynamodb, stateTable);
    await touched.note(partition, 1_000 + ids, 1);
    const key = { pk: touchedKey(1_000 + ids), sk: logKey(partition) };
    await isLeftAlone(key, { list: () => touched.list(1_000 + ids, 10) });
  });

  it('is a group’s entry, or one that is deleted', async () => {
    const { groups } = stores;
    await isLeftAlone(
      groupEntryKey(group.name),
      { list: () => groups.list(100) },
      { delete: () => groups.delete(group, 1) },
    );
    const next = { ...group, name: `${group.name}n`, id: `1${group.id.slice(1)}` };
    await groups.create(next);
    await groups.delete(next, 1);
    await isLeftAlone(deletedGroupKey(next.id), {
      list: () => groups.listDeleted(100),
      forget: () => groups.forget(next.id),
    });
    // Out of the way of the other lists.
    for (const key of [groupEntryKey(group.name), deletedGroupKey(next.id)]) await restore(key);
  });

  async function restore({ pk, sk }: StateKey): Promise<void> {
    const known = { UpdateExpression: 'SET v = :one', ExpressionAttributeValues: { ':one': { N: '1' } } };
    const Key = { pk: { S: pk }, sk: { S: sk } };
    await engine.dynamodb.send(new UpdateItemCommand({ TableName: engine.stateTable, Key, ...known }));
  }

  it('is a member', async () => {
    const { members } = stores;
    const member: Member = {
      key: 'm',
      memberId: 'm',
      lastSeenAt: 1,
      sessionTimeoutMs: 6_000,
      topics: [],
      joinedAt: 1,
    };
    await members.join(group, member);
    await isLeftAlone(memberKey(group, 'm'), {
      read: () => members.read(group, 'm', true),
      all: () => members.all(group),
      join: () => members.join(group, member),
      replace: () => members.join(group, { ...member, memberId: 'n' }, member),
      heartbeat: () => members.heartbeat(group, { ...member, lastSeenAt: 2 }),
      expire: () => members.expire(group, member),
      leave: () => members.leave(group, 'm', 'm'),
    });
  });

  it('is an assignment', async () => {
    const { assignments } = stores;
    const plan = { topics: [], members: [], owners: [], epochFrom: [] };
    await assignments.put(group, 1, plan, 1);
    await isLeftAlone(
      assignmentKey(group, 1),
      { read: () => assignments.read(group, 1) },
      { put: () => assignments.put(group, 1, plan, 1) },
    );
  });

  it('is a topic of a group', async () => {
    const { groupTopics } = stores;
    await groupTopics.note(group, { id: 'T', name: 't', partitions: 1 });
    await isLeftAlone(groupTopicKey(group, 'T'), {
      all: () => groupTopics.all(group),
      note: () => groupTopics.note(group, { id: 'T', name: 't', partitions: 2 }),
      remove: () => groupTopics.remove(group, 'T'),
    });
  });

  it('is a position', async () => {
    const { positions } = stores;
    const id = { group, topicId: 'T', partition: 0 };
    const seen = { epoch: 1, committed: 0, owner: 'm' };
    await positions.create(id, seen);
    await isLeftAlone(
      positionKey(id),
      {
        read: () => positions.read(id),
        take: () => positions.take(id, seen, 'n', 2),
        commit: () => positions.commit(id, { owner: 'm', epoch: 1 }, 1),
        release: () => positions.release(id, { owner: 'm', epoch: 1 }),
        change: () => positions.change(id, seen, { epoch: 2, committed: 1 }),
        remove: () => positions.remove(id),
      },
      { create: () => positions.create(id, seen) },
    );
  });

  it('is a dead letter', async () => {
    const { letters } = stores;
    const letter = {
      ...{ topicId: '0'.repeat(26), partition: 0, offset: 0, topic: 't', payload: { bytes: new Uint8Array(1) } },
      ...{ error: { name: 'E', message: '' }, attempts: 1, redrives: 0, firstFailedAt: 1, deadLetteredAt: 1 },
    };
    await letters.put(group, letter);
    await isLeftAlone(deadLetterKey(group, letter), {
      read: () => letters.read(group, letter),
      list: () => letters.list(group, { limit: 1 }),
      put: () => letters.put(group, letter),
      delete: () => letters.delete(group, letter),
    });
  });
});
