import { DeleteItemCommand, GetItemCommand, TransactWriteItemsCommand } from '@aws-sdk/client-dynamodb';
import type { GroupId } from '../domain/group.ts';
import type { Holder, Position, PositionId } from '../domain/position.ts';
import type { PartitionId } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import { type DynamoDB, isConditionFailed, readOutcome, WriteAttempts } from './dynamo.ts';
import { groupKey, KNOWN_LAYOUT, KNOWN_VERSION, positionKey } from './keys.ts';
import { key, type PositionChange, pushToMap, toAttributes, toPosition, updatePosition } from './position-item.ts';
import { removeLanes } from './position-lanes.ts';
import { transact } from './transact.ts';

/** Times that a position with parked keys is removed anew because others change it at the same time. */
const REMOVALS_MAX = 8;
const NAMES = { '#epoch': 'epoch', '#owner': 'owner' };
const COMMITTED = { '#committed': 'committed', '#metadata': 'metadata' };
const IS_EPOCH = `${KNOWN_LAYOUT} AND #epoch = :epoch`;

/**
 * The positions of groups in the State table, one item each under a key of its own: every write but a creation is one
 * write unit, and requires that the item exists, so that nothing deleted comes back.
 */
export class Positions {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** @param strong else as some replica has it: half a read unit. @throws {Throttled | Unavailable} */
  async read(position: PositionId, strong = true): Promise<Position | undefined> {
    const Key = key(positionKey(position));
    const command = new GetItemCommand({ TableName: this.#table, Key, ConsistentRead: strong });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? undefined : toPosition(Item);
  }

  /** As `createAll`, of one. */
  async create({ group, ...partition }: PositionId, position: Position): Promise<boolean> {
    return this.createAll(group, [{ ...partition, ...position }]);
  }

  /**
   * Makes positions, all or none, if the group is still this incarnation: two write units each, and two.
   * `TRANSACTION_ACTIONS_MAX` − 1 at most. Transactions on one group conflict with each other and with its checks: one
   * for many is better than many.
   *
   * @returns false when one is there already, or the group is gone: read @throws {WriteFailed}
   */
  async createAll(group: GroupId, starts: readonly (PartitionId & Position)[]): Promise<boolean> {
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        {
          ConditionCheck: {
            TableName: this.#table,
            Key: key(groupKey(group.name)),
            ConditionExpression: `${KNOWN_LAYOUT} AND id = :id`,
            ExpressionAttributeValues: { ':id': { S: group.id }, ...KNOWN_VERSION },
          },
        },
        ...starts.map(({ topicId, partition, ...position }) => ({
          Put: {
            TableName: this.#table,
            Item: { ...key(positionKey({ group, topicId, partition })), ...toAttributes(position) },
            ConditionExpression: 'attribute_not_exists(pk)',
          },
        })),
      ],
    });
    return (await transact(this.#dynamodb, command)).isDone;
  }

  /** Makes a session the owner, with a new epoch. @returns false when it is no longer as seen @throws {WriteFailed} */
  async take(position: PositionId, seen: Position, owner: string, epoch: number): Promise<boolean> {
    const met = await this.#update(position, {
      UpdateExpression: 'SET #owner = :owner, #epoch = :next',
      // Its owner may have committed since: whoever takes it goes on where that ended.
      ConditionExpression: `${IS_EPOCH} AND #committed = :seen`,
      ExpressionAttributeNames: { ...NAMES, '#committed': COMMITTED['#committed'] },
      ExpressionAttributeValues: {
        ':epoch': { N: String(seen.epoch) },
        ':seen': { N: String(seen.committed) },
        ':next': { N: String(epoch) },
        ':owner': { S: owner },
        ...KNOWN_VERSION,
      },
    });
    if (met === undefined) return true;
    return met !== 'nothing' && met.owner === owner && met.epoch === epoch;
  }

  /**
   * Moves `committed` on, or leaves it where it is. Metadata belongs to a commit: the next one replaces it, with none if
   * it brings none.
   *
   * @param by `owner` absent: whoever knows the epoch
   * @returns `done`, now or before (a repeated commit); else what stands there: another epoch or owner, or a higher
   *   `committed`; undefined: nothing does
   * @throws {WriteFailed}
   */
  async commit(
    position: PositionId,
    by: Holder,
    offset: number,
    { release = false, metadata }: { readonly release?: boolean; readonly metadata?: string } = {},
  ): Promise<'done' | Position | undefined> {
    const removed = [...(metadata === undefined ? ['#metadata'] : []), ...(release ? ['#owner'] : [])];
    const holds = holding(by);
    const met = await this.#update(position, {
      UpdateExpression: `SET #committed = :offset${metadata === undefined ? '' : ', #metadata = :metadata'}${
        removed.length === 0 ? '' : ` REMOVE ${removed.join(', ')}`
      }`,
      ConditionExpression: `${holds.ConditionExpression} AND #committed <= :offset`,
      ExpressionAttributeNames: {
        ...holds.ExpressionAttributeNames,
        ...COMMITTED,
        ...(release ? { '#owner': NAMES['#owner'] } : {}),
      },
      ExpressionAttributeValues: {
        ...holds.ExpressionAttributeValues,
        ':offset': { N: String(offset) },
        ...(metadata === undefined ? {} : { ':metadata': { S: metadata } }),
      },
    });
    if (met === undefined) return 'done';
    if (met === 'nothing') return undefined;
    // Released with it, or since: no epoch has two owners.
    return met.epoch === by.epoch && met.committed === offset && met.owner === undefined ? 'done' : met;
  }

  /** Gives a position up; one that is no longer mine is left alone. @throws {WriteFailed} */
  async release(position: PositionId, by: Holder): Promise<void> {
    await this.#update(position, { UpdateExpression: 'REMOVE #owner', ...holding(by, true) });
  }

  /**
   * A change by somebody who does not own it: fences whoever does. What a subscription had met there is forgotten, but
   * what `to` keeps of it. Parked keys that it does not keep are parked no more: two write units, and four for each.
   *
   * @param to `epoch`: higher than the one seen; `parked`: as it was seen, or absent
   * @returns false when it is no longer as seen @throws {WriteFailed}
   */
  async change(
    position: PositionId,
    seen: Position,
    to: Omit<Position, 'owner' | 'until' | 'about'>,
  ): Promise<boolean> {
    const { metadata, push } = to;
    const gone = to.parked === undefined ? seen.parked : undefined;
    const set = [...(metadata === undefined ? [] : ['metadata']), ...(push === undefined ? [] : ['push'])];
    const removed = ['owner', 'until', 'push', 'metadata', ...(gone === undefined ? [] : ['parked'])].filter(
      (name) => !set.includes(name),
    );
    const change = {
      UpdateExpression: `SET #epoch = :next, #committed = :to${set.map((name) => `, #${name} = :${name}`).join('')} REMOVE ${removed
        .map((name) => `#${name}`)
        .join(', ')}`,
      // Its owner may have committed under the same epoch since.
      ConditionExpression: `${IS_EPOCH} AND #committed = :seen`,
      ExpressionAttributeNames: {
        ...{ '#epoch': 'epoch', '#committed': 'committed' },
        ...Object.fromEntries([...set, ...removed].map((name) => [`#${name}`, name])),
      },
      ExpressionAttributeValues: {
        ':epoch': { N: String(seen.epoch) },
        ':next': { N: String(to.epoch) },
        ':seen': { N: String(seen.committed) },
        ':to': { N: String(to.committed) },
        ...(metadata === undefined ? {} : { ':metadata': { S: metadata } }),
        ...(push === undefined ? {} : { ':push': pushToMap(push) }),
        ...KNOWN_VERSION,
      },
    };
    if (gone !== undefined) return this.#changeWithLanes(position, change, gone, to);
    const met = await this.#update(position, change);
    return met === undefined || (met !== 'nothing' && isAsChanged(met, to));
  }

  async #changeWithLanes(
    position: PositionId,
    change: Omit<PositionChange, 'UpdateExpression'> & { UpdateExpression: string },
    gone: ReadonlySet<string>,
    to: Omit<Position, 'owner'>,
  ): Promise<boolean> {
    const Update = { TableName: this.#table, Key: key(positionKey(position)), ...change };
    const TransactItems = [{ Update }, ...removeLanes(this.#table, position, gone)];
    const { isDone, anyUnanswered } = await transact(this.#dynamodb, new TransactWriteItemsCommand({ TransactItems }));
    if (isDone || !anyUnanswered) return isDone;
    const met = await this.read(position);
    return met !== undefined && isAsChanged(met, to);
  }

  /** Removes a position whose group or topic is deleted, with the lanes of its parked keys. @throws {WriteFailed} */
  async remove(position: PositionId): Promise<void> {
    let seen = await this.#removeUnparked(position);
    for (let tries = 0; seen !== undefined; tries++, seen = await this.read(position)) {
      if (tries === REMOVALS_MAX) throw new WriteFailed('throttled', false, undefined);
      // Its lanes go with it, and not after it: they may be those of another position by then.
      const Delete = { TableName: this.#table, Key: key(positionKey(position)), ...holding({ epoch: seen.epoch }) };
      const TransactItems = [{ Delete }, ...removeLanes(this.#table, position, seen.parked)];
      if ((await transact(this.#dynamodb, new TransactWriteItemsCommand({ TransactItems }))).isDone) return;
    }
  }

  /** @returns what it is where it passes keys over: then nothing was removed */
  async #removeUnparked(position: PositionId): Promise<Position | undefined> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: key(positionKey(position)),
      ConditionExpression: `${KNOWN_LAYOUT} AND attribute_not_exists(#parked)`,
      ExpressionAttributeNames: { '#parked': 'parked' },
      ExpressionAttributeValues: KNOWN_VERSION,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    try {
      await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
      return undefined;
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      return error.Item === undefined ? undefined : toPosition(error.Item);
    }
  }

  #update(position: PositionId, change: PositionChange): Promise<Position | 'nothing' | undefined> {
    return updatePosition(this.#dynamodb, this.#table, position, change);
  }
}

function isAsChanged(met: Position, to: Omit<Position, 'owner'>): boolean {
  return (
    met.owner === undefined && met.epoch === to.epoch && met.committed === to.committed && met.metadata === to.metadata
  );
}

/** The condition that a position has this epoch and, where told, this owner. */
function holding({ owner, epoch }: Holder, namesOwner = owner !== undefined) {
  return {
    ConditionExpression: owner === undefined ? IS_EPOCH : `${IS_EPOCH} AND #owner = :owner`,
    ExpressionAttributeNames: namesOwner ? NAMES : { '#epoch': NAMES['#epoch'] },
    ExpressionAttributeValues: {
      ':epoch': { N: String(epoch) },
      ...(owner === undefined ? {} : { ':owner': { S: owner } }),
      ...KNOWN_VERSION,
    },
  };
}
