import { PayloadUnreadable } from '../domain/errors.ts';
import type { Room } from '../domain/room.ts';
import type { BatchSlot } from '../domain/slot.ts';
import { baseOf } from '../domain/slot.ts';
import type { UploadId } from '../domain/upload.ts';
import { AT, readBatchHeader } from './batch-header.ts';
import type { FetchAnswer, FetchFindings } from './fetch-answer.ts';
import { ANSWER_BODY_BYTES_MAX, type ApiAnswer } from './http-answer.ts';
import { RECORD_BATCH_TYPE } from './media-type.ts';
import { PayloadCorrupt } from './payload-corrupt.ts';

/** Stored batches, whole, one after the other, each with its base offset: as a Kafka client reads them. */
export class RawFetchAnswer implements FetchAnswer {
  readonly #maxRecords: number;
  readonly #maxBytes: number;
  readonly #batches: { readonly base: number; readonly stored: Uint8Array }[] = [];
  #bytes = 0;
  #count = 0;

  /** @param limits hold for all batches but the first, which comes in any case */
  constructor(limits: { readonly maxRecords: number; readonly maxBytes: number }) {
    this.#maxRecords = limits.maxRecords;
    this.#maxBytes = Math.min(limits.maxBytes, ANSWER_BODY_BYTES_MAX);
  }

  /** Records that the caller asked for; those before `from` in the first batch are not counted. */
  get count(): number {
    return this.#count;
  }

  isFull(): boolean {
    return this.#count >= this.#maxRecords;
  }

  room(): Room {
    return { records: this.#maxRecords - this.#count, bytes: this.#maxBytes - this.#bytes, partly: false };
  }

  /** An upload's value comes as it is stored. */
  uploadsToLink(): readonly [number, UploadId][] {
    return [];
  }

  /** @throws {PayloadUnreadable} when the first batch cannot be read: bytes have no place to say so */
  take(slot: BatchSlot, from: number): number {
    const damage = slot.unreadable ?? damageOf(slot);
    if (damage !== undefined) {
      if (this.#count > 0) return from;
      throw new PayloadUnreadable(damage, from, slot.last + 1);
    }
    const count = slot.last - from + 1;
    const full = this.#count + count > this.#maxRecords || this.#bytes + slot.batch.length > this.#maxBytes;
    if (full && this.#count > 0) return from;
    this.#batches.push({ base: baseOf(slot), stored: slot.batch });
    this.#bytes += slot.batch.length;
    this.#count += count;
    return slot.last + 1;
  }

  finish({ nextOffset, highWatermark }: FetchFindings): ApiAnswer {
    return {
      status: 200,
      headers: {
        'content-type': RECORD_BATCH_TYPE,
        'vertebra-next-offset': String(nextOffset),
        'vertebra-high-watermark': String(highWatermark),
      },
      body: this.#joined(),
    };
  }

  /** All of them, which are let go. The CRC of a batch does not cover its base offset. */
  #joined(): Buffer {
    const joined = Buffer.allocUnsafe(this.#bytes);
    let at = 0;
    for (const { base, stored } of this.#batches.splice(0)) {
      joined.set(stored, at);
      joined.writeBigInt64BE(BigInt(base), at + AT.baseOffset);
      at += stored.length;
    }
    return joined;
  }
}

/** A batch whose header lies about its length would take all that follow it along. What is inside is the reader's to check. */
function damageOf(slot: BatchSlot): 'payload_corrupt' | undefined {
  try {
    return readBatchHeader(slot.batch).count === slot.count ? undefined : 'payload_corrupt';
  } catch (error) {
    if (error instanceof PayloadCorrupt) return 'payload_corrupt';
    throw error;
  }
}
