import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { UnknownLayout } from '../../shared/domain/errors.ts';
import type { Subscription } from '../../shared/domain/subscription.ts';
import type { TargetSpec } from '../../shared/domain/target-spec.ts';
import { Groups } from '../../shared/store/groups.ts';
import { itemKey } from '../../shared/store/item-key.ts';
import { subscriptionKey } from '../../shared/store/keys.ts';
import { Subscriptions } from '../../shared/store/subscriptions.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

const NOW = 1_800_000_000_000;

describe.each(STORE_ENGINES)('on %s, a subscription', (_, open) => {
  let engine: StoreEngine;
  let subscriptions: Subscriptions;
  let groups: Groups;
  let plain: Subscription;
  beforeAll(async () => {
    engine = await open();
    subscriptions = new Subscriptions(engine.dynamodb, engine.stateTable);
    groups = new Groups(engine.dynamodb, engine.stateTable);
  });
  afterAll(() => engine.close());
  let ids = 0;
  beforeEach(() => {
    plain = {
      group: { name: `s${++ids}`, id: ids.toString().padStart(26, '0') },
      ...{ topics: ['orders'], target: { lambda: { functionArn: 'arn' } }, from: 'latest', timeoutMs: 1_000 },
      ...{ batch: { maxRecords: 1, maxBytes: 2 }, retry: { maxAttempts: 3, minBackoffMs: 4, maxBackoffMs: 5 } },
      ...{ onFailure: 'deadLetter', haltAfterDeadLetters: 6, state: 'active', createdAt: NOW, updatedAt: NOW },
      revision: 0,
    };
  });

  it.each<[string, TargetSpec]>([
    ['a function', { lambda: { functionArn: 'arn' } }],
    ['an endpoint', { http: { url: 'https://a', secret: 'b' } }],
    [
      'an endpoint with two secrets',
      { http: { url: 'https://a', secret: 'b', previous: { secret: 'c', until: NOW } } },
    ],
    ['a queue', { sqs: { queueUrl: 'q' } }],
    ['a bus', { eventBridge: { eventBusName: 'e' } }],
  ])('is read as it was made, with %s', async (_kind, target) => {
    const more = { filter: '{"key":["a"]}', reason: 'r', lastError: { name: 'E', message: 'm' }, from: { at: NOW } };
    const other = { ...plain.group, name: `${plain.group.name}x` };
    for (const made of [
      { ...plain, target },
      { ...plain, ...more, target, group: other },
    ]) {
      expect(await subscriptions.create(made)).toBe(true);
      expect(await subscriptions.read(made.group.name)).toEqual(made);
      expect(await groups.read(made.group.name, true)).toMatchObject({ id: made.group.id, isSubscription: true });
    }
  });

  it('is not made where a group has the name, and changes nothing of that', async () => {
    const group = { ...plain.group, id: 'other', createdAt: 1, version: 2, checkAt: 3, busyUntil: 4 };
    await groups.create(group);
    expect(await subscriptions.create(plain)).toBe(false);
    expect(await groups.read(plain.group.name, true)).toEqual(group);
    expect(await subscriptions.read(plain.group.name)).toBeUndefined();
  });

  it('is changed by one of two who saw the same, and by nobody after it was made again', async () => {
    await subscriptions.create(plain);
    const paused = { ...plain, state: 'paused', reason: 'r' } as const;
    expect(await subscriptions.change(plain, paused)).toEqual({ ...paused, revision: 1 });
    expect(await subscriptions.change(plain, { ...plain, state: 'halted' })).toBeUndefined();
    expect(await subscriptions.delete(plain.group, NOW)).toBe(true);
    expect(await subscriptions.change({ ...plain, revision: 1 }, plain)).toBeUndefined();
    expect(await subscriptions.read(plain.group.name)).toBeUndefined();
  });

  it('goes with its group, once, and is purged like one; a group that polls is left alone', async () => {
    await subscriptions.create(plain);
    expect(await groups.delete(plain.group, NOW)).toBe(false);
    expect(await subscriptions.delete({ ...plain.group, id: 'other' }, NOW)).toBe(false);
    expect(await subscriptions.delete(plain.group, NOW)).toBe(true);
    expect(await subscriptions.delete(plain.group, NOW)).toBe(false);
    expect(await groups.read(plain.group.name, true)).toBeUndefined();
    expect(await groups.listDeleted(1_000)).toContainEqual({ ...plain.group, at: NOW });
    expect((await subscriptions.list(1_000)).items).not.toContainEqual(plain.group);
  });

  it('of another layout is refused', async () => {
    await subscriptions.create(plain);
    const command = new UpdateItemCommand({
      TableName: engine.stateTable,
      Key: itemKey(subscriptionKey(plain.group.name)),
      UpdateExpression: 'SET v = :later',
      ExpressionAttributeValues: { ':later': { N: '2' } },
    });
    await engine.dynamodb.send(command);
    await expect(subscriptions.read(plain.group.name)).rejects.toThrow(UnknownLayout);
    await expect(subscriptions.change(plain, plain)).rejects.toThrow(UnknownLayout);
  });
});
