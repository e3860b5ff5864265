import { expect, it } from 'vitest';
import { sweepRows } from '../../bench/sweep.ts';

it('the sweep costs five looks of half a read unit at rest, however many topics there are, and a write unit per KB that it purges', async () => {
  const rows = await sweepRows([0, 30], 60);
  expect(rows.map(({ requests, readUnits, writeUnits }) => [requests, readUnits, writeUnits])).toEqual([
    [5, 2.5, 0],
    [5, 2.5, 0],
    [5, 2.5, 0],
    // The lease twice, 60 slots, the mark of progress, head, leftover.
    [expect.any(Number), expect.any(Number), 60 + 5],
  ]);
});
