import db, { type AttributeValue, type Item } from 'dynalite/db/index.js';

/** Sizes of items and what they cost. dynalite counts the characters of text; DynamoDB counts its UTF-8 bytes. */

/** As an answer tells it for one table. */
export interface Capacity {
  readonly CapacityUnits: number;
  readonly Table?: { readonly CapacityUnits: number };
}

/** Bytes of an item as DynamoDB counts them, attribute names included. */
export function itemBytes(item: Item): number {
  return db.itemSize(item) + surplusOfMap(item);
}

/** Write units of a change: 1 per KB of the larger image, at least 1. */
export function writeUnits(before: Item | undefined, after: Item | undefined): number {
  const bytes = Math.max(before ? itemBytes(before) : 0, after ? itemBytes(after) : 0);
  return Math.max(1, Math.ceil(bytes / 1_024));
}

/** Read units: 1 per 4 KB read strongly, half of it otherwise. Items of one Query are added up first. */
export function readUnits(items: readonly Item[], consistent: boolean): number {
  const bytes = items.reduce((sum, item) => sum + itemBytes(item), 0);
  return Math.max(1, Math.ceil(bytes / 4_096)) * (consistent ? 1 : 0.5);
}

/** Puts exact units in the place of dynalite's, if the answer has any. */
export function withUnits<T extends { ConsumedCapacity?: Capacity }>(answer: T, units: () => number): T {
  const told = answer.ConsumedCapacity;
  if (!told) return answer;
  const CapacityUnits = units();
  return { ...answer, ConsumedCapacity: { ...told, CapacityUnits, ...(told.Table && { Table: { CapacityUnits } }) } };
}

/** Bytes beyond one per character. */
function surplusOf(value: AttributeValue): number {
  if (value.S !== undefined) return surplusOfText(value.S);
  if (value.SS) return value.SS.reduce((sum, text) => sum + surplusOfText(text), 0);
  if (value.L) return value.L.reduce((sum, member) => sum + surplusOf(member), 0);
  return value.M ? surplusOfMap(value.M) : 0;
}

function surplusOfMap(item: Item): number {
  return Object.entries(item).reduce((sum, [name, value]) => sum + surplusOfText(name) + surplusOf(value), 0);
}

function surplusOfText(text: string): number {
  return Buffer.byteLength(text) - text.length;
}
