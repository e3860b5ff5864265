import { describe, expect, it } from 'vitest';
import { measureContention } from '../../bench/contention.ts';
import { measureCost } from '../../bench/cost.ts';

const nothing = () => {};

describe('appends and fetches of 1 and of 10 records', () => {
  it('cost what the design says, as the engine reports it', async () => {
    const { laws, tables } = await measureCost(nothing, [1, 10]);
    expect(laws.flatMap(({ broken }) => broken)).toEqual([]);
    expect(tables[0]!.rows).toMatchObject([
      { records: 1, floorWriteUnits: 2, writeUnits: 2, roundTrips: 2 },
      { records: 10, floorWriteUnits: 4, writeUnits: 4, roundTrips: 2 },
    ]);
  });
});

describe('16 writers on one partition', () => {
  it('pay no more than one writer, and no write of theirs fails', async () => {
    const { laws, tables } = await measureContention(nothing, [16], 160);
    expect(laws.flatMap(({ broken }) => broken)).toEqual([]);
    expect(tables[0]!.rows).toMatchObject([{ appends: 160, writeUnitsPerAppend: 2, failedConditions: 0 }]);
  });
});
