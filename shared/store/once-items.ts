import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import type { PositionId } from '../domain/position.ts';
import { type Item, itemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, LAYOUT_VERSION, positionKey, refuseUnknownLayout } from './keys.ts';
import { doneKey } from './once-keys.ts';

/** A record in the hands of whoever owns its position. */
export interface OwnedRecord {
  readonly position: PositionId;
  /** By which it is owned: no epoch has two owners. */
  readonly epoch: number;
  readonly offset: number;
}

const NAMES = { '#epoch': 'epoch', '#owner': 'owner' };
const OWNED = `${KNOWN_LAYOUT} AND #epoch = :epoch AND attribute_exists(#owner)`;

/** Says that a record is processed, for others who process it: put if it is absent. @param expiresAt epoch s, 0: never */
export function markDone(
  table: string,
  { position, offset }: OwnedRecord,
  now: number,
  expiresAt: number,
): TransactWriteItem {
  return {
    Put: {
      TableName: table,
      Item: {
        ...itemKey(doneKey(position, offset)),
        v: { N: LAYOUT_VERSION },
        at: { N: String(now) },
        ...(expiresAt === 0 ? {} : { expiresAt: { N: String(expiresAt) } }),
      },
      ConditionExpression: 'attribute_not_exists(pk)',
    },
  };
}

/** The position is still its owner's, and where the record is next, it is passed. */
export function moveBehind(table: string, { position, epoch, offset }: OwnedRecord): TransactWriteItem {
  return {
    Update: {
      TableName: table,
      Key: itemKey(positionKey(position)),
      UpdateExpression: 'SET #committed = :next',
      ConditionExpression: `${OWNED} AND #committed = :offset`,
      ExpressionAttributeNames: { ...NAMES, '#committed': 'committed' },
      ExpressionAttributeValues: {
        ':epoch': { N: String(epoch) },
        ':offset': { N: String(offset) },
        ':next': { N: String(offset + 1) },
        ...KNOWN_VERSION,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
}

/**
 * The position is still its owner's, and the record not settled by others.
 * @param isRedriven it was taken back from the dead letters: the position has passed it long ago
 */
export function checkOwned(
  table: string,
  { position, epoch, offset }: OwnedRecord,
  isRedriven: boolean,
): TransactWriteItem {
  return {
    ConditionCheck: {
      TableName: table,
      Key: itemKey(positionKey(position)),
      ConditionExpression: isRedriven ? OWNED : `${OWNED} AND #committed <= :offset`,
      ExpressionAttributeNames: isRedriven ? NAMES : { ...NAMES, '#committed': 'committed' },
      ExpressionAttributeValues: {
        ':epoch': { N: String(epoch) },
        ...(isRedriven ? {} : { ':offset': { N: String(offset) } }),
        ...KNOWN_VERSION,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    },
  };
}

/** What stands in a position. @returns undefined for none @throws {UnknownLayout} */
export function readOwned(item: Item | undefined): { epoch: number; committed: number; isOwned: boolean } | undefined {
  if (item === undefined || Object.keys(item).length === 0) return undefined;
  refuseUnknownLayout(item);
  return { epoch: Number(item.epoch!.N), committed: Number(item.committed!.N), isOwned: item.owner !== undefined };
}
