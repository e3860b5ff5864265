import { describe, expect, it } from 'vitest';
import { CLAIM_BYTES } from '../../../client/relay/limits.ts';
import { inSequence, type PlacedRow, planOf } from '../../../client/relay/plan.ts';

const row = (id: number, partition = 0, frameBytes = 10): PlacedRow => ({
  ...{ id: String(id), topic: 'orders', partition },
  record: { key: null, value: null, headers: [], timestamp: 0, frameBytes },
});
const rowsOf = (rows: readonly PlacedRow[]) => planOf(rows, 't').map((request) => request.rows);

describe('a plan', () => {
  it('has a request for each partition, its rows in order, under a key of its own', () => {
    expect(planOf([row(1, 0), row(2, 3), row(3, 0)], 't')).toEqual([
      { key: 'outbox-t-1', topic: 'orders', partition: 0, rows: ['1', '3'] },
      { key: 'outbox-t-2', topic: 'orders', partition: 3, rows: ['2'] },
    ]);
  });

  it('has no request of more than 1,000 rows', () => {
    const plan = rowsOf(Array.from({ length: 1_001 }, (_, i) => row(i)));
    expect(plan.map(({ length }) => length)).toEqual([1_000, 1]);
  });

  it('has no request that is larger than a claim, unless it is one row', () => {
    expect(rowsOf([row(1), row(2, 0, CLAIM_BYTES), row(3), row(4)])).toEqual([['1'], ['2'], ['3', '4']]);
  });

  it('goes partition by partition, in order', () => {
    const plan = planOf([row(1, 0, CLAIM_BYTES), row(2, 1), row(3, 0)], 't');
    expect(inSequence(plan).map((requests) => requests.map(({ rows }) => rows))).toEqual([[['1'], ['3']], [['2']]]);
  });
});
