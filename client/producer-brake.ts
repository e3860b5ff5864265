import { ApiError } from './api-error.ts';
import type { Connection } from './connection.ts';
import { RETRY_AFTER_MS_DEFAULT, RETRY_AFTER_MS_MAX, SLOW_FOR_MS } from './limits.ts';
import { Slots } from './producer-buffer.ts';
import { LATE } from './surroundings.ts';

/**
 * Slows all requests to one topic down while the API holds them back: by its quota, or for groups that are behind. They
 * wait as long as it asks, together, and then go one at a time: what one is refused the others need not try.
 */
export class Brake {
  readonly #topic: string;
  readonly #connection: Connection;
  readonly #turns = new Slots(1);
  /** Epoch ms before which nothing is sent, and up to which it is sent one by one. */
  #heldUntil = 0;
  #slowUntil = 0;
  #refusal: ApiError | undefined;

  constructor(topic: string, connection: Connection) {
    this.#topic = topic;
    this.#connection = connection;
  }

  /**
   * Sends, and sends again what is held back, while there is time.
   *
   * @param until epoch ms
   * @returns what `send` does: `LATE` when it had no time left
   * @throws {ApiError} the refusal, when it takes more time than there is. Else what `send` throws
   * @throws {Aborted}
   */
  async pass<T>(send: () => Promise<T>, until: number, cut: AbortSignal): Promise<T | typeof LATE> {
    const { surroundings } = this.#connection;
    const now = surroundings.now();
    if (now >= this.#slowUntil) {
      try {
        return await this.#watch(send);
      } catch (error) {
        if (!this.#mayPass(error, until)) throw error;
      }
    }
    const sent = await this.#turns.hold(() => this.#persist(send, until, cut), until - now, surroundings, cut);
    if (sent === LATE && this.#refusal !== undefined) throw this.#refusal;
    return sent;
  }

  /** Keeps its turn until it is through: who comes next would be refused as well. */
  async #persist<T>(send: () => Promise<T>, until: number, cut: AbortSignal): Promise<T> {
    const { surroundings } = this.#connection;
    for (;;) {
      if (this.#refusal !== undefined && this.#heldUntil >= until) throw this.#refusal;
      const pauseMs = this.#heldUntil - surroundings.now();
      if (pauseMs > 0) await surroundings.sleep(pauseMs, cut);
      try {
        return await this.#watch(send);
      } catch (error) {
        if (!this.#mayPass(error, until)) throw error;
      }
    }
  }

  #mayPass(error: unknown, until: number): boolean {
    return isHeldBack(error) && this.#heldUntil < until;
  }

  async #watch<T>(send: () => Promise<T>): Promise<T> {
    try {
      return await send();
    } catch (error) {
      if (isHeldBack(error)) this.#pull(error);
      throw error;
    }
  }

  #pull(refusal: ApiError): void {
    const { surroundings, retry, logger } = this.#connection;
    const now = surroundings.now();
    const askedMs = Math.min(refusal.retryAfterMs ?? RETRY_AFTER_MS_DEFAULT, RETRY_AFTER_MS_MAX);
    // Producers that were refused together do not return together.
    this.#heldUntil = Math.max(this.#heldUntil, now + askedMs + surroundings.random() * retry.minBackoffMs);
    if (now >= this.#slowUntil) {
      const { reason } = refusal.data;
      logger.warn('A topic takes less than is sent; it is waited for', {
        topic: this.#topic,
        reason,
        pauseMs: askedMs,
      });
    }
    this.#slowUntil = this.#heldUntil + SLOW_FOR_MS;
    this.#refusal = refusal;
  }
}

/** Not for want of room, which passes by itself, but because the topic's owner wants it so. */
function isHeldBack(error: unknown): error is ApiError {
  return error instanceof ApiError && error.code === 'throttled' && error.data.reason !== undefined;
}
