import { describe, expect, it } from 'vitest';
import { compareHead } from '../../../shared/domain/head-beside-log.ts';
import { SETTLE_AFTER_MS } from '../../../shared/domain/limits.ts';
import type { Slot } from '../../../shared/domain/slot.ts';

const NOW = 1_800_000_000_000;
const DAY = 86_400_000;
const topic = { retentionMs: DAY, hiddenUntil: 0 };
const reserved = (count: number, ageMs = 60_000) => ({
  count,
  time: NOW - ageMs,
  expiresAt: Math.ceil((NOW - ageMs + DAY) / 1_000),
  settleMs: SETTLE_AFTER_MS,
});
const slot = (last: number, count = 1, previous = [] as ReturnType<typeof reserved>[]): Slot => ({
  ...{ kind: 'batch', last, count, at: NOW - 60_000, previous, expiresAt: reserved(1).expiresAt },
  ...{ append: 'ab', batch: new Uint8Array(0), json: false },
});
const compare = (
  head: { next: number; settled?: number; register?: ReturnType<typeof reserved>[] },
  last?: Slot,
  of = topic,
) => compareHead(of, { settled: 0, register: [], ...head }, last, NOW);

describe('a head and its log', () => {
  it('belong together when the log ends where the head is, or both are empty', () => {
    expect(compare({ next: 0 })).toEqual({ kind: 'fits' });
    expect(compare({ next: 3, register: [reserved(1), reserved(2)] }, slot(2))).toEqual({ kind: 'fits' });
  });

  it('belong together while an append is under way', () => {
    const register = [reserved(1, SETTLE_AFTER_MS), reserved(3)];
    expect(compare({ next: 4, register }, slot(2, 3))).toEqual({ kind: 'fits' });
  });

  it('belong together when all that was appended has expired', () => {
    const register = [reserved(2, DAY), reserved(3, DAY)];
    expect(compare({ next: 5, settled: 5, register })).toEqual({ kind: 'fits' });
  });

  it('do not when the log has gone on: the head is to be behind it, and to remember what the last slot does', () => {
    const previous = [reserved(2), reserved(1)];
    expect(compare({ next: 3, register: [reserved(3)] }, slot(9, 4, previous))).toEqual({
      kind: 'head_behind',
      to: 10,
      register: [{ ...reserved(4) }, ...previous],
    });
  });

  it('remembers eight reservations, however many the last slot tells', () => {
    const found = compare(
      { next: 0 },
      slot(
        9,
        1,
        Array.from({ length: 8 }, () => reserved(1)),
      ),
    );
    expect(found).toMatchObject({ kind: 'head_behind', register: { length: 8 } });
  });

  it('do not when the log lacks all that the head remembers, or what was settled', () => {
    const register = [reserved(2), reserved(1), reserved(1)];
    expect(compare({ next: 10, register }, slot(5))).toEqual({ kind: 'log_behind', end: 6 });
    expect(compare({ next: 10, register })).toEqual({ kind: 'log_behind', end: 0 });
    expect(compare({ next: 10, settled: 10, register: [reserved(1), reserved(1)] }, slot(8))).toEqual({
      kind: 'log_behind',
      end: 9,
    });
  });

  it('tell of an append that was abandoned, and that alone', () => {
    const register = [reserved(2), reserved(1)];
    expect(compare({ next: 10, register }, slot(7))).toEqual({ kind: 'abandoned', offsets: 2 });
    expect(compare({ next: 1, register: [reserved(1)] })).toEqual({ kind: 'abandoned', offsets: 1 });
  });

  it('of a topic without end say nothing of voids, which go after a day', () => {
    const forever = { retentionMs: -1, hiddenUntil: 0 };
    const register = [reserved(1), reserved(1)].map((each) => ({ ...each, expiresAt: 0 }));
    expect(compare({ next: 10, settled: 10, register }, slot(8), forever)).toEqual({ kind: 'abandoned', offsets: 1 });
  });
});
