import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Group, Member } from '../../../shared/domain/group.ts';
import { Assignments } from '../../../shared/store/assignments.ts';
import { Groups } from '../../../shared/store/groups.ts';
import { Members } from '../../../shared/store/members.ts';
import { Positions } from '../../../shared/store/positions.ts';
import { PushPositions } from '../../../shared/store/push-positions.ts';
import { type EmbeddedTables, embeddedTables } from '../../support/embedded.ts';
import { FaultHandler } from '../../support/fault-handler.ts';

// A retry of the SDK meets what its own first attempt has written, whose answer was lost (A4).
describe('a write of a group whose answer was lost', () => {
  const NOW = 1_800_000_000_000;
  let tables: EmbeddedTables;
  let client: DynamoDBClient;
  let faults: FaultHandler;
  let groups: Groups;
  let members: Members;
  let positions: Positions;
  let assignments: Assignments;
  beforeAll(async () => {
    tables = await embeddedTables();
    const config = tables.aws.clientConfig();
    faults = new FaultHandler(config.requestHandler);
    client = new DynamoDBClient({ ...config, requestHandler: faults, maxAttempts: 3 });
    groups = new Groups(client, tables.stateTable);
    members = new Members(client, tables.stateTable);
    positions = new Positions(client, tables.stateTable);
    assignments = new Assignments(client, tables.stateTable);
  });
  afterAll(async () => {
    client.destroy();
    await tables.close();
  });

  let ids = 0;
  let group: Group;
  beforeEach(async () => {
    const id = (++ids).toString().padStart(26, '0');
    group = { name: `g${ids}`, id, createdAt: NOW, version: 0, checkAt: NOW, busyUntil: 0 };
    await groups.create(group);
  });
  const claimed = () => ({ ...group, checkAt: NOW + 5_000, busyUntil: NOW + 5_000 });
  const member: Member = {
    key: 'm',
    memberId: 'm',
    lastSeenAt: NOW,
    sessionTimeoutMs: 6_000,
    topics: [],
    joinedAt: NOW,
  };

  it('made the group', async () => {
    faults.next('TransactWriteItems', 'lose-answer');
    expect(await groups.create({ ...group, name: `${group.name}-other` })).toBe(true);
  });

  it('claimed the check; the same claim of somebody else did not', async () => {
    faults.next('UpdateItem', 'lose-answer');
    expect(await groups.claim(group, NOW + 5_000)).toBe(true);
    expect(await groups.claim(group, NOW + 5_000)).toBe(false);
  });

  it('ended the check', async () => {
    await groups.claim(group, NOW + 5_000);
    faults.next('UpdateItem', 'lose-answer');
    expect(await groups.finish(claimed(), 1, NOW + 9_000)).toBe('done');
  });

  it('ended a check that was marked', async () => {
    await groups.claim(group, NOW + 5_000);
    await groups.markDue(group, NOW + 1);
    // Of its two writes the second, which leaves the mark.
    faults.next('UpdateItem', 'lose-answer', 1, '#checkAt < :seenCheckAt');
    expect(await groups.finish(claimed(), 1, NOW + 9_000)).toBe('left due');
  });

  it('deleted the group', async () => {
    faults.next('TransactWriteItems', 'lose-answer');
    expect(await groups.delete(group, NOW)).toBe(true);
    expect(await groups.delete(group, NOW)).toBe(false);
  });

  it('let the member join, be seen, and leave', async () => {
    faults.next('PutItem', 'lose-answer');
    expect(await members.join(group, member)).toBe(true);
    faults.next('UpdateItem', 'lose-answer');
    expect(await members.heartbeat(group, { ...member, lastSeenAt: NOW + 1 })).toBe(true);
    faults.next('DeleteItem', 'lose-answer');
    expect(await members.leave(group, 'm', 'm')).toBe(true);
    expect(await members.leave(group, 'm', 'm')).toBe(false);
  });

  it('expired the member', async () => {
    await members.join(group, member);
    faults.next('DeleteItem', 'lose-answer');
    expect(await members.expire(group, member)).toBe(true);
  });

  it('put the assignment; the same one of somebody else did not', async () => {
    const plan = { topics: [], members: [], owners: [], epochFrom: [] };
    faults.next('PutItem', 'lose-answer');
    expect(await assignments.put(group, 1, plan, NOW)).toBe(true);
    expect(await assignments.put(group, 1, plan, NOW)).toBe(false);
  });

  it('took, committed and released the position, and changed it', async () => {
    const id = { group, topicId: 'T', partition: 0 };
    await positions.create(id, { epoch: 1, committed: 0 });
    faults.next('UpdateItem', 'lose-answer');
    expect(await positions.take(id, { epoch: 1, committed: 0 }, 'm', 2)).toBe(true);
    faults.next('UpdateItem', 'lose-answer');
    expect(await positions.commit(id, { owner: 'm', epoch: 2 }, 4)).toBe('done');
    faults.next('UpdateItem', 'lose-answer');
    expect(await positions.commit(id, { owner: 'm', epoch: 2 }, 5, { release: true })).toBe('done');
    faults.next('UpdateItem', 'lose-answer');
    expect(await positions.change(id, { epoch: 2, committed: 5 }, { epoch: 3, committed: 1 })).toBe(true);
    expect(await positions.read(id)).toEqual({ epoch: 3, committed: 1 });
  });

  it('took the position for a delivery, and stepped on with it, kept or released', async () => {
    const id = { group, topicId: 'T', partition: 1 };
    const push = new PushPositions(client, tables.stateTable);
    await positions.create(id, { epoch: 1, committed: 0 });
    const by = { owner: 'run', epoch: 2, until: NOW + 1, now: NOW };
    faults.next('UpdateItem', 'lose-answer');
    expect(await push.take(id, { epoch: 1, committed: 0 }, by)).toBe(true);
    faults.next('UpdateItem', 'lose-answer');
    expect(await push.step(id, by, { committed: 3, epoch: 2, until: NOW + 2, push: {} })).toBe(3);
    faults.next('UpdateItem', 'lose-answer');
    expect(await push.step(id, by, { committed: 4, epoch: 3, push: { isSlow: true } })).toBe(4);
    expect(await positions.read(id)).toEqual({ epoch: 3, committed: 4, push: { isSlow: true } });
    expect(await push.step(id, by, { committed: 5, epoch: 4, push: {} })).toBeUndefined();
  });

  it('to which no attempt was answered may have been carried out; one that was throttled was not', async () => {
    faults.next('UpdateItem', 'lose-answer', 3);
    await expect(groups.claim(group, NOW + 5_000)).rejects.toMatchObject({ mayHaveLanded: true });
    faults.next('UpdateItem', 'throttle', 3);
    await expect(groups.markDue(group, NOW - 1)).rejects.toMatchObject({ mayHaveLanded: false });
  });
});
