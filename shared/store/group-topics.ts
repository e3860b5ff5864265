import { type AttributeValue, DeleteItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { GroupId, GroupTopic } from '../domain/group.ts';
import type { Topic } from '../domain/topic.ts';
import { type DynamoDB, WriteAttempts, whetherWritten } from './dynamo.ts';
import { groupTopicKey, groupTopicsKey, KNOWN_LAYOUT, KNOWN_VERSION, refuseUnknownLayout } from './keys.ts';
import { queryAll } from './state-query.ts';

type Item = Record<string, AttributeValue>;

/** The topics that groups have known, in the State table: one item per group and incarnation of a topic. */
export class GroupTopics {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** All of a group, strongly consistent, by topic id. @throws {Throttled | Unavailable} */
  async all(group: GroupId): Promise<GroupTopic[]> {
    return queryAll(this.#dynamodb, this.#table, { pk: groupTopicsKey(group), read: toGroupTopic });
  }

  /**
   * Notes what a group sees of a topic: what it knew first stays, the number of partitions grows. One write unit.
   *
   * @throws {WriteFailed}
   */
  async note(group: GroupId, { id, name, partitions }: Pick<Topic, 'id' | 'name' | 'partitions'>): Promise<void> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(group, id),
      UpdateExpression:
        'SET v = :v, #name = :name, #partitions = :partitions, #known = if_not_exists(#known, :partitions)',
      ConditionExpression: `attribute_not_exists(pk) OR (${KNOWN_LAYOUT} AND #partitions < :partitions)`,
      ExpressionAttributeNames: { '#name': 'name', '#known': 'known', '#partitions': 'partitions' },
      ExpressionAttributeValues: { ':name': { S: name }, ':partitions': { N: String(partitions) }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** Forgets a topic of which the group has no position left. @throws {WriteFailed} */
  async remove(group: GroupId, topicId: string): Promise<void> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: itemKey(group, topicId),
      ConditionExpression: KNOWN_LAYOUT,
      ExpressionAttributeValues: KNOWN_VERSION,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }
}

function itemKey(group: GroupId, topicId: string): Item {
  const { pk, sk } = groupTopicKey(group, topicId);
  return { pk: { S: pk }, sk: { S: sk } };
}

function toGroupTopic(item: Item): GroupTopic {
  refuseUnknownLayout(item);
  return {
    topicId: item.sk!.S!,
    name: item.name!.S!,
    known: Number(item.known!.N),
    partitions: Number(item.partitions!.N),
  };
}
