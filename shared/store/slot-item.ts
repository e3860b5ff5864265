import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Slot } from '../domain/slot.ts';
import { decodePrevious } from './reservation-layout.ts';

const NOTHING = new Uint8Array(0);

/**
 * A slot from its item in the Log table; one that was read in outline has an empty batch.
 *
 * @throws {Error} when the item is no slot: the table was written by something else
 */
export function readSlot(item: Record<string, AttributeValue>): Slot {
  const at = number(item, 'at');
  const outline = {
    last: number(item, 'last'),
    count: number(item, 'count'),
    at,
    previous: decodePrevious(item.previous?.B ?? NOTHING, at),
    expiresAt: item.expiresAt === undefined ? 0 : number(item, 'expiresAt'),
  };
  if (item.void?.BOOL === true) return { kind: 'void', ...outline, reservedBy: number(item, 'reservedBy') };
  return {
    kind: 'batch',
    ...outline,
    append: Buffer.from(item.append?.B ?? NOTHING).toString('hex'),
    batch: item.batch?.B ?? NOTHING,
    json: item.json?.BOOL === true,
  };
}

function number(item: Record<string, AttributeValue>, name: string): number {
  const value = Number(item[name]?.N);
  if (!Number.isSafeInteger(value)) throw new Error(`slot ${item.log?.S} ${item.last?.N} has no valid '${name}'`);
  return value;
}
