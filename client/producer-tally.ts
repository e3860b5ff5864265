import type { Header } from '../shared/domain/record.ts';
import type { DeliveryResult, Effect, VertebraError } from './errors.ts';
import type { Message } from './producer-words.ts';

/** What became of the messages of one call, as it comes to be known. */
export class Tally<T> {
  readonly results: DeliveryResult[];
  /** Resolves when all is known. */
  readonly done: Promise<readonly DeliveryResult[]>;
  readonly #taken: boolean[] = [];
  #open: number;
  #finish: (results: readonly DeliveryResult[]) => void = () => {};

  /** @param traceHeaders of messages that have no trace of their own */
  constructor(
    readonly entries: readonly { readonly topic: string; readonly message: Message<T> }[],
    readonly traceHeaders: readonly Header[] = [],
  ) {
    this.results = new Array(entries.length);
    this.#open = entries.length;
    this.done = new Promise((resolve) => {
      this.#finish = resolve;
    });
    if (entries.length === 0) this.#finish(this.results);
  }

  /** Whether all is known. */
  get isDone(): boolean {
    return this.#open === 0;
  }

  /** Whether nothing more is to be done about it. */
  isSettled(index: number): boolean {
    return this.results[index] !== undefined;
  }

  /** It is on its way from now on. */
  take(index: number): void {
    this.#taken[index] = true;
  }

  /** The first word counts: who gave up waiting is not told more. */
  settle(index: number, result: DeliveryResult): void {
    if (this.isSettled(index)) return;
    this.results[index] = result;
    if (--this.#open === 0) this.#finish(this.results);
  }

  /** Gives up on all that is not known yet. @param errorOf given what is known of a message's effect */
  giveUp(errorOf: (effect: Effect) => VertebraError): void {
    for (const index of this.entries.keys()) {
      if (!this.isSettled(index)) this.settle(index, { error: errorOf(this.#taken[index] ? 'unknown' : 'none') });
    }
  }
}
