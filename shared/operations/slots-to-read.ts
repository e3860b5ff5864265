import type { Room } from '../domain/room.ts';
import type { BatchSlot, Slot } from '../domain/slot.ts';

/** A quarter and one more than is expected: too few costs another Query, and every KB that a Query reads costs. */
export function withMargin(slots: number): number {
  return slots + Math.ceil(slots / 4) + 1;
}

/** How many slots like these an answer can still take. @returns undefined when they do not tell: there is no batch */
export function slotsLike(slots: readonly Slot[], room: Room): number | undefined {
  const batches = slots.filter((slot) => slot.kind === 'batch');
  if (batches.length === 0) return undefined;
  const records = batches.reduce((sum, { count }) => sum + count, 0);
  const bytes = batches.reduce((sum, slot) => sum + storedBytes(slot), 0);
  return Math.ceil(batches.length * Math.min(room.records / records, room.bytes / bytes));
}

/** Bytes of a slot's batch, wherever they are. */
export function storedBytes({ spilled, batch }: BatchSlot): number {
  return spilled?.size ?? batch.length;
}

/** Whether an answer that is not empty may take records of a slot, all of whose records are wanted. */
export function hasRoom(room: Room, slot: BatchSlot): boolean {
  if (room.partly) return room.records > 0 && room.bytes > 0;
  return slot.count <= room.records && storedBytes(slot) <= room.bytes;
}
