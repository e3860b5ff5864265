import { pathToFileURL } from 'node:url';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { BatchSlot } from '../shared/domain/slot.ts';
import { AT } from '../shared/wire/batch-header.ts';
import { crc32c } from '../shared/wire/crc32c.ts';
import { openFetchAnswer } from '../shared/wire/fetch-answer.ts';
import { parseProduceBody } from '../shared/wire/produce-request.ts';
import { checkRawBatch, encodeRecordBatch } from '../shared/wire/record-batch.ts';
import { orderEvents } from './event.ts';

/** CPU time of one path beside the least that any path of its kind must do. */
export interface CpuRow {
  readonly path: string;
  readonly records: number;
  /** µs of CPU (user + system, all threads) per record: median of samples. */
  readonly microsPerRecord: number;
  readonly floorMicrosPerRecord: number;
  /** Median of the ratios of neighbouring samples, so that a machine that slows down slows both. NaN without a floor. */
  readonly ratio: number;
}

/** One thing to measure: a unit of work, and the floor that it is compared with. */
export interface CpuCase {
  readonly path: string;
  readonly records: number;
  run(): unknown;
  floor?(): unknown;
}

const BATCH = 100;
const SAMPLES = 31;
const SAMPLE_MS = 20;
const WARM_UP_MS = 500;
const NOW = 1_767_225_600_000;
const LIMITS = {
  topic: 'orders',
  partition: 0,
  as: 'application/json' as const,
  maxRecords: 1_000,
  maxBytes: 5_242_880,
  values: 'json',
} as const;
const FINDINGS = { topicId: '01J00000000000000000000000', nextOffset: BATCH, logStartOffset: 0, highWatermark: BATCH };

/**
 * The parts of produce and fetch that turn bytes into records and back, for a batch of 1 KB order events. Floors:
 * `JSON.parse` + gzip level 1 of the same bytes; gunzip + one string; the same + `JSON.parse` where values must be judged.
 */
export function wireCases(): CpuCase[] {
  const events = orderEvents(BATCH);
  const text = JSON.stringify({ records: events });
  const body = Buffer.from(text);
  const stored = Buffer.from(encodeRecordBatch(parseProduceBody(body, 'application/json').records, NOW));
  const zipped = stored.subarray(AT.records);
  const slot: BatchSlot = {
    kind: 'batch',
    append: 'a',
    batch: stored,
    json: true,
    last: BATCH - 1,
    count: BATCH,
    at: NOW,
    previous: [],
    expiresAt: 0,
  };
  const plain = uncompressed(stored);
  const fetched = (from: BatchSlot) => {
    const answer = openFetchAnswer(LIMITS);
    answer.take(from, 0);
    return answer.finish(FINDINGS).body;
  };
  const rawFetched = () => {
    const answer = openFetchAnswer({ ...LIMITS, as: 'application/vnd.kafka.recordbatch' as const });
    answer.take(slot, 0);
    return answer.finish(FINDINGS).body;
  };
  const parseAndZip = () => [JSON.parse(text), gzipSync(body, { level: 1 })];
  const unzipAndBuild = () => gunzipSync(zipped).toString();
  const values = events.map((event) => JSON.stringify(event.value));
  const unzipAndJudge = () => [unzipAndBuild(), values.map((value) => JSON.parse(value))];
  return [
    {
      path: 'produce, JSON',
      records: BATCH,
      run: () => encodeRecordBatch(parseProduceBody(body, 'application/json').records, NOW),
      floor: parseAndZip,
    },
    { path: 'fetch, JSON', records: BATCH, run: () => fetched(slot), floor: unzipAndBuild },
    {
      path: 'fetch, JSON from a raw batch',
      records: BATCH,
      run: () => fetched({ ...slot, json: false }),
      floor: unzipAndJudge,
    },
    { path: 'produce, raw gzip', records: BATCH, run: () => checkRawBatch(stored) },
    { path: 'produce, raw uncompressed', records: BATCH, run: () => checkRawBatch(plain) },
    { path: 'fetch, raw', records: BATCH, run: rawFetched },
  ];
}

/** The same batch as a producer without compression sends it. */
function uncompressed(batch: Buffer): Buffer {
  const plain = Buffer.concat([batch.subarray(0, AT.records), gunzipSync(batch.subarray(AT.records))]);
  plain.writeInt32BE(plain.length - AT.leaderEpoch, AT.length);
  plain.writeInt16BE(0, AT.attributes);
  plain.writeUInt32BE(crc32c(plain, AT.attributes), AT.crc);
  return plain;
}

/** Measures each case against its floor, turn by turn, after a warm-up. */
export function cpuRows(cases: readonly CpuCase[] = wireCases()): CpuRow[] {
  return cases.map(({ path, records, run, floor = run }) => {
    const [runs, floors] = [repetitions(run), repetitions(floor)];
    const samples = Array.from({ length: SAMPLES }, () => ({
      run: cpuMicros(run, runs) / records,
      floor: cpuMicros(floor, floors) / records,
    }));
    return {
      path,
      records,
      microsPerRecord: median(samples.map((sample) => sample.run)),
      floorMicrosPerRecord: floor === run ? Number.NaN : median(samples.map((sample) => sample.floor)),
      ratio: floor === run ? Number.NaN : median(samples.map((sample) => sample.run / sample.floor)),
    };
  });
}

/** Warms up, and finds how often the work fits into one sample. */
function repetitions(work: () => unknown): number {
  const start = performance.now();
  let done = 0;
  for (; performance.now() - start < WARM_UP_MS; done++) work();
  return Math.max(1, Math.round((done * SAMPLE_MS) / WARM_UP_MS));
}

function cpuMicros(work: () => unknown, times: number): number {
  const before = process.cpuUsage();
  for (let i = 0; i < times; i++) work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / times;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const cell = (value: number) => (Number.isNaN(value) ? '–' : value.toFixed(2));
  console.table(
    cpuRows().map((row) => ({
      path: row.path,
      'µs/record': cell(row.microsPerRecord),
      'floor µs/record': cell(row.floorMicrosPerRecord),
      ratio: cell(row.ratio),
    })),
  );
}
