import { gunzipSync, gzipSync } from 'node:zlib';
import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { Context } from 'aws-lambda';
import { API_FUNCTION_TIMEOUT_MS, RECORDS_PER_REQUEST_MAX, REGISTER_LENGTH } from '../shared/domain/limits.ts';
import { AT } from '../shared/wire/batch-header.ts';
import { RECORD_BATCH_TYPE } from '../shared/wire/media-type.ts';
import { fetchRecords, gatewayEvent, handlersOver, produceOrders, putTopic, type Sent } from './backbone.ts';
import { answerParent } from './child.ts';
import { deafClient, type Recording, record, silentClient } from './replay.ts';
import { lowerQuartile } from './section.ts';

/*
 * Runs in a process of its own, whose output goes nowhere: the functions write their access log as they do in Lambda.
 */

/** CPU time per record of a whole function, µs: user and system, all threads. */
export interface HandlerRow {
  readonly path: string;
  readonly records: number;
  readonly floor: number | undefined;
  readonly handler: number;
  readonly ratio: number | undefined;
  /** What a real SDK client over no network adds. */
  readonly sdk: number;
}

/** Warms up the paths for so many records a request, or measures them. */
export interface CpuQuestion {
  readonly act: 'warm up' | 'measure';
  readonly records: number;
}
export interface CpuAnswer {
  readonly rows: HandlerRow[];
}

type Work = () => unknown;

interface Path {
  readonly path: string;
  readonly records: number;
  /** The floor, the handler, the handler over a real SDK client. */
  readonly works: readonly Work[];
}

const TOPIC = 'orders';
/** Holds one batch alone, so that a fetch ends with it. */
const FETCHED_TOPIC = 'one-batch';
const ROUNDS = 15;
const SAMPLE_MS = 15;
const WARM_UP_MS = 300;

/** Has an engine answer each request once, then replays its answers. Each path is run until it is warm. */
async function prepare(records: number): Promise<Path[]> {
  const produce = produceOrders(TOPIC, records, 1);
  const fetch = fetchRecords(FETCHED_TOPIC, 0, RECORDS_PER_REQUEST_MAX);
  const rawFetch = { ...fetch, headers: { accept: RECORD_BATCH_TYPE } };
  let stored: Buffer = Buffer.alloc(0);
  let answer: Buffer = Buffer.alloc(0);
  const recording = await record(async (call) => {
    await call(putTopic(TOPIC));
    await call(putTopic(FETCHED_TOPIC));
    await call(produceOrders(FETCHED_TOPIC, records, 1));
    stored = (await call(rawFetch)).body;
    answer = (await call(fetch)).body;
    await call(rawProduce(stored));
    // Then a head and a slot remember as many reservations as they can.
    for (let i = 0; i <= REGISTER_LENGTH; i++) await call(produce);
  });
  const text = gatewayEvent(produce).event.body!;
  const zipped = stored.subarray(AT.records);
  const parseAndZip = () => [JSON.parse(text), gzipSync(produce.body!, { level: 1 })];
  const unzipAndBuild = () => [gunzipSync(zipped), answer.toString()];
  return [
    await openPath('produce, JSON', records, recording, 'produce', produce, parseAndZip),
    await openPath('produce, raw', records, recording, 'produce', rawProduce(stored)),
    await openPath('fetch, JSON', records, recording, 'fetch', fetch, unzipAndBuild),
    await openPath('fetch, raw', records, recording, 'fetch', rawFetch),
  ];
}

async function openPath(
  path: string,
  records: number,
  recording: Recording,
  name: 'produce' | 'fetch',
  sent: Sent,
  floor: Work = () => {},
): Promise<Path> {
  const { event } = gatewayEvent(sent);
  const over = (dynamodb: DynamoDBClient) => {
    const handler = handlersOver(dynamodb)[name];
    return async () => {
      const { statusCode } = await handler({ ...event }, context());
      if (statusCode !== 200) throw new Error(`${path} was answered with ${statusCode}`);
    };
  };
  const works = [floor, over(silentClient(recording)), over(deafClient(recording))];
  for (const work of works) await runsWithin(WARM_UP_MS, work);
  return { path, records, works };
}

const rawProduce = (body: Buffer): Sent => ({
  method: 'POST',
  target: `/v1/topics/${TOPIC}/partitions/0/records`,
  headers: { 'content-type': RECORD_BATCH_TYPE },
  body,
});

async function measure({ path, records, works }: Path): Promise<HandlerRow> {
  const [floor, handler, withSdk] = await inTurns(works);
  const perRecord = (samples: readonly number[]) => lowerQuartile(samples) / records;
  const floored = path.endsWith('JSON');
  return {
    path,
    records,
    floor: floored ? perRecord(floor!) : undefined,
    handler: perRecord(handler!),
    ratio: floored ? perRecord(handler!) / perRecord(floor!) : undefined,
    sdk: perRecord(withSdk!) - perRecord(handler!),
  };
}

function context(): Context {
  const end = Date.now() + API_FUNCTION_TIMEOUT_MS;
  return { getRemainingTimeInMillis: () => end - Date.now() } as Context;
}

/** CPU µs of one run of each work, sampled in turns, so that a machine that slows down slows all of them. */
async function inTurns(works: readonly Work[]): Promise<number[][]> {
  const runs: number[] = [];
  for (const work of works) runs.push(await runsWithin(SAMPLE_MS, work));
  const samples: number[][] = works.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, work] of works.entries()) {
      const before = process.cpuUsage();
      for (let run = 0; run < runs[i]!; run++) await work();
      const { user, system } = process.cpuUsage(before);
      samples[i]!.push((user + system) / runs[i]!);
    }
  }
  return samples;
}

/** Runs the work until the time is over. @returns how often */
async function runsWithin(timeMs: number, work: Work): Promise<number> {
  const end = performance.now() + timeMs;
  let runs = 0;
  do {
    await work();
    runs += 1;
  } while (performance.now() < end);
  return runs;
}

const prepared = new Map<number, Path[]>();

answerParent<CpuQuestion>(async ({ act, records }): Promise<CpuAnswer> => {
  if (act === 'warm up') prepared.set(records, await prepare(records));
  const rows: HandlerRow[] = [];
  if (act === 'measure') for (const path of prepared.get(records)!) rows.push(await measure(path));
  return { rows };
});
