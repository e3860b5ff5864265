import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { LaneId } from '../domain/lane.ts';
import type { PositionId } from '../domain/position.ts';
import { itemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, positionKey } from './keys.ts';
import { pendingKey } from './push-keys.ts';

/** For a transaction: removes a lane, whoever has it. */
export function removeLane(table: string, id: LaneId): TransactWriteItem {
  return { Delete: { TableName: table, Key: itemKey(positionKey(id)), ...IF_KNOWN } };
}

/** For a transaction: removes the mark by which the sweep finds a lane. @param dueAt no other than this one; absent: any */
export function unmarkLane(table: string, id: LaneId, dueAt?: number): TransactWriteItem {
  const is = {
    ConditionExpression: `attribute_not_exists(pk) OR (${KNOWN_LAYOUT} AND dueAt = :seen)`,
    ExpressionAttributeValues: { ...KNOWN_VERSION, ':seen': { N: String(dueAt) } },
  };
  return { Delete: { TableName: table, Key: itemKey(pendingKey(id)), ...(dueAt === undefined ? IF_KNOWN : is) } };
}

/** For a transaction: removes all that is kept of the keys that a position passes over. */
export function removeLanes(table: string, position: PositionId, parked: ReadonlySet<string> = new Set()) {
  return [...parked].flatMap((lane) => {
    const id = { ...position, lane };
    return [removeLane(table, id), unmarkLane(table, id)];
  });
}

const IF_KNOWN = {
  ConditionExpression: `attribute_not_exists(pk) OR ${KNOWN_LAYOUT}`,
  ExpressionAttributeValues: KNOWN_VERSION,
};
