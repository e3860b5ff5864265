import {
  type AttributeValue,
  BatchWriteItemCommand,
  type DynamoDBClient,
  ScanCommand,
  type WriteRequest,
} from '@aws-sdk/client-dynamodb';
import { BATCH_WRITE_MAX } from '../../shared/domain/limits.ts';

export type Item = Record<string, AttributeValue>;

/** Everything that is in a table now. */
export async function itemsOf(dynamodb: DynamoDBClient, TableName: string): Promise<Item[]> {
  const items: Item[] = [];
  for (let start: Item | undefined; ; ) {
    const command = new ScanCommand({ TableName, ConsistentRead: true, ...(start && { ExclusiveStartKey: start }) });
    const { Items = [], LastEvaluatedKey } = await dynamodb.send(command);
    items.push(...Items);
    if (LastEvaluatedKey === undefined) return items;
    start = LastEvaluatedKey;
  }
}

/** Makes a table hold these items and no others, as a restore of it does. @param keys its key attributes */
export async function restore(
  dynamodb: DynamoDBClient,
  table: string,
  keys: readonly [string, string],
  items: readonly Item[],
): Promise<void> {
  const keyOf = (item: Item) => Object.fromEntries(keys.map((name) => [name, item[name]!]));
  const kept = new Set(items.map((item) => JSON.stringify(keyOf(item))));
  const present = await itemsOf(dynamodb, table);
  const gone = present.map(keyOf).filter((key) => !kept.has(JSON.stringify(key)));
  await writeAll(dynamodb, table, [
    ...gone.map((Key) => ({ DeleteRequest: { Key } })),
    ...items.map((Item) => ({ PutRequest: { Item } })),
  ]);
}

async function writeAll(dynamodb: DynamoDBClient, table: string, requests: readonly WriteRequest[]): Promise<void> {
  for (let from = 0; from < requests.length; from += BATCH_WRITE_MAX) {
    const RequestItems = { [table]: requests.slice(from, from + BATCH_WRITE_MAX) };
    await dynamodb.send(new BatchWriteItemCommand({ RequestItems }));
  }
}
