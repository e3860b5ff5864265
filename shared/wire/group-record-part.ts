import { INFLATED_BATCH_BYTES_MAX } from '../domain/limits.ts';
import type { Room as StoredRoom } from '../domain/room.ts';
import { type BatchSlot, baseOf } from '../domain/slot.ts';
import type { UploadId } from '../domain/upload.ts';
import { DEFLATE_FACTOR_MAX } from './gunzip.ts';
import { ANSWER_BODY_BYTES_MAX, ESCAPED_BODY_BYTES_MAX, escapedBytes } from './http-answer.ts';
import { LINK_BYTES_MIN, leastBytes, linksOf, RECORD_ROOM_BYTES } from './json-fetch-answer.ts';
import { JsonWriter } from './json-writer.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { RecordJson, type ValueForm } from './record-json.ts';
import { openBatch, type RecordSpans } from './record-spans.ts';

/** How much may be taken in all. */
export interface Room {
  readonly records: number;
  /** Of the encoded records, separators included. */
  readonly bytes: number;
}

/** What the parts of one answer share. */
export interface SharedRoom {
  /** Bytes that batches have inflated to so far: bounds the time and memory of one answer. */
  inflated: number;
  /** Records taken so far. */
  count: number;
  /** Bytes around the records at the very most. */
  readonly envelopeBytes: number;
}

interface OpenedBatch {
  readonly records: RecordSpans;
  /** What is shown in place of values that are uploads, by place in the batch. */
  readonly links: ReadonlyMap<number, Uint8Array>;
}

const COMMA = 0x2c;
const NO_URLS: ReadonlyMap<number, string> = new Map();

/** The records of one partition, as JSON: each begins with a comma and says of which partition it is. */
export class RecordPart {
  readonly topic: string;
  readonly partition: number;
  readonly #writer = new JsonWriter();
  readonly #json: RecordJson;
  readonly #shared: SharedRoom;
  /** `,{"topic":"orders","partition":3`: what stands before each record's own fields. */
  readonly #before: Buffer;
  #room: Room;
  #orFirst = false;
  #count = 0;
  /** Bytes of the stored batches that it took from. */
  #stored = 0;

  /** @param more what else stands before each record's own fields */
  constructor(
    of: { topic: string; partition: number },
    room: Room,
    values: ValueForm,
    shared: SharedRoom,
    more: object = {},
  ) {
    this.topic = of.topic;
    this.partition = of.partition;
    const { topic, partition } = of;
    this.#before = Buffer.from(`,${JSON.stringify({ topic, partition, ...more }).slice(0, -1)}`);
    this.#json = new RecordJson(this.#writer, values);
    this.#room = room;
    this.#shared = shared;
  }

  get count(): number {
    return this.#count;
  }

  get bytes(): number {
    return this.#writer.length;
  }

  /** A view, good until the next record is taken. */
  written(): Buffer {
    return this.#writer.written();
  }

  /**
   * Sets its room anew, what is in it included.
   * @param orFirst while it is empty it takes one record whatever its size, as a fetch does
   */
  widen(room: Room, orFirst = false): void {
    this.#room = room;
    this.#orFirst = orFirst;
  }

  isFull(): boolean {
    const { inflated, count } = this.#shared;
    return this.#count >= this.#room.records || (count > 0 && inflated >= INFLATED_BATCH_BYTES_MAX);
  }

  /** Bytes by how much became of those before; at first, no fewer than are stored. */
  room(): StoredRoom {
    const perByte = this.#stored > 0 && this.bytes > this.#stored ? this.#stored / this.bytes : 1;
    return {
      records: this.#room.records - this.#count,
      bytes: (this.#room.bytes - this.bytes) * perByte,
      partly: true,
    };
  }

  /** As many as may fit, and at least one. */
  uploadsToLink(slot: BatchSlot, from: number): readonly [number, UploadId][] {
    const records = this.#room.records - this.#count;
    const links = Math.max(1, Math.floor((this.#room.bytes - this.bytes) / LINK_BYTES_MIN));
    const first = from - baseOf(slot);
    return [...(slot.uploads ?? [])]
      .filter(([position]) => position >= first && position < first + records)
      .slice(0, links);
  }

  /** Records of a batch that is damaged come as errors, each at its offset, so that the reader can go on. */
  take(slot: BatchSlot, from: number, urls: ReadonlyMap<number, string> = NO_URLS): number {
    if (this.isFull()) return from;
    const batch = this.#open(slot, urls);
    const base = baseOf(slot);
    let offset = from;
    while (offset <= slot.last && this.#count < this.#room.records) {
      const link = batch?.links.get(offset - base);
      if (batch !== undefined && link === undefined && slot.uploads?.has(offset - base)) break; // no room for a link
      const write = batch
        ? (force?: 'base64') => this.#json.record(batch.records, offset - base, offset, link ?? slot.json, force)
        : () => this.#json.error(offset, slot.unreadable ?? 'payload_corrupt');
      if (!this.#take(write, batch ? leastBytes(batch.records, offset - base) : 0, offset)) break;
      offset++;
    }
    return offset;
  }

  /** @returns undefined when the batch is damaged */
  #open(slot: BatchSlot, urls: ReadonlyMap<number, string>): OpenedBatch | undefined {
    if (slot.unreadable !== undefined) return undefined;
    try {
      const records = openBatch(slot.batch);
      if (records.count !== slot.count) {
        throw new PayloadCorrupt(`${records.count} records lie in a slot of ${slot.count}`);
      }
      this.#shared.inflated += records.data.length;
      this.#stored += slot.batch.length;
      const wanted = records.data.length + slot.count * (RECORD_ROOM_BYTES + this.#before.length);
      this.#writer.reserve(Math.min(Math.max(this.#room.bytes - this.bytes, 0), wanted));
      return { records, links: linksOf(records, urls) };
    } catch (error) {
      if (!(error instanceof PayloadCorrupt)) throw error;
      this.#shared.inflated += slot.batch.length * DEFLATE_FACTOR_MAX; // it may have cost as much before it failed
      return undefined;
    }
  }

  /** @returns whether the record was written: it was not when there is no room */
  #take(write: (force?: 'base64') => void, least: number, offset: number): boolean {
    const start = this.bytes;
    const whateverItsSize = this.#orFirst && this.#count === 0;
    if (whateverItsSize) this.#writeFirst(write, least, offset);
    else {
      if (start + least > this.#room.bytes) return false;
      this.#write(write);
      if (this.bytes > this.#room.bytes) {
        this.#writer.length = start;
        return false;
      }
    }
    this.#count++;
    this.#shared.count++;
    return true;
  }

  /** In the form asked for; in base64 when that alone fits a function's answer; as an error when nothing does. */
  #writeFirst(write: (force?: 'base64') => void, least: number, offset: number): void {
    for (const force of least <= ESCAPED_BODY_BYTES_MAX ? [undefined, 'base64' as const] : []) {
      this.#write(() => write(force));
      if (this.#fitsAnAnswer()) return;
      this.#writer.length = 0;
    }
    this.#write(() => this.#json.error(offset, 'record_too_large'));
  }

  /** A record's own text begins with a brace: what stands before it has one already. */
  #write(write: () => void): void {
    this.#writer.piece(this.#before);
    const brace = this.bytes;
    write();
    this.#writer.written()[brace] = COMMA;
  }

  /** As base64 whatever is in it, or as a text, in which `"`, `\\` and line ends take two bytes. */
  #fitsAnAnswer(): boolean {
    const { envelopeBytes } = this.#shared;
    if (this.bytes + envelopeBytes <= ANSWER_BODY_BYTES_MAX) return true;
    if (this.bytes > ESCAPED_BODY_BYTES_MAX) return false;
    return escapedBytes(this.written()) + 2 * envelopeBytes <= ESCAPED_BODY_BYTES_MAX;
  }
}
