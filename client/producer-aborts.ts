import { setMaxListeners } from 'node:events';
import { Aborted } from './errors.ts';
import type { Tally } from './producer-tally.ts';

/** Gives up on calls when their signal is aborted: one listener for each signal, however many calls share it. */
export class AbortWatch<T> {
  readonly #watched = new Map<AbortSignal, Set<Tally<T>>>();

  /** @returns what ends the watch */
  watch(tally: Tally<T>, signal: AbortSignal | undefined): () => void {
    if (signal === undefined) return () => {};
    if (signal.aborted) tally.giveUp((effect) => new Aborted(signal, effect));
    const tallies = this.#watched.get(signal) ?? this.#listen(signal);
    tallies.add(tally);
    return () => {
      tallies.delete(tally);
      if (tallies.size > 0 || this.#watched.get(signal) !== tallies) return;
      this.#watched.delete(signal);
      signal.removeEventListener('abort', this.#onAbort);
    };
  }

  #listen(signal: AbortSignal): Set<Tally<T>> {
    const tallies = new Set<Tally<T>>();
    this.#watched.set(signal, tallies);
    setMaxListeners(0, signal); // many producers and requests may share it
    signal.addEventListener('abort', this.#onAbort, { once: true });
    return tallies;
  }

  readonly #onAbort = ({ target }: Event): void => {
    const signal = target as AbortSignal;
    for (const tally of this.#watched.get(signal) ?? []) tally.giveUp((effect) => new Aborted(signal, effect));
  };
}
