import type { HeldPartition } from './consumer-partition.ts';
import { keyOf } from './consumer-partition.ts';
import { Aborted } from './errors.ts';
import type { Surroundings } from './surroundings.ts';

export interface DispatcherOptions {
  /** Turns at the same time, each on a partition of its own. */
  readonly concurrency: number;
  readonly surroundings: Surroundings;
  /** All partitions that may have a turn now, but for those that wait for a retry. */
  readonly candidates: () => HeldPartition[];
  /** Hands out what is next in a partition. Must not throw. */
  readonly turn: (held: HeldPartition) => Promise<void>;
}

/** Gives partitions their turns: whose last one is longest ago comes first; never two of one partition at once, whatever its epoch. */
export class Dispatcher {
  readonly #options: DispatcherOptions;
  readonly #running = new Map<string, { readonly held: HeldPartition; readonly ended: Promise<void> }>();
  readonly #closed = new AbortController();
  #turns = 0;
  #wakesAt = Number.POSITIVE_INFINITY;

  constructor(options: DispatcherOptions) {
    this.#options = options;
  }

  /** Begins as many turns as there is room and work for. */
  kick(): void {
    const { concurrency, candidates, surroundings } = this.#options;
    if (this.#closed.signal.aborted || this.#running.size >= concurrency) return;
    const now = surroundings.now();
    const free = candidates().filter((held) => !this.#running.has(keyOf(held)));
    for (const held of free.sort((a, b) => a.lastTurn - b.lastTurn)) {
      if (this.#running.size >= concurrency) return;
      if (held.retryAt > now) this.#wakeAt(held.retryAt);
      else this.#begin(held);
    }
  }

  /** Begins no more turns; those that run, end. */
  close(): void {
    this.#closed.abort();
  }

  /** Partitions that have a turn now, those that were lost meanwhile among them. */
  get running(): readonly HeldPartition[] {
    return [...this.#running.values()].map(({ held }) => held);
  }

  /** Turns that show no sign of life are not waited for any more. @returns their partitions, and when to look again */
  overdue(timeoutMs: number, now: number): { readonly late: readonly HeldPartition[]; readonly nextAt: number } {
    const late = this.running.filter(({ busySince }) => busySince + timeoutMs <= now);
    for (const held of late) this.#forget(held);
    const ends = this.running.map(({ busySince }) => busySince + timeoutMs);
    return { late, nextAt: Math.min(...ends) };
  }

  #forget(held: HeldPartition): void {
    if (this.#running.get(keyOf(held))?.held === held) this.#running.delete(keyOf(held));
  }

  /** Resolves when the turns that run now have ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#running.values()].map(({ ended }) => ended));
  }

  #begin(held: HeldPartition): void {
    const key = keyOf(held);
    held.lastTurn = ++this.#turns;
    const ended = this.#options.turn(held).finally(() => {
      this.#forget(held);
      this.kick();
    });
    this.#running.set(key, { held, ended });
  }

  #wakeAt(at: number): void {
    if (at >= this.#wakesAt) return;
    this.#wakesAt = at;
    const { surroundings } = this.#options;
    surroundings.sleep(Math.max(0, at - surroundings.now()), this.#closed.signal).then(
      () => {
        if (this.#wakesAt === at) this.#wakesAt = Number.POSITIVE_INFINITY;
        this.kick();
      },
      (error: unknown) => {
        if (!(error instanceof Aborted)) throw error;
      },
    );
  }
}
