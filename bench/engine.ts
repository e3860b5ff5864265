import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DynamoDBClient, PutItemCommand, QueryCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { createBackboneTables } from '../local/aws/tables.ts';

/**
 * Speed of the embedded DynamoDB through the SDK: in process and over loopback, in memory and on disk, one call at a time
 * and 16 side by side. Operations per second depend on what else the machine does; CPU per operation (client and engine,
 * they share the process) hardly does. Run it with `npx tsx bench/engine.ts`.
 */
const SECONDS = 2;
const VALUE = { B: new Uint8Array(250) };

/** Offset of the last item that was put. */
let last = 0;

const OPERATIONS: Record<string, (client: DynamoDBClient) => Promise<unknown>> = {
  'PutItem, conditional': (client) => {
    last += 1;
    return client.send(
      new PutItemCommand({
        TableName: 'log',
        Item: { log: { S: 'a' }, last: { N: String(last) }, value: VALUE },
        ConditionExpression: 'attribute_not_exists(#last)',
        ExpressionAttributeNames: { '#last': 'last' },
      }),
    );
  },
  'Query 20, strong': (client) =>
    client.send(
      new QueryCommand({
        TableName: 'log',
        ConsistentRead: true,
        Limit: 20,
        KeyConditionExpression: '#log = :log AND #last > :n',
        ExpressionAttributeNames: { '#log': 'log', '#last': 'last' },
        ExpressionAttributeValues: { ':log': { S: 'a' }, ':n': { N: String(last - 20) } },
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

async function measure(work: () => Promise<unknown>, concurrency: number): Promise<string> {
  let count = 0;
  const before = process.cpuUsage();
  const end = performance.now() + SECONDS * 1_000;
  const worker = async () => {
    while (performance.now() < end) {
      await work();
      count += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  const { user, system } = process.cpuUsage(before);
  return `${Math.round(count / SECONDS)}/s ${Math.round((user + system) / count)} µs`;
}

const rows: Record<string, Record<string, string>> = {};
for (const place of ['memory', 'disk']) {
  const path = place === 'disk' ? await mkdtemp(join(tmpdir(), 'engine-')) : undefined;
  const aws = await openEmbeddedAws(path ? { path } : {});
  const { requestHandler, ...remote } = aws.clientConfig();
  const clients = {
    'in process': new DynamoDBClient({ ...remote, requestHandler }),
    loopback: new DynamoDBClient(remote),
  };
  await createBackboneTables(clients['in process'], { logTable: 'log', stateTable: 'state' });
  for (const [how, client] of Object.entries(clients)) {
    for (const [what, run] of Object.entries(OPERATIONS)) {
      for (let n = 0; n < 300; n++) await run(client);
      for (const concurrency of [1, 16]) {
        const row = `${what}, c=${concurrency}`;
        rows[row] = { ...rows[row], [`${place}, ${how}`]: await measure(() => run(client), concurrency) };
      }
    }
  }
  for (const client of Object.values(clients)) client.destroy();
  await aws.close();
  if (path) await rm(path, { recursive: true });
}
console.table(rows);
