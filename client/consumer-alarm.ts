import { Aborted } from './errors.ts';
import type { Surroundings } from './surroundings.ts';

/** A wait that ends when its time is over or when somebody rings. A ring that nobody waited for is not forgotten. */
export class Alarm {
  readonly #surroundings: Surroundings;
  #ring = new AbortController();

  constructor(surroundings: Surroundings) {
    this.#surroundings = surroundings;
  }

  ring(): void {
    this.#ring.abort();
  }

  async wait(ms: number): Promise<void> {
    try {
      if (!this.#ring.signal.aborted && ms > 0) await this.#surroundings.sleep(ms, this.#ring.signal);
    } catch (error) {
      if (!(error instanceof Aborted)) throw error;
    } finally {
      if (this.#ring.signal.aborted) this.#ring = new AbortController();
    }
  }
}
