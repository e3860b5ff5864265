import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient, PutItemCommand, QueryCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { createBackboneTables } from '../local/aws/tables.ts';

/** Operations per second of the embedded DynamoDB through the SDK, in process and over loopback, in memory and on disk. */
const SECONDS = 1.5;
const names = { logTable: 'log', stateTable: 'state' };
let n = 0;
const value = { B: new Uint8Array(250) };
const operations: Record<string, (client: DynamoDBClient) => Promise<unknown>> = {
  'PutItem, conditional': (client) =>
    client.send(
      new PutItemCommand({
        TableName: 'log',
        Item: { log: { S: 'a' }, last: { N: String(++n) }, value },
        ConditionExpression: 'attribute_not_exists(#last)',
        ExpressionAttributeNames: { '#last': 'last' },
      }),
    ),
  'Query 20, strong': (client) =>
    client.send(
      new QueryCommand({
        TableName: 'log',
        ConsistentRead: true,
        Limit: 20,
        KeyConditionExpression: '#log = :log AND #last >= :n',
        ExpressionAttributeNames: { '#log': 'log', '#last': 'last' },
        ExpressionAttributeValues: { ':log': { S: 'a' }, ':n': { N: String(n - 20) } },
      }),
    ),
  'UpdateItem ADD, one key': (client) =>
    client.send(
      new UpdateItemCommand({
        TableName: 'state',
        Key: { pk: { S: 'a' }, sk: { S: 'b' } },
        UpdateExpression: 'ADD n :one',
        ExpressionAttributeValues: { ':one': { N: '1' } },
        ReturnValues: 'UPDATED_OLD',
      }),
    ),
};

async function rate(work: () => Promise<unknown>, concurrency: number): Promise<number> {
  let count = 0;
  const end = performance.now() + SECONDS * 1_000;
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (performance.now() < end) {
        await work();
        count++;
      }
    }),
  );
  return Math.round(count / SECONDS);
}
const rows: Record<string, Record<string, number>> = {};
for (const place of ['memory', 'disk']) {
  const path = place === 'disk' ? await mkdtemp(join(tmpdir(), 'speed-')) : undefined;
  const aws = await openEmbeddedAws(path ? { path } : {});
  const { requestHandler, ...remote } = aws.clientConfig();
  const clients = {
    'in process': new DynamoDBClient({ ...remote, requestHandler }),
    loopback: new DynamoDBClient(remote),
  };
  await createBackboneTables(clients['in process'], names);
  for (const [how, client] of Object.entries(clients)) {
    for (const [what, run] of Object.entries(operations)) {
      for (const c of [1, 16]) {
        await rate(() => run(client), c > 1 ? 4 : 1);
        const row = `${what}, c=${c}`;
        rows[row] = { ...rows[row], [`${place}, ${how}`]: await rate(() => run(client), c) };
      }
    }
  }
  await aws.close();
  if (path) await rm(path, { recursive: true });
}
console.table(rows);
