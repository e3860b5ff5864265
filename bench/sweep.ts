import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { ulid } from 'ulid';
import { openSweep } from '../functions/sweep.ts';
import { openTables, type Tables } from '../functions/tables.ts';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { createBackboneTables } from '../local/aws/tables.ts';
import { LATE_MAX_MS, RETENTION_FOREVER, SETTLE_AFTER_MS, SWEEP_RUN_MS } from '../shared/domain/limits.ts';
import type { PartitionId } from '../shared/domain/topic.ts';
import { sweep } from '../shared/operations/sweep.ts';
import { sweepWakeUps } from '../shared/operations/sweep-wake-ups.ts';
import { deleteTopic } from '../shared/operations/topics.ts';
import { RESERVATION_ID_BYTES } from '../shared/store/reservation-layout.ts';
import { BUCKET, TABLES } from './backbone.ts';
import { Meter, sum } from './meter.ts';
import { totalOf } from './prices.ts';
import { type Progress, type Section, tableOf } from './section.ts';

/** What one run of the sweep consumes, and what a month of such runs would. */
export interface SweepRow {
  readonly when: string;
  readonly requests: number;
  readonly readUnits: number;
  readonly writeUnits: number;
  /** At one run a minute; undefined for work that comes once. */
  readonly unitsPerMonth: number | undefined;
  /** DynamoDB alone, list prices of us-east-1. */
  readonly centsPerMonth: number | undefined;
}

const RUNS_PER_MONTH = 30 * 24 * 60;
const IDLE_TOPICS = [0, 100, 1_000];
const PURGED_SLOTS = 1_000;

const HEADS = {
  when: 'a run',
  requests: 'requests',
  readUnits: 'read units',
  writeUnits: 'write units',
  unitsPerMonth: 'units a month',
  centsPerMonth: 'cents a month',
};

/** Runs the sweep at rest, beside idle topics and waiting leftovers, and over a topic that it purges. */
export async function sweepRows(
  idleTopics: readonly number[] = IDLE_TOPICS,
  slots = PURGED_SLOTS,
): Promise<SweepRow[]> {
  const aws = await openEmbeddedAws();
  const dynamodb = new DynamoDBClient(aws.clientConfig());
  await createBackboneTables(dynamodb, TABLES);
  const meter = new Meter();
  const swept = new DynamoDBClient(aws.clientConfig());
  meter.watch(swept);
  let now = Date.now();
  const ports = {
    ...openSweep({ dynamodb: swept, s3: new S3Client(aws.clientConfig()) }, { ...TABLES, bucket: BUCKET }, undefined, {
      now: () => now,
    }),
    // Nobody is to be woken.
    wakeQueue: { wake: async () => {} },
  };
  const backbone = openTables(dynamodb, TABLES, undefined, { now: () => now });
  const makeTopic = async (name: string) => {
    const settings = { partitions: 1, retentionMs: RETENTION_FOREVER, createdAt: now, hiddenUntil: 0 };
    const topic = { name, id: ulid(), ...settings };
    await backbone.topicItems.announce(topic);
    await backbone.topicItems.create(topic);
    return topic;
  };
  const run = async (when: string, runsPerMonth?: number): Promise<SweepRow> => {
    meter.take();
    const stopAt = now + SWEEP_RUN_MS;
    const [failure] = [...(await sweepWakeUps(ports, stopAt)), ...(await sweep(ports, stopAt))];
    if (failure !== undefined) throw failure;
    const calls = meter.take();
    const [readUnits, writeUnits] = [sum(calls, 'readUnits'), sum(calls, 'writeUnits')];
    const dollars = totalOf([
      { what: 'reads', price: 'readUnit', count: readUnits },
      { what: 'writes', price: 'writeUnit', count: writeUnits },
    ]);
    return {
      ...{ when, requests: sum(calls, 'attempts'), readUnits, writeUnits },
      unitsPerMonth: runsPerMonth && (readUnits + writeUnits) * runsPerMonth,
      centsPerMonth: runsPerMonth && 100 * runsPerMonth * dollars,
    };
  };
  try {
    const rows: SweepRow[] = [];
    let made = 0;
    for (const idle of idleTopics) {
      while (made < idle) await makeTopic(`idle${made++}`);
      rows.push(await run(`at rest, ${idle} topics`, RUNS_PER_MONTH));
    }
    const topic = await makeTopic('deleted');
    await fill(backbone, { topicId: topic.id, partition: 0 }, slots);
    await deleteTopic(backbone, 'deleted');
    rows.push(await run('with a deleted topic that is not due', RUNS_PER_MONTH));
    now += LATE_MAX_MS;
    rows.push(await run(`that purges ${slots} slots below 1 KB`));
    return rows;
  } finally {
    dynamodb.destroy();
    swept.destroy();
    await aws.close();
  }
}

export async function measureSweep(progress: Progress): Promise<Section> {
  progress('sweeping');
  const rows = await sweepRows();
  const rest = rows.filter(({ when }) => when.startsWith('at rest'));
  const dear = rest.filter(({ requests, readUnits, writeUnits }) => requests > 5 || readUnits > 2.5 || writeUnits > 0);
  return {
    title: 'The sweep, run by run; what a month of such runs would cost',
    tables: [tableOf('DynamoDB alone, list prices of us-east-1', HEADS, rows)],
    laws: [
      {
        law: 'at rest a run makes five requests of half a read unit each and no write',
        broken: dear.map(({ when }) => when),
      },
    ],
    notes: ['Purging a slot costs as many write units as it has KB, once; what expires instead costs nothing.'],
  };
}

async function fill({ heads, log }: Tables, partition: PartitionId, slots: number): Promise<void> {
  await heads.create(partition);
  const reserved = { count: slots, time: 0, expiresAt: 0, settleMs: SETTLE_AFTER_MS };
  await heads.reserve(partition, '00'.repeat(RESERVATION_ID_BYTES), reserved, () => false);
  for (let last = 0; last < slots; last++) {
    await log.putVoid(partition, { last, count: 1, previous: [], reservedBy: 0 }, 0, RETENTION_FOREVER);
  }
}
