import { ApiError } from './api-error.ts';
import { InvalidOptions, VertebraError } from './errors.ts';
import {
  MAX_BACKOFF_MS_DEFAULT,
  MIN_BACKOFF_MS_DEFAULT,
  RETRY_AFTER_MS_MAX,
  RETRY_WITHIN_MS_DEFAULT,
} from './limits.ts';
import { known } from './option-checks.ts';
import { SURROUNDINGS, type Surroundings } from './surroundings.ts';

/** How failed calls are repeated. */
export interface RetryPolicy {
  /** In all, from the first attempt on; no attempt begins later. 0: never repeated. */
  readonly withinMs: number;
  /** Upper end of the first pause; doubles with each. */
  readonly minBackoffMs: number;
  readonly maxBackoffMs: number;
}

export const RETRY_DEFAULT: RetryPolicy = {
  withinMs: RETRY_WITHIN_MS_DEFAULT,
  minBackoffMs: MIN_BACKOFF_MS_DEFAULT,
  maxBackoffMs: MAX_BACKOFF_MS_DEFAULT,
};

/**
 * A policy in which what is not given is as in another.
 * @throws {InvalidOptions}
 */
export function policyOf(given: Partial<RetryPolicy> = {}, otherwise: RetryPolicy = RETRY_DEFAULT): RetryPolicy {
  known("'retry'", given, Object.keys(RETRY_DEFAULT));
  const policy = { ...otherwise, ...given };
  for (const name of ['withinMs', 'minBackoffMs', 'maxBackoffMs'] as const) {
    const value: unknown = policy[name];
    if (typeof value === 'number' && value >= 0) continue;
    throw new InvalidOptions(`'retry.${name}' must be 0 or more, not ${String(value)}`);
  }
  return policy;
}

export interface Retrying extends RetryPolicy {
  readonly signal?: AbortSignal | undefined;
  readonly surroundings?: Surroundings;
  /** Which failures pass; by default those that say so themselves. */
  readonly isRetryable?: (error: unknown) => boolean;
  /** Told before each pause. */
  readonly onRetry?: (error: unknown, pauseMs: number, attempts: number) => void;
}

/**
 * Acts until it succeeds, fails for good, or its time is over; then it throws what the last attempt threw.
 * @param attempt given what is left of the time, ms, and how many attempts there were before
 * @throws {Aborted} during a pause
 */
export async function retrying<T>(
  attempt: (leftMs: number, attempts: number) => Promise<T>,
  options: Retrying,
): Promise<T> {
  const { withinMs, signal, surroundings = SURROUNDINGS, isRetryable = saysRetryable } = options;
  const endsAt = surroundings.now() + withinMs;
  for (let attempts = 0; ; attempts++) {
    try {
      return await attempt(Math.max(0, endsAt - surroundings.now()), attempts);
    } catch (error) {
      if (!isRetryable(error)) throw error;
      const pauseMs = pauseOf(error, attempts, options, surroundings.random());
      if (surroundings.now() + pauseMs >= endsAt) throw error;
      options.onRetry?.(error, pauseMs, attempts + 1);
      await surroundings.sleep(pauseMs, signal);
    }
  }
}

/**
 * How long to wait before the next attempt: full jitter, so that those who failed together do not return together; on
 * top of what the API asks for, within `RETRY_AFTER_MS_MAX`.
 * @param attempts failed before this one
 * @param random 0 ≤ n < 1
 */
export function pauseOf(
  error: unknown,
  attempts: number,
  { minBackoffMs, maxBackoffMs }: Pick<RetryPolicy, 'minBackoffMs' | 'maxBackoffMs'>,
  random: number,
): number {
  const askedMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  const backoffMs = Math.min(maxBackoffMs, minBackoffMs * 2 ** Math.min(attempts, 30));
  return Math.min(askedMs, RETRY_AFTER_MS_MAX) + random * backoffMs;
}

function saysRetryable(error: unknown): boolean {
  return error instanceof VertebraError && error.retryable;
}
