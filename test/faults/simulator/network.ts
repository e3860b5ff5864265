import type { Random } from './random.ts';

/** How the way between hosts and services behaves during a run. */
export interface NetworkHabits {
  /** Probabilities for one attempt. */
  readonly loseRequest: number;
  readonly loseAnswer: number;
  readonly internalError: number;
  readonly throttle: number;
  /** Of a way that takes 100 ms to 4 s; of one that takes up to the life of a signature. */
  readonly slow: number;
  readonly late: number;
}

export const PERFECT: NetworkHabits = {
  loseRequest: 0,
  loseAnswer: 0,
  internalError: 0,
  throttle: 0,
  slow: 0,
  late: 0,
};

/** Moments around which something is decided: settle times and deadlines of the protocol, timeouts of attempts. */
const TURNING_MS = [900, 1_000, 1_400, 1_500, 1_900, 2_000, 2_100, 3_000, 4_900, 5_100];
const LATE_MS_MAX = 16 * 60_000;

/** What becomes of one attempt. Ways in ms. */
export interface Fate {
  readonly there: number;
  readonly back: number;
  readonly requestLost: boolean;
  readonly answerLost: boolean;
  /** Answered with this instead; `carriedOut`: though it was done. */
  readonly refused?: 'throttled' | 'internal-error';
  readonly carriedOut: boolean;
}

/** Draws the fate of every attempt. */
export class Network {
  habits: NetworkHabits;
  readonly #random: Random;

  constructor(random: Random, habits: NetworkHabits) {
    this.#random = random;
    this.habits = habits;
  }

  fate(): Fate {
    const { loseRequest, loseAnswer, internalError, throttle } = this.habits;
    const chance = this.#random.next();
    const refused = chance < throttle ? 'throttled' : chance < throttle + internalError ? 'internal-error' : undefined;
    return {
      there: this.#way(),
      back: this.#way(),
      requestLost: this.#random.chance(loseRequest),
      answerLost: this.#random.chance(loseAnswer),
      carriedOut: refused === undefined || (refused === 'internal-error' && this.#random.chance(0.5)),
      ...(refused && { refused }),
    };
  }

  #way(): number {
    const { slow, late } = this.habits;
    const chance = this.#random.next();
    if (chance < late) return this.#random.between(5_000, LATE_MS_MAX);
    if (chance >= late + slow) return this.#random.between(1, 12);
    if (this.#random.chance(0.5)) return this.#random.between(50, 4_000);
    return this.#random.pick(TURNING_MS) + this.#random.between(-20, 20);
  }
}
