import { Aborted } from './errors.ts';

/** Time, chance and waiting, so that tests may bring their own. */
export interface Surroundings {
  /** Epoch ms. */
  now(): number;
  /** 0 ≤ n < 1. */
  random(): number;
  /** Resolves after `ms`. @throws {Aborted} as soon as the signal is aborted */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

/** Those of this process. A wait keeps the process alive: something is still to be done. */
export const SURROUNDINGS: Surroundings = { now: Date.now, random: Math.random, sleep };

function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new Aborted(signal));
    const end = () => {
      clearTimeout(timer);
      reject(new Aborted(signal!));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end);
      resolve();
    }, ms);
    signal?.addEventListener('abort', end, { once: true });
  });
}

/** What `work` comes to, or `Aborted` as soon as the signal is: the work itself is not stopped by this. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      work.catch(() => {}); // nobody waits for it any more
      return reject(new Aborted(signal));
    }
    const end = () => reject(new Aborted(signal));
    signal.addEventListener('abort', end, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', end));
  });
}
