import { setImmediate as nextTurn } from 'node:timers/promises';
import { Aborted } from '../../client/errors.ts';
import type { Surroundings } from '../../client/surroundings.ts';

/** Turns of the event loop after which everything that does not wait for time has come to rest. */
const TURNS_TO_REST = 6;

/** Time that passes only when a test says so, and chance that never surprises. */
export class VirtualTime implements Surroundings {
  #now: number;
  readonly #sleepers = new Set<{ readonly at: number; readonly wake: () => void }>();

  /** @param now epoch ms */
  constructor(now = 1_800_000_000_000) {
    this.#now = now;
  }

  now = (): number => this.#now;
  random = (): number => 0.5;

  sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(new Aborted(signal));
      const sleeper = { at: this.#now + Math.max(0, ms), wake: () => leave(resolve) };
      const onAbort = () => leave(() => reject(new Aborted(signal!)));
      const leave = (then: () => void) => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', onAbort);
        then();
      };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
    });

  /** Lets everything happen that needs no time. */
  async rest(): Promise<void> {
    for (let turn = 0; turn < TURNS_TO_REST; turn++) await nextTurn();
  }

  /** Lets time pass, waking each sleeper at its moment. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.rest();
    for (let next = this.#next(); next && next.at <= end; next = this.#next()) {
      this.#now = Math.max(this.#now, next.at);
      next.wake();
      await this.rest();
    }
    this.#now = end;
  }

  /** Lets time pass until something is so. @throws when it is not within `withinMs` */
  async until(condition: () => boolean, withinMs = 600_000): Promise<void> {
    const end = this.#now + withinMs;
    for (await this.rest(); !condition(); await this.rest()) {
      const next = this.#next();
      if (!next || next.at > end) throw new Error(`not so within ${withinMs} ms: ${condition}`);
      this.#now = Math.max(this.#now, next.at);
      next.wake();
    }
  }

  #next() {
    return [...this.#sleepers].sort((a, b) => a.at - b.at)[0];
  }
}
