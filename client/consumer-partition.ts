import type { TopicPartition, TopicPartitionOffset } from './consumer-errors.ts';
import { PartitionLost } from './consumer-errors.ts';
import type { FetchedRecord } from './messages.ts';

export const keyOf = ({ topic, partition }: TopicPartition) => `${topic}/${partition}`;

/**
 * A partition as long as this member holds it under one epoch.
 *
 *   committed ≤ processed ≤ position         offsets; each is the next one to commit, to process, to fetch
 *               [ queue: in hand ]
 */
export class HeldPartition implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  readonly epoch: number;
  /** Next to fetch: echoed to the backbone, which reads on from there. */
  position: number;
  /** Next to process: everything below it may be committed. */
  processed: number;
  /** The highest offset that a commit has been answered for, whether it was taken or refused for good. */
  answered: number;
  /** The backbone wants it back: nothing new is begun. */
  revoked = false;
  /** Its revocation was told; it is to be released. */
  releasing = false;
  /** Set while a handler has records of it in hand: the offset behind them. */
  busyUntil: number | null = null;
  /** When the handler that runs began or last showed a sign of life, epoch ms; none runs: never. */
  busySince = Number.POSITIVE_INFINITY;
  /** Number of its last turn among all; 0: none yet. */
  lastTurn = 0;
  /** Failed attempts at the record that is next. */
  attempts = 0;
  /** Not before then, epoch ms. */
  retryAt = 0;
  /** Records that the next batch has at most: halved while a batch fails without telling where. */
  batchLimit = Number.POSITIVE_INFINITY;
  deadLettersInRow = 0;
  /** Where the log starts, when the position lies below: nothing comes until that is resolved. */
  outOfRange: number | null = null;
  /** Counts jumps: what a handler began before one says nothing about where to go on. */
  jumps = 0;
  /** Counts changes of `position` other than by answers: an answer to an earlier poll is not for it. */
  moves = 0;
  /** Failed attempts at the redriven record that is next. */
  redrivenAttempts = 0;
  /** Set while a handler has the first of them. */
  isBusyWithRedriven = false;
  #redriven: FetchedRecord[] = [];
  /** Those that are done, which the backbone has still to be told. */
  #done: string[] = [];
  #queue: FetchedRecord[] = [];
  #bytes = 0;
  readonly #lost = new AbortController();
  /** Of the handler that runs, if it wants to know: what it adds to its signal goes with it. */
  #handler: AbortController | undefined;

  constructor({ topic, partition, epoch, offset }: TopicPartitionOffset & { readonly epoch: number }) {
    this.topic = topic;
    this.partition = partition;
    this.epoch = epoch;
    this.position = offset;
    this.processed = offset;
    this.answered = offset;
  }

  /** Aborted once another may hold it, or its handlers are given up. */
  get signal(): AbortSignal {
    return this.#lost.signal;
  }
  /** The same for the one handler that runs now. */
  get handlerSignal(): AbortSignal {
    this.#handler ??= new AbortController();
    if (this.lost) this.#handler.abort(this.signal.reason);
    return this.#handler.signal;
  }
  get lost(): boolean {
    return this.#lost.signal.aborted;
  }
  get queue(): readonly FetchedRecord[] {
    return this.#queue;
  }
  /** Bytes of the answers that the records in hand came with, about. */
  get bytes(): number {
    return this.#bytes;
  }
  get inHand(): boolean {
    return this.busyUntil !== null || this.isBusyWithRedriven || this.hasWork;
  }
  get hasWork(): boolean {
    return this.#queue.length + this.#redriven.length > 0;
  }
  /** Records that came back from the dead letters, in hand: they come before the others, and their offsets lie behind. */
  get redriven(): readonly FetchedRecord[] {
    return this.#redriven;
  }
  /** What is processed and not committed yet; undefined when there is nothing to say. */
  get uncommitted(): number | undefined {
    return this.processed > this.answered ? this.processed : undefined;
  }

  /** Takes what an answer brought, and where the partition goes on after it. */
  take(records: readonly FetchedRecord[], position: number, bytes: number): void {
    this.#queue = [...records];
    this.#bytes = bytes;
    this.position = position;
    this.processed = Math.max(this.processed, records[0]?.offset ?? position);
  }

  /** Takes redriven records that are not in hand already. */
  takeRedriven(records: readonly FetchedRecord[]): void {
    const known = new Set(this.#redriven.map(({ redriven }) => redriven?.id));
    this.#redriven.push(...records.filter(({ redriven }) => !known.has(redriven?.id)));
  }

  /** The first redriven record is `done`, which is to be told, or over. */
  endRedriven(record: FetchedRecord, how: 'done' | 'over'): void {
    this.#redriven = this.#redriven.filter((other) => other !== record);
    if (how === 'done') this.#done.push(record.redriven!.id);
    this.redrivenAttempts = 0;
    this.retryAt = 0;
  }

  /** Those that are done and were not taken yet. */
  takeDone(): string[] {
    return this.#done.splice(0);
  }

  /** What no handler has comes to whoever has the partition next. */
  giveBackRedriven(): void {
    this.#redriven = this.isBusyWithRedriven ? this.#redriven.slice(0, 1) : [];
  }

  /** Everything below `offset` is processed. */
  resolve(offset: number): void {
    const left = this.#queue.findIndex((record) => record.offset >= offset);
    this.#queue = left < 0 ? [] : this.#queue.slice(left);
    this.attempts = 0;
    this.retryAt = 0;
    // Behind the last record of an answer lie no others before its position.
    this.processed = this.#queue.length === 0 ? Math.max(offset, this.position) : Math.max(offset, this.processed);
    if (this.#queue.length === 0) this.#bytes = 0;
  }

  /** Goes on elsewhere: what is in hand is dropped. */
  jump(offset: number): void {
    this.jumps++;
    this.moves++;
    this.#queue = [];
    this.#bytes = 0;
    this.attempts = 0;
    this.retryAt = 0;
    this.outOfRange = null;
    this.position = offset;
    this.processed = offset;
  }

  /**
   * Drops what lies from `end` on, to be fetched again: by this member later, or by the next one.
   * @param end default: behind what a handler has in hand
   */
  giveBack(end = this.busyUntil ?? this.processed): void {
    const kept = this.#queue.filter(({ offset }) => offset < end);
    if (kept.length === this.#queue.length) return;
    this.moves++;
    this.position = end;
    this.#bytes = Math.ceil((this.#bytes * kept.length) / this.#queue.length);
    this.#queue = kept.map(detached);
  }

  lose(why: string): void {
    this.#queue = [];
    this.#redriven = [];
    this.#bytes = 0;
    this.#lost.abort(new PartitionLost(this, why));
    this.#handler?.abort(this.signal.reason);
  }

  /** A handler begins. */
  begin(now: number): void {
    this.busySince = now;
    this.#handler = undefined;
  }

  /** It has ended. */
  end(): void {
    this.busySince = Number.POSITIVE_INFINITY;
    this.#handler = undefined;
  }
}

/** The record with bytes of its own: as a part of its answer it would keep all of it in memory. */
function detached(record: FetchedRecord): FetchedRecord {
  if (record.value.kind !== 'bytes') return record;
  return { ...record, value: { kind: 'bytes', bytes: new Uint8Array(record.value.bytes) } };
}
