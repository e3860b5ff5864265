import { SLOTS_AT_FIRST } from '../shared/domain/limits.ts';
import { callsOf, type Exchange, operationsOf } from './exchange.ts';
import { sequentialRoundTrips, sum } from './meter.ts';
import type { Law } from './section.ts';
import { readUnits } from './units.ts';

export interface FetchRow {
  readonly events: string;
  readonly records: number;
  readonly batches: number;
  readonly where: string;
  readonly answerBytes: number;
  readonly readUnits: number;
  readonly floorReadUnits: number;
  readonly writeUnits: number;
  readonly dynamodbRequests: number;
  readonly s3Requests: number;
  readonly floorS3Requests: number;
  readonly roundTrips: number;
}

export const FETCH_HEADS = {
  events: 'events',
  records: 'records',
  batches: 'batches',
  where: 'where',
  answerBytes: 'answer bytes',
  readUnits: 'read units',
  floorReadUnits: 'floor',
  writeUnits: 'write units',
  dynamodbRequests: 'DynamoDB',
  s3Requests: 'S3',
  floorS3Requests: 'floor',
  roundTrips: 'round trips',
};

/** A log that was read from its start to its end, so many batches at a time. */
export interface LogRead {
  readonly events: string;
  /** In each batch. */
  readonly records: number;
  /** In each answer. */
  readonly batches: number;
  /** Bytes of each slot of the log. */
  readonly slots: readonly number[];
  readonly spilled: boolean;
  readonly exchanges: readonly Exchange[];
}

export function fetchRows({ events, records, batches, slots, spilled, exchanges }: LogRead): FetchRow[] {
  const middle = exchanges.length >> 1;
  const places = [
    ['a container’s first', 0],
    ['in the middle of the log', middle],
    ['at the end of the log', exchanges.length - 1],
  ] as const;
  return places.map(([where, i]) => {
    const { calls, answer } = exchanges[i]!;
    return {
      ...{ events, records: records * batches, batches, where },
      answerBytes: answer.length,
      readUnits: sum(calls, 'readUnits'),
      floorReadUnits: readUnits(bytesOf(slots.slice(i * batches, (i + 1) * batches))),
      writeUnits: sum(calls, 'writeUnits'),
      dynamodbRequests: sum(callsOf(calls, 'DynamoDB'), 'attempts'),
      s3Requests: sum(callsOf(calls, 'S3'), 'attempts'),
      floorS3Requests: spilled ? batches : 0,
      roundTrips: sequentialRoundTrips(calls),
    };
  });
}

const bytesOf = (slots: readonly number[]) => slots.reduce((bytes, slot) => bytes + slot, 0);

/** What the design promises of fetches, and where it was not met. A container's first fetch reads topic and head, too. */
export class FetchLaws {
  readonly #trips: string[] = [];
  readonly #spilledTrips: string[] = [];
  readonly #units: string[] = [];
  readonly #first: string[] = [];
  readonly #gets: string[] = [];

  get all(): Law[] {
    return [
      { law: 'a fetch that finds data takes 1 round trip, one Query, and does not read the head', broken: this.#trips },
      {
        law: 'a fetch of one spilled batch takes 2: the Query, then the GET, others beside it',
        broken: this.#spilledTrips,
      },
      {
        law: 'a warm fetch reads at most a quarter and one slot more than its answer takes',
        broken: this.#units,
      },
      {
        law: `a container’s first fetch makes 2 Queries at most, for ${SLOTS_AT_FIRST} slots or as many as a warm one`,
        broken: this.#first,
      },
      { law: 'a fetch GETs no object but those of its answer', broken: this.#gets },
    ];
  }

  judge(read: LogRead): void {
    for (const [i, { calls }] of read.exchanges.entries()) {
      const what = `fetch ${i} of ${read.batches} × ${read.records} ${read.events}`;
      const gets = callsOf(calls, 'S3').length;
      if (gets !== (read.spilled ? read.batches : 0)) this.#gets.push(`${what}: ${gets} GETs`);
      if (i === 0) {
        this.#judgeFirst(what, read, calls);
        continue;
      }
      if (!read.spilled || read.batches === 1) this.#judgeTrips(what, read.spilled, calls);
      const asked = read.batches + Math.ceil(read.batches / 4) + 1;
      const units = sum(calls, 'readUnits');
      const most = readUnits(bytesOf(read.slots.slice(i * read.batches, i * read.batches + asked)));
      if (units > most) this.#units.push(`${what}: ${units} units, more than ${most}`);
    }
  }

  /** Each Query rounds its units up. */
  #judgeFirst(what: string, { batches, slots }: LogRead, calls: Exchange['calls']): void {
    const queries = calls.filter(({ operation }) => operation === 'Query');
    const asked = Math.max(SLOTS_AT_FIRST, batches + Math.ceil(batches / 4) + 1);
    const units = sum(queries, 'readUnits');
    const most = readUnits(bytesOf(slots.slice(0, asked))) + 1;
    if (queries.length > 2 || units > most) this.#first.push(`${what}: ${queries.length} Queries of ${units} units`);
  }

  /** `settled` may be moved beside the Query, once every 1,000 offsets. */
  #judgeTrips(what: string, spilled: boolean, calls: Exchange['calls']): void {
    const made = operationsOf(calls);
    const trips = sequentialRoundTrips(calls);
    const met = spilled
      ? trips === 2 && /^(UpdateItem, )?Query(, UpdateItem)?(, GetObject)+$/.test(made)
      : trips === 1 && /^(UpdateItem, )?Query(, UpdateItem)?$/.test(made);
    if (!met) (spilled ? this.#spilledTrips : this.#trips).push(`${what}: ${trips} round trips (${made})`);
  }
}
