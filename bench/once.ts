import {
  CreateTableCommand,
  DynamoDBClient,
  type TransactWriteItem,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import type { RecordDelivery } from '../client/effects/delivery.ts';
import { processOnce } from '../client/effects/process-once.ts';
import { Vertebra } from '../client/vertebra.ts';
import { openEmbeddedAws } from '../local/aws/embedded-aws.ts';
import { itemKey } from '../shared/store/item-key.ts';
import { positionKey } from '../shared/store/keys.ts';
import { containerOf, createBackboneResources, putTopic, TABLES } from './backbone.ts';
import { operationsOf } from './exchange.ts';
import { type Call, Meter, sequentialRoundTrips, sum } from './meter.ts';
import { type Law, type Progress, type Section, tableOf } from './section.ts';

const BUSINESS = 'business';
/** Of the user's, in one transaction. */
const ITEMS = [1, 3, 10];
const PARTITIONS = [1, 3];
/** In a transaction, each item of a kilobyte takes two. Source: AWS, "Transactional reads and writes". */
const UNITS_PER_ITEM = 2;

interface Row {
  readonly what: string;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly requests: number;
  readonly roundTrips: number;
}

const HEADS = {
  what: 'act',
  writeUnits: 'write units',
  readUnits: 'read units',
  requests: 'DynamoDB',
  roundTrips: 'round trips',
};

/** What it costs that something happens once: effects of a record, and records that a transaction stores. */
export async function measureOnce(progress: Progress): Promise<Section> {
  const aws = await openEmbeddedAws();
  const dynamodb = new DynamoDBClient(aws.clientConfig());
  const s3 = new S3Client(aws.clientConfig());
  const meter = new Meter();
  try {
    await createBackboneResources({ dynamodb, s3 });
    await dynamodb.send(businessTable());
    meter.watch(dynamodb);
    progress('effects');
    const effects = await measureEffects(dynamodb, meter);
    progress('prepared appends');
    const prepared = await measurePrepared(dynamodb, s3, meter);
    return {
      title: 'effects exactly once, and records that a transaction of the caller’s stores',
      tables: [tableOf('one act each, after a container’s first', HEADS, [...effects.rows, ...prepared.rows])],
      laws: [...effects.laws, ...prepared.laws],
      notes: [
        'The caller’s own transaction of a prepared append is his: two units for each item, and for each kilobyte of a batch.',
      ],
    };
  } finally {
    dynamodb.destroy();
    s3.destroy();
    await aws.close();
  }
}

async function measureEffects(dynamodb: DynamoDBClient, meter: Meter) {
  const group = { name: 'payment', id: '01J00000000000000000000000' };
  const ids = { groupId: group.id, topicId: '01JZZZZZZZZZZZZZZZZZZZZZZZ', retentionMs: 604_800_000 };
  await dynamodb.send(ownedPosition({ group, topicId: ids.topicId, partition: 0 }));
  const rows: Row[] = [];
  const broken: string[] = [];
  let offset = 0;
  for (const items of ITEMS) {
    const delivery: RecordDelivery = {
      ...{ group: group.name, topic: 'orders', partition: 0, offset: offset++, epoch: 1, isRedriven: false },
      identify: async () => ids,
    };
    const writes = Array.from({ length: items }, (_, i) => itemOf(`${offset}.${i}`));
    const once = () => processOnce({ delivery }, writes, { dynamodb, stateTable: TABLES.stateTable });
    const [first, again] = [await callsOf(meter, once), await callsOf(meter, once)];
    rows.push(rowOf(`processOnce with ${items} items`, first), rowOf(`its record again`, again));
    const wanted = UNITS_PER_ITEM * (items + 2);
    if (sum(first, 'writeUnits') !== wanted || operationsOf(first) !== 'TransactWriteItems') {
      broken.push(
        `${items} items: ${sum(first, 'writeUnits')} write units by ${operationsOf(first)}, not ${wanted} by one transaction`,
      );
    }
  }
  const law = 'processOnce is one transaction of 2 write units for each item, 2 for the mark and 2 for the position';
  return { rows, laws: [{ law, broken }] satisfies Law[] };
}

async function measurePrepared(dynamodb: DynamoDBClient, s3: S3Client, meter: Meter) {
  const container = containerOf(dynamodb, undefined, s3);
  const backbone = new Vertebra({ endpoint: 'http://127.0.0.1:1', fetch: fetchBy(container) });
  const rows: Row[] = [];
  const broken: string[] = [];
  for (const partitions of PARTITIONS) {
    const topic = `orders-${partitions}`;
    await container(putTopic(topic, partitions));
    const messages = Array.from({ length: partitions }, (_, partition) => ({ partition, value: { total: 3 } }));
    const prepare = () => backbone.prepareAppend(topic, messages);
    await prepare(); // a container's first reads topic and secret as well
    let prepared = await prepare();
    const reserving = await callsOf(meter, async () => {
      prepared = await prepare();
    });
    const settled = await callsOf(meter, () => prepared.settle({ $metadata: { httpStatusCode: 200 } }));
    const other = await prepare();
    const aborted = await callsOf(meter, () => other.settle());
    rows.push(
      rowOf(`prepareAppend to ${partitions} partitions`, reserving),
      rowOf('settled, having been stored', settled),
      rowOf('settled, having been aborted', aborted),
    );
    if (sum(reserving, 'writeUnits') !== partitions || sequentialRoundTrips(reserving) !== 1 || settled.length > 0) {
      broken.push(`${partitions} partitions: ${operationsOf(reserving)}; then ${operationsOf(settled)}`);
    }
  }
  const law =
    'a prepared append makes its reservations, one write unit for each partition in one round trip, and nothing else';
  return { rows, laws: [{ law, broken }] satisfies Law[] };
}

async function callsOf(meter: Meter, act: () => Promise<unknown>): Promise<Call[]> {
  await meter.takeAll();
  await act();
  return meter.takeAll();
}

function rowOf(what: string, calls: readonly Call[]): Row {
  const [writeUnits, readUnits] = [sum(calls, 'writeUnits'), sum(calls, 'readUnits')];
  return { what, writeUnits, readUnits, requests: calls.length, roundTrips: sequentialRoundTrips(calls) };
}

function itemOf(id: string): TransactWriteItem {
  return { Put: { TableName: BUSINESS, Item: { id: { S: id } } } };
}

function businessTable(): CreateTableCommand {
  return new CreateTableCommand({
    TableName: BUSINESS,
    BillingMode: 'PAY_PER_REQUEST',
    AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
    KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
  });
}

function ownedPosition(id: Parameters<typeof positionKey>[0]): UpdateItemCommand {
  return new UpdateItemCommand({
    TableName: TABLES.stateTable,
    Key: itemKey(positionKey(id)),
    UpdateExpression: 'SET v = :one, #epoch = :one, #committed = :zero, #owner = :owner',
    ExpressionAttributeNames: { '#epoch': 'epoch', '#committed': 'committed', '#owner': 'owner' },
    ExpressionAttributeValues: { ':one': { N: '1' }, ':zero': { N: '0' }, ':owner': { S: 'somebody' } },
  });
}

function fetchBy(container: ReturnType<typeof containerOf>): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const { pathname, search } = new URL(request.url);
    const body = Buffer.from(await request.arrayBuffer());
    const headers = Object.fromEntries(request.headers);
    const answer = await container({ method: request.method, target: pathname + search, headers, body });
    return new Response(new Uint8Array(answer.body), {
      status: answer.statusCode,
      headers: { 'content-type': 'application/json' },
    });
  };
}
