import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AttributeValue, DynamoDBClient, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { createBackboneTables } from '../local/aws/tables.ts';
import { openGateway } from '../local/gateway.ts';
import { handlersOver, TABLES } from './backbone.ts';
import { answerParent } from './child.ts';
import { rateOf } from './rate.ts';

/** Opens a backbone as `npm start` does. Asked first, and once. */
export interface OpenQuestion {
  readonly storage: 'memory' | 'disk';
}
export interface OpenAnswer {
  readonly url: string;
}
/** Puts copies of the last slot of a log, unconditionally, each under a key of its own. */
export interface PutQuestion {
  /** `<topicId>.<partition>` */
  readonly log: string;
  readonly concurrency: number;
  readonly timeMs: number;
}
export interface PutAnswer {
  readonly perSecond: number;
}

/** A log that no topic has. */
const COPIES = 'copies';

let folder: string | undefined;
let dynamodb: DynamoDBClient;
let closeAll = async () => {};
let copies = 0;

async function open({ storage }: OpenQuestion): Promise<OpenAnswer> {
  folder = storage === 'disk' ? await mkdtemp(join(tmpdir(), 'vertebra-bench-')) : undefined;
  const aws = await openEmbeddedAws(folder === undefined ? {} : { path: folder });
  dynamodb = new DynamoDBClient(aws.clientConfig());
  await createBackboneTables(dynamodb, TABLES);
  const gateway = await openGateway({ handlers: handlersOver(dynamodb), port: 0 });
  closeAll = async () => {
    await gateway.close(0);
    dynamodb.destroy();
    await aws.close();
  };
  return { url: gateway.url };
}

async function put({ log, concurrency, timeMs }: PutQuestion): Promise<PutAnswer> {
  const item = await lastSlot(log);
  const putCopy = () => {
    copies += 1;
    const copy = { ...item, log: { S: COPIES }, last: { N: String(copies) } };
    return dynamodb.send(new PutItemCommand({ TableName: TABLES.logTable, Item: copy }));
  };
  return { perSecond: await rateOf(putCopy, concurrency, timeMs) };
}

async function lastSlot(log: string): Promise<Record<string, AttributeValue>> {
  const { Items } = await dynamodb.send(
    new QueryCommand({
      TableName: TABLES.logTable,
      KeyConditionExpression: '#log = :log',
      ExpressionAttributeNames: { '#log': 'log' },
      ExpressionAttributeValues: { ':log': { S: log } },
      ScanIndexForward: false,
      Limit: 1,
    }),
  );
  return Items![0]!;
}

answerParent<OpenQuestion | PutQuestion>(
  (question) => ('storage' in question ? open(question) : put(question)),
  async () => {
    await closeAll();
    if (folder !== undefined) await rm(folder, { recursive: true });
  },
);
