import type { DeliveryRecord } from '../../../shared/domain/delivery.ts';
import { type BatchSlot, baseOf } from '../../../shared/domain/slot.ts';
import type { CallRoom, DeliverySink } from '../../../shared/operations/deliver-ports.ts';
import { bytesOf, recordsOf } from '../simulator/mirror.ts';

/** A filter of the simulation, as JSON: lets all but every `every`th record through, by what its id looks like. */
export function passes(filter: string | undefined, record: string): boolean {
  if (filter === undefined) return true;
  const { every } = JSON.parse(filter) as { every: number };
  return hashOf(record) % every !== 0;
}

/** A small number that looks random and follows from a record's id. */
export function hashOf(record: string): number {
  let hash = 7;
  for (const letter of record) hash = (hash * 31 + letter.charCodeAt(0)) % 100_003;
  return hash;
}

/** The ids of one call's records. Each counts as one byte. */
export class CallSink implements DeliverySink {
  readonly records: DeliveryRecord[] = [];
  unreadable: DeliverySink['unreadable'];
  readonly #room: CallRoom;
  readonly #filter: string | undefined;
  readonly #kept = new Map<number, string>();
  #isFull = false;

  constructor(room: CallRoom, filter: string | undefined) {
    this.#room = room;
    this.#filter = filter;
  }

  isFull(): boolean {
    return this.#isFull || this.records.length >= this.#room.records;
  }

  room() {
    return { records: this.#room.records - this.records.length, bytes: this.#room.bytes, partly: true };
  }

  uploadsToLink(): [] {
    return [];
  }

  take(slot: BatchSlot, from: number): number {
    if (slot.unreadable !== undefined) {
      if (this.records.length === 0) this.unreadable = { offset: from, reason: slot.unreadable };
      this.#isFull = true;
      return from;
    }
    const base = baseOf(slot);
    const ids = recordsOf(slot.batch);
    let offset = from;
    for (; offset <= slot.last && !this.isFull(); offset++) {
      if (this.#isEnd(offset)) {
        this.#isFull = true;
        return offset;
      }
      const id = ids[offset - base]!;
      this.#kept.set(offset, id);
      if (!passes(this.#filter, id)) continue;
      this.records.push({ offset, timestamp: slot.at, key: null, value: bytesOf([id]), headers: [] });
    }
    if (this.#isEnd(offset)) this.#isFull = true;
    return offset;
  }

  #isEnd(offset: number): boolean {
    return this.#room.end !== undefined && offset >= this.#room.end;
  }

  keep(offset: number): Uint8Array {
    return bytesOf([this.#kept.get(offset) ?? 'unreadable']);
  }
}
