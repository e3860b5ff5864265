import { type AttributeValue, DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Page } from '../domain/topic.ts';
import type { Pending } from '../domain/wake-up.ts';
import { type DynamoDB, WriteAttempts, whetherWritten } from './dynamo.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';
import { PENDING, parsePendingSort, pendingKey } from './push-keys.ts';
import { queryPage } from './state-query.ts';

type Item = Record<string, AttributeValue>;

/** The positions of subscriptions that must not rest until there is nothing to do, in the State table. */
export class PendingPositions {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** Marks a position, or marks it anew: one write unit. @throws {WriteFailed} */
  async put(pending: Pending): Promise<void> {
    const { to, dueAt } = pending;
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: {
        ...itemKey(pending),
        v: { N: LAYOUT_VERSION },
        group: { S: to.group.name },
        topic: { S: to.topic },
        known: { N: String(to.known) },
        dueAt: { N: String(dueAt) },
      },
      ConditionExpression: `attribute_not_exists(pk) OR ${KNOWN_LAYOUT}`,
      ExpressionAttributeValues: KNOWN_VERSION,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** By group. @throws {Throttled | Unavailable} */
  async list(limit: number, after?: string): Promise<Page<Pending>> {
    return queryPage(this.#dynamodb, this.#table, {
      pk: PENDING,
      limit,
      ...(after === undefined ? {} : { after }),
      weak: true,
      read: toPending,
    });
  }

  /** Takes the mark off, unless it was put anew since it was seen. @throws {WriteFailed} */
  async remove(seen: Pending): Promise<void> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: itemKey(seen),
      ConditionExpression: `${KNOWN_LAYOUT} AND dueAt = :seen`,
      ExpressionAttributeValues: { ...KNOWN_VERSION, ':seen': { N: String(seen.dueAt) } },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }
}

function itemKey({ to, topicId, partition, isRedrive }: Pending): Item {
  const { pk, sk } = pendingKey({ group: to.group, topicId, partition }, isRedrive);
  return { pk: { S: pk }, sk: { S: sk } };
}

function toPending(item: Item): Pending {
  refuseUnknownLayout(item);
  const { groupId, topicId, partition, isRedrive } = parsePendingSort(item.sk!.S!);
  return {
    topicId,
    partition,
    ...(isRedrive && { isRedrive }),
    to: {
      group: { name: item.group!.S!, id: groupId },
      topic: item.topic!.S!,
      known: Number(item.known!.N),
    },
    dueAt: Number(item.dueAt!.N),
  };
}
