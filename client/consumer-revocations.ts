import type { Logger } from './connection.ts';
import { placeOf } from './consumer-news.ts';
import type { ConsumerOptions } from './consumer-options.ts';
import type { HeldPartition } from './consumer-partition.ts';

/** Tells the user of partitions that are to be given up, each once, when nobody has anything of them in hand any more. */
export class Revocations {
  readonly #onRevoked: ConsumerOptions['onRevoked'];
  readonly #logger: Logger;
  readonly #told = new WeakSet<HeldPartition>();

  constructor(onRevoked: ConsumerOptions['onRevoked'], logger: Logger) {
    this.#onRevoked = onRevoked;
    this.#logger = logger;
  }

  /** Afterwards they are to be released. @returns whether there was anything to tell */
  async tell(partitions: readonly HeldPartition[]): Promise<boolean> {
    const ready = partitions.filter((held) => held.busyUntil === null && !held.lost && !this.#told.has(held));
    if (ready.length === 0) return false;
    for (const held of ready) this.#told.add(held);
    try {
      await this.#onRevoked?.(ready.map(placeOf));
    } catch (error) {
      this.#logger.error('onRevoked failed; the partitions are released all the same', { error });
    }
    for (const held of ready) held.releasing = true;
    return true;
  }
}
