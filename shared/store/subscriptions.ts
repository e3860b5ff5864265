import { GetItemCommand, PutItemCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import type { Group, GroupId } from '../domain/group.ts';
import type { Subscription, SubscriptionChange } from '../domain/subscription.ts';
import type { Page } from '../domain/topic.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { deletedGroupItem, groupEntryItem, groupItem } from './group-item.ts';
import { type Item, itemKey } from './item-key.ts';
import {
  groupEntryKey,
  groupKey,
  KNOWN_LAYOUT,
  KNOWN_VERSION,
  LAYOUT_VERSION,
  refuseUnknownLayout,
  SUBSCRIPTIONS,
  subscriptionEntryKey,
  subscriptionKey,
} from './keys.ts';
import { listItems } from './state-items.ts';
import { subscriptionItem, toSubscription } from './subscription-item.ts';
import { transact } from './transact.ts';

/** The subscriptions in the State table: one item each under a key of its own, beside that of its group. */
export class Subscriptions {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** @param strong else as some replica has it: half the units. @throws {Throttled | Unavailable} */
  async read(name: string, strong = true): Promise<Subscription | undefined> {
    const Key = itemKey(subscriptionKey(name));
    const command = new GetItemCommand({ TableName: this.#table, Key, ConsistentRead: strong });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? undefined : toSubscription(name, Item);
  }

  /**
   * Makes a subscription and its group, and lists both. @returns false when a group has the name already @throws {WriteFailed}
   */
  async create(subscription: Subscription): Promise<boolean> {
    const { group, createdAt } = subscription;
    const made: Group = { ...group, createdAt, version: 0, checkAt: 0, busyUntil: 0, isSubscription: true };
    const isNew = { TableName: this.#table, ConditionExpression: 'attribute_not_exists(pk)' };
    const entry = { ...itemKey(subscriptionEntryKey(group.name)), v: { N: LAYOUT_VERSION }, groupId: { S: group.id } };
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        { Put: { ...isNew, Item: groupItem(made) } },
        { Put: { TableName: this.#table, Item: groupEntryItem(made) } },
        { Put: { ...isNew, Item: subscriptionItem(subscription) } },
        { Put: { TableName: this.#table, Item: entry } },
      ],
    });
    const { isDone, anyUnanswered } = await transact(this.#dynamodb, command);
    return isDone || (anyUnanswered && (await this.read(group.name))?.group.id === group.id);
  }

  /**
   * Changes a subscription: its settings, or whether it delivers.
   *
   * @returns what it is now; undefined when it is no longer as seen: read it @throws {WriteFailed}
   */
  async change(seen: Subscription, to: SubscriptionChange): Promise<Subscription | undefined> {
    const { group, createdAt } = seen;
    const changed = { ...to, group, createdAt, revision: seen.revision + 1 };
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: subscriptionItem(changed),
      ConditionExpression: `${KNOWN_LAYOUT} AND groupId = :id AND revision = :seen`,
      ExpressionAttributeValues: { ':id': { S: group.id }, ':seen': { N: String(seen.revision) }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const attempts = new WriteAttempts(command);
    if (await whetherWritten(attempts.outcome(this.#dynamodb.send(command)))) return changed;
    if (!attempts.anyUnanswered) return undefined;
    const met = await this.read(group.name);
    return met?.group.id === group.id && met.revision === changed.revision && met.updatedAt === to.updatedAt
      ? met
      : undefined;
  }

  /** By name. @param after the last page's `next` @throws {Throttled | Unavailable} */
  async list(limit: number, after?: string): Promise<Page<GroupId>> {
    return listItems(this.#dynamodb, this.#table, { pk: SUBSCRIPTIONS, limit, after, read: toEntry });
  }

  /**
   * Takes the name off a subscription and its group, and lists the group as deleted, in one step.
   *
   * @param at epoch ms @returns false when it is no longer this incarnation @throws {WriteFailed}
   */
  async delete(group: GroupId, at: number): Promise<boolean> {
    const remove = (key: Item, attribute: 'id' | 'groupId') => ({
      Delete: {
        TableName: this.#table,
        Key: key,
        ConditionExpression: `${KNOWN_LAYOUT} AND ${attribute} = :id`,
        ExpressionAttributeValues: { ':id': { S: group.id }, ...KNOWN_VERSION },
      },
    });
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        remove(itemKey(subscriptionKey(group.name)), 'groupId'),
        remove(itemKey(subscriptionEntryKey(group.name)), 'groupId'),
        remove(itemKey(groupKey(group.name)), 'id'),
        remove(itemKey(groupEntryKey(group.name)), 'id'),
        { Put: { TableName: this.#table, Item: deletedGroupItem(group, at) } },
      ],
    });
    const { isDone, anyUnanswered } = await transact(this.#dynamodb, command);
    return isDone || (anyUnanswered && (await this.read(group.name))?.group.id !== group.id);
  }
}

function toEntry(item: Item): GroupId {
  refuseUnknownLayout(item);
  return { name: item.sk!.S!, id: item.groupId!.S! };
}
