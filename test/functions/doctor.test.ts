import { UpdateTableCommand, UpdateTimeToLiveCommand } from '@aws-sdk/client-dynamodb';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type DoctorOptions, examineBackbone, partsOfStack } from '../../functions/doctor.ts';
import { LATE_MAX_MS, SETTLE_AFTER_MS } from '../../shared/domain/limits.ts';
import type { FindingsReport } from '../../shared/operations/findings.ts';
import { type Api, openApi } from '../support/api.ts';
import { HandClock } from '../support/log-bench.ts';
import { type Item, itemsOf, restore } from '../support/table-copy.ts';

const LOOK: DoctorOptions = { deep: false, repair: false, claims: false, looksMax: 1_000_000, onProgress: () => {} };
const ULID = '01ARZ3NDEKTSV4RRFFQ69G5FAV';

let api: Api;
let clock: HandClock;
beforeEach(async () => {
  clock = new HandClock();
  api = await openApi({ clock, env: { spillAboveBytes: 100 } });
  onTestFinished(() => api.close());
  expect((await api.put('/v1/topics/orders', { partitions: 2 })).status).toBe(201);
});

/** A record of some value, by a key of idempotency if one is given. @returns its offset */
async function produce(value: unknown, partition = 0, key?: string): Promise<number> {
  const body = { records: [{ value, partition }] };
  const reply = await api.post('/v1/topics/orders/records', body, key ? { 'Idempotency-Key': key } : {});
  expect(reply.status).toBe(200);
  return reply.json<{ offsets: { offset: number }[] }>().offsets[0]!.offset;
}

async function valuesOf(partition = 0, from = 0): Promise<unknown[]> {
  const reply = await api.get(`/v1/topics/orders/partitions/${partition}/records?offset=${from}`);
  expect(reply.status).toBe(200);
  return reply.json<{ records: { value: unknown }[] }>().records.map(({ value }) => value);
}

async function commit(offset: number): Promise<void> {
  const body = { offsets: [{ topic: 'orders', partition: 0, offset }] };
  expect((await api.post('/v1/groups/billing/commits', body)).status).toBe(200);
}

function examine(options: Partial<DoctorOptions> = {}): Promise<FindingsReport> {
  const { tables, deadLetters } = api;
  const parts = { ...tables, deadLetterQueueUrl: deadLetters.url };
  return examineBackbone({ ...tables, sqs: deadLetters.sqs }, parts, { ...LOOK, ...options }, clock);
}

const told = ({ findings }: FindingsReport) => findings.map(({ code, subject }) => `${code}: ${subject}`);

const stateOf = () => itemsOf(api.tables.dynamodb, api.tables.stateTable);
const logOf = () => itemsOf(api.tables.dynamodb, api.tables.logTable);
const stateAgain = (items: readonly Item[]) => restore(api.tables.dynamodb, api.tables.stateTable, ['pk', 'sk'], items);
const logAgain = (items: readonly Item[]) => restore(api.tables.dynamodb, api.tables.logTable, ['log', 'last'], items);

it('finds nothing wrong with a backbone that is at work, and says what it has looked at', async () => {
  await produce('small');
  await produce('large '.repeat(100), 1, 'key');
  await commit(1);
  clock.pass(2 * LATE_MAX_MS);
  const report = await examine({ deep: true });
  expect(report).toMatchObject({ findings: [], unlooked: [], isHealthy: true });
  expect(report.looked).toMatchObject({
    topics: 1,
    partitions: 2,
    groups: 1,
    positions: 1,
    claims: 1,
    objects: 1,
    logs: 3,
  });
});

describe('beside an older State table', () => {
  it('heads are behind their logs; they are moved when it is told to, and then all is read and nothing overwritten', async () => {
    await produce('a');
    const before = await stateOf();
    for (const value of ['b', 'c', 'd']) await produce(value);
    await stateAgain(before);

    const shown = await examine();
    expect(shown.findings).toMatchObject([
      { code: 'head_behind_log', subject: 'partition orders-0', data: { from: 1, to: 4 }, repair: 'possible' },
    ]);
    expect(shown.isHealthy).toBe(false);
    expect(await stateOf()).toEqual(before);
    // What nobody may do before it is repaired.
    expect((await api.post('/v1/topics/orders/records', { records: [{ value: 'x', partition: 0 }] })).status).toBe(500);
    await stateAgain(before);

    const repaired = await examine({ repair: true });
    expect(repaired).toMatchObject({ findings: [{ code: 'head_behind_log', repair: 'done' }], isHealthy: true });
    expect(await examine({ repair: true })).toMatchObject({ findings: [], isHealthy: true });
    expect(await produce('e')).toBe(4);
    expect(await valuesOf()).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  it('logs are told that no topic is known for', async () => {
    const before = await stateOf();
    await api.put('/v1/topics/later', { partitions: 1 });
    await api.post('/v1/topics/later/records', { records: [{ value: 'a' }] });
    await stateAgain(before);
    expect(told(await examine())).toEqual([]);
    expect(told(await examine({ deep: true }))).toEqual([
      expect.stringMatching(/^log_orphaned: topic id [0-9A-Z]{26}$/),
    ]);
  });
});

describe('beside an older Log table', () => {
  it('what groups and claims know beyond it is told; appends and readers go on behind it', async () => {
    await produce('a');
    const before = await logOf();
    for (const value of ['b', 'c']) await produce(value);
    await produce('d', 0, 'once');
    await commit(4);
    await logAgain(before);
    clock.pass(SETTLE_AFTER_MS + 1);

    expect(told(await examine())).toEqual([
      'log_behind_head: partition orders-0',
      'position_beyond_log: position of billing in orders-0',
    ]);
    const report = await examine({ repair: true, claims: true });
    expect(report.findings).toMatchObject([
      { code: 'log_behind_head', data: { from: 1, to: 4 } },
      { code: 'position_beyond_log', data: { committed: 4, end: 1 } },
      { code: 'claim_beyond_log', data: { partition: 0, base: 3, count: 1, end: 1 } },
    ]);
    expect(await produce('d', 0, 'once')).toBe(4);
    expect(await produce('e')).toBe(5);
    expect(await valuesOf()).toEqual(['a', 'd', 'e']);
  });
});

describe('objects', () => {
  const put = (Key: string) =>
    api.tables.s3.send(new PutObjectCommand({ Bucket: api.tables.bucket, Key, Body: 'x'.repeat(10) }));

  it('that nothing stands for are told by a deep look, once they are old enough', async () => {
    await produce('large '.repeat(100));
    const announced = await api.post('/v1/topics/orders/uploads', { size: 10, sha256: '0'.repeat(64) });
    const { uploadId } = announced.json<{ uploadId: string }>();
    const topicId = (await api.get('/v1/topics/orders')).json<{ id: string }>().id;
    const orphans = [
      ...[`${topicId}/0/0000000000000007`, `dead-letters/${ULID}/${ULID}.0000.0000000000000001`],
      ...['notes.txt', `uploads/${topicId}/${ULID}`],
    ];
    for (const key of [...orphans, `uploads/${topicId}/${uploadId}`]) await put(key);
    expect(told(await examine({ deep: true }))).toEqual([]);
    clock.pass(LATE_MAX_MS + 60_000);
    const report = await examine({ deep: true });
    expect(told(report)).toEqual(expect.arrayContaining(orphans.map((key) => `object_orphaned: object ${key}`)));
    expect(report.findings).toHaveLength(orphans.length);
  });
});

it('goes through no more than it is told to, and says so', async () => {
  for (const partition of [0, 1]) await produce('a', partition);
  const report = await examine({ deep: true, looksMax: 1 });
  expect(report).toMatchObject({ findings: [], isHealthy: false, looked: { logs: 1 } });
  expect(report.unlooked.map(({ subject }) => subject)).toEqual(['logs']);
  expect(await examine({ deep: true, looksMax: 3 })).toMatchObject({ unlooked: [], looked: { logs: 2 } });
});

describe('what somebody changed by hand', () => {
  it('is told of tables and queues', async () => {
    const { dynamodb, logTable, stateTable } = api.tables;
    const off = { Enabled: false, AttributeName: 'expiresAt' };
    await dynamodb.send(new UpdateTimeToLiveCommand({ TableName: stateTable, TimeToLiveSpecification: off }));
    const StreamSpecification = { StreamEnabled: false };
    await dynamodb.send(new UpdateTableCommand({ TableName: logTable, StreamSpecification }));
    expect(told(await examine())).toEqual([`stream_changed: table ${logTable}`, `expiry_off: table ${stateTable}`]);
  });

  it('is told of what is not there at all, and everything else is looked at', async () => {
    const { tables, deadLetters } = api;
    const parts = { ...tables, bucket: 'nowhere', wakeQueueUrl: `${deadLetters.url}-other` };
    const report = await examineBackbone({ ...tables, sqs: deadLetters.sqs }, parts, LOOK, clock);
    expect(told(report)).toEqual(['resource_missing: bucket nowhere', 'resource_missing: wake queue']);
    expect(report.looked).toMatchObject({ partitions: 2 });
  });
});

describe('a stack', () => {
  const resourcesOf = (...ids: string[]) => ({
    send: async () => ({
      StackResourceSummaries: ids.map((id) => ({
        LogicalResourceId: `${id}0123ABCD`,
        PhysicalResourceId: `stack-${id}`,
        ResourceType: id.endsWith('Bucket') ? 'AWS::S3::Bucket' : 'AWS::DynamoDB::Table',
      })),
    }),
  });
  const storageOf = (backbone: string) => ['Log', 'State', 'Bucket'].map((part) => `${backbone}Storage${part}`);
  const partsIn = (ids: readonly string[], backbone?: string) =>
    partsOfStack(resourcesOf(...ids) as never, { stack: 's', backbone });

  it('holds the backbone that is meant: the only one, or that which is named', async () => {
    expect(await partsIn(storageOf('Events'))).toMatchObject({ logTable: 'stack-EventsStorageLog' });
    const both = [...storageOf('Events'), ...storageOf('Audit')];
    expect(await partsIn(both, 'Audit')).toMatchObject({ bucket: 'stack-AuditStorageBucket' });
  });

  it.each([
    [['OrdersTable'], undefined, 'stack s holds no backbone'],
    [[...storageOf('Events'), ...storageOf('Audit')], undefined, 'holds these backbones: Events, Audit'],
    [storageOf('Events'), 'Other', 'holds these backbones: Events; name one'],
    [storageOf('Events').slice(0, 1), undefined, 'has no State table or no bucket'],
  ])('of %j, %s meant, is refused', async (ids, backbone, sentence) => {
    await expect(partsIn(ids, backbone)).rejects.toThrow(sentence);
  });
});

it('tells how far it is', async () => {
  const steps: string[] = [];
  await examine({ onProgress: (what, count) => steps.push(`${what} ${count}`) });
  expect(steps).toEqual(expect.arrayContaining(['topics 1', 'partitions 1', 'partitions 2']));
});
