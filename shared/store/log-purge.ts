import { BatchWriteItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import type { PartitionId } from '../domain/topic.ts';
import { type DynamoDB, readOutcome, WriteAttempts } from './dynamo.ts';
import { intentKey, logKey, refuseUnknownLayout } from './keys.ts';

/** What is stored in the Log table for a partition. */
export type LogItems = 'slots' | 'intents';

/** Empties the logs of topics that are gone. What follows an item (its object) goes by the table's stream. */
export class LogPurge {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /**
   * Lists items behind `after` by their sort key, ascending: one strongly consistent Query.
   *
   * @returns `more`: the Query was cut by `limit` or by its 1 MB page
   * @throws {Throttled | Unavailable | UnknownLayout}
   */
  async list(
    partition: PartitionId,
    items: LogItems,
    after: number,
    limit: number,
  ): Promise<{ readonly lasts: readonly number[]; readonly more: boolean }> {
    const command = new QueryCommand({
      TableName: this.#table,
      KeyConditionExpression: '#log = :log AND #last > :after',
      ProjectionExpression: 'v, #log, #last',
      ExpressionAttributeNames: { '#log': 'log', '#last': 'last' },
      ExpressionAttributeValues: { ':log': { S: partitionKey(partition, items) }, ':after': { N: String(after) } },
      ConsistentRead: true,
      Limit: limit,
    });
    const { Items, LastEvaluatedKey } = await readOutcome(this.#dynamodb.send(command));
    for (const item of Items ?? []) refuseUnknownLayout(item);
    return { lasts: (Items ?? []).map(({ last }) => Number(last!.N)), more: LastEvaluatedKey !== undefined };
  }

  /**
   * Deletes up to 25 items: as many write units as they have KB.
   *
   * @returns those that were not deleted, for lack of throughput: success may have a remainder
   * @throws {WriteFailed} some may have been deleted
   */
  async delete(partition: PartitionId, items: LogItems, lasts: readonly number[]): Promise<readonly number[]> {
    const log = { S: partitionKey(partition, items) };
    const requests = lasts.map((last) => ({ DeleteRequest: { Key: { log, last: { N: String(last) } } } }));
    const command = new BatchWriteItemCommand({ RequestItems: { [this.#table]: requests } });
    const { UnprocessedItems } = await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
    const left = Object.values(UnprocessedItems ?? {}).flat();
    return left.map(({ DeleteRequest }) => Number(DeleteRequest!.Key!.last!.N));
  }
}

function partitionKey(partition: PartitionId, items: LogItems): string {
  return items === 'slots' ? logKey(partition) : intentKey(partition);
}
