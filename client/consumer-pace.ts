import { POLL_PARTITIONS_MAX } from '../shared/domain/limits.ts';
import type { GroupAnswer } from './consumer-calls.ts';

/** Between which bounds pauses are, ms. */
export interface PaceBounds {
  readonly minMs: number;
  readonly maxMs: number;
}

/**
 * How long to wait between polls: not at all after data, ever longer while nothing comes. A poll looks at no more than
 * `POLL_PARTITIONS_MAX` partitions; of more, each is looked at once per pause, in turn.
 */
export class PollPace {
  readonly #bounds: PaceBounds;
  readonly #random: () => number;
  /** Between two looks at one partition. */
  #roundMs = 0;
  #turns = 1;

  constructor(bounds: PaceBounds, random: () => number) {
    this.#bounds = bounds;
    this.#random = random;
  }

  /** Polls that it takes to look at everything once. */
  get turns(): number {
    return this.#turns;
  }

  get pauseMs(): number {
    return this.#roundMs / this.#turns;
  }

  hurry(): void {
    this.#roundMs = 0;
  }

  /** @param partitions that the poll was to look at @param waited whether it was held, and nothing came */
  polled({ records, turn }: Pick<GroupAnswer, 'records' | 'turn'>, partitions: number, waited: boolean): void {
    this.#turns = turn === undefined ? 1 : Math.max(1, Math.ceil(partitions / POLL_PARTITIONS_MAX));
    const isInRound = turn !== undefined && turn !== 0;
    if (records.length > 0 || waited) this.hurry();
    else if (this.#roundMs === 0 || !isInRound) this.#slowDown();
  }

  /** Not all alike: those who began together drift apart. */
  #slowDown(): void {
    const grown = this.#roundMs * (1.5 + this.#random());
    this.#roundMs = Math.min(this.#bounds.maxMs, Math.max(this.#bounds.minMs, grown));
  }
}
