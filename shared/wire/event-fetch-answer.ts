import type { DeliveryRecord } from '../domain/delivery.ts';
import { INFLATED_BATCH_BYTES_MAX } from '../domain/limits.ts';
import type { Room } from '../domain/room.ts';
import { type BatchSlot, baseOf } from '../domain/slot.ts';
import type { UploadId } from '../domain/upload.ts';
import { cloudEvent, cloudEventBatch } from './cloud-events.ts';
import type { FetchAnswer, FetchFindings } from './fetch-answer.ts';
import { ANSWER_BODY_BYTES_MAX, type ApiAnswer } from './http-answer.ts';
import { LINK_BYTES_MIN } from './json-fetch-answer.ts';
import { CLOUD_EVENTS_BATCH_TYPE } from './media-type.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';
import { decodeRecordBatch } from './record-batch.ts';
import { uploadPayload } from './upload-value.ts';

const BRACKETS_BYTES = 2;
const NO_URLS: ReadonlyMap<number, string> = new Map();

/**
 * Records as a batch of CloudEvents, as they are pushed to HTTP targets. What has no place in it stands in headers. A record
 * that is damaged, or fits no answer, comes as an event without data whose attribute `vertebraerror` tells why.
 */
export class EventFetchAnswer implements FetchAnswer {
  readonly #place: { readonly topic: string; readonly partition: number };
  readonly #maxRecords: number;
  readonly #maxBytes: number;
  readonly #events: string[] = [];
  #bytes = BRACKETS_BYTES;
  #inflated = 0;
  #stored = 0;

  constructor(request: {
    readonly topic: string;
    readonly partition: number;
    readonly maxRecords: number;
    readonly maxBytes: number;
  }) {
    this.#place = request;
    this.#maxRecords = request.maxRecords;
    this.#maxBytes = Math.min(request.maxBytes, ANSWER_BODY_BYTES_MAX);
  }

  get count(): number {
    return this.#events.length;
  }

  isFull(): boolean {
    return this.count >= this.#maxRecords || (this.count > 0 && this.#inflated >= INFLATED_BATCH_BYTES_MAX);
  }

  room(): Room {
    const perByte = this.#stored > 0 && this.#bytes > this.#stored ? this.#stored / this.#bytes : 1;
    return { records: this.#maxRecords - this.count, bytes: (this.#maxBytes - this.#bytes) * perByte, partly: true };
  }

  uploadsToLink(slot: BatchSlot, from: number): readonly [number, UploadId][] {
    const first = from - baseOf(slot);
    const records = this.#maxRecords - this.count;
    const links = Math.max(1, Math.floor((this.#maxBytes - this.#bytes) / LINK_BYTES_MIN));
    return [...(slot.uploads ?? [])]
      .filter(([position]) => position >= first && position < first + records)
      .slice(0, links);
  }

  take(slot: BatchSlot, from: number, urls: ReadonlyMap<number, string> = NO_URLS): number {
    if (this.isFull()) return from;
    const records = this.#decode(slot);
    let offset = from;
    for (; offset <= slot.last && this.count < this.#maxRecords; offset++) {
      const position = offset - baseOf(slot);
      const event =
        typeof records === 'string'
          ? this.#error(offset, records)
          : this.#event(records[position]!, offset, slot, urls);
      if (event === undefined || !this.#add(event, offset)) break;
    }
    return offset;
  }

  finish({ topicId, nextOffset, logStartOffset, highWatermark }: FetchFindings): ApiAnswer {
    return {
      status: 200,
      headers: {
        'content-type': CLOUD_EVENTS_BATCH_TYPE,
        'vertebra-topic-id': topicId,
        'vertebra-next-offset': String(nextOffset),
        'vertebra-log-start-offset': String(logStartOffset),
        'vertebra-high-watermark': String(highWatermark),
      },
      body: cloudEventBatch(this.#events),
    };
  }

  /** @returns undefined when there is no room for the link that it needs */
  #event(
    record: ReturnType<typeof decodeRecordBatch>[number],
    offset: number,
    slot: BatchSlot,
    urls: ReadonlyMap<number, string>,
  ): string | undefined {
    const position = offset - baseOf(slot);
    const url = urls.get(position);
    if (url === undefined && slot.uploads?.has(position)) return undefined;
    const link = url === undefined ? undefined : { ...uploadPayload(record.value!), url };
    const shown: DeliveryRecord = { ...record, offset, json: slot.json, ...(link && { value: null, link }) };
    return cloudEvent(this.#place, shown);
  }

  #error(offset: number, reason: string): string {
    const nothing = { offset, timestamp: -1, key: null, value: null, headers: [] };
    const event = JSON.parse(cloudEvent(this.#place, nothing)) as object;
    return JSON.stringify({ ...event, tombstone: undefined, vertebraerror: reason });
  }

  /** The first one comes whatever it takes, unless no answer can carry it. @returns false when there is no room */
  #add(event: string, offset: number): boolean {
    const bytes = Buffer.byteLength(event) + 1;
    if (this.#bytes + bytes > this.#maxBytes && this.count > 0) return false;
    const added = bytes + BRACKETS_BYTES <= ANSWER_BODY_BYTES_MAX ? event : this.#error(offset, 'record_too_large');
    this.#events.push(added);
    this.#bytes += Buffer.byteLength(added) + 1;
    return true;
  }

  #decode(slot: BatchSlot): ReturnType<typeof decodeRecordBatch> | 'payload_missing' | 'payload_corrupt' {
    if (slot.unreadable !== undefined) return slot.unreadable;
    try {
      const records = decodeRecordBatch(slot.batch, 0);
      if (records.length !== slot.count) return 'payload_corrupt';
      for (const { key, value } of records) this.#inflated += (key?.length ?? 0) + (value?.length ?? 0);
      for (const [position] of slot.uploads ?? []) uploadPayload(records[position]!.value ?? new Uint8Array());
      this.#stored += slot.batch.length;
      return records;
    } catch (error) {
      if (error instanceof PayloadCorrupt) return 'payload_corrupt';
      throw error;
    }
  }
}
