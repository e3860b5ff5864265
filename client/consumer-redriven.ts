import type { Logger } from './connection.ts';
import type { Burial } from './consumer-commits.ts';
import { RecordUnreadable, type TopicPartitionOffset } from './consumer-errors.ts';
import type { Emitter } from './consumer-events.ts';
import type { HandlerCall } from './consumer-handlers.ts';
import type { Settings } from './consumer-options.ts';
import type { HeldPartition } from './consumer-partition.ts';
import { EffectInProgress } from './effects/errors.ts';
import { ValidationError } from './errors.ts';
import type { FetchedRecord, ReceivedMessage } from './messages.ts';
import { pauseOf } from './retry.ts';
import type { Surroundings } from './surroundings.ts';

interface RedrivenOptions<T> {
  readonly call: HandlerCall<T>;
  readonly settings: Settings<T>;
  readonly host: {
    deadLetter(held: HeldPartition, record: FetchedRecord, error: unknown, attempts: number): Promise<Burial>;
  };
  readonly emitter: Emitter;
  readonly surroundings: Surroundings;
  readonly logger: Logger;
  message(held: HeldPartition, record: FetchedRecord): Promise<ReceivedMessage<T>>;
}

/**
 * Hands records that came back from the dead letters to the user's handler, each alone and before what else is in hand.
 * The offsets of its partition have nothing to do with it. What the handler returns from is done, whatever commits are
 * made; what fails for good is a dead letter again, whatever `onFailure` says: it stops nobody.
 */
export class RedrivenHandling<T> {
  readonly #options: RedrivenOptions<T>;

  constructor(options: RedrivenOptions<T>) {
    this.#options = options;
  }

  async step(held: HeldPartition): Promise<void> {
    const { surroundings } = this.#options;
    const record = held.redriven[0]!;
    held.isBusyWithRedriven = true;
    try {
      held.begin(surroundings.now());
      const outcome = await this.#handle(held, record);
      held.end();
      if (held.lost) return;
      if (outcome === 'done') held.endRedriven(record, 'done');
      else if (outcome === 'again') held.retryAt = surroundings.now() + this.#backoffMs(undefined, 0);
      else await this.#failed(held, record, outcome);
    } finally {
      held.isBusyWithRedriven = false;
    }
  }

  /** `again`: the handler returned, and has not resolved it. */
  async #handle(held: HeldPartition, record: FetchedRecord): Promise<'done' | 'again' | Failure> {
    const { call, surroundings } = this.#options;
    let isDone = false;
    const progress = {
      processed: record.offset,
      resolve: () => {
        isDone = true;
      },
    };
    try {
      const message = await this.#options.message(held, record);
      if (!held.lost) await call(held, [message], surroundings.now, progress);
      return isDone ? 'done' : 'again';
    } catch (error) {
      if (isDone) return 'done'; // it was resolved before the handler threw
      return { error, isFinal: error instanceof ValidationError || error instanceof RecordUnreadable };
    }
  }

  async #failed(held: HeldPartition, record: FetchedRecord, { error, isFinal }: Failure): Promise<void> {
    const { settings, host, emitter, surroundings, logger } = this.#options;
    if (error instanceof EffectInProgress) {
      held.retryAt = surroundings.now() + error.retryAfterMs; // nothing was tried
      return;
    }
    const attempts = held.redrivenAttempts + 1;
    if (!isFinal && attempts < settings.handlerRetry.maxAttempts) {
      const pauseMs = this.#backoffMs(error, attempts - 1);
      held.redrivenAttempts = attempts;
      held.retryAt = surroundings.now() + pauseMs;
      emitter.emit('retry', { ...placeOf(record), attempts, pauseMs, error });
      return;
    }
    const burial = await host.deadLetter(held, record, error, attempts);
    if (burial === 'lost' || held.lost) return;
    held.endRedriven(record, 'over');
    const told = { ...placeOf(record), attempts, error };
    if (burial === 'passed')
      return logger.warn('A redriven record failed; its dead letter was deleted, or given anew', told);
    logger.warn('A redriven record failed again, and is a dead letter again', told);
    emitter.emit('dead.letter', { ...told, id: burial.id });
  }

  #backoffMs(error: unknown, attempts: number): number {
    const { settings, surroundings } = this.#options;
    return Math.ceil(pauseOf(error, attempts, settings.handlerRetry, surroundings.random()));
  }
}

interface Failure {
  readonly error: unknown;
  /** No repeat can help. */
  readonly isFinal: boolean;
}

const placeOf = ({ topic, partition, offset }: FetchedRecord): TopicPartitionOffset => ({ topic, partition, offset });
