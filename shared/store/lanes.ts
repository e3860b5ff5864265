import { type TransactWriteItem, TransactWriteItemsCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import type { Lane, LaneId } from '../domain/lane.ts';
import type { PositionId } from '../domain/position.ts';
import type { Subscriber } from '../domain/wake-up.ts';
import { type DynamoDB, WriteAttempts, whetherWritten } from './dynamo.ts';
import { itemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, lanesKey, positionKey } from './keys.ts';
import { pendingItem } from './pending.ts';
import { pushToMap, toAttributes, toLaneSet, toPosition } from './position-item.ts';
import { removeLane, unmarkLane } from './position-lanes.ts';
import type { Positions } from './positions.ts';
import type { PushStep } from './push-positions.ts';
import { queryAll } from './state-query.ts';
import { transact } from './transact.ts';

/** Who holds a position, or a lane. */
interface Owner {
  readonly owner: string;
  readonly epoch: number;
}

/** What an owner makes of a position that it keeps. */
type OwnerStep = PushStep & { readonly until: number };

const NAMES = {
  ...{ '#epoch': 'epoch', '#owner': 'owner', '#until': 'until' },
  ...{ '#committed': 'committed', '#push': 'push', '#parked': 'parked' },
};
const MINE = `${KNOWN_LAYOUT} AND #epoch = :epoch AND #owner = :owner`;

/**
 * The lanes of parked keys. There is one exactly while its partition's position passes the key over: both are written in
 * one transaction, with the mark by which the sweep finds the lane.
 */
export class Lanes {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;
  readonly #positions: Pick<Positions, 'read'>;

  constructor(dynamodb: DynamoDB, table: string, positions: Pick<Positions, 'read'>) {
    this.#dynamodb = dynamodb;
    this.#table = table;
    this.#positions = positions;
  }

  /** Of one partition, as some replica has them. @throws {Throttled | Unavailable} */
  async list(position: PositionId): Promise<readonly (Lane & { readonly lane: string })[]> {
    return queryAll(this.#dynamodb, this.#table, {
      pk: lanesKey(position),
      weak: true,
      read: (item) => ({ ...(toPosition(item) as Lane), lane: item.sk!.S! }),
    });
  }

  /**
   * Has a position go on without a key: six write units.
   *
   * @param by whose the position is, and stays
   * @returns false: it is no longer its owner's, and nothing was written @throws {WriteFailed}
   */
  async park(to: Subscriber, id: LaneId, by: Owner, step: OwnerStep, lane: Lane): Promise<boolean> {
    const { topicId, partition } = id;
    const mark = pendingItem({ to, topicId, partition, lane: id.lane, dueAt: lane.about.parkedAt });
    return this.#move(id, 'ADD', by, step, [
      { Put: { TableName: this.#table, Item: { ...itemKey(positionKey(id)), ...toAttributes(lane) } } },
      { Put: { TableName: this.#table, Item: mark } },
    ]);
  }

  /**
   * Has a position take a key back, and removes its lane: six write units.
   *
   * @param by whose the position is, and stays @param lane whose the lane is
   * @returns false: one of both is no longer its owner's, and nothing was written @throws {WriteFailed}
   */
  async handBack(id: LaneId, by: Owner, step: OwnerStep, lane: Owner): Promise<boolean> {
    return this.#move(id, 'DELETE', by, step, [
      {
        Delete: {
          TableName: this.#table,
          Key: itemKey(positionKey(id)),
          ConditionExpression: MINE,
          ExpressionAttributeNames: { '#epoch': 'epoch', '#owner': 'owner' },
          ExpressionAttributeValues: mine(lane),
        },
      },
      unmarkLane(this.#table, id),
    ]);
  }

  /** A step of a position by which the keys change that it passes over. */
  async #move(id: LaneId, act: 'ADD' | 'DELETE', by: Owner, step: OwnerStep, lane: TransactWriteItem[]) {
    const { group, topicId, partition } = id;
    const position = { group, topicId, partition };
    const Update = {
      TableName: this.#table,
      Key: itemKey(positionKey(position)),
      UpdateExpression: `SET #committed = :committed, #epoch = :next, #until = :until, #push = :push ${act} #parked :lane`,
      // A record that is to be parked is settled by nobody: whoever was called may have done it.
      ConditionExpression: `${MINE} AND #committed ${act === 'ADD' ? '<' : '<='} :committed`,
      ExpressionAttributeNames: NAMES,
      ExpressionAttributeValues: {
        ...mine(by),
        ':committed': { N: String(step.committed) },
        ':next': { N: String(step.epoch) },
        ':until': { N: String(step.until) },
        ':push': pushToMap(step.push),
        ':lane': toLaneSet([id.lane]),
      },
    };
    const command = new TransactWriteItemsCommand({ TransactItems: [{ Update }, ...lane] });
    const { isDone, anyUnanswered } = await transact(this.#dynamodb, command);
    if (isDone || !anyUnanswered) return isDone;
    const met = await this.#positions.read(position);
    return met?.owner === by.owner && met.epoch === step.epoch;
  }

  /** Has the record that a lane is at be a dead letter, should it fail again. @returns false: it is past it @throws {WriteFailed} */
  async giveUp(id: LaneId, offset: number): Promise<boolean> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(positionKey(id)),
      UpdateExpression: 'SET giveUp = :offset',
      ConditionExpression: `${KNOWN_LAYOUT} AND #committed = :offset`,
      ExpressionAttributeNames: { '#committed': 'committed' },
      ExpressionAttributeValues: { ':offset': { N: String(offset) }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    return whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /**
   * Removes a lane that no position passes its key over for any more, with its mark, unless the key was parked anew.
   *
   * @param parkedAt as it was seen @throws {WriteFailed}
   */
  async remove(id: LaneId, parkedAt: number): Promise<void> {
    const TransactItems = [removeLane(this.#table, id), unmarkLane(this.#table, id, parkedAt)];
    await transact(this.#dynamodb, new TransactWriteItemsCommand({ TransactItems }));
  }
}

function mine({ owner, epoch }: Owner) {
  return { ':epoch': { N: String(epoch) }, ':owner': { S: owner }, ...KNOWN_VERSION };
}
