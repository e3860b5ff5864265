import type { Decoder } from './codec.ts';
import { RecordUnreadable } from './consumer-errors.ts';
import type { RecordDelivery } from './effects/delivery.ts';
import type { PayloadOptions, Payloads, UploadLink } from './payload.ts';

/** Text where the bytes are UTF-8, else the bytes; null is a value of its own. Names may repeat and keep their order. */
export type MessageHeader = readonly [name: string, value: string | Uint8Array | null];

/** What an answer holds in the place of a value. */
export type FetchedValue =
  | { readonly kind: 'tombstone' }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  | { readonly kind: 'upload'; readonly link: UploadLink }
  /** The record is there, what was in it is not: `payload_missing`, `payload_corrupt`, `record_too_large`. */
  | { readonly kind: 'unreadable'; readonly code: string };

/** A record as an answer holds it, before a codec has seen it. */
export interface FetchedRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Epoch ms, −1: none. */
  readonly timestamp: number;
  readonly key: Uint8Array | null;
  readonly value: FetchedValue;
  readonly headers: readonly MessageHeader[];
  /** Set where it comes to a member of a group. */
  readonly delivery?: RecordDelivery;
  /** Of one that came back from the dead letters: of which, and how often. */
  readonly redriven?: { readonly id: string; readonly times: number };
}

/** A record as a handler gets it. */
export class ReceivedMessage<T> {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  /** Epoch ms, −1: none. */
  readonly timestamp: number;
  readonly key: Uint8Array | null;
  /** What the codec made of it. `null`: a tombstone, or an upload, whose bytes `payload` brings. */
  readonly value: T | null;
  readonly headers: readonly MessageHeader[];
  /** Set when the value was uploaded. */
  readonly upload: UploadLink | null;
  /** By what right a consumer has it, for `processOnce`. Undefined of a reader's: nobody's effects are bound to it. */
  readonly delivery: RecordDelivery | undefined;
  /** Times it came back from the dead letters; 0: it comes as it lies in its partition. */
  readonly redriven: number;
  readonly #payloads: Payloads;

  constructor(record: FetchedRecord, value: T | null, payloads: Payloads) {
    this.topic = record.topic;
    this.partition = record.partition;
    this.offset = record.offset;
    this.timestamp = record.timestamp;
    this.key = record.key;
    this.value = value;
    this.headers = record.headers;
    this.upload = record.value.kind === 'upload' ? record.value.link : null;
    this.delivery = record.delivery;
    this.redriven = record.redriven?.times ?? 0;
    this.#payloads = payloads;
  }

  /** The key as text; bytes that are no UTF-8 become U+FFFD. */
  get keyText(): string | null {
    return this.key && TEXT.decode(this.key);
  }

  get isTombstone(): boolean {
    return this.value === null && this.upload === null;
  }

  /** The first header of this name as text; `undefined` when there is none, `null` when it has no value. */
  header(name: string): string | null | undefined {
    const found = this.headers.find(([candidate]) => candidate === name);
    if (found === undefined) return undefined;
    return found[1] instanceof Uint8Array ? TEXT.decode(found[1]) : found[1];
  }

  /**
   * Downloads an uploaded value, size and SHA-256 verified. @returns null when the value is no upload
   * @throws {PayloadInvalid}
   */
  async payload(options?: PayloadOptions): Promise<Uint8Array | null> {
    return this.upload && (await this.#payloads.bytes(this, this.upload, options));
  }

  /** The same chunk by chunk, for what does not fit in memory; nothing is proven before it ends. Empty when no upload. */
  async *payloadStream(options?: PayloadOptions): AsyncGenerator<Uint8Array, void, void> {
    if (this.upload) yield* this.#payloads.chunks(this, this.upload, options);
  }
}

const TEXT = new TextDecoder();

/**
 * What a handler gets of a record.
 * @throws {RecordUnreadable} when the backbone no longer has what was in it
 * @throws what the codec throws: the value is not what the reader expects
 */
export async function messageOf<T>(
  record: FetchedRecord,
  codec: Decoder<T>,
  payloads: Payloads,
): Promise<ReceivedMessage<T>> {
  return new ReceivedMessage(record, await decoded(record, codec), payloads);
}

async function decoded<T>(record: FetchedRecord, codec: Decoder<T>): Promise<T | null> {
  const { value } = record;
  switch (value.kind) {
    case 'tombstone':
    case 'upload':
      return null;
    case 'unreadable':
      throw new RecordUnreadable(record, value.code);
    case 'bytes':
      return codec.decode(value.bytes);
  }
}
