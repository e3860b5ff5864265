import { DynamoDBClient, PutItemCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import { openEmbeddedAws } from '../../local/aws/embedded-aws.ts';
import { createBackboneTables } from '../../local/aws/tables.ts';

/** Writes into the folder that it is given until it is killed, and prints what was acknowledged: `put <n>`, `transaction <n>`. */
const aws = await openEmbeddedAws({ path: process.argv[2]! });
const dynamodb = new DynamoDBClient({ ...aws.clientConfig(), maxAttempts: 1 });
await createBackboneTables(dynamodb, { logTable: 'log', stateTable: 'state' });

const TRANSACTION_ITEMS = 50;

async function puts(): Promise<void> {
  for (let n = 1; ; n++) {
    await dynamodb.send(new PutItemCommand({ TableName: 'log', Item: { log: { S: 'a' }, last: { N: String(n) } } }));
    process.stdout.write(`put ${n}\n`);
  }
}

async function transactions(): Promise<void> {
  for (let n = 1; ; n++) {
    const TransactItems = Array.from({ length: TRANSACTION_ITEMS }, (_, item) => ({
      Put: { TableName: 'state', Item: { pk: { S: String(item) }, sk: { S: '-' }, n: { N: String(n) } } },
    }));
    await dynamodb.send(new TransactWriteItemsCommand({ TransactItems }));
    process.stdout.write(`transaction ${n}\n`);
  }
}

await Promise.all([puts(), transactions()]);
