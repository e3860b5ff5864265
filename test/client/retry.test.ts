import { describe, expect, it } from 'vitest';
import { apiError } from '../../client/api-error.ts';
import { Aborted, ConnectionError, VertebraError } from '../../client/errors.ts';
import { pauseOf, type Retrying, retrying } from '../../client/retry.ts';
import type { Surroundings } from '../../client/surroundings.ts';

/** A clock that only waiting moves. */
function still(random = 0.5): Surroundings & { readonly pauses: number[] } {
  const pauses: number[] = [];
  let now = 0;
  return {
    pauses,
    now: () => now,
    random: () => random,
    async sleep(ms, signal) {
      if (signal?.aborted) throw new Aborted(signal);
      pauses.push(ms);
      now += ms;
    },
  };
}
const POLICY = { withinMs: 10_000, minBackoffMs: 100, maxBackoffMs: 1_000 };
const down = new ConnectionError('down', { retryable: true });
const throttled = (retryAfter: string) =>
  apiError(429, new Headers({ 'retry-after': retryAfter }), new Uint8Array(), true);

function failing(times: number, error: unknown = down) {
  let calls = 0;
  return { act: async () => (calls++ < times ? Promise.reject(error) : 'done'), calls: () => calls };
}
const run = (act: () => Promise<string>, options: Partial<Retrying> = {}) => retrying(act, { ...POLICY, ...options });

describe('a call that fails', () => {
  it('is repeated until it succeeds, after pauses that double', async () => {
    const surroundings = still();
    const { act, calls } = failing(5);
    expect(await run(act, { surroundings })).toBe('done');
    expect(calls()).toBe(6);
    expect(surroundings.pauses).toEqual([50, 100, 200, 400, 500]);
  });

  it('is not repeated when a repeat is no use', async () => {
    for (const error of [new VertebraError('topic_not_found', 'no'), new TypeError('a bug')]) {
      const { act, calls } = failing(1, error);
      await expect(run(act, { surroundings: still() })).rejects.toBe(error);
      expect(calls()).toBe(1);
    }
  });

  it('is given up when its time is over, with what it failed with last', async () => {
    const surroundings = still();
    await expect(run(failing(1e6).act, { surroundings })).rejects.toBe(down);
    expect(surroundings.now()).toBeLessThan(POLICY.withinMs);
    expect(surroundings.now()).toBeGreaterThan(POLICY.withinMs / 2);
  });

  it('is given up when the caller aborts', async () => {
    const stop = new AbortController();
    const { act, calls } = failing(9);
    const options = { surroundings: still(), signal: stop.signal, onRetry: () => stop.abort() };
    await expect(run(act, options)).rejects.toThrow(Aborted);
    expect(calls()).toBe(1);
  });

  it('is told before each pause', async () => {
    const told: unknown[] = [];
    await run(failing(2).act, { surroundings: still(), onRetry: (...all) => told.push(all) });
    expect(told).toEqual([
      [down, 50, 1],
      [down, 100, 2],
    ]);
  });
});

describe('the pause', () => {
  it('is anywhere between nothing and the backoff, so that a thousand callers do not return together', () => {
    const policy = { minBackoffMs: 100, maxBackoffMs: 60_000 };
    const pauses = Array.from({ length: 1_000 }, (_, i) => pauseOf(down, 7, policy, i / 1_000));
    const perSecond = new Map<number, number>();
    for (const second of pauses.map((ms) => Math.floor(ms / 1_000))) {
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    expect(Math.max(...perSecond.values())).toBeLessThanOrEqual(100);
    expect(Math.max(...pauses)).toBeLessThan(12_800);
  });

  it.each([
    ['2', 2_000],
    ['999999999', 60_000],
  ])('is at least what the API asks for (%s s), within a cap', (asked, ms) => {
    expect(pauseOf(throttled(asked), 0, POLICY, 0)).toBe(ms);
    expect(pauseOf(throttled(asked), 0, POLICY, 0.5)).toBe(ms + 50);
  });

  it('is not begun when it would end too late', async () => {
    const surroundings = still();
    await expect(run(failing(1, throttled('30')).act, { surroundings })).rejects.toMatchObject({ code: 'throttled' });
    expect(surroundings.pauses).toEqual([]);
  });
});
