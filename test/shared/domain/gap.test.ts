import { describe, expect, it } from 'vitest';
import { type Gap, judgeGap } from '../../../shared/domain/gap.ts';
import { LATE_MAX_MS, RETENTION_FOREVER, SETTLE_AFTER_MS } from '../../../shared/domain/limits.ts';
import type { Reserved } from '../../../shared/domain/slot.ts';
import { expiryOf } from '../../../shared/domain/topic.ts';

const HOUR = 3_600_000;
const NOW = 1_800_000_000_000;
const topic = { retentionMs: 24 * HOUR, hiddenUntil: 0 };
const nothingKnown = { settled: 0, logStart: 0 };

/** A reservation made `ageMs` ago. */
function reserved(count: number, ageMs: number, retentionMs = topic.retentionMs, settleMs = SETTLE_AFTER_MS): Reserved {
  const time = NOW - ageMs;
  return { count, time, expiresAt: expiryOf(retentionMs, time), settleMs };
}

function judge(gap: Gap, progress = nothingKnown, settings = topic, ordersMax = 100) {
  return judgeGap(gap, progress, settings, NOW, ordersMax);
}

describe('a gap whose reservations are all known', () => {
  it('waits for one that is in flight', () => {
    const previous = [reserved(3, SETTLE_AFTER_MS)];
    expect(judge({ from: 0, to: 3, previous, followerTime: NOW })).toEqual({ act: 'wait' });
  });

  it('voids one that is abandoned, on its slot key, with what its follower knew of those before it', () => {
    const previous = [reserved(3, SETTLE_AFTER_MS + 1), reserved(2, 9_000)];
    expect(judge({ from: 2, to: 5, previous, followerTime: NOW })).toEqual({
      act: 'void',
      orders: [{ last: 4, count: 3, previous: [previous[1]], reservedBy: NOW - SETTLE_AFTER_MS - 1 }],
    });
  });

  it('voids oldest first and stops before the first that is in flight', () => {
    const previous = [reserved(1, 10), reserved(1, 10_000), reserved(1, 5), reserved(2, 20_000)];
    const verdict = judge({ from: 0, to: 5, previous, followerTime: NOW });
    expect(verdict).toMatchObject({ act: 'void', orders: [{ last: 1, count: 2 }] });
  });

  it('waits as long as a reservation itself tells when that is longer than usual', () => {
    const previous = [reserved(1, 9_000, topic.retentionMs, 10_000)];
    expect(judge({ from: 0, to: 1, previous, followerTime: NOW }).act).toBe('wait');
  });

  it('puts no more voids than it may', () => {
    const previous = [reserved(1, 9_000), reserved(1, 9_000), reserved(1, 9_000)];
    const verdict = judge({ from: 0, to: 3, previous, followerTime: NOW }, nothingKnown, topic, 2);
    expect(verdict).toMatchObject({ act: 'void', orders: [{ last: 0 }, { last: 1 }] });
    expect(judge({ from: 0, to: 3, previous, followerTime: NOW }, nothingKnown, topic, 0).act).toBe('wait');
  });

  it('starts the log behind what is expired', () => {
    const previous = [reserved(2, 25 * HOUR)];
    expect(judge({ from: 0, to: 2, previous, followerTime: NOW })).toEqual({ act: 'pass', to: 2, expired: true });
  });

  it('passes an expired gap only as far as each of its reservations, oldest first, is expired', () => {
    const previous = [reserved(1, 25 * HOUR), reserved(1, 10), reserved(1, 26 * HOUR)];
    expect(judge({ from: 0, to: 3, previous, followerTime: NOW })).toEqual({ act: 'pass', to: 1, expired: true });
    expect(judge({ from: 1, to: 3, previous, followerTime: NOW })).toEqual({ act: 'wait' });
  });

  it('takes the earlier of the expiry that held at the reservation and the present one', () => {
    const shortened = { retentionMs: HOUR, hiddenUntil: 0 };
    const previous = [reserved(1, 2 * HOUR)];
    expect(judge({ from: 0, to: 1, previous, followerTime: NOW }, nothingKnown, shortened)).toMatchObject({
      expired: true,
    });
    const lengthened = { retentionMs: 90 * 24 * HOUR, hiddenUntil: 0 };
    const old = [reserved(1, 25 * HOUR, 24 * HOUR)];
    expect(judge({ from: 0, to: 1, previous: old, followerTime: NOW }, nothingKnown, lengthened)).toMatchObject({
      expired: true,
    });
  });

  it('never expires on a topic that keeps its records for ever, but for what was hidden before', () => {
    const forever = { retentionMs: RETENTION_FOREVER, hiddenUntil: 0 };
    const previous = [reserved(1, 1_000 * 24 * HOUR, RETENTION_FOREVER)];
    expect(judge({ from: 0, to: 1, previous, followerTime: NOW }, nothingKnown, forever).act).toBe('void');
    const hidden = { ...forever, hiddenUntil: NOW - 999 * 24 * HOUR };
    expect(judge({ from: 0, to: 1, previous, followerTime: NOW }, nothingKnown, hidden)).toMatchObject({
      expired: true,
    });
  });
});

describe('a gap below what the head says', () => {
  const previous = [reserved(4, 9_000)];

  it('is passed without a void up to `settled`', () => {
    const verdict = judge({ from: 0, to: 4, previous, followerTime: NOW }, { settled: 3, logStart: 0 });
    expect(verdict).toEqual({ act: 'pass', to: 3, expired: false });
  });

  it('is passed as expired up to the log start', () => {
    const verdict = judge({ from: 0, to: 4, previous, followerTime: NOW }, { settled: 9, logStart: 9 });
    expect(verdict).toEqual({ act: 'pass', to: 4, expired: true });
  });
});

describe('a gap that its follower does not remember', () => {
  it('is voided offset by offset from the highest down (C1)', () => {
    const verdict = judge({ from: 0, to: 3, previous: [], followerTime: NOW - 9_000 });
    expect(verdict).toMatchObject({ act: 'void', orders: [{ last: 2, count: 1 }, { last: 1 }, { last: 0 }] });
  });

  it('is voided below the reservations that the follower does remember, first', () => {
    const previous = [reserved(2, 10), reserved(2, 9_000)];
    const verdict = judge({ from: 0, to: 6, previous, followerTime: NOW });
    expect(verdict).toMatchObject({ act: 'void', orders: [{ last: 1 }, { last: 0 }] });
  });

  it('waits while the oldest reservation known behind it, else the follower, is in flight', () => {
    const previous = [reserved(2, 10)];
    expect(judge({ from: 0, to: 6, previous, followerTime: NOW - 9_000 }).act).toBe('wait');
    expect(judge({ from: 0, to: 6, previous: [], followerTime: NOW - 10 }).act).toBe('wait');
  });

  it('waits at the tail of a head that remembers nothing: nobody says how old it is', () => {
    expect(judge({ from: 0, to: 6, previous: [] }).act).toBe('wait');
  });

  it('needs no voids once every follower is older than twice the late bound (C2)', () => {
    const old = 2 * LATE_MAX_MS + 1;
    const forever = { retentionMs: RETENTION_FOREVER, hiddenUntil: 0 };
    const previous = [reserved(1, old, RETENTION_FOREVER)];
    const gap = { from: 0, to: 20_001, previous, followerTime: NOW - old };
    expect(judge(gap, nothingKnown, forever)).toEqual({ act: 'pass', to: 20_000, expired: false });
    expect(judge({ ...gap, followerTime: NOW - 60_000 }, nothingKnown, forever).act).toBe('void');
  });

  it('is expired when what is known behind it is', () => {
    const previous = [reserved(1, 25 * HOUR)];
    const verdict = judge({ from: 0, to: 20_000, previous, followerTime: NOW });
    expect(verdict).toEqual({ act: 'pass', to: 20_000, expired: true });
  });

  it('asks for no more voids than it may, the highest first', () => {
    const verdict = judge({ from: 0, to: 20_000, previous: [], followerTime: NOW - 9_000 });
    if (verdict.act !== 'void') throw new Error(verdict.act);
    expect(verdict.orders).toHaveLength(100);
    expect(verdict.orders[0]!.last).toBe(19_999);
  });
});
