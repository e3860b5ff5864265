import { type BenchBackbone, fetchRecords, openBenchBackbone, produceEvents, putTopic } from './backbone.ts';
import { orderEvents } from './event.ts';
import { type Exchange, exchange, medianOf, operationsOf } from './exchange.ts';
import { type Call, sequentialRoundTrips, sum } from './meter.ts';
import { type Law, type Progress, type Section, tableOf } from './section.ts';
import { writeUnits } from './units.ts';

const PARTITIONS = [1, 10];
/** Requests, each with a key of its own; then each is made again. */
const REQUESTS = 12;
/** Source: the project's own targets. */
const APPEND_ROUND_TRIPS = 3;
const REPEAT_ROUND_TRIPS_MAX = 4;

interface KeyedRow {
  readonly partitions: number;
  readonly request: string;
  readonly writeUnits: number;
  readonly floorWriteUnits: number;
  readonly readUnits: number;
  readonly requests: number;
  readonly roundTrips: number;
  readonly appended: number;
}

const HEADS = {
  partitions: 'partitions',
  request: 'request',
  writeUnits: 'write units',
  floorWriteUnits: 'without a key',
  readUnits: 'read units',
  requests: 'DynamoDB',
  roundTrips: 'round trips',
  appended: 'records appended',
};

/** What an `Idempotency-Key` costs: an append with one, and its repeats. */
export async function measureKeyed(progress: Progress, partitions: readonly number[] = PARTITIONS): Promise<Section> {
  const backbone = await openBenchBackbone();
  const rows: KeyedRow[] = [];
  const laws = new KeyedLaws();
  try {
    for (const count of partitions) {
      progress(`${count} partitions`);
      const { first, repeated, elsewhere } = await appendAndRepeat(backbone, count);
      laws.judgeAppends(count, first);
      for (const repeats of [repeated, elsewhere]) laws.judgeRepeats(count, first, repeats);
      laws.judgeLog(count, await recordsIn(backbone, count));
      // The first request of a container reads the topic as well.
      const withoutKey = medianOf(first.slice(1), ({ calls }) => slotUnits(calls));
      rows.push(
        keyedRow(count, 'the first with its key', first.slice(1), withoutKey),
        keyedRow(count, 'a repeat', repeated, withoutKey),
        keyedRow(count, 'a repeat in another container', elsewhere.slice(1), withoutKey),
      );
    }
  } finally {
    await backbone.close();
  }
  return {
    title: 'appends with an Idempotency-Key, one record to each partition',
    tables: [tableOf('median of requests after a container’s first', HEADS, rows)],
    laws: laws.all,
    notes: [
      'A repeat reserves before it knows that it is one, and voids what it reserved: 2 write units per partition.',
    ],
  };
}

async function appendAndRepeat({ container, meter }: BenchBackbone, partitions: number) {
  const topic = topicOf(partitions);
  await container()(putTopic(topic, partitions));
  const requests = Array.from({ length: REQUESTS }, (_, i) => {
    const events = orderEvents(partitions, i + 1).map(({ value }, partition) => ({ value, partition }));
    return produceEvents(topic, events, `request ${i}`);
  });
  const call = container();
  const first = await exchange(meter, call, requests);
  const repeated = await exchange(meter, call, requests);
  const elsewhere = await exchange(meter, container(), requests);
  return { first, repeated, elsewhere };
}

/** Records of partition 0, over everything that was voided. */
async function recordsIn({ container }: BenchBackbone, partitions: number): Promise<number> {
  const { body } = await container()(fetchRecords(topicOf(partitions), 0, 1_000));
  return (JSON.parse(body.toString()) as { records: unknown[] }).records.length;
}

function keyedRow(
  partitions: number,
  request: string,
  exchanges: readonly Exchange[],
  floorWriteUnits: number,
): KeyedRow {
  return {
    ...{ partitions, request, floorWriteUnits },
    writeUnits: medianOf(exchanges, ({ calls }) => sum(calls, 'writeUnits')),
    readUnits: medianOf(exchanges, ({ calls }) => sum(calls, 'readUnits')),
    requests: medianOf(exchanges, ({ calls }) => sum(calls, 'attempts')),
    roundTrips: medianOf(exchanges, ({ calls }) => sequentialRoundTrips(calls)),
    appended: medianOf(exchanges, ({ calls }) => filled(calls).length),
  };
}

const topicOf = (partitions: number) => `keyed-${partitions}`;
/** Slots that were filled: each holds one record here. */
const filled = (calls: readonly Call[]) => calls.filter((call) => call.batchBytes > 0 && !call.conditionFailed);
/** What the same appends would cost without a key: a reservation and a slot each. */
const slotUnits = (calls: readonly Call[]) =>
  filled(calls).reduce((units, { putBytes }) => units + 1 + writeUnits(putBytes), 0);
/** Of a container's request but its first, which reads the topic. */
const warm = (calls: readonly Call[], i: number) => (i === 0 ? calls.slice(1) : calls);

/** What the design promises of keyed appends, and where it was not met. */
class KeyedLaws {
  readonly #units: string[] = [];
  readonly #trips: string[] = [];
  readonly #repeats: string[] = [];
  readonly #appended: string[] = [];

  get all(): Law[] {
    return [
      {
        law: 'write units are exactly 1 for the claim and 1 + ⌈slot KB⌉ for each partition, up to 10',
        broken: this.#units,
      },
      {
        law: `an append takes ${APPEND_ROUND_TRIPS} sequential round trips: reservations beside the claim’s read, claim, slots`,
        broken: this.#trips,
      },
      {
        law: `a repeat takes at most ${REPEAT_ROUND_TRIPS_MAX} sequential round trips, also in a new container`,
        broken: this.#repeats,
      },
      { law: 'a repeat appends nothing, and answers as the first did', broken: this.#appended },
    ];
  }

  judgeAppends(partitions: number, exchanges: readonly Exchange[]): void {
    for (const [i, exchanged] of exchanges.entries()) {
      const what = `append ${i} to ${partitions} partitions`;
      const calls = warm(exchanged.calls, i);
      const [units, wanted] = [sum(calls, 'writeUnits'), 1 + slotUnits(calls)];
      const slots = filled(calls).length;
      if (units !== wanted || slots !== partitions) this.#units.push(`${what}: ${units} units, not ${wanted}`);
      const trips = sequentialRoundTrips(calls);
      if (trips !== APPEND_ROUND_TRIPS) this.#trips.push(`${what}: ${trips} round trips (${operationsOf(calls)})`);
    }
  }

  judgeRepeats(partitions: number, first: readonly Exchange[], repeats: readonly Exchange[]): void {
    for (const [i, { calls, answer }] of repeats.entries()) {
      const what = `repeat of append ${i} to ${partitions} partitions`;
      const trips = sequentialRoundTrips(calls);
      if (trips > REPEAT_ROUND_TRIPS_MAX) {
        this.#repeats.push(`${what}: ${trips} round trips (${operationsOf(calls)})`);
      }
      if (filled(calls).length > 0) this.#appended.push(`${what} filled a slot`);
      if (offsetsOf(answer) !== offsetsOf(first[i]!.answer)) this.#appended.push(`${what} has other offsets`);
    }
  }

  judgeLog(partitions: number, records: number): void {
    if (records !== REQUESTS) this.#appended.push(`partition 0 of ${partitions} holds ${records} records`);
  }
}

function offsetsOf(answer: Buffer): string {
  return JSON.stringify((JSON.parse(answer.toString()) as { offsets: unknown }).offsets);
}
