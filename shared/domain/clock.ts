import { CLOCK_CORRECTION_MS_MAX, CLOCK_SAMPLE_ERROR_MS } from './limits.ts';

export interface Clock {
  /** Epoch ms. */
  now(): number;
}

/**
 * A host's clock, set right by what the service's answers say of the time. Such a sample is coarse: the answer's `Date`
 * header is cut to the second and has travelled. A sample within its own error changes nothing, so that two times
 * taken on this clock can be compared to the millisecond.
 */
export class CorrectedClock implements Clock {
  readonly #host: Clock;
  readonly #sampleOffsetMs: () => number;
  #offsetMs = 0;

  /** @param sampleOffsetMs the service's time minus the host's, as last sampled */
  constructor(host: Clock, sampleOffsetMs: () => number) {
    this.#host = host;
    this.#sampleOffsetMs = sampleOffsetMs;
  }

  now(): number {
    const sampleMs = this.#sampleOffsetMs();
    if (Math.abs(sampleMs - this.#offsetMs) > CLOCK_SAMPLE_ERROR_MS) this.#offsetMs = sampleMs;
    return this.#host.now() + this.#offsetMs;
  }
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
