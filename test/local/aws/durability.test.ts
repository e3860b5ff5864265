import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import {
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  ListTablesCommand,
  PutItemCommand,
  paginateQuery,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Database } from '../../../local/aws/dynamodb/database.ts';
import { type EmbeddedAws, openEmbeddedAws } from '../../../local/aws/embedded-aws.ts';
import { DataInUse, openLevel } from '../../../local/aws/storage/level.ts';
import { createBackboneTables } from '../../../local/aws/tables.ts';

const WRITER = fileURLToPath(new URL('../../support/child-writer.ts', import.meta.url));
const NAMES = { logTable: 'log', stateTable: 'state' };

let path: string;
let aws: EmbeddedAws | undefined;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'vertebra-'));
});
afterEach(async () => {
  await aws?.close();
  aws = undefined;
  await rm(path, { recursive: true });
});

async function open(): Promise<DynamoDBClient> {
  aws = await openEmbeddedAws({ path });
  return new DynamoDBClient({ ...aws.clientConfig(), maxAttempts: 1 });
}

/** Starts the writer; `lines` fills with what it acknowledged. */
function startWriter(): { writer: ChildProcessByStdio<null, Readable, null>; lines: string[] } {
  const writer = spawn(process.execPath, ['--import', 'tsx', WRITER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  let rest = '';
  writer.stdout.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop()!;
    lines.push(...parts);
  });
  return { writer, lines };
}

const highest = (lines: string[], what: string) =>
  Math.max(0, ...lines.filter((line) => line.startsWith(`${what} `)).map((line) => Number(line.split(' ')[1])));

describe('a folder of data', () => {
  it('holds every acknowledged write, and whole transactions only, after a kill in the middle', async () => {
    const { writer, lines } = startWriter();
    while (highest(lines, 'transaction') < 20) await once(writer.stdout, 'data');
    writer.kill('SIGKILL');
    await once(writer, 'close');

    const dynamodb = await open();
    const found: number[] = [];
    const query = {
      TableName: 'log',
      KeyConditionExpression: '#log = :log',
      ExpressionAttributeNames: { '#log': 'log' },
      ExpressionAttributeValues: { ':log': { S: 'a' } },
    };
    for await (const page of paginateQuery({ client: dynamodb }, query))
      found.push(...page.Items!.map(({ last }) => Number(last!.N)));
    const acknowledged = highest(lines, 'put');
    expect(acknowledged).toBeGreaterThan(0);
    expect(found.slice(0, acknowledged)).toEqual(Array.from({ length: acknowledged }, (_, n) => n + 1));

    const { Items } = await dynamodb.send(new ScanCommand({ TableName: 'state' }));
    expect(Items).toHaveLength(50);
    const versions = new Set(Items!.map(({ n }) => Number(n!.N)));
    expect(versions.size).toBe(1);
    expect([...versions][0]).toBeGreaterThanOrEqual(highest(lines, 'transaction'));
  });

  it('is refused to a second process while the first one lives, by name', async () => {
    const { writer, lines } = startWriter();
    while (lines.length === 0) await once(writer.stdout, 'data');
    await expect(open()).rejects.toBeInstanceOf(DataInUse);
    writer.kill('SIGKILL');
    await once(writer, 'close');
    await open();
  });

  it('is refused to the same process while it has it open, and given back on close', async () => {
    await open();
    await expect(openEmbeddedAws({ path })).rejects.toThrow(path);
    await aws!.close();
    await open();
  });

  it('keeps tables as they were: keys, expiry, stream', async () => {
    const first = await open();
    await createBackboneTables(first, NAMES);
    const before = await first.send(new DescribeTableCommand({ TableName: 'log' }));
    await aws!.close();

    const second = await open();
    await createBackboneTables(second, NAMES);
    const after = await second.send(new DescribeTableCommand({ TableName: 'log' }));
    expect(after.Table).toEqual({ ...before.Table });
    const { TimeToLiveDescription } = await second.send(new DescribeTimeToLiveCommand({ TableName: 'log' }));
    expect(TimeToLiveDescription).toEqual({ TimeToLiveStatus: 'ENABLED', AttributeName: 'expiresAt' });
    const told: string[] = [];
    aws!.onChange('log', ({ eventName }) => told.push(eventName));
    await second.send(new PutItemCommand({ TableName: 'log', Item: { log: { S: 'a' }, last: { N: '1' } } }));
    expect(told).toEqual(['INSERT']);
  });

  it('keeps objects, and clears away bodies that a kill left without one', async () => {
    await open();
    const s3 = () => new S3Client({ ...aws!.clientConfig(), maxAttempts: 1 });
    await s3().send(new CreateBucketCommand({ Bucket: 'bucket' }));
    const put = { Bucket: 'bucket', Key: 'a/b', Metadata: { kept: 'yes' } };
    await s3().send(new PutObjectCommand({ ...put, Body: 'first' }));
    await s3().send(new PutObjectCommand({ ...put, Body: 'second' }));
    await aws!.close();
    await writeFile(join(path, 'objects', 'orphan'), 'half');

    await open();
    const { Body, Metadata } = await s3().send(new GetObjectCommand({ Bucket: 'bucket', Key: 'a/b' }));
    expect(await Body!.transformToString()).toBe('second');
    expect(Metadata).toEqual({ kept: 'yes' });
    expect(await readdir(join(path, 'objects'))).toHaveLength(1);
  });

  it('keeps messages: those that wait, those that whoever ended with it had received, and no deleted ones', async () => {
    await open();
    const sqs = () => new SQSClient({ ...aws!.clientConfig(), maxAttempts: 1 });
    const { QueueUrl } = await sqs().send(
      new CreateQueueCommand({ QueueName: 'queue', Attributes: { VisibilityTimeout: '900' } }),
    );
    const receive = async () => {
      const names = { MessageSystemAttributeNames: ['ApproximateReceiveCount' as const] };
      const { Messages } = await sqs().send(new ReceiveMessageCommand({ QueueUrl, ...names }));
      return Messages?.[0];
    };
    for (const MessageBody of ['deleted', 'held', 'waiting'])
      await sqs().send(new SendMessageCommand({ QueueUrl, MessageBody }));
    const { ReceiptHandle } = (await receive())!;
    await sqs().send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
    expect((await receive())?.Body).toBe('held');
    const later = { QueueUrl, MessageBody: 'delayed', DelaySeconds: 900 };
    await sqs().send(new SendMessageCommand(later));
    await aws!.close();

    await open();
    expect(await receive()).toMatchObject({ Body: 'held', Attributes: { ApproximateReceiveCount: '2' } });
    expect((await receive())?.Body).toBe('waiting');
    expect(await receive()).toBeUndefined();
  });

  it('finishes a table that was being made or deleted when the process died', async () => {
    const dynamodb = await open();
    await createBackboneTables(dynamodb, NAMES);
    await dynamodb.send(new PutItemCommand({ TableName: 'state', Item: { pk: { S: 'a' }, sk: { S: 'b' } } }));
    await aws!.close();
    const database = new Database(await openLevel(join(path, 'level')));
    for (const [name, TableStatus] of [
      ['log', 'CREATING'],
      ['state', 'DELETING'],
    ]) {
      await database.put(`table~${name}`, { ...(await database.get<object>(`table~${name}`)), TableStatus });
    }
    await database.level.close();

    const reopened = await open();
    expect((await reopened.send(new ListTablesCommand())).TableNames).toEqual(['log']);
    expect((await reopened.send(new DescribeTableCommand({ TableName: 'log' }))).Table!.TableStatus).toBe('ACTIVE');
    await createBackboneTables(reopened, NAMES);
    expect((await reopened.send(new ScanCommand({ TableName: 'state' }))).Items).toEqual([]);
  });
});

it('data in memory is nobody else’s and is gone on close', async () => {
  const [one, two] = await Promise.all([openEmbeddedAws(), openEmbeddedAws()]);
  const table = {
    TableName: 'table',
    AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' as const }],
    KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' as const }],
    BillingMode: 'PAY_PER_REQUEST' as const,
  };
  const clientOf = (engine: EmbeddedAws) => new DynamoDBClient({ ...engine.clientConfig(), maxAttempts: 1 });
  await clientOf(one).send(new CreateTableCommand(table));
  expect((await clientOf(two).send(new ListTablesCommand())).TableNames).toEqual([]);
  await Promise.all([one.close(), two.close()]);
});
