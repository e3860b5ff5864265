import { GetItemCommand, PutItemCommand, TransactWriteItemsCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { type DeletedTopic, headsOf, type Page, type Topic } from '../domain/topic.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { type Item, itemKey } from './item-key.ts';
import {
  KNOWN_LAYOUT,
  KNOWN_VERSION,
  LAYOUT_VERSION,
  LEFTOVERS,
  leftoverKey,
  refuseUnknownLayout,
  TOPICS,
  topicKey,
} from './keys.ts';
import { leftoverItem, readLeftover } from './leftovers.ts';
import { listItems } from './state-items.ts';
import { backPressureChange, backPressureItem, toBackPressure } from './topic-settings.ts';
import { transact } from './transact.ts';

/** The topic items in the State table: a topic is what its item says. */
export class Topics {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** Reads a topic, strongly consistent. @throws {Throttled | Unavailable} */
  async read(name: string): Promise<Topic | undefined> {
    const command = new GetItemCommand({ TableName: this.#table, Key: itemKey(topicKey(name)), ConsistentRead: true });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? undefined : toTopic(Item);
  }

  /**
   * Notes an incarnation that is about to be made: if its maker dies before `create`, whoever removes leftovers finds
   * its heads by this. An attempt that lands late may bring the note back after the topic was made.
   *
   * @param isLate asked before every attempt; once true, no more is sent
   * @throws {WriteFailed}
   */
  async announce(topic: Topic, isLate: () => boolean = () => false): Promise<void> {
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: leftoverItem({ ...topic, at: topic.createdAt, state: 'announced' }),
      // What is there, if it is not this note, was put after it: the topic has been deleted meanwhile.
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command, isLate).outcome(this.#dynamodb.send(command)));
  }

  /**
   * Makes the announced topic, whose heads stand.
   *
   * @returns false when the name is taken, or the announcement has been taken for abandoned, or the topic has been made
   *   and deleted since. @throws {WriteFailed}
   */
  async create(topic: Topic): Promise<boolean> {
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        {
          Put: {
            TableName: this.#table,
            Item: toItem(topic),
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        {
          Delete: {
            TableName: this.#table,
            Key: itemKey(leftoverKey(topic.id)),
            ConditionExpression: `${KNOWN_LAYOUT} AND attribute_not_exists(abandoned) AND attribute_not_exists(deleted)`,
            ExpressionAttributeValues: KNOWN_VERSION,
          },
        },
      ],
    });
    return (await transact(this.#dynamodb, command)).isDone;
  }

  /** Stores new settings. @returns false when the topic is no longer `before`: read it again. @throws {WriteFailed} */
  async update(before: Topic, after: Topic): Promise<boolean> {
    const growing =
      after.growingTo === undefined
        ? { removes: ['growingTo'], sets: '' }
        : { removes: [], sets: ', growingTo = :growing' };
    const limits = backPressureChange(before, after);
    const removes = [...growing.removes, ...limits.removes];
    const remove = removes.length === 0 ? '' : ` REMOVE ${removes.join(', ')}`;
    const same = sameTopic(before);
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(topicKey(before.name)),
      UpdateExpression: `SET #partitions = :partitions, retentionMs = :retention, hiddenUntil = :hidden${growing.sets}${limits.sets}${remove}`,
      ConditionExpression: `${same.ConditionExpression} AND retentionMs = :oldRetention AND hiddenUntil = :oldHidden`,
      ExpressionAttributeNames: same.ExpressionAttributeNames,
      ExpressionAttributeValues: {
        ...same.ExpressionAttributeValues,
        ':partitions': { N: String(after.partitions) },
        ':retention': { N: String(after.retentionMs) },
        ':oldRetention': { N: String(before.retentionMs) },
        ':hidden': { N: String(after.hiddenUntil) },
        ':oldHidden': { N: String(before.hiddenUntil) },
        ...(after.growingTo === undefined ? {} : { ':growing': { N: String(after.growingTo) } }),
        ...limits.values,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    return whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** Has appends to this incarnation told to its subscribers. @returns false when it is gone @throws {WriteFailed} */
  async markSubscribed({ name, id }: Pick<Topic, 'name' | 'id'>): Promise<boolean> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(topicKey(name)),
      UpdateExpression: 'SET subscribed = :true ADD marks :one',
      ConditionExpression: `${KNOWN_LAYOUT} AND id = :id`,
      ExpressionAttributeValues: { ':true': { BOOL: true }, ':one': { N: '1' }, ':id': { S: id }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    return whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /**
   * How often this incarnation was marked, strongly consistent. @returns undefined when it is not, or gone
   * @throws {Throttled | Unavailable}
   */
  async marksOf({ name, id }: Pick<Topic, 'name' | 'id'>): Promise<number | undefined> {
    const command = new GetItemCommand({ TableName: this.#table, Key: itemKey(topicKey(name)), ConsistentRead: true });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    if (Item === undefined) return undefined;
    const topic = toTopic(Item);
    return topic.id === id && topic.subscribed ? Number(Item.marks?.N ?? 0) : undefined;
  }

  /** Has appends told to nobody any more, unless it was marked since. @param marks as they were seen @throws {WriteFailed} */
  async unmarkSubscribed({ name, id }: Pick<Topic, 'name' | 'id'>, marks: number): Promise<void> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(topicKey(name)),
      UpdateExpression: 'REMOVE subscribed',
      ConditionExpression: `${KNOWN_LAYOUT} AND id = :id AND marks = :seen`,
      ExpressionAttributeValues: { ':seen': { N: String(marks) }, ':id': { S: id }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /**
   * Takes the name off an incarnation and lists it as deleted, in one step: nothing is ever lost between the two.
   *
   * @returns false when the topic is no longer this incarnation, or may have other heads by now. @throws {WriteFailed}
   */
  async markDeleted(topic: Topic, deletedAt: number): Promise<boolean> {
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        { Delete: { TableName: this.#table, Key: itemKey(topicKey(topic.name)), ...sameTopic(topic) } },
        {
          Put: {
            TableName: this.#table,
            Item: leftoverItem({ ...topic, partitions: headsOf(topic), at: deletedAt, state: 'deleted' }),
          },
        },
      ],
    });
    return (await transact(this.#dynamodb, command)).isDone;
  }

  /** Live topics by name. @throws {Throttled | Unavailable} */
  async list(limit: number, after?: string): Promise<Page<Topic>> {
    return listItems(this.#dynamodb, this.#table, { pk: TOPICS, limit, after, read: toTopic });
  }

  /** Incarnations that are being removed, by id. @throws {Throttled | Unavailable} */
  async listDeleted(limit: number, after?: string): Promise<Page<DeletedTopic>> {
    // What is not understood is refused, whatever the filter would make of it.
    const filter = {
      expression: `deleted = :true OR NOT ${KNOWN_LAYOUT}`,
      values: { ':true': { BOOL: true }, ...KNOWN_VERSION },
    };
    return listItems(this.#dynamodb, this.#table, { pk: LEFTOVERS, limit, after, filter, read: toDeletedTopic });
  }
}

/** The condition that a topic is this incarnation, with these partitions and no other heads. */
function sameTopic({ id, partitions, growingTo }: Topic) {
  const growing = growingTo === undefined ? 'attribute_not_exists(growingTo)' : 'growingTo = :oldGrowing';
  return {
    ConditionExpression: `${KNOWN_LAYOUT} AND id = :id AND #partitions = :oldPartitions AND ${growing}`,
    ExpressionAttributeNames: { '#partitions': 'partitions' },
    ExpressionAttributeValues: {
      ':id': { S: id },
      ':oldPartitions': { N: String(partitions) },
      ...(growingTo === undefined ? {} : { ':oldGrowing': { N: String(growingTo) } }),
      ...KNOWN_VERSION,
    },
  };
}

function toItem(topic: Topic): Item {
  return {
    ...itemKey(topicKey(topic.name)),
    v: { N: LAYOUT_VERSION },
    id: { S: topic.id },
    partitions: { N: String(topic.partitions) },
    retentionMs: { N: String(topic.retentionMs) },
    createdAt: { N: String(topic.createdAt) },
    hiddenUntil: { N: String(topic.hiddenUntil) },
    ...backPressureItem(topic),
  };
}

function toTopic(item: Item): Topic {
  refuseUnknownLayout(item);
  return {
    name: item.sk!.S!,
    id: item.id!.S!,
    partitions: Number(item.partitions!.N),
    retentionMs: Number(item.retentionMs!.N),
    createdAt: Number(item.createdAt!.N),
    hiddenUntil: Number(item.hiddenUntil!.N),
    ...(item.growingTo === undefined ? {} : { growingTo: Number(item.growingTo.N) }),
    ...(item.subscribed?.BOOL && { subscribed: true }),
    ...toBackPressure(item),
  };
}

function toDeletedTopic(item: Item): DeletedTopic {
  const { name, id, partitions, at } = readLeftover(item);
  return { name, id, partitions, deletedAt: at };
}
