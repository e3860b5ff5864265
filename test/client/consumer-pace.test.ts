import { describe, expect, it } from 'vitest';
import { PollPace } from '../../client/consumer-pace.ts';
import type { FetchedRecord } from '../../client/messages.ts';

const pace = () => new PollPace({ minMs: 100, maxMs: 1_000 }, () => 0.5);
const RECORDS = [{} as FetchedRecord];

describe('the pace of polls', () => {
  it('doubles while nothing comes, up to its bound, and is nothing after data', () => {
    const one = pace();
    const pauses = Array.from({ length: 6 }, () => {
      one.polled({ records: [] }, 3, false);
      return one.pauseMs;
    });
    expect(pauses).toEqual([100, 200, 400, 800, 1_000, 1_000]);
    one.polled({ records: RECORDS }, 3, false);
    expect(one.pauseMs).toBe(0);
  });

  it('does not wait after a poll that was held', () => {
    const one = pace();
    one.polled({ records: [] }, 3, true);
    expect(one.pauseMs).toBe(0);
  });

  it('looks at each of many partitions once per pause, however many polls that takes', () => {
    const one = pace();
    const rounds = Array.from({ length: 5 }, () => {
      let sum = 0;
      for (const turn of [1, 2, 3, 0]) {
        one.polled({ records: [], turn }, 100, false);
        sum += one.pauseMs;
      }
      return sum;
    });
    expect(one.turns).toBe(4);
    // The last poll of a round makes the pause longer.
    expect(rounds).toEqual([125, 250, 500, 850, 1_000]);
  });
});
