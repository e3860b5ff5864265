import { describe, expect, it } from 'vitest';
import { measureContention } from '../../bench/contention.ts';
import { measureCost } from '../../bench/cost.ts';
import { measureKeyed } from '../../bench/keyed.ts';

const nothing = () => {};

describe('appends and fetches', () => {
  it('cost what the design says, as the engine reports it', async () => {
    const { laws, tables } = await measureCost(nothing, [
      { events: 'orders', records: 1 },
      { events: 'orders', records: 10 },
      { events: 'sealed', records: 100 },
    ]);
    expect(laws.flatMap(({ broken }) => broken)).toEqual([]);
    expect(tables[0]!.rows).toMatchObject([
      { records: 1, floorWriteUnits: 2, writeUnits: 2, s3Requests: 0, roundTrips: 2 },
      { records: 10, floorWriteUnits: 4, writeUnits: 4, s3Requests: 0, roundTrips: 2 },
      { records: 100, floorWriteUnits: 2, writeUnits: 3, s3Requests: 1, roundTrips: 4 },
    ]);
  });
});

describe('appends with a key', () => {
  it('cost a claim and a round trip more; their repeats append nothing', async () => {
    const { laws, tables } = await measureKeyed(nothing, [3]);
    expect(laws.flatMap(({ broken }) => broken)).toEqual([]);
    expect(tables[0]!.rows).toMatchObject([
      { writeUnits: 7, roundTrips: 3, appended: 3 },
      { writeUnits: 6, roundTrips: 3, appended: 0 },
      { writeUnits: 6, roundTrips: 3, appended: 0 },
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
