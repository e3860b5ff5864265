import { SPILL_ABOVE_BYTES_DEFAULT } from '../shared/domain/limits.ts';
import { callsOf, type Exchange, medianOf, operationsOf, slotBytesOf } from './exchange.ts';
import { type Call, sequentialRoundTrips, sum } from './meter.ts';
import type { Law } from './section.ts';
import { writeUnits } from './units.ts';

export interface AppendRow {
  readonly events: string;
  readonly records: number;
  readonly bodyBytes: number;
  readonly batchBytes: number;
  readonly slotBytes: number;
  readonly writeUnits: number;
  readonly floorWriteUnits: number;
  readonly readUnits: number;
  readonly s3Requests: number;
  readonly roundTrips: number;
  readonly writeUnitsPer1000Records: number;
}

export const APPEND_HEADS = {
  events: 'events',
  records: 'records',
  bodyBytes: 'body bytes',
  batchBytes: 'batch bytes',
  slotBytes: 'slot bytes',
  writeUnits: 'write units',
  floorWriteUnits: 'floor',
  readUnits: 'read units',
  s3Requests: 'S3',
  roundTrips: 'round trips',
  writeUnitsPer1000Records: 'write units per 1000 records',
};

/** The reservation, the intent and the slot, which only names the object. */
const SPILLED_WRITE_UNITS = 3;

export function appendRow(events: string, records: number, exchanges: readonly Exchange[]): AppendRow {
  const warm = exchanges.slice(1);
  const units = medianOf(warm, ({ calls }) => sum(calls, 'writeUnits'));
  const batchBytes = medianOf(warm, ({ calls }) => batchBytesOf(calls));
  return {
    events,
    records,
    bodyBytes: medianOf(warm, ({ sentBytes }) => sentBytes),
    batchBytes,
    slotBytes: medianOf(warm, ({ calls }) => slotBytesOf(calls)),
    writeUnits: units,
    floorWriteUnits: 1 + (isSpilled(batchBytes) ? 1 : writeUnits(batchBytes)),
    readUnits: medianOf(warm, ({ calls }) => sum(calls, 'readUnits')),
    s3Requests: medianOf(warm, ({ calls }) => sum(callsOf(calls, 'S3'), 'attempts')),
    roundTrips: medianOf(warm, ({ calls }) => sequentialRoundTrips(calls)),
    writeUnitsPer1000Records: (units / records) * 1_000,
  };
}

const isSpilled = (batchBytes: number) => batchBytes > SPILL_ABOVE_BYTES_DEFAULT;
const batchBytesOf = (calls: readonly Call[]) => calls.reduce((bytes, call) => bytes + call.batchBytes, 0);

/** What the design promises of appends, and where it was not met. */
export class AppendLaws {
  readonly #units: string[] = [];
  readonly #trips: string[] = [];
  readonly #spilledUnits: string[] = [];
  readonly #spilledTrips: string[] = [];

  get all(): Law[] {
    return [
      { law: 'write units per append are exactly 1 + ⌈slot KB⌉', broken: this.#units },
      { law: 'an append takes 2 sequential round trips: an UpdateItem, then a PutItem', broken: this.#trips },
      {
        law: `a spilled append takes exactly ${SPILLED_WRITE_UNITS} write units and one PUT, whatever its size`,
        broken: this.#spilledUnits,
      },
      {
        law: 'a spilled append takes 4 sequential round trips: reservation, intent, object, slot',
        broken: this.#spilledTrips,
      },
    ];
  }

  /** A container's first append reads the topic, too: one round trip more, and not one write unit. */
  judge(what: string, exchanges: readonly Exchange[]): void {
    for (const [i, { calls }] of exchanges.entries()) {
      const spilled = isSpilled(batchBytesOf(calls));
      const units = sum(calls, 'writeUnits');
      const wanted = spilled ? SPILLED_WRITE_UNITS : 1 + writeUnits(slotBytesOf(calls));
      const puts = sum(callsOf(calls, 'S3'), 'attempts');
      const unitsBroken = spilled ? this.#spilledUnits : this.#units;
      if (units !== wanted || puts !== (spilled ? 1 : 0)) {
        unitsBroken.push(`append ${i} of ${what}: ${units} units, not ${wanted}, and ${puts} requests to S3`);
      }
      const warm = i === 0 ? calls.filter(({ operation }) => operation !== 'GetItem') : calls;
      const path = spilled ? 'UpdateItem, PutItem, PutObject, PutItem' : 'UpdateItem, PutItem';
      const trips = sequentialRoundTrips(warm);
      if (trips === warm.length && operationsOf(warm) === path) continue;
      const tripsBroken = spilled ? this.#spilledTrips : this.#trips;
      tripsBroken.push(`append ${i} of ${what}: ${trips} round trips (${operationsOf(calls)})`);
    }
  }
}
