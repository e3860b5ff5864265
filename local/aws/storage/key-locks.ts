/** Mutual exclusion by key, first come first served. Whoever takes several takes them in sorted order, so nobody waits in a circle. */
export class KeyLocks {
  /** Who waits behind the holder; a key that is absent is free. */
  readonly #queues = new Map<string, (() => void)[]>();

  /** Calls `then` when the key is the caller's: at once when it is free. */
  take(key: string, then: () => void): void {
    const queue = this.#queues.get(key);
    if (queue) {
      queue.push(then);
    } else {
      this.#queues.set(key, []);
      then();
    }
  }

  /** Hands the key to the next one in line. Only its holder may call this. */
  free(key: string): void {
    const next = this.#queues.get(key)?.shift();
    if (next) next();
    else this.#queues.delete(key);
  }

  /** Runs `work` while it holds all of `keys`. */
  async holding<T>(keys: readonly string[], work: () => Promise<T>): Promise<T> {
    const held: string[] = [];
    try {
      for (const key of [...new Set(keys)].sort()) {
        await new Promise<void>((taken) => this.take(key, taken));
        held.push(key);
      }
      return await work();
    } finally {
      for (const key of held) this.free(key);
    }
  }
}
