import { QueryCommand } from '@aws-sdk/client-dynamodb';
import type { Page } from '../domain/topic.ts';
import { type DynamoDB, readOutcome } from './dynamo.ts';
import { type Item, itemKey } from './item-key.ts';

export interface Listing<T> {
  /** Partition key of all that is listed. */
  readonly pk: string;
  /** The sort key behind which to begin. */
  readonly after?: string | undefined;
  /** Items looked at, at most; absent: those of one page of 1 MB. */
  readonly limit?: number;
  /** They may be as they were a moment ago: half the price. */
  readonly mayBeStale?: boolean;
  /** Which of them to list. */
  readonly filter?: { readonly expression: string; readonly values: Item };
  /** @throws {UnknownLayout} */
  read(item: Item): T;
}

/** Lists items by sort key: one Query. @throws {Throttled | Unavailable | UnknownLayout} */
export async function listItems<T>(dynamodb: DynamoDB, table: string, listing: Listing<T>): Promise<Page<T>> {
  const { pk, after, limit, mayBeStale = false, filter, read } = listing;
  const command = new QueryCommand({
    TableName: table,
    KeyConditionExpression: 'pk = :pk',
    ExpressionAttributeValues: { ':pk': { S: pk }, ...filter?.values },
    ...(filter && { FilterExpression: filter.expression }),
    ...(after !== undefined && { ExclusiveStartKey: itemKey({ pk, sk: after }) }),
    ...(limit !== undefined && { Limit: limit }),
    ...(!mayBeStale && { ConsistentRead: true }),
  });
  const { Items, LastEvaluatedKey } = await readOutcome(dynamodb.send(command));
  const next = LastEvaluatedKey?.sk?.S;
  return { items: (Items ?? []).map(read), ...(next === undefined ? {} : { next }) };
}
