import {
  FETCH_BYTES_DEFAULT,
  FETCH_BYTES_MAX,
  FETCH_RECORDS_DEFAULT,
  FETCH_RECORDS_MAX,
  FETCH_WAIT_MS_MAX,
} from '../shared/domain/limits.ts';
import { ApiError } from './api-error.ts';
import { type Decoder, json } from './codec.ts';
import type { Connection } from './connection.ts';
import { type TopicPartition, TopicReplaced } from './consumer-errors.ts';
import { MAX_POLL_MS_DEFAULT, MIN_POLL_MS_DEFAULT } from './consumer-limits.ts';
import { InvalidOptions, type VertebraError } from './errors.ts';
import { fetchedRecords, type WireRecord } from './fetched-records.ts';
import { TIMER_MS_MAX } from './limits.ts';
import { type FetchedRecord, messageOf, type ReceivedMessage } from './messages.ts';
import { integer, known } from './option-checks.ts';
import { Payloads } from './payload.ts';
import { pathOf } from './transport.ts';

export interface ReaderOptions<T = unknown> extends TopicPartition {
  /** Default: `earliest`. */
  readonly offset?: number | 'earliest' | 'latest';
  /** The incarnation that `offset` belongs to: in another one the reader fails. Default: the one that it finds first. */
  readonly topicId?: string;
  /** Waits for more at the end. Default: the reader ends there. */
  readonly follow?: boolean;
  /** Default: JSON. */
  readonly codec?: Decoder<T>;
  readonly maxRecords?: number;
  readonly maxBytes?: number;
  /** Pauses between reads that bring nothing grow from one to the other, while it follows. */
  readonly minPollMs?: number;
  readonly maxPollMs?: number;
  /** Lets the backbone hold a read that has nothing to bring; it costs Lambda time meanwhile. Default: 0, never. */
  readonly longPollMs?: number;
  /** When retention was faster. Default: the reader fails with `offset_out_of_range`; else it jumps, and the log tells. */
  readonly onOutOfRange?: 'fail' | 'earliest' | 'latest';
  /** Told of a record that cannot be read or decoded, which is then skipped. Absent: the reader fails there. */
  readonly onInvalid?: (error: unknown, record: FetchedRecord) => void;
  readonly signal?: AbortSignal;
}

interface Page {
  readonly topicId: string;
  readonly records: readonly WireRecord[];
  readonly nextOffset: number;
  readonly highWatermark: number;
}

/** Reads one partition from an offset on, without a group: nothing is committed. One loop over it at a time. */
export class Reader<T = unknown> implements AsyncIterable<ReceivedMessage<T>> {
  readonly #connection: Connection;
  readonly #options: ReaderOptions<T>;
  readonly #codec: Decoder<T>;
  readonly #payloads: Payloads;
  #next: number | 'earliest' | 'latest';
  #highWatermark: number | undefined;
  #topicId: string | undefined;

  /** @throws {InvalidOptions} */
  constructor(connection: Connection, options: ReaderOptions<T>) {
    check(options);
    this.#connection = connection;
    this.#options = options;
    this.#codec = options.codec ?? json<T>();
    this.#payloads = new Payloads(connection);
    this.#next = options.offset ?? 'earliest';
    this.#topicId = options.topicId;
  }

  /** The offset that is read next; a word until the first answer. */
  get position(): number | 'earliest' | 'latest' {
    return this.#next;
  }

  /** A proven lower bound of the first unsettled offset, as the last answer told it. */
  get highWatermark(): number | undefined {
    return this.#highWatermark;
  }

  /**
   * Goes on where the last loop ended.
   * @throws {ApiError} `topic_not_found`, `partition_not_found`, `offset_out_of_range`
   * @throws {RecordUnreadable} @throws {ValidationError} at the record, which `position` then names
   * @throws {TopicReplaced} @throws {Aborted}
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<ReceivedMessage<T>, void, void> {
    const { follow = false, minPollMs = MIN_POLL_MS_DEFAULT, signal } = this.#options;
    const { maxPollMs = Math.max(MAX_POLL_MS_DEFAULT, minPollMs) } = this.#options;
    const { surroundings } = this.#connection;
    for (let pauseMs = 0; ; ) {
      const from = this.#next;
      const startedAt = surroundings.now();
      const { page, records } = await this.#fetch(from);
      for (const record of records) {
        const message = await this.#message(record);
        this.#next = record.offset + 1;
        if (message) yield message;
      }
      this.#next = page.nextOffset;
      if (records.length > 0 || (typeof from === 'number' && page.nextOffset > from)) {
        pauseMs = 0;
        continue;
      }
      if (!follow) return;
      const waited = surroundings.now() - startedAt >= Math.max(1, this.#waitMs() / 2);
      pauseMs = this.#waitMs() > 0 && waited ? 0 : Math.min(maxPollMs, Math.max(minPollMs, pauseMs * 2));
      await surroundings.sleep(pauseMs, signal);
    }
  }

  async #message(record: FetchedRecord): Promise<ReceivedMessage<T> | undefined> {
    try {
      return await messageOf(record, this.#codec, this.#payloads);
    } catch (error) {
      if (!this.#options.onInvalid) {
        this.#next = record.offset;
        throw error;
      }
      this.#options.onInvalid(error, record);
      return undefined;
    }
  }

  async #fetch(offset: number | 'earliest' | 'latest'): Promise<{ page: Page; records: FetchedRecord[] }> {
    const {
      topic,
      partition,
      maxRecords = FETCH_RECORDS_DEFAULT,
      maxBytes = FETCH_BYTES_DEFAULT,
      signal,
    } = this.#options;
    const waitMs = this.#waitMs() || undefined;
    const answer = await this.#connection
      .call({
        method: 'GET',
        path: pathOf('topics', topic, 'partitions', partition, 'records'),
        query: { offset, maxRecords, maxBytes, waitMs },
        ...(waitMs !== undefined && { timeoutMs: waitMs + this.#connection.transport.timeoutMs }),
        signal,
      })
      .catch((error: VertebraError) => this.#jumped(offset, error));
    if (!('json' in answer)) return this.#fetch(answer.offset);
    const page = answer.json<Page>();
    this.#topicId ??= page.topicId;
    if (page.topicId !== this.#topicId) throw new TopicReplaced(topic);
    this.#highWatermark = page.highWatermark;
    return { page, records: fetchedRecords(page.records, answer.bytes, { topic, partition }) };
  }

  #jumped(from: number | 'earliest' | 'latest', error: VertebraError): { readonly offset: number } {
    const { onOutOfRange = 'fail', topic, partition } = this.#options;
    if (!(error instanceof ApiError) || error.code !== 'offset_out_of_range' || onOutOfRange === 'fail') throw error;
    const { logStartOffset, highWatermark } = error.data as { logStartOffset: number; highWatermark: number };
    const offset = onOutOfRange === 'earliest' ? logStartOffset : highWatermark;
    this.#connection.logger.warn('A reader was out of range and jumps', { topic, partition, from, to: offset });
    return { offset };
  }

  #waitMs(): number {
    return this.#options.follow ? (this.#options.longPollMs ?? 0) : 0;
  }
}

const OPTIONS: readonly (keyof ReaderOptions)[] = [
  ...(['topic', 'partition', 'offset', 'follow', 'codec', 'maxRecords', 'maxBytes', 'minPollMs', 'maxPollMs'] as const),
  ...(['topicId', 'longPollMs', 'onOutOfRange', 'onInvalid', 'signal'] as const),
];

function check<T>(options: ReaderOptions<T>): void {
  const { topic, partition, offset = 0, maxRecords = 1, maxBytes = 1, longPollMs = 0 } = options;
  const { minPollMs = MIN_POLL_MS_DEFAULT, maxPollMs = Math.max(MAX_POLL_MS_DEFAULT, minPollMs) } = options;
  known('A reader', options, OPTIONS);
  if (typeof topic !== 'string' || topic === '') throw new InvalidOptions("'topic' must be a topic's name");
  integer('partition', partition, 0, Number.MAX_SAFE_INTEGER);
  if (offset !== 'earliest' && offset !== 'latest') integer('offset', offset, 0, Number.MAX_SAFE_INTEGER);
  integer('maxRecords', maxRecords, 1, FETCH_RECORDS_MAX);
  integer('maxBytes', maxBytes, 1, FETCH_BYTES_MAX);
  integer('longPollMs', longPollMs, 0, FETCH_WAIT_MS_MAX);
  integer('minPollMs', minPollMs, 1, maxPollMs);
  integer('maxPollMs', maxPollMs, minPollMs, TIMER_MS_MAX);
  if (options.codec !== undefined && typeof options.codec?.decode !== 'function') {
    throw new InvalidOptions("'codec' must be a codec, such as json() or bytes()");
  }
  if (options.onInvalid !== undefined && typeof options.onInvalid !== 'function') {
    throw new InvalidOptions("'onInvalid' must be a function");
  }
}
