import { Aborted } from './errors.ts';
import { TIMER_MS_MAX } from './limits.ts';

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
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', end);
        resolve();
      },
      Math.min(ms, TIMER_MS_MAX),
    );
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

/** What `within` comes to when the time is over. */
export const LATE = Symbol('late');

/** What `work` comes to, or `LATE` after `ms`: the work itself is not stopped by this. @throws {Aborted} */
export async function within<T>(
  work: Promise<T>,
  ms: number,
  { sleep }: Surroundings,
  signal?: AbortSignal,
): Promise<T | typeof LATE> {
  const enough = new AbortController();
  const late: Promise<T | typeof LATE> = sleep(Math.max(0, ms), enough.signal).then(
    () => LATE,
    () => LATE, // the race is over by then
  );
  try {
    return await unlessAborted(Promise.race([work, late]), signal);
  } finally {
    enough.abort('enough');
  }
}

/** A signal that is aborted when either is, with the reason of the one that was. `forget` unties it from both. */
export function eitherSignal(a: AbortSignal, b: AbortSignal | undefined): { signal: AbortSignal; forget(): void } {
  if (b === undefined) return { signal: a, forget: () => {} };
  const either = new AbortController();
  const [onA, onB] = [() => either.abort(a.reason), () => either.abort(b.reason)];
  if (a.aborted) onA();
  if (b.aborted) onB();
  a.addEventListener('abort', onA);
  b.addEventListener('abort', onB);
  return {
    signal: either.signal,
    forget() {
      a.removeEventListener('abort', onA);
      b.removeEventListener('abort', onB);
    },
  };
}
