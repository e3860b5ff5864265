import type { DeliveryRecord } from '../domain/delivery.ts';
import type { Filter } from '../domain/filter.ts';
import { type FilteredRecord, filterView } from '../domain/filter-view.ts';
import { PUSH_PAGE_RECORDS } from '../domain/limits.ts';
import type { Room } from '../domain/room.ts';
import { type BatchSlot, baseOf } from '../domain/slot.ts';
import type { UploadId } from '../domain/upload.ts';
import { encodeKeptRecord } from './dead-letter-record.ts';
import { laneOf } from './lane-of.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { decodeRecordBatch } from './record-batch.ts';
import { uploadPayload } from './upload-value.ts';

export interface DeliveryRoom {
  readonly records: number;
  /** Of keys, values and headers. The first record is taken whatever its size. */
  readonly bytes: number;
  /** Offset that is not to be reached; absent: none. */
  readonly end?: number;
  /** Records of keys with these lanes are passed over. */
  readonly parked?: ReadonlySet<string>;
  /** Only records of keys with this lane are taken: it is read through what others hold, so there is room for no less. */
  readonly lane?: string;
}

const NO_URLS: ReadonlyMap<number, string> = new Map();

/** The records of one partition, or of one lane, that are pushed in one call: those that the filter lets through. */
export class DeliveryPart {
  readonly records: DeliveryRecord[] = [];
  /** A record that cannot be read, where it comes first. */
  unreadable: { readonly offset: number; readonly reason: 'payload_missing' | 'payload_corrupt' } | undefined;
  readonly #room: DeliveryRoom;
  readonly #filter: Filter | undefined;
  /** What was passed over for its key is parked. */
  readonly passed: { readonly offset: number; readonly lane: string }[] = [];
  readonly #slots: BatchSlot[] = [];
  #bytes = 0;
  #looked = 0;
  #isFull = false;

  constructor(room: DeliveryRoom, filter?: Filter) {
    this.#room = room;
    this.#filter = filter;
  }

  isFull(): boolean {
    return this.#isFull || this.records.length >= this.#room.records || this.#looked >= PUSH_PAGE_RECORDS;
  }

  room(): Room {
    if (this.#room.lane !== undefined) return { records: PUSH_PAGE_RECORDS, bytes: this.#room.bytes, partly: true };
    return { records: this.#room.records - this.records.length, bytes: this.#room.bytes - this.#bytes, partly: true };
  }

  uploadsToLink(slot: BatchSlot, from: number): readonly [number, UploadId][] {
    const first = from - baseOf(slot);
    const count = this.#room.records - this.records.length;
    return [...(slot.uploads ?? [])].filter(([position]) => position >= first).slice(0, count);
  }

  take(slot: BatchSlot, from: number, urls = NO_URLS): number {
    if (this.#isEnd(from)) {
      this.#isFull = true;
      return from;
    }
    const records = this.#decode(slot);
    if (typeof records === 'string') {
      // What was taken before goes first; then this one alone.
      if (this.records.length === 0) this.unreadable = { offset: from, reason: records };
      this.#slots.push(slot);
      this.#isFull = true;
      return from;
    }
    this.#slots.push(slot);
    const base = baseOf(slot);
    let offset = from;
    while (offset <= slot.last && !this.isFull() && this.#take(slot, records[offset - base]!, offset, urls)) offset++;
    if (this.#isEnd(offset)) this.#isFull = true;
    return offset;
  }

  /** The record at an offset that was taken, or could not be read, as dead letters keep it. */
  keep(offset: number): Uint8Array {
    return encodeKeptRecord(this.#slotOf(offset), offset);
  }

  /** Since when the log keeps a record that was taken, and how long: epoch ms; `until` absent: for ever. */
  life(offset: number): { readonly since: number; readonly until?: number } {
    const { at, expiresAt } = this.#slotOf(offset);
    return { since: at, ...(expiresAt > 0 && { until: expiresAt * 1_000 }) };
  }

  /** The lane of a record's key. */
  laneOf(key: Uint8Array): string {
    return laneOf(key);
  }

  #slotOf(offset: number): BatchSlot {
    return this.#slots.find((slot) => offset >= baseOf(slot) && offset <= slot.last)!;
  }

  /** @returns whether it was taken, or is not for this call */
  #take(
    slot: BatchSlot,
    record: ReturnType<typeof decodeRecordBatch>[number],
    offset: number,
    urls: ReadonlyMap<number, string>,
  ): boolean {
    if (this.#isEnd(offset)) {
      this.#isFull = true;
      return false;
    }
    const { key, value, headers, timestamp } = record;
    const position = offset - baseOf(slot);
    const upload = slot.uploads?.has(position) ?? false;
    if (!this.#isWanted({ key, value, headers, upload }, offset)) {
      this.#looked += 1;
      return true;
    }
    const url = urls.get(position);
    const bytes = sizeOf(record);
    const fits = this.records.length === 0 || this.#bytes + bytes <= this.#room.bytes;
    if (!fits || (upload && url === undefined)) {
      this.#isFull = true;
      return false;
    }
    const link = url === undefined ? undefined : { ...uploadPayload(value!), url };
    this.records.push({
      offset,
      timestamp,
      key,
      value: link ? null : value,
      headers,
      json: slot.json,
      ...(link && { link }),
    });
    this.#bytes += bytes;
    this.#looked += 1;
    return true;
  }

  /** What lay before the end may have expired, and the next record lie behind it. */
  #isEnd(offset: number): boolean {
    return this.#room.end !== undefined && offset >= this.#room.end;
  }

  #isWanted(record: FilteredRecord, offset: number): boolean {
    const { lane: only, parked } = this.#room;
    const isKeyed = record.key !== null && (only !== undefined || (parked !== undefined && parked.size > 0));
    const lane = isKeyed ? laneOf(record.key) : undefined;
    if (only !== undefined && lane !== only) return false;
    if (!this.#accepts(record)) return false;
    if (lane === undefined || only !== undefined || !parked?.has(lane)) return true;
    this.passed.push({ offset, lane });
    return false;
  }

  #accepts(record: FilteredRecord): boolean {
    return this.#filter === undefined || this.#filter.matches(filterView(record));
  }

  #decode(slot: BatchSlot): ReturnType<typeof decodeRecordBatch> | 'payload_missing' | 'payload_corrupt' {
    if (slot.unreadable !== undefined) return slot.unreadable;
    try {
      const records = decodeRecordBatch(slot.batch, 0);
      if (records.length !== slot.count) return 'payload_corrupt';
      for (const [position] of slot.uploads ?? []) uploadPayload(records[position]!.value ?? new Uint8Array());
      return records;
    } catch (error) {
      if (error instanceof PayloadCorrupt) return 'payload_corrupt';
      throw error;
    }
  }
}

function sizeOf({ key, value, headers }: Pick<DeliveryRecord, 'key' | 'value' | 'headers'>): number {
  let bytes = (key?.length ?? 0) + (value?.length ?? 0);
  for (const header of headers) bytes += Buffer.byteLength(header.name) + (header.value?.length ?? 0);
  return bytes;
}
