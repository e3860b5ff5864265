import { type AttributeValue, QueryCommand } from '@aws-sdk/client-dynamodb';
import type { Page } from '../domain/topic.ts';
import { type DynamoDB, readOutcome } from './dynamo.ts';

type Item = Record<string, AttributeValue>;

/** Items of the State table under one partition key, in the order of their sort keys. */
export interface StateQuery<T> {
  readonly pk: string;
  /** How their sort keys begin; absent: all. */
  readonly prefix?: string;
  /** Items of one page at most; absent: a megabyte of them. */
  readonly limit?: number;
  /** Sort key of the last item of the page before. */
  readonly after?: string;
  /** As some replica has it: half the units. */
  readonly weak?: boolean;
  /** No more of them than their keys and versions. */
  readonly keysOnly?: boolean;
  read(item: Item): T;
}

/** One page, strongly consistent unless it may be weak. @throws {Throttled | Unavailable} */
export async function queryPage<T>(dynamodb: DynamoDB, table: string, query: StateQuery<T>): Promise<Page<T>> {
  const { pk, prefix, limit, after, weak = false, keysOnly = false, read } = query;
  const command = new QueryCommand({
    TableName: table,
    KeyConditionExpression: `pk = :pk${prefix === undefined ? '' : ' AND begins_with(sk, :prefix)'}`,
    ExpressionAttributeValues: { ':pk': { S: pk }, ...(prefix === undefined ? {} : { ':prefix': { S: prefix } }) },
    ...(after === undefined ? {} : { ExclusiveStartKey: { pk: { S: pk }, sk: { S: after } } }),
    ...(limit === undefined ? {} : { Limit: limit }),
    ...(keysOnly && { ProjectionExpression: 'pk, sk, v' }),
    ConsistentRead: !weak,
  });
  const { Items, LastEvaluatedKey } = await readOutcome(dynamodb.send(command));
  const next = LastEvaluatedKey?.sk?.S;
  return { items: (Items ?? []).map(read), ...(next === undefined ? {} : { next }) };
}

/** All pages. @throws {Throttled | Unavailable} */
export async function queryAll<T>(dynamodb: DynamoDB, table: string, query: StateQuery<T>): Promise<T[]> {
  const all: T[] = [];
  for (let after = query.after; ; ) {
    const { items, next } = await queryPage(dynamodb, table, { ...query, ...(after === undefined ? {} : { after }) });
    all.push(...items);
    if (next === undefined) return all;
    after = next;
  }
}
