import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { type DynamoDB, readOutcome } from './dynamo.ts';
import { parseLogItemKey } from './keys.ts';

/** The partition keys of the Log table. */
export class LogKeys {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /**
   * The next partition key of the table, in no order: a Scan that steps over all items of the key before, and reads one.
   *
   * @param after the last answer's `key` @returns `topicId`: of one that holds slots or intents; undefined: there are no more
   * @throws {Throttled | Unavailable}
   */
  async next(after?: string): Promise<{ readonly key: string; readonly topicId?: string } | undefined> {
    let start = after === undefined ? undefined : { log: { S: after }, last: { N: String(Number.MAX_SAFE_INTEGER) } };
    for (;;) {
      const command = new ScanCommand({
        TableName: this.#table,
        ProjectionExpression: '#log, #last',
        ExpressionAttributeNames: { '#log': 'log', '#last': 'last' },
        Limit: 1,
        ...(start && { ExclusiveStartKey: start }),
      });
      const { Items, LastEvaluatedKey } = await readOutcome(this.#dynamodb.send(command));
      const item = Items?.[0];
      if (item !== undefined) {
        const parsed = parseLogItemKey(item.log!.S!, Number(item.last!.N));
        return { key: item.log!.S!, ...(parsed.kind !== 'upload' && { topicId: parsed.topicId }) };
      }
      if (LastEvaluatedKey === undefined) return undefined;
      start = LastEvaluatedKey as typeof start;
    }
  }
}
