import { type AttributeValue, DeleteItemCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { GroupId } from '../domain/group.ts';
import type { LaneId } from '../domain/lane.ts';
import type { Page } from '../domain/topic.ts';
import type { LaneMark, Pending } from '../domain/wake-up.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { itemKey as toItemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';
import { PENDING, parsePendingSort, pendingKey, pendingOf } from './push-keys.ts';
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
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: pendingItem(pending),
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

  /**
   * The marks of one group's parked keys, by topic id, then as texts; strongly consistent. Other marks count towards `limit`.
   *
   * @param after `next` of a page before: within any group, any text will do @throws {Throttled | Unavailable}
   */
  async lanesOf(group: GroupId, limit: number, after?: string): Promise<Page<LaneMark>> {
    const prefix = pendingOf(group);
    const { items, next } = await queryPage(this.#dynamodb, this.#table, {
      ...{ pk: PENDING, prefix, limit },
      ...(after === undefined ? {} : { after: `${prefix}${after}` }),
      read: toPending,
    });
    return { items: items.filter(isOfLane), ...(next !== undefined && { next: next.slice(prefix.length) }) };
  }

  /** The mark of one parked key; strongly consistent. @returns undefined: it is not parked @throws {Throttled | Unavailable} */
  async ofLane(id: LaneId): Promise<LaneMark | undefined> {
    const Key = toItemKey(pendingKey(id));
    const command = new GetItemCommand({ TableName: this.#table, Key, ConsistentRead: true });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    const mark = Item && toPending(Item);
    return mark && isOfLane(mark) ? mark : undefined;
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

function isOfLane(mark: Pending): mark is LaneMark {
  return mark.lane !== undefined;
}

function itemKey({ to, topicId, partition, isRedrive, lane }: Pending): Item {
  return toItemKey(pendingKey({ group: to.group, topicId, partition, ...(lane !== undefined && { lane }) }, isRedrive));
}

/** A mark as it is stored. */
export function pendingItem(pending: Pending): Item {
  const { to, dueAt } = pending;
  return {
    ...itemKey(pending),
    v: { N: LAYOUT_VERSION },
    group: { S: to.group.name },
    topic: { S: to.topic },
    known: { N: String(to.known) },
    dueAt: { N: String(dueAt) },
  };
}

function toPending(item: Item): Pending {
  refuseUnknownLayout(item);
  const { groupId, topicId, partition, isRedrive, lane } = parsePendingSort(item.sk!.S!);
  return {
    topicId,
    partition,
    ...(isRedrive && { isRedrive }),
    ...(lane !== undefined && { lane }),
    to: {
      group: { name: item.group!.S!, id: groupId },
      topic: item.topic!.S!,
      known: Number(item.known!.N),
    },
    dueAt: Number(item.dueAt!.N),
  };
}
