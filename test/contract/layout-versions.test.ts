import { createHash } from 'node:crypto';
import { type AttributeValue, GetItemCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Claim } from '../../shared/domain/claim.ts';
import { UnknownLayout } from '../../shared/domain/errors.ts';
import { SETTLE_AFTER_MS } from '../../shared/domain/limits.ts';
import type { Reservation } from '../../shared/domain/slot.ts';
import type { PartitionId, Topic } from '../../shared/domain/topic.ts';
import { Claims } from '../../shared/store/claims.ts';
import {
  claimKey,
  headKey,
  intentKey,
  leftoverKey,
  logKey,
  SWEEP_LEASE,
  topicKey,
  uploadKey,
} from '../../shared/store/keys.ts';
import { Leftovers } from '../../shared/store/leftovers.ts';
import { Log } from '../../shared/store/log.ts';
import { LogPurge } from '../../shared/store/log-purge.ts';
import { PartitionHeads } from '../../shared/store/partition-head.ts';
import { SweepLease } from '../../shared/store/sweep-lease.ts';
import { Topics } from '../../shared/store/topics.ts';
import { Uploads } from '../../shared/store/uploads.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

type Item = Record<string, AttributeValue>;

describe.each(STORE_ENGINES)('on %s, an item of a layout that is not known', (_, open) => {
  const inTime = () => false;
  const reserved = { count: 1, time: 1_800_000_000_000, expiresAt: 0, settleMs: SETTLE_AFTER_MS };
  const reservation: Reservation = { id: 'ab'.repeat(12), base: 0, last: 0, previous: [], ...reserved };
  const batch = { count: 1, bytes: Buffer.from('a'), json: false };
  const order = { last: 0, count: 1, previous: [], reservedBy: 1 };
  let engine: StoreEngine;
  let partition: PartitionId;
  let topic: Topic;
  beforeAll(async () => {
    engine = await open();
  });
  afterAll(() => engine.close());
  let ids = 0;
  beforeEach(() => {
    const id = (++ids).toString().padStart(26, '0');
    partition = { topicId: id, partition: 0 };
    topic = { name: `t${ids}`, id, partitions: 1, retentionMs: -1, createdAt: 1, hiddenUntil: 0 };
  });

  const logItem = (log: string): Item => ({ log: { S: log }, last: { N: '0' } });
  const stateItem = ({ pk, sk }: { pk: string; sk: string }): Item => ({ pk: { S: pk }, sk: { S: sk } });
  const tableOf = (key: Item) => (key.log === undefined ? engine.stateTable : engine.logTable);
  const read = async (key: Item) =>
    (await engine.dynamodb.send(new GetItemCommand({ TableName: tableOf(key), Key: key, ConsistentRead: true }))).Item;

  /** As a later version of the backbone would leave it. */
  async function becomes(key: Item, version: string): Promise<void> {
    await engine.dynamodb.send(
      new UpdateItemCommand({
        TableName: tableOf(key),
        Key: key,
        UpdateExpression: 'SET v = :later',
        ExpressionAttributeValues: { ':later': { N: version } },
      }),
    );
  }

  /** Whatever is tried with it is refused by name, and leaves it as it was. */
  async function isLeftAlone(key: Item, acts: Readonly<Record<string, () => Promise<unknown>>>): Promise<void> {
    await becomes(key, '2');
    const before = await read(key);
    expect(before).toBeDefined();
    const name = `${(key.pk ?? key.log)!.S} ${key.sk?.S ?? key.last!.N}`;
    for (const [what, act] of Object.entries(acts)) {
      const refusal = await act().then(
        (answer) => answer,
        (error: unknown) => error,
      );
      expect(refusal, what).toBeInstanceOf(UnknownLayout);
      expect(refusal, what).toMatchObject({
        code: 'internal',
        retryable: false,
        message: `item '${name}' has layout 2; this version knows 1`,
      });
      expect(await read(key), what).toEqual(before);
    }
  }

  it('is a slot: whole, in outline, by its key, or met by a write', async () => {
    const log = new Log(engine.dynamodb, engine.logTable);
    await log.fill(partition, reservation, batch, inTime);
    await isLeftAlone(logItem(logKey(partition)), {
      read: () => log.read(partition, 0, { limit: 1, outline: false }),
      outline: () => log.read(partition, 0, { limit: 1, outline: true }),
      find: () => log.find(partition, 0),
      fill: () => log.fill(partition, reservation, batch, inTime),
      putVoid: () => log.putVoid(partition, order, 1, -1),
      purge: () => new LogPurge(engine.dynamodb, engine.logTable).list(partition, 'slots', -1, 10),
    });
  });

  it('is a void', async () => {
    const log = new Log(engine.dynamodb, engine.logTable);
    await log.putVoid(partition, order, 1, -1);
    await isLeftAlone(logItem(logKey(partition)), {
      outline: () => log.read(partition, 0, { limit: 1, outline: true }),
      fill: () => log.fill(partition, reservation, batch, inTime),
    });
  });

  it('is an intent', async () => {
    await new Log(engine.dynamodb, engine.logTable).putIntent(partition, 0, 1, 2, inTime);
    const purge = new LogPurge(engine.dynamodb, engine.logTable);
    await isLeftAlone(logItem(intentKey(partition)), { list: () => purge.list(partition, 'intents', -1, 10) });
  });

  it('is a head', async () => {
    const heads = new PartitionHeads(engine.dynamodb, engine.stateTable);
    await heads.create(partition);
    await heads.reserve(partition, reservation.id, { ...reserved, count: 9 }, inTime);
    const acts = {
      read: () => heads.read(partition),
      create: () => heads.create(partition),
      reserve: () => heads.reserve(partition, 'cd'.repeat(12), reserved, inTime),
      'reserve again': () => heads.reserve(partition, reservation.id, reserved, inTime),
      advance: () => heads.advance(partition, { from: 0, to: 5, logStart: 3 }),
      markPurged: () => heads.markPurged(partition, 5),
      'markPurged all': () => heads.markPurged(partition, 'all'),
      close: () => heads.close(partition),
      remove: () => heads.remove(partition),
    };
    await isLeftAlone(stateItem(headKey(partition)), acts);
    await becomes(stateItem(headKey(partition)), '1');
    await heads.close(partition);
    await isLeftAlone(stateItem(headKey(partition)), acts);
  });

  it('is a topic, alone or in the list', async () => {
    const topics = new Topics(engine.dynamodb, engine.stateTable);
    await topics.announce(topic);
    await topics.create(topic);
    await isLeftAlone(stateItem(topicKey(topic.name)), {
      read: () => topics.read(topic.name),
      list: () => topics.list(100),
      update: () => topics.update(topic, { ...topic, retentionMs: 7 }),
    });
    // A transaction does not tell whom it met; nobody concludes more than "read it again".
    expect(await topics.markDeleted(topic, 5)).toBe(false);
    await expect(topics.read(topic.name)).rejects.toBeInstanceOf(UnknownLayout);
    await becomes(stateItem(topicKey(topic.name)), '1');
  });

  it('is a leftover, of a deleted topic or not', async () => {
    const topics = new Topics(engine.dynamodb, engine.stateTable);
    const leftovers = new Leftovers(engine.dynamodb, engine.stateTable);
    await topics.announce(topic);
    await isLeftAlone(stateItem(leftoverKey(topic.id)), {
      list: () => leftovers.list(),
      listDeleted: () => topics.listDeleted(100),
      markAbandoned: () => leftovers.markAbandoned(topic.id),
      markClosed: () => leftovers.markClosed(topic.id, 7),
      remove: () => leftovers.remove(topic.id),
    });
    expect(await topics.create(topic)).toBe(false);
    await becomes(stateItem(leftoverKey(topic.id)), '1');
    await leftovers.remove(topic.id);
  });

  it('is a claim, also one that would be dead', async () => {
    const claims = new Claims(engine.dynamodb, engine.stateTable);
    const now = 1_800_000_000_000;
    const claim: Claim = {
      fingerprint: 'ab'.repeat(32),
      placement: { partitions: 1, keyless: 0, takenAt: now },
      pins: [{ partition: 0, id: reservation.id, base: 0, count: 1, time: now }],
      expiresAt: now / 1_000 + 10,
    };
    await claims.make(topic.id, 'k', claim, now);
    const digest = createHash('sha256').update('k').digest('base64url');
    await isLeftAlone(stateItem(claimKey(topic.id, digest)), {
      read: () => claims.read(topic.id, 'k', now),
      make: () => claims.make(topic.id, 'k', claim, now),
      'make when it is dead': () => claims.make(topic.id, 'k', claim, now + 60_000),
      replace: () => claims.replace(topic.id, 'k', claim, { ...claim, expiresAt: claim.expiresAt - 1 }),
    });
  });

  it('is an upload', async () => {
    const uploads = new Uploads(engine.dynamodb, engine);
    const upload = { topicId: topic.id, uploadId: topic.id, size: 1, sha256: 'ab'.repeat(32), expiresAt: 9 };
    const use = { partition: 0, last: 0, count: 1, at: 1 };
    await uploads.create(upload);
    await isLeftAlone(stateItem(uploadKey(upload)), {
      find: () => uploads.find(upload),
      list: () => uploads.list(topic.id),
      take: () => uploads.take(upload, use, undefined, inTime),
      forget: () => uploads.forget(upload, undefined),
      'forget its use': () => uploads.forget(upload, use),
    });
  });

  it('is the lease of the sweep', async () => {
    const lease = new SweepLease(engine.dynamodb, engine.stateTable);
    await lease.take('a', 2_000, 1_000);
    await isLeftAlone(stateItem(SWEEP_LEASE), {
      take: () => lease.take('b', 9_000, 5_000),
      'take again': () => lease.take('a', 9_000, 1_000),
      renew: () => lease.renew('a', 9_000),
      release: () => lease.release('a'),
    });
  });

  it('has no version at all', async () => {
    const log = new Log(engine.dynamodb, engine.logTable);
    const Item = { ...logItem(logKey(partition)), count: { N: '1' }, at: { N: '1' } };
    await engine.dynamodb.send(new PutItemCommand({ TableName: engine.logTable, Item }));
    await expect(log.find(partition, 0)).rejects.toThrow(`item '${logKey(partition)} 0' has no layout version`);
  });
});
