import type { OpenedLetter } from '../../../shared/domain/dead-letter.ts';
import type { DeliveryRecord } from '../../../shared/domain/delivery.ts';
import { type BatchSlot, baseOf } from '../../../shared/domain/slot.ts';
import type { CallRoom, DeliverySink } from '../../../shared/operations/deliver-ports.ts';
import { laneOf } from '../../../shared/wire/lane-of.ts';
import { bytesOf, recordsOf } from '../simulator/mirror.ts';

/** The record that a dead letter of the simulation keeps. */
export function openLetter(value: Uint8Array, offset: number, keys: number): OpenedLetter {
  const text = keyOf(recordsOf(value)[0]!, keys);
  const key = text === null ? null : Buffer.from(text);
  const record = { offset, timestamp: 0, key, value, headers: [] };
  return { record, ...(key !== null && { lane: laneOf(key) }) };
}

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

/** Records that a lane reads through at once. */
const PAGE = 1_000;

/** The key of a record, one of so many, as follows from its id; some have none. */
export function keyOf(record: string, keys: number): string | null {
  const hash = hashOf(`${record}'s key`);
  return hash % 13 === 0 ? null : `key${hash % keys}`;
}

/** The ids of one call's records. Each counts as one byte. */
export class CallSink implements DeliverySink {
  readonly records: DeliveryRecord[] = [];
  readonly passed: { readonly offset: number; readonly lane: string }[] = [];
  unreadable: DeliverySink['unreadable'];
  readonly #room: CallRoom;
  readonly #filter: string | undefined;
  readonly #keys: number;
  readonly #kept = new Map<number, { readonly id: string; readonly slot: BatchSlot }>();
  #isFull = false;

  /** @param keys how many there are */
  constructor(room: CallRoom, filter: string | undefined, keys: number) {
    this.#room = room;
    this.#filter = filter;
    this.#keys = keys;
  }

  isFull(): boolean {
    return this.#isFull || this.records.length >= this.#room.records;
  }

  room() {
    const records = this.#room.lane === undefined ? this.#room.records - this.records.length : PAGE;
    return { records, bytes: this.#room.bytes, partly: true };
  }

  uploadsToLink(): [] {
    return [];
  }

  take(slot: BatchSlot, from: number): number {
    if (this.#isEnd(from)) {
      this.#isFull = true;
      return from;
    }
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
      this.#kept.set(offset, { id, slot });
      const name = keyOf(id, this.#keys);
      const key = name === null ? null : Buffer.from(name);
      if (!this.#isWanted(key, offset, id)) continue;
      this.records.push({ offset, timestamp: slot.at, key, value: bytesOf([id]), headers: [] });
    }
    if (this.#isEnd(offset)) this.#isFull = true;
    return offset;
  }

  #isWanted(key: Uint8Array | null, offset: number, id: string): boolean {
    const lane = key === null ? undefined : laneOf(key);
    if (this.#room.lane !== undefined && lane !== this.#room.lane) return false;
    if (!passes(this.#filter, id)) return false;
    if (lane === undefined || this.#room.lane !== undefined || !this.#room.parked?.has(lane)) return true;
    this.passed.push({ offset, lane });
    return false;
  }

  laneOf(key: Uint8Array): string {
    return laneOf(key);
  }

  life(offset: number): { readonly since: number; readonly until?: number } {
    const { at, expiresAt } = this.#kept.get(offset)!.slot;
    return { since: at, ...(expiresAt > 0 && { until: expiresAt * 1_000 }) };
  }

  #isEnd(offset: number): boolean {
    return this.#room.end !== undefined && offset >= this.#room.end;
  }

  keep(offset: number): Uint8Array {
    return bytesOf([this.#kept.get(offset)?.id ?? 'unreadable']);
  }
}
