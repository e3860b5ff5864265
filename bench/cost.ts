import {
  type BenchBackbone,
  type Container,
  fetchRecords,
  openBenchBackbone,
  produceOrders,
  putTopic,
} from './backbone.ts';
import { type Call, sequentialRoundTrips, sum } from './meter.ts';
import { type Law, median, type Progress, type Section, tableOf } from './section.ts';
import { readUnits, writeUnits } from './units.ts';

/** Records per request. */
const BATCHES = [1, 10, 100, 1_000];
/** Requests of each size: enough to fill a slot's memory of 8 predecessors, with some after it. */
const APPENDS = 12;

interface AppendRow {
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

interface FetchRow {
  readonly records: number;
  readonly where: string;
  readonly answerBytes: number;
  readonly readUnits: number;
  readonly floorReadUnits: number;
  readonly writeUnits: number;
  readonly dynamodbRequests: number;
  readonly s3Requests: number;
  readonly roundTrips: number;
}

/** What one request made the functions do. */
interface Exchange {
  readonly calls: readonly Call[];
  readonly bytes: number;
}

const APPEND_HEADS = {
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

const FETCH_HEADS = {
  records: 'records',
  where: 'where',
  answerBytes: 'answer bytes',
  readUnits: 'read units',
  floorReadUnits: 'floor',
  writeUnits: 'write units',
  dynamodbRequests: 'requests',
  s3Requests: 'S3',
  roundTrips: 'round trips',
};

/** What appends and fetches consume, as the engine reports it. */
export async function measureCost(progress: Progress, batches: readonly number[] = BATCHES): Promise<Section> {
  const backbone = await openBenchBackbone();
  const appends: AppendRow[] = [];
  const fetches: FetchRow[] = [];
  const laws = new Laws();
  try {
    for (const records of batches) {
      progress(`batches of ${records}`);
      const topic = `cost-${records}`;
      await backbone.container()(putTopic(topic));
      const appended = await appendAll(backbone, topic, records);
      laws.judgeAppends(records, appended);
      appends.push(appendRow(records, appended));
      const fetched = await fetchAll(backbone, topic, records);
      laws.judgeFetches(records, fetched);
      fetches.push(...fetchRows(records, fetched, slotBytes(appended)));
    }
  } finally {
    await backbone.close();
  }
  return {
    title: 'cost of an append and of a fetch, as the engine reports it',
    tables: [
      tableOf('append, median of those after the container’s first', APPEND_HEADS, appends),
      tableOf('fetch of as many records as a batch has', FETCH_HEADS, fetches),
    ],
    laws: laws.all,
    notes: [
      'floor: 1 + ⌈batch KB⌉ write units, ⌈slot bytes / 4 KB⌉ read units. A container’s first request also reads the topic.',
    ],
  };
}

async function appendAll({ container, meter }: BenchBackbone, topic: string, records: number): Promise<Exchange[]> {
  const call = container();
  const exchanges: Exchange[] = [];
  meter.take();
  for (let seed = 1; seed <= APPENDS; seed++) {
    const sent = produceOrders(topic, records, seed);
    await call(sent);
    exchanges.push({ calls: meter.take(), bytes: sent.body!.length });
  }
  return exchanges;
}

/** Reads the log batch by batch, from its start to its end, in one container. */
async function fetchAll({ container, meter }: BenchBackbone, topic: string, records: number): Promise<Exchange[]> {
  const call: Container = container();
  const exchanges: Exchange[] = [];
  meter.take();
  for (let i = 0; i < APPENDS; i++) {
    const { body } = await call(fetchRecords(topic, i * records, records));
    exchanges.push({ calls: meter.take(), bytes: body.length });
    const got = (JSON.parse(body.toString()) as { records: unknown[] }).records.length;
    if (got !== records) throw new Error(`${got} records came instead of ${records}`);
  }
  return exchanges;
}

function appendRow(records: number, exchanges: readonly Exchange[]): AppendRow {
  const warm = exchanges.slice(1);
  const units = median(warm.map(({ calls }) => sum(calls, 'writeUnits')));
  const batchBytes = median(warm.map(({ calls }) => slotOf(calls)?.batchBytes ?? Number.NaN));
  return {
    records,
    bodyBytes: median(warm.map(({ bytes }) => bytes)),
    batchBytes,
    slotBytes: slotBytes(warm),
    writeUnits: units,
    floorWriteUnits: 1 + writeUnits(batchBytes),
    readUnits: median(warm.map(({ calls }) => sum(calls, 'readUnits'))),
    s3Requests: median(warm.map(({ calls }) => s3Of(calls))),
    roundTrips: median(warm.map(({ calls }) => sequentialRoundTrips(calls))),
    writeUnitsPer1000Records: (units / records) * 1_000,
  };
}

function fetchRows(records: number, exchanges: readonly Exchange[], bytes: number): FetchRow[] {
  const middle = exchanges[APPENDS >> 1]!;
  const places = [
    ['a container’s first', exchanges[0]!],
    ['in the middle of the log', middle],
    ['at the end of the log', exchanges.at(-1)!],
  ] as const;
  return places.map(([where, exchange]) => ({
    records,
    where,
    answerBytes: exchange.bytes,
    readUnits: sum(exchange.calls, 'readUnits'),
    floorReadUnits: readUnits(bytes),
    writeUnits: sum(exchange.calls, 'writeUnits'),
    dynamodbRequests: sum(
      exchange.calls.filter(({ service }) => service === 'DynamoDB'),
      'attempts',
    ),
    s3Requests: s3Of(exchange.calls),
    roundTrips: sequentialRoundTrips(exchange.calls),
  }));
}

const slotOf = (calls: readonly Call[]) => calls.find(({ operation }) => operation === 'PutItem');
const slotBytes = (exchanges: readonly Exchange[]) =>
  median(exchanges.map(({ calls }) => slotOf(calls)?.putBytes ?? Number.NaN));
const s3Of = (calls: readonly Call[]) =>
  sum(
    calls.filter(({ service }) => service === 'S3'),
    'attempts',
  );

/** The counts that the design promises, and where they were not met. */
class Laws {
  readonly #units: string[] = [];
  readonly #appendTrips: string[] = [];
  readonly #fetchTrips: string[] = [];

  get all(): Law[] {
    return [
      { law: 'write units per append are exactly 1 + ⌈slot KB⌉', broken: this.#units },
      { law: 'an append takes 2 sequential round trips: an UpdateItem, then a PutItem', broken: this.#appendTrips },
      { law: 'a fetch that finds data takes 1, one Query, and does not read the head', broken: this.#fetchTrips },
    ];
  }

  /** A container's first append reads the topic, too: one round trip more, and not one write unit. */
  judgeAppends(records: number, exchanges: readonly Exchange[]): void {
    for (const [i, { calls }] of exchanges.entries()) {
      const [units, wanted] = [sum(calls, 'writeUnits'), 1 + writeUnits(slotOf(calls)?.putBytes ?? Number.NaN)];
      if (units !== wanted) this.#units.push(`append ${i} of ${records} records: ${units} units, not ${wanted}`);
      const made = (i === 0 ? calls.slice(1) : calls).map(({ operation }) => operation).join(', ');
      const trips = sequentialRoundTrips(calls) - (i === 0 ? 1 : 0);
      if (trips === 2 && made === 'UpdateItem, PutItem') continue;
      this.#appendTrips.push(`append ${i} of ${records} records: ${trips} round trips (${made})`);
    }
  }

  /** `settled` may be moved beside the Query, once every 1,000 offsets. A container's first fetch reads topic and head. */
  judgeFetches(records: number, exchanges: readonly Exchange[]): void {
    for (const [i, { calls }] of exchanges.slice(1).entries()) {
      const made = calls.map(({ operation }) => operation).sort();
      const trips = sequentialRoundTrips(calls);
      if (trips === 1 && /^Query(,UpdateItem)?$/.test(made.join())) continue;
      this.#fetchTrips.push(`fetch ${i + 1} of ${records} records: ${trips} round trips (${made.join(', ')})`);
    }
  }
}
