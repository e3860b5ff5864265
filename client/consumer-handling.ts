import { setImmediate } from 'node:timers/promises';
import type { Connection, Logger } from './connection.ts';
import type { Burial } from './consumer-commits.ts';
import { Deliveries } from './consumer-deliveries.ts';
import { HandlerFailed, RecordUnreadable, type TopicPartitionOffset } from './consumer-errors.ts';
import type { Emitter } from './consumer-events.ts';
import type { HandlerCall } from './consumer-handlers.ts';
import { TURN_MS } from './consumer-limits.ts';
import type { Settings } from './consumer-options.ts';
import type { HeldPartition } from './consumer-partition.ts';
import { RedrivenHandling } from './consumer-redriven.ts';
import { EffectInProgress } from './effects/errors.ts';
import { ValidationError } from './errors.ts';
import { type FetchedRecord, messageOf, type ReceivedMessage } from './messages.ts';
import { Payloads } from './payload.ts';
import { pauseOf } from './retry.ts';
import type { Surroundings } from './surroundings.ts';

/** What the consumer does for a partition whose records are handled. */
export interface HandlingHost {
  /** Whether another of its records may be begun. */
  mayGoOn(held: HeldPartition): boolean;
  /** Commits before a handler is called. @returns false when the partition is no longer this member's */
  commitBefore(held: HeldPartition, offset: number): Promise<boolean>;
  deadLetter(held: HeldPartition, record: FetchedRecord, error: unknown, attempts: number): Promise<Burial>;
  crash(error: Error): void;
  /** Something was processed, or failed: there may be room, or something to commit. */
  changed(held: HeldPartition): void;
}

interface HandlingOptions<T> {
  readonly call: HandlerCall<T>;
  readonly batched: boolean;
  readonly settings: Settings<T>;
  readonly host: HandlingHost;
  readonly emitter: Emitter;
  readonly surroundings: Surroundings;
  readonly logger: Logger;
  readonly connection: Connection;
}

/** Hands records to the user's handler, in order, and decides what becomes of those that fail. */
export class Handling<T> {
  readonly #options: HandlingOptions<T>;
  /** What the handler gets of a record. Throws as `messageOf` does. */
  readonly #message: (held: HeldPartition, record: FetchedRecord) => Promise<ReceivedMessage<T>>;
  readonly #redriven: RedrivenHandling<T>;

  constructor(options: HandlingOptions<T>) {
    const { connection, settings } = options;
    this.#options = options;
    const [payloads, deliveries] = [new Payloads(connection), new Deliveries(connection, settings.groupId)];
    this.#message = (held, record) =>
      messageOf({ ...record, delivery: deliveries.of(held, record) }, settings.codec, payloads);
    this.#redriven = new RedrivenHandling({ ...options, message: this.#message });
  }

  /** One partition's turn: a batch, or messages one by one for a while. */
  async turn(held: HeldPartition): Promise<void> {
    const { host, surroundings } = this.#options;
    const endsAt = surroundings.now() + TURN_MS;
    try {
      do {
        await (held.redriven.length > 0 ? this.#redriven.step(held) : this.#step(held));
      } while (surroundings.now() < endsAt && held.retryAt <= surroundings.now() && host.mayGoOn(held));
    } catch (error) {
      host.crash(error instanceof Error ? error : new Error(String(error)));
    } finally {
      host.changed(held);
    }
    await setImmediate(); // handlers that wait for nothing leave no room for timers and sockets else
  }

  async #step(held: HeldPartition): Promise<void> {
    const { settings, host, surroundings, batched } = this.#options;
    const records = held.queue.slice(0, batched ? held.batchLimit : 1);
    const { jumps } = held;
    held.busyUntil = records.at(-1)!.offset + 1;
    try {
      const once = settings.commit === 'beforeProcessing';
      if (once && !(await host.commitBefore(held, held.busyUntil))) return;
      held.begin(surroundings.now());
      const failure = await this.#handle(held, records, jumps);
      held.end();
      if (failure === undefined || held.lost || held.jumps !== jumps) return;
      await (once ? this.#bury(held, failure) : this.#failed(held, failure));
    } finally {
      held.busyUntil = null;
    }
  }

  async #handle(held: HeldPartition, records: readonly FetchedRecord[], jumps: number): Promise<Failure | undefined> {
    const { call, surroundings } = this.#options;
    const { messages, damage } = await this.#decode(held, records);
    if (held.lost || held.jumps !== jumps) return undefined;
    // What cannot be read stands at its own turn, after all that lie before it.
    if (messages.length === 0) return damage;
    const { processed } = held;
    const last = messages.at(-1)!.offset;
    try {
      await call(held, messages, surroundings.now);
    } catch (error) {
      return { error, records: held.queue.filter(({ offset }) => offset <= last), final: false };
    }
    if (held.lost || held.jumps !== jumps) return undefined;
    held.deadLettersInRow = 0;
    held.batchLimit *= 2;
    // A handler that returns without having resolved anything wants it again, but hardly at once.
    if (held.processed === processed) held.retryAt = surroundings.now() + this.#backoffMs(undefined, 0);
    return undefined;
  }

  async #decode(
    held: HeldPartition,
    records: readonly FetchedRecord[],
  ): Promise<{ messages: ReceivedMessage<T>[]; damage?: Failure }> {
    const messages: ReceivedMessage<T>[] = [];
    for (const record of records) {
      try {
        messages.push(await this.#message(held, record));
      } catch (error) {
        const final = error instanceof ValidationError || error instanceof RecordUnreadable;
        return { messages, damage: { error, records: [record], final } };
      }
    }
    return { messages };
  }

  /** Again after a pause, in smaller batches until it stands alone; or what `onFailure` says. */
  async #failed(held: HeldPartition, { error, records, final }: Failure): Promise<void> {
    const { settings, emitter, surroundings } = this.#options;
    const [record] = records;
    if (record === undefined) return; // all of them were resolved before it threw
    if (error instanceof EffectInProgress) {
      // Nothing was tried: an earlier delivery may still be at it.
      held.retryAt = surroundings.now() + error.retryAfterMs;
      held.giveBack(record.offset + 1);
      return;
    }
    const attempts = records.length === 1 ? held.attempts + 1 : 0;
    if (final || attempts >= settings.handlerRetry.maxAttempts) {
      return this.#bury(held, { error, records: [record], final });
    }
    const pauseMs = this.#backoffMs(error, Math.max(0, attempts - 1));
    if (attempts > 0) held.attempts = attempts;
    held.batchLimit = Math.ceil(records.length / 2);
    held.retryAt = surroundings.now() + pauseMs;
    // While it waits, what lies behind must not take the room of other partitions.
    held.giveBack(records[held.batchLimit - 1]!.offset + 1);
    emitter.emit('retry', { ...placeOf(record), attempts, pauseMs, error });
  }

  /** The records have failed for good. */
  async #bury(held: HeldPartition, { error, records, final }: Failure): Promise<void> {
    const { settings, host, emitter, logger } = this.#options;
    const isOnce = settings.commit === 'beforeProcessing';
    for (const record of records) {
      const attempts = Math.max(1, held.attempts + (final ? 0 : 1));
      const inRow = held.deadLettersInRow;
      if (settings.onFailure === 'halt') return host.crash(haltOf(record, attempts, '', error));
      if (settings.haltAfterDeadLetters > 0 && inRow >= settings.haltAfterDeadLetters) {
        return host.crash(haltOf(record, attempts, `, as did ${inRow} before it`, error));
      }
      // What is committed before it is handled is not kept: the backbone takes dead letters of what is still to be done.
      const burial = isOnce ? 'passed' : await host.deadLetter(held, record, error, attempts);
      if (burial === 'lost' || held.lost) return;
      held.deadLettersInRow++;
      held.resolve(record.offset + 1);
      held.answered = Math.max(held.answered, record.offset + 1);
      const told = { ...placeOf(record), attempts, error };
      if (burial === 'passed') {
        logger.error('A record failed for good, and is dropped', told);
        emitter.emit('record.dropped', told);
      } else {
        logger.warn('A record failed for good, and is a dead letter now', told);
        emitter.emit('dead.letter', { ...told, id: burial.id });
      }
    }
  }

  #backoffMs(error: unknown, attempts: number): number {
    const { settings, surroundings } = this.#options;
    return Math.ceil(pauseOf(error, attempts, settings.handlerRetry, surroundings.random()));
  }
}

interface Failure {
  readonly error: unknown;
  /** Those that may have caused it, the first unprocessed one first. */
  readonly records: readonly FetchedRecord[];
  /** No repeat can help. */
  readonly final: boolean;
}

function haltOf(record: FetchedRecord, attempts: number, why: string, error: unknown): HandlerFailed {
  return new HandlerFailed(placeOf(record), attempts, `after ${attempts} attempts${why}`, error);
}

const placeOf = ({ topic, partition, offset }: FetchedRecord): TopicPartitionOffset => ({ topic, partition, offset });
