import { BackboneError, Throttled, TopicNotFound, Unavailable } from '../domain/errors.ts';
import { WriteFailed } from '../domain/write-failed.ts';

/**
 * For operations whose every step can be repeated: a write that failed need not be looked into, the caller repeats the
 * whole. @throws {Throttled | Unavailable} in its place; anything else as it is
 */
export function storeFailed(error: unknown): never {
  throw error instanceof WriteFailed ? toBeRepeated(error) : error;
}

/**
 * What went wrong with one part of a call, and says nothing about the others: the store, or a topic that was deleted.
 * @throws anything else as it is
 */
export function passingError(error: unknown): BackboneError {
  if (error instanceof WriteFailed) return toBeRepeated(error);
  if (error instanceof BackboneError && (error.retryable || error instanceof TopicNotFound)) return error;
  throw error;
}

function toBeRepeated(error: WriteFailed): Throttled | Unavailable {
  return error.reason === 'throttled' && !error.mayHaveLanded
    ? new Throttled('The store refuses more writes for now; send it again', 1_000, { cause: error })
    : new Unavailable('The store did not take every step; send it again', 1_000, { cause: error });
}

/** Times that a write is tried which only met the load, and the longest pause before the next. */
const TRIES_MAX = 6;
const PAUSE_MS_MAX = 100;

/**
 * Makes a write again that was refused for load, or for a transaction that was at work on the same item. Nothing was
 * written by the tries before. @throws {WriteFailed}, and what `write` throws
 */
export async function insisting<T>(
  { sleep, random }: { sleep(ms: number): Promise<void>; random(): number },
  write: () => Promise<T>,
): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await write();
    } catch (error) {
      const isIdle = error instanceof WriteFailed && error.reason === 'throttled' && !error.mayHaveLanded;
      if (!isIdle || tries === TRIES_MAX) throw error;
      await sleep(1 + random() * (PAUSE_MS_MAX / TRIES_MAX) * tries);
    }
  }
}
