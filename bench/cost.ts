import { FETCH_RECORDS_MAX, SPILL_ABOVE_BYTES_DEFAULT } from '../shared/domain/limits.ts';
import { APPEND_HEADS, AppendLaws, type AppendRow, appendRow } from './append-cost.ts';
import { type BenchBackbone, fetchRecords, openBenchBackbone, produceEvents, putTopic } from './backbone.ts';
import { type BenchEvent, orderEvents, sealedEvents } from './event.ts';
import { type Exchange, exchange, slotBytesOf } from './exchange.ts';
import { FETCH_HEADS, FetchLaws, type FetchRow, fetchRows, type LogRead } from './fetch-cost.ts';
import { type Progress, type Section, tableOf } from './section.ts';

/** What is appended, and read back. */
export interface CostCase {
  readonly events: 'orders' | 'sealed';
  readonly records: number;
}

const CASES: readonly CostCase[] = [
  { events: 'orders', records: 1 },
  { events: 'orders', records: 10 },
  { events: 'orders', records: 100 },
  { events: 'sealed', records: 100 },
  { events: 'orders', records: 1_000 },
];
const EVENTS = { orders: orderEvents, sealed: sealedEvents } satisfies Record<CostCase['events'], unknown>;
/** Batches of each kind: more than a slot's memory of 8 predecessors, and enough for a middle of the log. */
const APPENDS = 40;
/** Batches in one answer. */
const READS = [1, 10];

/** What appends and fetches consume, as the engine reports it. */
export async function measureCost(progress: Progress, cases: readonly CostCase[] = CASES): Promise<Section> {
  const backbone = await openBenchBackbone();
  const appends: AppendRow[] = [];
  const fetches: FetchRow[] = [];
  const [appendLaws, fetchLaws] = [new AppendLaws(), new FetchLaws()];
  try {
    for (const { events, records } of cases) {
      progress(`batches of ${records} ${events}`);
      const topic = `${events}-${records}`;
      await backbone.container()(putTopic(topic));
      const appended = await appendAll(backbone, topic, (seed) => EVENTS[events](records, seed));
      appendLaws.judge(`${records} ${events}`, appended);
      const row = appendRow(events, records, appended);
      appends.push(row);
      const spilled = row.batchBytes > SPILL_ABOVE_BYTES_DEFAULT;
      for (const batches of READS.filter((count) => count * records <= FETCH_RECORDS_MAX)) {
        const exchanges = await fetchAll(backbone, topic, records * batches, APPENDS / batches);
        const slots = appended.map(({ calls }) => slotBytesOf(calls));
        const read: LogRead = { events, records, batches, slots, spilled, exchanges };
        fetchLaws.judge(read);
        fetches.push(...fetchRows(read));
      }
    }
  } finally {
    await backbone.close();
  }
  return {
    title: 'cost of an append and of a fetch, as the engine reports it',
    tables: [
      tableOf('append, median of those after the container’s first', APPEND_HEADS, appends),
      tableOf('fetch of as many records as some batches have', FETCH_HEADS, fetches),
    ],
    laws: [...appendLaws.all, ...fetchLaws.all],
    notes: [
      'floor: 1 + ⌈batch KB⌉ write units, 2 where the batch goes to S3; ⌈bytes of the slots in the answer / 4 KB⌉ read units.',
      'A container’s first request also reads the topic, and its first fetch the head.',
    ],
  };
}

async function appendAll(
  { container, meter }: BenchBackbone,
  topic: string,
  eventsOf: (seed: number) => readonly BenchEvent[],
): Promise<Exchange[]> {
  const requests = Array.from({ length: APPENDS }, (_, i) => produceEvents(topic, eventsOf(i + 1)));
  return exchange(meter, container(), requests);
}

/** Reads the log from its start to its end, in one container. */
async function fetchAll(
  { container, meter }: BenchBackbone,
  topic: string,
  records: number,
  times: number,
): Promise<Exchange[]> {
  const requests = Array.from({ length: times }, (_, i) => fetchRecords(topic, i * records, records));
  const exchanges = await exchange(meter, container(), requests);
  for (const { answer } of exchanges) {
    const got = (JSON.parse(answer.toString()) as { records: unknown[] }).records.length;
    if (got !== records) throw new Error(`${got} records came instead of ${records}`);
  }
  return exchanges;
}
