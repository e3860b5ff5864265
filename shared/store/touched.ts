import { type AttributeValue, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { TOUCHED_LIFE_MS } from '../domain/limits.ts';
import type { Page, PartitionId } from '../domain/topic.ts';
import { type DynamoDB, WriteAttempts } from './dynamo.ts';
import { LAYOUT_VERSION, logKey, parseLogKey, refuseUnknownLayout } from './keys.ts';
import { touchedKey } from './push-keys.ts';
import { queryPage } from './state-query.ts';

type Item = Record<string, AttributeValue>;

/** Which partitions with subscribers grew in which hour, in the State table, for three hours. */
export class Touched {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** Notes that a partition is about to grow: one write unit, as often as one likes. @throws {WriteFailed} */
  async note(partition: PartitionId, hour: number, now: number): Promise<void> {
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: {
        pk: { S: touchedKey(hour) },
        sk: { S: logKey(partition) },
        v: { N: LAYOUT_VERSION },
        expiresAt: { N: String(Math.ceil((now + TOUCHED_LIFE_MS) / 1_000)) },
      },
    });
    await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
  }

  /** Those of one hour, by topic id. @throws {Throttled | Unavailable} */
  async list(hour: number, limit: number, after?: string): Promise<Page<PartitionId>> {
    return queryPage(this.#dynamodb, this.#table, {
      pk: touchedKey(hour),
      limit,
      ...(after === undefined ? {} : { after }),
      weak: true,
      read: toPartition,
    });
  }
}

function toPartition(item: Item): PartitionId {
  refuseUnknownLayout(item);
  return parseLogKey(item.sk!.S!);
}
