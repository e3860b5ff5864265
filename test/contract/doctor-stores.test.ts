import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openTables, type Tables } from '../../functions/tables.ts';
import { PURGE_OVERDUE_MS, SWEEP_STALLED_MS } from '../../shared/domain/doctor-limits.ts';
import { UnknownLayout } from '../../shared/domain/errors.ts';
import type { Finding } from '../../shared/domain/finding.ts';
import { SETTLE_AFTER_MS } from '../../shared/domain/limits.ts';
import type { Reservation } from '../../shared/domain/slot.ts';
import type { PartitionId, Topic } from '../../shared/domain/topic.ts';
import { examineBackground } from '../../shared/operations/examine-background.ts';
import { examineGroups } from '../../shared/operations/examine-groups.ts';
import { examinePartitions } from '../../shared/operations/examine-partitions.ts';
import { Findings } from '../../shared/operations/findings.ts';
import { PartitionEnds } from '../../shared/operations/partition-ends.ts';
import { itemKey } from '../../shared/store/item-key.ts';
import { headKey } from '../../shared/store/keys.ts';
import { SweepLease } from '../../shared/store/sweep-lease.ts';
import { STORE_ENGINES, type StoreEngine } from '../support/store-engines.ts';

const NOW = 1_800_000_000_000;
const inTime = () => false;

describe.each(STORE_ENGINES)('on %s', (_, open) => {
  let engine: StoreEngine;
  let ports: Tables & { readonly lease: SweepLease };
  let clockMs = NOW;
  let ids = 0;
  let topic: Topic;
  let partition: PartitionId;
  beforeAll(async () => {
    engine = await open();
    const tables = openTables(engine.dynamodb, engine, undefined, { now: () => clockMs });
    ports = { ...tables, lease: new SweepLease(engine.dynamodb, engine.stateTable) };
  });
  afterAll(() => engine.close());
  beforeEach(async () => {
    clockMs = NOW;
    const id = (++ids).toString().padStart(26, '0');
    topic = { name: `t${ids}`, id, partitions: 1, retentionMs: 86_400_000, createdAt: 1, hiddenUntil: 0 };
    partition = { topicId: id, partition: 0 };
    await ports.heads.create(partition);
    await ports.topicItems.announce(topic);
    await ports.topicItems.create(topic);
  });

  let appends = 0;
  async function reserve(count: number, time = NOW - 60_000): Promise<Reservation> {
    const expiresAt = Math.ceil((time + topic.retentionMs) / 1_000);
    const reserved = { count, time, expiresAt, settleMs: SETTLE_AFTER_MS };
    const id = (++appends).toString(16).padStart(24, '0');
    return (await ports.heads.reserve(partition, id, reserved, inTime))!;
  }

  /** @returns the offset of the last record */
  async function append(count: number): Promise<number> {
    const reservation = await reserve(count);
    await ports.log.fill(partition, reservation, { count, bytes: Buffer.from('a'), json: false }, inTime);
    return reservation.last;
  }

  /** What a State table of that time would say. */
  async function headIsBackAt(next: number, attributes = 'SET #next = :next'): Promise<void> {
    await engine.dynamodb.send(
      new UpdateItemCommand({
        TableName: engine.stateTable,
        Key: itemKey(headKey(partition)),
        UpdateExpression: attributes,
        ExpressionAttributeNames: { '#next': 'next' },
        ExpressionAttributeValues: { ':next': { N: String(next) } },
      }),
    );
  }

  async function examine(look: (findings: Findings) => Promise<void>): Promise<Finding[]> {
    const findings = new Findings();
    await look(findings);
    const { findings: found, unlooked } = findings.report();
    expect(unlooked).toEqual([]);
    return found.filter(({ subject }) => new RegExp(`\\b${topic.name}\\b`).test(subject));
  }
  const partitions = (repair = false) => examine((findings) => examinePartitions(ports, repair, findings));

  it('the last slot of a log is the one with the highest offsets', async () => {
    expect(await ports.log.readLast(partition)).toBeUndefined();
    await append(2);
    await append(3);
    expect(await ports.log.readLast(partition)).toMatchObject({ last: 4, count: 3, previous: [{ count: 2 }] });
  });

  it('a head is moved behind its log, and then remembers what its log does', async () => {
    for (const count of [1, 2, 3]) await append(count);
    const before = (await ports.heads.read(partition))!;
    await headIsBackAt(1, 'SET #next = :next, r0 = r2, r1 = r3, r2 = r3');
    expect(await partitions()).toMatchObject([
      { code: 'head_behind_log', data: { from: 1, to: 6 }, repair: 'possible' },
    ]);
    expect((await ports.heads.read(partition))?.next).toBe(1);
    expect(await partitions(true)).toMatchObject([{ code: 'head_behind_log', repair: 'done' }]);
    expect(await ports.heads.read(partition)).toEqual(before);
    expect(await partitions(true)).toEqual([]);
    expect(await append(1)).toBe(6);
  });

  it('a head is never moved down, nor when it has been moved by others since it was read', async () => {
    await append(3);
    for (const [seen, to] of [
      [2, 9],
      [3, 3],
      [3, 2],
    ] as const) {
      expect(await ports.heads.moveBehind(partition, seen, to, [])).toBe(false);
    }
    expect((await ports.heads.read(partition))?.next).toBe(3);
    expect(await ports.heads.moveBehind(partition, 3, 9, [])).toBe(true);
    expect(await ports.heads.read(partition)).toMatchObject({ next: 9, register: [] });
  });

  it('a head of another layout is left as it is', async () => {
    await engine.dynamodb.send(
      new UpdateItemCommand({
        TableName: engine.stateTable,
        Key: itemKey(headKey(partition)),
        UpdateExpression: 'SET v = :v',
        ExpressionAttributeValues: { ':v': { N: '2' } },
      }),
    );
    await expect(ports.heads.moveBehind(partition, 0, 9, [])).rejects.toThrow(UnknownLayout);
    expect(await partitions()).toMatchObject([{ code: 'unknown_layout' }]);
  });

  it('a log that lacks what its head remembers is told, and nothing is moved', async () => {
    for (const count of [2, 3, 1]) await append(count);
    await reserve(9);
    expect(await partitions(true)).toMatchObject([{ code: 'append_abandoned', data: { offsets: 9 } }]);
    // Whoever moved this had seen what was there.
    await ports.heads.advance(partition, { from: 0, to: 15 });
    expect(await partitions(true)).toMatchObject([{ code: 'log_behind_head', data: { from: 6, to: 15 } }]);
    expect((await ports.heads.read(partition))?.next).toBe(15);
  });

  it('a partition without a head, or with one that is closed, is told', async () => {
    await ports.heads.close(partition);
    expect(await partitions()).toMatchObject([{ code: 'head_closed' }]);
    await ports.heads.remove(partition);
    expect(await partitions()).toMatchObject([{ code: 'head_missing' }]);
  });

  it('what a group has committed beyond the log is told, and how many dead letters it has', async () => {
    await append(3);
    const group = { name: `g-${topic.name}`, id: topic.id };
    await ports.groups.create({ ...group, createdAt: 1, version: 0, checkAt: 0, busyUntil: 0 });
    await ports.groupTopics.note(group, topic);
    await ports.positions.create({ group, ...partition }, { epoch: 1, committed: 3 });
    const groups = () => examine((findings) => examineGroups(ports, new PartitionEnds(ports), findings));
    expect(await groups()).toEqual([]);
    await headIsBackAt(2);
    await ports.deadLetters.put(group, {
      ...partition,
      ...{ offset: 1, topic: topic.name, payload: { bytes: Buffer.from('x') }, attempts: 1, redrives: 0 },
      ...{ error: { name: 'E', message: 'e' }, firstFailedAt: 1, deadLetteredAt: 2 },
    });
    expect(await groups()).toMatchObject([
      { code: 'position_beyond_log', data: { committed: 3, end: 2 } },
      { code: 'dead_letters', data: { count: 1 } },
    ]);
  });

  it('a purge that is at work is told from one that should be through', async () => {
    expect(await ports.topicItems.markDeleted(topic, NOW - PURGE_OVERDUE_MS)).toBe(true);
    const purges = async () => {
      const findings = new Findings();
      await examineBackground(ports, findings);
      const { findings: found } = findings.report();
      return found.filter(({ code }) => code.startsWith('purge_')).map(({ code, subject }) => `${code} ${subject}`);
    };
    expect(await purges()).toEqual(['purge_running purges']);
    clockMs += 1;
    expect(await purges()).toEqual([`purge_overdue topic ${topic.name} (${topic.id})`]);
  });

  it('a sweep that died and was not followed is told', async () => {
    const found = async () => {
      const findings = new Findings();
      await examineBackground(ports, findings);
      return findings.report().findings.filter(({ code }) => code === 'sweep_stalled');
    };
    expect(await found()).toEqual([]);
    await ports.lease.take('run', NOW, NOW - 1);
    clockMs = NOW + SWEEP_STALLED_MS - 1;
    expect(await found()).toEqual([]);
    clockMs += 1;
    expect(await found()).toMatchObject([{ data: { until: NOW } }]);
    await ports.lease.release('run');
  });
});
