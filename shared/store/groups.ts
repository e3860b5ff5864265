import {
  type AttributeValue,
  DeleteItemCommand,
  GetItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { DeletedGroup, Group, GroupId } from '../domain/group.ts';
import type { Page } from '../domain/topic.ts';
import { type DynamoDB, isConditionFailed, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { deletedGroupItem, groupEntryItem, groupItem, toGroup } from './group-item.ts';
import {
  DELETED_GROUPS,
  deletedGroupKey,
  GROUPS,
  groupEntryKey,
  groupKey,
  KNOWN_LAYOUT,
  KNOWN_VERSION,
  refuseUnknownLayout,
  type StateKey,
} from './keys.ts';
import { queryPage } from './state-query.ts';
import { transact } from './transact.ts';

type Item = Record<string, AttributeValue>;

/** A group as lists tell it. */
export type GroupEntry = Pick<Group, 'name' | 'id' | 'createdAt'>;

const NAMES = { '#version': 'version', '#checkAt': 'checkAt', '#busyUntil': 'busyUntil' };
const IS_SEEN = `${KNOWN_LAYOUT} AND id = :id AND #version = :seenVersion AND #busyUntil = :seenBusyUntil`;
const IS_UNMARKED = '#checkAt = :seenCheckAt';

/** The groups in the State table: which there are, what version their assignments have, and when to look at them. */
export class Groups {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** @param strong else as some replica has it: half a read unit. @throws {Throttled | Unavailable} */
  async read(name: string, strong: boolean): Promise<Group | undefined> {
    const command = new GetItemCommand({ TableName: this.#table, Key: key(groupKey(name)), ConsistentRead: strong });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? undefined : toGroup(name, Item);
  }

  /** Makes a group and its entry. @returns false when the name is taken: read it. @throws {WriteFailed} */
  async create(group: Group): Promise<boolean> {
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        {
          Put: {
            TableName: this.#table,
            Item: groupItem(group),
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        },
        {
          Put: {
            TableName: this.#table,
            Item: groupEntryItem(group),
          },
        },
      ],
    });
    const { isDone, anyUnanswered } = await transact(this.#dynamodb, command);
    return isDone || (anyUnanswered && (await this.read(group.name, true))?.id === group.id);
  }

  /**
   * Claims the check of a group: by one of many who saw the same.
   *
   * @param busyUntil epoch ms; then another may claim it @returns false when the group is no longer as seen
   * @throws {WriteFailed}
   */
  async claim(seen: Group, busyUntil: number): Promise<boolean> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: key(groupKey(seen.name)),
      UpdateExpression: 'SET #checkAt = :busyUntil, #busyUntil = :busyUntil',
      ConditionExpression: `${IS_SEEN} AND ${IS_UNMARKED}`,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ...seenValues(seen),
        ':seenCheckAt': { N: String(seen.checkAt) },
        ':busyUntil': { N: String(busyUntil) },
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const attempts = new WriteAttempts(command);
    try {
      await attempts.outcome(this.#dynamodb.send(command));
      return true;
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      if (error.Item === undefined) return false;
      const found = toGroup(seen.name, error.Item);
      // Somebody else's claim may look like mine; only after an attempt without an answer may it be mine.
      return attempts.anyUnanswered && isClaimed(found, seen, busyUntil);
    }
  }

  /** Has the next poll check the group. One that is due already, or gone, is left alone. @throws {WriteFailed} */
  async markDue({ name, id }: GroupId, now: number): Promise<void> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: key(groupKey(name)),
      UpdateExpression: 'SET #checkAt = :now',
      ConditionExpression: `${KNOWN_LAYOUT} AND id = :id AND #checkAt > :now`,
      ExpressionAttributeNames: { '#checkAt': NAMES['#checkAt'] },
      ExpressionAttributeValues: { ':id': { S: id }, ':now': { N: String(now) }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /**
   * Ends a check: what it found holds from now on.
   *
   * @param seen the group as claimed @param checkAt epoch ms of the next check
   * @returns `left due`: somebody marked it meanwhile, and its next poll checks it again; `lost`: the claim is another's
   *   by now, or the group is gone: nothing was written
   * @throws {WriteFailed}
   */
  async finish(seen: Group, version: number, checkAt: number): Promise<'done' | 'left due' | 'lost'> {
    if (await this.#finish(seen, version, checkAt)) return 'done';
    return (await this.#finish(seen, version)) ? 'left due' : 'lost';
  }

  /** @param checkAt absent: it stays what somebody marked it to */
  async #finish(seen: Group, version: number, checkAt?: number): Promise<boolean> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: key(groupKey(seen.name)),
      UpdateExpression: `SET #version = :version, #busyUntil = :nobody${checkAt === undefined ? '' : ', #checkAt = :checkAt'}`,
      ConditionExpression: `${IS_SEEN} AND ${checkAt === undefined ? '#checkAt < :seenCheckAt' : IS_UNMARKED}`,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ...seenValues(seen),
        ':seenCheckAt': { N: String(seen.checkAt) },
        ':version': { N: String(version) },
        ':nobody': { N: '0' },
        ...(checkAt === undefined ? {} : { ':checkAt': { N: String(checkAt) } }),
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const attempts = new WriteAttempts(command);
    try {
      await attempts.outcome(this.#dynamodb.send(command));
      return true;
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      if (error.Item === undefined) return false;
      const found = toGroup(seen.name, error.Item);
      const isWritten = found.id === seen.id && found.version === version && found.busyUntil === 0;
      return attempts.anyUnanswered && isWritten && (checkAt === undefined || found.checkAt === checkAt);
    }
  }

  /** Live groups by name. @throws {Throttled | Unavailable} */
  async list(limit: number, after?: string): Promise<Page<GroupEntry>> {
    const query = { pk: GROUPS, limit, ...(after === undefined ? {} : { after }), read: toEntry };
    return queryPage(this.#dynamodb, this.#table, query);
  }

  /**
   * Takes the name off a group, which is no subscription's, and lists it as deleted, in one step: nothing is ever lost between the two.
   *
   * @param at epoch ms @returns false when the group is no longer this incarnation @throws {WriteFailed}
   */
  async delete({ name, id }: GroupId, at: number): Promise<boolean> {
    const isThis = {
      ConditionExpression: `${KNOWN_LAYOUT} AND id = :id AND attribute_not_exists(subscription)`,
      ExpressionAttributeValues: { ':id': { S: id }, ...KNOWN_VERSION },
    };
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        { Delete: { TableName: this.#table, Key: key(groupKey(name)), ...isThis } },
        { Delete: { TableName: this.#table, Key: key(groupEntryKey(name)), ...isThis } },
        {
          Put: {
            TableName: this.#table,
            Item: deletedGroupItem({ name, id }, at),
          },
        },
      ],
    });
    const { isDone, anyUnanswered } = await transact(this.#dynamodb, command);
    return isDone || (anyUnanswered && (await this.#isDeleted(id)));
  }

  /** Groups that are being purged, by id; as they were a moment ago, perhaps. @throws {Throttled | Unavailable} */
  async listDeleted(limit: number): Promise<readonly DeletedGroup[]> {
    const query = { pk: DELETED_GROUPS, limit, weak: true, read: toDeleted };
    return (await queryPage(this.#dynamodb, this.#table, query)).items;
  }

  /** Forgets a deleted group of which nothing is left. @throws {WriteFailed} */
  async forget(groupId: string): Promise<void> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: key(deletedGroupKey(groupId)),
      ConditionExpression: KNOWN_LAYOUT,
      ExpressionAttributeValues: KNOWN_VERSION,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  async #isDeleted(groupId: string): Promise<boolean> {
    const command = new GetItemCommand({
      TableName: this.#table,
      Key: key(deletedGroupKey(groupId)),
      ConsistentRead: true,
    });
    return (await readOutcome(this.#dynamodb.send(command))).Item !== undefined;
  }
}

function key({ pk, sk }: StateKey): Item {
  return { pk: { S: pk }, sk: { S: sk } };
}

function seenValues({ id, version, busyUntil }: Group): Item {
  return {
    ':id': { S: id },
    ':seenVersion': { N: String(version) },
    ':seenBusyUntil': { N: String(busyUntil) },
    ...KNOWN_VERSION,
  };
}

function isClaimed(found: Group, seen: Group, busyUntil: number): boolean {
  const isMine = found.id === seen.id && found.version === seen.version && found.busyUntil === busyUntil;
  return isMine && found.checkAt === busyUntil;
}

function toEntry(item: Item): GroupEntry {
  refuseUnknownLayout(item);
  return { name: item.sk!.S!, id: item.id!.S!, createdAt: Number(item.createdAt!.N) };
}

function toDeleted(item: Item): DeletedGroup {
  refuseUnknownLayout(item);
  return { name: item.name!.S!, id: item.sk!.S!, at: Number(item.at!.N) };
}
