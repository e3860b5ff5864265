import { describe, expect, it } from 'vitest';
import type { Delivered } from '../../../shared/domain/delivery.ts';
import { SLOW_CALL_MS } from '../../../shared/domain/limits.ts';
import type { PushState } from '../../../shared/domain/position.ts';
import { afterDeadLetter, afterExpiry, judgeCall, limitsOf, type Outcome } from '../../../shared/domain/push-retry.ts';

const NOW = 1_800_000_000_000;
const error = { name: 'Error', message: 'no' };
const policy = {
  retry: { maxAttempts: 3, minBackoffMs: 100, maxBackoffMs: 1_000 },
  onFailure: 'deadLetter',
  haltAfterDeadLetters: 2,
} as const;

/** A call that carried these offsets, and what follows. */
function judge(
  push: PushState,
  offsets: readonly number[],
  delivered: Delivered,
  change: object = {},
  chance = 1,
): Outcome {
  const call = { offsets, next: offsets.at(-1)! + 1, hasMore: false, tookMs: 5 };
  return judgeCall(push, { ...call, ...change }, delivered, policy, NOW, chance);
}
const failureOf = ({ push }: Outcome) => push.failure!;

describe('what follows from a call', () => {
  it('that failed without naming a record is half of it, down to one, each after the shortest pause', () => {
    let push: PushState = {};
    const spans: number[] = [];
    for (let offsets = [3, 5, 6, 9, 12]; offsets.length > 1; offsets = offsets.slice(0, limitsOf(push).records)) {
      const outcome = judge(push, offsets, { kind: 'failed', error });
      expect(outcome).toMatchObject({ kind: 'retry', committed: 3 });
      expect(failureOf(outcome)).toMatchObject({ attempts: 0, end: offsets.at(-1)! + 1, retryAt: NOW + 100 });
      push = outcome.push;
      spans.push(failureOf(outcome).span);
    }
    expect(spans).toEqual([3, 2, 1]);
  });

  it('of one record is a longer pause each time, up to the longest, with full jitter', () => {
    const waits: number[] = [];
    const many = { ...policy, retry: { ...policy.retry, maxAttempts: 100 } };
    let push: PushState = {};
    for (let i = 0; i < 60; i++) {
      const call = { offsets: [7], next: 8, hasMore: false, tookMs: 5 };
      push = judgeCall(push, call, { kind: 'failed', error }, many, NOW, 1).push;
      waits.push(push.failure!.retryAt - NOW);
    }
    expect(waits.slice(0, 5)).toEqual([100, 200, 400, 800, 1_000]);
    expect(waits.at(-1)).toBe(1_000);
    expect(failureOf(judge({}, [7], { kind: 'failed', error }, {}, 0)).retryAt).toBe(NOW);
  });

  it('that named a record counts what that one has failed, and nothing that another has', () => {
    const push = judge({}, [1, 2, 3], { kind: 'failed', at: 2, error }).push;
    expect(push.failure).toMatchObject({ attempts: 1, span: 1, end: 3, firstFailedAt: NOW });
    const again = judge(push, [2], { kind: 'failed', error });
    expect(failureOf(again).attempts).toBe(2);
    const other = judge(push, [2, 3], { kind: 'failed', at: 3, error });
    expect(other).toMatchObject({ committed: 3 });
    expect(failureOf(other).attempts).toBe(1);
  });

  it('that met nobody leaves attempts and range as they were, and is as long as it is told to be, and no shorter than by itself', () => {
    const push = judge({}, [1, 2, 3, 4], { kind: 'failed', error }).push;
    const away = judge(push, [1, 2], { kind: 'away', error });
    expect(failureOf(away)).toMatchObject({ attempts: 0, absences: 1, span: 2, end: 5 });
    expect(failureOf(judge(away.push, [1, 2], { kind: 'away', error }))).toMatchObject({
      absences: 2,
      retryAt: NOW + 200,
    });
    for (const [retryAfterMs, waitMs] of [
      [5_000, 5_000],
      [5, 200],
      [0, 200],
    ] as const) {
      const told = judge(away.push, [1, 2], { kind: 'away', retryAfterMs, error });
      expect(failureOf(told).retryAt).toBe(NOW + waitMs);
    }
    expect(failureOf(judge(push, [1, 2], { kind: 'away', at: 2, error }))).toMatchObject({ absences: 1 });
  });

  it('that went keeps the range until it is behind, and then asks for more at once', () => {
    const push = judge({}, [1, 2, 3, 4], { kind: 'failed', error }).push;
    const half = judge(push, [1, 2], { kind: 'done' }, { hasMore: true });
    expect(half).toMatchObject({ kind: 'went', committed: 3, push: { failure: { span: 2, end: 5 } } });
    const whole = judge(half.push, [3, 4], { kind: 'done' });
    expect(whole).toMatchObject({ kind: 'went', committed: 5, hasMore: true });
    expect(whole.push.failure).toBeUndefined();
    expect(whole.push.lastError).toEqual({ ...error, at: NOW });
  });

  it('that took long is to be made aside the next time; one that was quick again is not', () => {
    const slow = judge({}, [1], { kind: 'done' }, { tookMs: SLOW_CALL_MS });
    expect(slow.push).toEqual({ isSlow: true });
    expect(judge(slow.push, [2], { kind: 'done' }, { tookMs: SLOW_CALL_MS - 1 }).push).toEqual({});
  });
});

describe('a batch that failed', () => {
  it('stays halved when retention overtakes a part of it, and its attempts are not the next record’s', () => {
    const { push } = judge(judge({}, [1, 2], { kind: 'failed', error }).push, [1], { kind: 'failed', error });
    expect(push.failure).toMatchObject({ span: 1, end: 2, attempts: 1 });
    const wide = { ...push, failure: { ...push.failure!, end: 5 } };
    const overtaken = afterExpiry(wide, 3, 2);
    expect(overtaken).toMatchObject({ expired: 2, failure: { span: 1, end: 5, attempts: 0 } });
    const behind = afterExpiry(overtaken, 5, 2);
    expect(behind).toMatchObject({ expired: 4, isSlow: true });
    expect(behind.failure).toBeUndefined();
  });
});

describe('dead letters in a row', () => {
  const letter = { error, attempts: 3, firstFailedAt: NOW, isRecordsOwnFault: false };

  it('halt the subscription, unless something was delivered in between, or they say nothing about the target', () => {
    const one = afterDeadLetter({}, 5, letter, policy);
    expect(one).toEqual({ push: { deadLettersInARow: 1 } });
    expect(afterDeadLetter(one.push, 5, letter, policy)).toMatchObject({ push: {}, stop: { state: 'halted', error } });
    expect(judge(one.push, [4], { kind: 'done' }).push).toEqual({});
    const progress = judge(one.push, [4, 5], { kind: 'failed', at: 5, error });
    expect(progress.push.deadLettersInARow).toBeUndefined();
    expect(judge(one.push, [4], { kind: 'failed', error }).push.deadLettersInARow).toBe(1);
    expect(afterDeadLetter(one.push, 5, { ...letter, isRecordsOwnFault: true }, policy)).toEqual({ push: one.push });
  });
});
