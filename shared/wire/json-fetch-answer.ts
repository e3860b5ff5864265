import { INFLATED_BATCH_BYTES_MAX } from '../domain/limits.ts';
import type { Room } from '../domain/room.ts';
import { type BatchSlot, baseOf } from '../domain/slot.ts';
import type { UploadId } from '../domain/upload.ts';
import type { FetchAnswer, FetchFindings } from './fetch-answer.ts';
import { DEFLATE_FACTOR_MAX } from './gunzip.ts';
import { ANSWER_BODY_BYTES_MAX, type ApiAnswer, ESCAPED_BODY_BYTES_MAX, escapedBytes } from './http-answer.ts';
import { JsonWriter } from './json-writer.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { RecordJson, type ValueForm } from './record-json.ts';
import { openBatch, type RecordSpans } from './record-spans.ts';
import { uploadLink } from './upload-value.ts';

/** Everything around the records: a topic id is a ULID of 26 characters, an offset has 16 digits at most. */
const [BEFORE_BYTES, AFTER_BYTES] = envelope({
  topicId: '0'.repeat(26),
  nextOffset: Number.MAX_SAFE_INTEGER,
  logStartOffset: Number.MAX_SAFE_INTEGER,
  highWatermark: Number.MAX_SAFE_INTEGER,
}).map((part) => part.length) as [number, number];
const ENVELOPE_BYTES = BEFORE_BYTES + AFTER_BYTES;

/** What a record takes beside its bytes, about: less leads to one more growth of the buffer. */
export const RECORD_ROOM_BYTES = 128;

/** No link takes less: the hash alone is 64 bytes, a signature as many. */
export const LINK_BYTES_MIN = 300;

const COMMA = Buffer.from(',');
const NO_URLS: ReadonlyMap<number, string> = new Map();

interface OpenedBatch {
  readonly records: RecordSpans;
  /** What is shown in place of values that are uploads, by place in the batch. */
  readonly links: ReadonlyMap<number, Uint8Array>;
}

/** Records as JSON. Everything taken is written at once: no object is made per record. */
export class JsonFetchAnswer implements FetchAnswer {
  readonly #maxRecords: number;
  readonly #maxBytes: number;
  readonly #writer: JsonWriter;
  readonly #json: RecordJson;
  /** Bytes that batches have inflated to so far: bounds the time and memory of one answer. */
  #inflated = 0;
  /** Bytes of the stored batches that it took from. */
  #stored = 0;
  #count = 0;

  /** @param request `maxBytes` of the whole answer in UTF-8; the first record comes whatever it says */
  constructor(request: { readonly maxRecords: number; readonly maxBytes: number; readonly values: ValueForm }) {
    this.#maxRecords = request.maxRecords;
    this.#maxBytes = Math.min(request.maxBytes, ANSWER_BODY_BYTES_MAX) - ENVELOPE_BYTES;
    this.#writer = new JsonWriter(BEFORE_BYTES, this.#maxBytes + ENVELOPE_BYTES);
    this.#json = new RecordJson(this.#writer, request.values);
  }

  get count(): number {
    return this.#count;
  }

  isFull(): boolean {
    return this.#count >= this.#maxRecords || (this.#count > 0 && this.#inflated >= INFLATED_BATCH_BYTES_MAX);
  }

  /** Bytes by how much became of those before; at first, no fewer than are stored. */
  room(): Room {
    const { length } = this.#writer;
    // Of damaged batches only errors came.
    const perByte = this.#stored > 0 && length > this.#stored ? this.#stored / length : 1;
    return { records: this.#maxRecords - this.#count, bytes: (this.#maxBytes - length) * perByte, partly: true };
  }

  /** As many as may fit, and at least the first. */
  uploadsToLink(slot: BatchSlot, from: number): readonly [number, UploadId][] {
    const records = this.#maxRecords - this.#count;
    const links = Math.max(1, Math.floor((this.#maxBytes - this.#writer.length) / LINK_BYTES_MIN));
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
    const damage = slot.unreadable ?? 'payload_corrupt';
    while (offset <= slot.last && this.#count < this.#maxRecords) {
      const link = batch?.links.get(offset - base);
      if (batch !== undefined && link === undefined && slot.uploads?.has(offset - base)) break; // no room for a link
      if (!this.#write(batch?.records, offset, base, link ?? slot.json, damage)) break;
      offset++;
    }
    return offset;
  }

  finish(findings: FetchFindings): ApiAnswer {
    // Joined as bytes: a text of three parts would be copied once more by whoever measures or sends it.
    const [before, after] = envelope(findings);
    const body = this.#writer.finish(before, after);
    return typeof body === 'string' ? { status: 200, body } : { status: 200, body, isText: true };
  }

  /** @returns undefined when the batch is damaged */
  #open(slot: BatchSlot, urls: ReadonlyMap<number, string>): OpenedBatch | undefined {
    if (slot.unreadable !== undefined) return undefined;
    try {
      const records = openBatch(slot.batch);
      if (records.count !== slot.count) {
        throw new PayloadCorrupt(`${records.count} records lie in a slot of ${slot.count}`);
      }
      this.#inflated += records.data.length;
      this.#stored += slot.batch.length;
      const wanted = records.data.length + slot.count * RECORD_ROOM_BYTES;
      this.#writer.reserve(Math.min(this.#maxBytes - this.#writer.length, wanted) + AFTER_BYTES);
      return { records, links: linksOf(records, urls) };
    } catch (error) {
      if (!(error instanceof PayloadCorrupt)) throw error;
      this.#inflated += slot.batch.length * DEFLATE_FACTOR_MAX; // it may have cost as much before it failed
      return undefined;
    }
  }

  /** @returns whether the record was written: it was not when there is no room */
  #write(
    batch: RecordSpans | undefined,
    offset: number,
    base: number,
    value: boolean | Uint8Array,
    damage: NonNullable<BatchSlot['unreadable']>,
  ): boolean {
    const start = this.#writer.length;
    if (batch !== undefined && this.#count === 0) this.#writeFirst(batch, offset, base, value);
    else {
      if (batch !== undefined && start + leastBytes(batch, offset - base) > this.#maxBytes) return false;
      if (this.#count > 0) this.#writer.piece(COMMA);
      if (batch === undefined) this.#json.error(offset, damage);
      else this.#json.record(batch, offset - base, offset, value);
      if (this.#count > 0 && this.#writer.length > this.#maxBytes) {
        this.#writer.length = start;
        return false;
      }
    }
    this.#count++;
    return true;
  }

  /** In the form asked for; in base64 when that alone fits a function's answer; as an error when nothing does. */
  #writeFirst(batch: RecordSpans, offset: number, base: number, value: boolean | Uint8Array): void {
    if (leastBytes(batch, offset - base) <= ESCAPED_BODY_BYTES_MAX) {
      this.#json.record(batch, offset - base, offset, value);
      if (this.#fitsAnAnswer()) return;
      this.#writer.length = 0;
      this.#json.record(batch, offset - base, offset, value, 'base64');
      if (this.#fitsAnAnswer()) return;
      this.#writer.length = 0;
    }
    this.#json.error(offset, 'record_too_large');
  }

  /** As base64 whatever is in it, or as a text, in which `"`, `\\` and line ends take two bytes. */
  #fitsAnAnswer(): boolean {
    if (this.#writer.length + ENVELOPE_BYTES <= ANSWER_BODY_BYTES_MAX) return true;
    if (this.#writer.length > ESCAPED_BODY_BYTES_MAX) return false;
    return escapedBytes(this.#writer.written()) + 2 * ENVELOPE_BYTES <= ESCAPED_BODY_BYTES_MAX;
  }
}

/** @throws {PayloadCorrupt} when the batch holds no upload where the slot says so */
export function linksOf(records: RecordSpans, urls: ReadonlyMap<number, string>): ReadonlyMap<number, Uint8Array> {
  const links = new Map<number, Uint8Array>();
  for (const [position, url] of urls) {
    const start = position < records.count ? records.valueStart(position) : -1;
    if (start < 0) throw new PayloadCorrupt(`record ${position} is no upload`);
    links.set(position, uploadLink(records.data.subarray(start, records.valueEnd(position)), url));
  }
  return links;
}

/** No record takes less as JSON: none of its bytes is left out, and each header adds `["",""]`. */
export function leastBytes(batch: RecordSpans, i: number): number {
  return batch.recordBytes(i) + 7 * batch.headerCount(i);
}

/** What stands before the records and after them. */
function envelope(findings: FetchFindings): [Buffer, Buffer] {
  const { topicId, nextOffset, logStartOffset, highWatermark } = findings;
  return [
    Buffer.from(`{"topicId":${JSON.stringify(topicId)},"records":[`),
    Buffer.from(`],"nextOffset":${nextOffset},"logStartOffset":${logStartOffset},"highWatermark":${highWatermark}}`),
  ];
}
