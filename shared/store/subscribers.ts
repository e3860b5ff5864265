import { type AttributeValue, DeleteItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { GroupId } from '../domain/group.ts';
import type { Subscriber } from '../domain/wake-up.ts';
import { type DynamoDB, WriteAttempts, whetherWritten } from './dynamo.ts';
import { LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';
import { subscriberKey, subscribersKey } from './push-keys.ts';
import { queryAll } from './state-query.ts';

type Item = Record<string, AttributeValue>;

/** Who subscribed to which topic, in the State table: one item per subscription and incarnation of a topic. */
export class Subscribers {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** All of a topic, strongly consistent, by name. @throws {Throttled | Unavailable} */
  async of(topicId: string): Promise<Subscriber[]> {
    return queryAll(this.#dynamodb, this.#table, { pk: subscribersKey(topicId), read: toSubscriber });
  }

  /** Lists a subscription; one of the same incarnation that is listed already stays as it is. @throws {WriteFailed} */
  async put(topicId: string, { group, topic, known }: Subscriber): Promise<void> {
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: {
        ...key(topicId, group.name),
        v: { N: LAYOUT_VERSION },
        groupId: { S: group.id },
        topic: { S: topic },
        known: { N: String(known) },
      },
      ConditionExpression: 'attribute_not_exists(pk) OR groupId <> :id',
      ExpressionAttributeValues: { ':id': { S: group.id } },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** Takes this incarnation of a subscription off a topic's list. @throws {WriteFailed} */
  async remove(topicId: string, group: GroupId): Promise<void> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: key(topicId, group.name),
      ConditionExpression: 'groupId = :id',
      ExpressionAttributeValues: { ':id': { S: group.id } },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }
}

function key(topicId: string, groupName: string): Item {
  const { pk, sk } = subscriberKey(topicId, groupName);
  return { pk: { S: pk }, sk: { S: sk } };
}

function toSubscriber(item: Item): Subscriber {
  refuseUnknownLayout(item);
  return {
    group: { name: item.sk!.S!, id: item.groupId!.S! },
    topic: item.topic!.S!,
    known: Number(item.known!.N),
  };
}
