import { DeleteItemCommand, UpdateItemCommand, type UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import type { Leftover, Page } from '../domain/topic.ts';
import { type DynamoDB, WriteAttempts, whetherWritten } from './dynamo.ts';
import { type Item, itemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, LAYOUT_VERSION, LEFTOVERS, leftoverKey, refuseUnknownLayout } from './keys.ts';
import { listItems } from './state-items.ts';

/** Incarnations without a topic, in the State table, as whoever removes them sees them. `Topics` makes these items. */
export class Leftovers {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /**
   * Lists leftovers by id: half a read unit while there are none. They may be as they were a moment ago.
   *
   * @throws {Throttled | Unavailable}
   */
  async list(after?: string): Promise<Page<Leftover>> {
    return listItems(this.#dynamodb, this.#table, { pk: LEFTOVERS, after, mayBeStale: true, read: readLeftover });
  }

  /**
   * Takes an announced incarnation for abandoned: from now on it cannot be made any more.
   *
   * @returns false when it has been made, or removed. @throws {WriteFailed}
   */
  async markAbandoned(topicId: string): Promise<boolean> {
    return this.#update(topicId, {
      UpdateExpression: 'SET abandoned = :true',
      ConditionExpression: `${KNOWN_LAYOUT} AND attribute_not_exists(deleted)`,
      ExpressionAttributeValues: { ':true': { BOOL: true }, ...KNOWN_VERSION },
    });
  }

  /** Forgets the announcement of an incarnation that has been made. @throws {WriteFailed} */
  async withdraw(topicId: string): Promise<void> {
    await this.#remove(
      topicId,
      `${KNOWN_LAYOUT} AND attribute_not_exists(abandoned) AND attribute_not_exists(deleted)`,
    );
  }

  /** Notes that every head of a leftover has been closed, unless that was noted before. @throws {WriteFailed} */
  async markClosed(topicId: string, closedAt: number): Promise<void> {
    await this.#update(topicId, {
      UpdateExpression: 'SET closedAt = :at',
      ConditionExpression: `${KNOWN_LAYOUT} AND attribute_not_exists(closedAt)`,
      ExpressionAttributeValues: { ':at': { N: String(closedAt) }, ...KNOWN_VERSION },
    });
  }

  /** Forgets a leftover of which nothing is left. @throws {WriteFailed} */
  async remove(topicId: string): Promise<void> {
    await this.#remove(topicId, KNOWN_LAYOUT);
  }

  async #remove(topicId: string, condition: string): Promise<void> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: itemKey(leftoverKey(topicId)),
      ConditionExpression: condition,
      ExpressionAttributeValues: KNOWN_VERSION,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  async #update(topicId: string, change: Partial<UpdateItemCommandInput>): Promise<boolean> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(leftoverKey(topicId)),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      ...change,
    });
    return whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }
}

/** The item of an incarnation that is announced, or was deleted. */
export function leftoverItem({ id, name, partitions, at, state }: Omit<Leftover, 'closedAt'>): Item {
  return {
    ...itemKey(leftoverKey(id)),
    v: { N: LAYOUT_VERSION },
    name: { S: name },
    partitions: { N: String(partitions) },
    at: { N: String(at) },
    ...(state !== 'announced' && { [state]: { BOOL: true } }),
  };
}

/** @throws {UnknownLayout} */
export function readLeftover(item: Item): Leftover {
  refuseUnknownLayout(item);
  return {
    name: item.name!.S!,
    id: item.sk!.S!,
    partitions: Number(item.partitions!.N),
    at: Number(item.at!.N),
    state: item.deleted?.BOOL ? 'deleted' : item.abandoned?.BOOL ? 'abandoned' : 'announced',
    ...(item.closedAt === undefined ? {} : { closedAt: Number(item.closedAt.N) }),
  };
}
