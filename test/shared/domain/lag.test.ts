import { describe, expect, it } from 'vitest';
import { judgeWaiting, waitsAtLeastMs } from '../../../shared/domain/lag.ts';
import type { Slot } from '../../../shared/domain/slot.ts';

const NOW = 1_000_000_000;
const topic = { retentionMs: 3_600_000, hiddenUntil: 0 };
const reserved = (count: number, ageMs: number) => ({ count, time: NOW - ageMs, expiresAt: 0, settleMs: 2_000 });
const head = (next: number, ...register: ReturnType<typeof reserved>[]) => ({
  next,
  register,
  settled: 0,
  logStart: 0,
});
const slot = (last: number, count: number, ageMs: number, previous = [reserved(1, ageMs)]): Slot => ({
  ...{ kind: 'batch', last, count, at: NOW - ageMs, previous, expiresAt: 0, append: 'a', batch: new Uint8Array() },
  json: false,
});

describe('what waits', () => {
  it('has waited since the batch was appended that holds it', () => {
    expect(judgeWaiting({ committed: 7, head: head(10) }, slot(9, 5, 60_000), topic, NOW)).toEqual({
      ageMs: 60_000,
      isUnsettled: false,
    });
  });

  it('has waited since it was reserved where no slot settles it, and nobody may pass it', () => {
    const behind = { committed: 7, head: head(10) };
    const follower = slot(9, 1, 5_000, [reserved(1, 8_000), reserved(1, 30_000), reserved(3, 90_000)]);
    expect(judgeWaiting(behind, follower, topic, NOW)).toEqual({ ageMs: 30_000, isUnsettled: true });
    const atTail = { committed: 7, head: head(8, reserved(1, 12_000), reserved(7, 90_000)) };
    expect(judgeWaiting(atTail, undefined, topic, NOW)).toEqual({ ageMs: 12_000, isUnsettled: true });
  });

  it('is not what was settled or has expired: then the next record is what waits', () => {
    const settled = { committed: 7, head: { ...head(10), settled: 9 } };
    expect(judgeWaiting(settled, slot(9, 1, 5_000), topic, NOW)).toEqual({ ageMs: 5_000, isUnsettled: false });
    const expired = slot(9, 1, 5_000, [reserved(2, 4_000_000)]);
    expect(judgeWaiting({ committed: 7, head: head(10) }, expired, topic, NOW)).toEqual({
      ageMs: 5_000,
      isUnsettled: false,
    });
  });

  it('has waited at least as long as the head remembers', () => {
    const register = [reserved(1, 1_000), reserved(2, 5_000), reserved(4, 9_000)];
    expect(waitsAtLeastMs({ committed: 9, head: head(10, ...register) }, NOW)).toBe(1_000);
    expect(waitsAtLeastMs({ committed: 8, head: head(10, ...register) }, NOW)).toBe(5_000);
    expect(waitsAtLeastMs({ committed: 0, head: head(10, ...register) }, NOW)).toBe(9_000);
    expect(waitsAtLeastMs({ committed: 0, head: head(10) }, NOW)).toBe(0);
  });
});
