import { CLOCK_CORRECTION_MS_MAX } from './limits.ts';

export interface Clock {
  /** Epoch ms. */
  now(): number;
}

/**
 * The clock that stamps reservations and bounds the writes that follow them. A writer that runs behind is fenced by
 * readers whose clock is right; each void tells it their time, and it catches up.
 */
export class WriterClock implements Clock {
  readonly #source: Clock;
  #correctionMs = 0;

  constructor(source: Clock) {
    this.#source = source;
  }

  now(): number {
    return this.#source.now() + this.#correctionMs;
  }

  /** Takes over the time at which somebody settled a slot, if it is ahead of this clock. */
  learn(settledAt: number): void {
    const behindMs = settledAt - this.now();
    if (behindMs > 0) this.#correctionMs = Math.min(this.#correctionMs + behindMs, CLOCK_CORRECTION_MS_MAX);
  }
}
