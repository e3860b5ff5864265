import { TAKES_AHEAD } from '../shared/domain/quota-limits.ts';
import { type BenchBackbone, type Container, openBenchBackbone, produceEvents } from './backbone.ts';
import { orderEvents } from './event.ts';
import { exchange } from './exchange.ts';
import { sum } from './meter.ts';
import { type Progress, type Section, tableOf } from './section.ts';

export interface QuotaRow {
  readonly bounds: string;
  readonly appends: number;
  readonly writeUnits: number;
  readonly readUnits: number;
  readonly calls: number;
  readonly addedWriteUnitsPerAppend: number;
}

const HEADS = {
  bounds: 'bounds',
  appends: 'appends',
  writeUnits: 'write units',
  readUnits: 'read units',
  calls: 'calls',
  addedWriteUnitsPerAppend: 'write units for bounds per append',
};

/** As many single records as are let through at once, since the clock stands still. */
const APPENDS = 100;
const RATES = { recordsPerSecond: APPENDS };
const GROUP = 'billing';

/** Each with the write units that it may cost beside the appends' own. */
const CASES: readonly (readonly [bounds: string, settings: object, addedMax: number])[] = [
  ['none', {}, 0],
  ['quota', { quota: RATES }, APPENDS / TAKES_AHEAD],
  ['quota, and one per caller', { quota: { ...RATES, perCaller: RATES } }, (2 * APPENDS) / TAKES_AHEAD],
  ['maxLag', { maxLag: { groups: [GROUP], records: 1_000 } }, 2],
];

/** What it costs that appends may be held back. */
export async function measureQuotas(progress: Progress): Promise<Section> {
  const backbone = await openBenchBackbone();
  const rows: QuotaRow[] = [];
  const broken: string[] = [];
  try {
    for (const [i, [bounds, settings, addedMax]] of CASES.entries()) {
      progress(bounds);
      const row = await measure(backbone, `topic-${i}`, bounds, settings, rows[0]?.writeUnits);
      rows.push(row);
      const added = row.addedWriteUnitsPerAppend * APPENDS;
      if (added > addedMax) broken.push(`${bounds}: ${added} write units for ${APPENDS} appends, not ${addedMax}`);
    }
  } finally {
    await backbone.close();
  }
  return {
    title: 'appends that may be held back',
    tables: [tableOf('single records, one container that knows the topic', HEADS, rows)],
    laws: [
      { law: `a bucket costs at most one write unit for ${TAKES_AHEAD} appends, nothing where there is none`, broken },
    ],
    notes: [
      'maxLag: measured once in 5 s whatever is appended; the topic has 8 partitions, the group a position in one.',
    ],
  };
}

/** @param plainUnits what the same appends cost without bounds */
async function measure(
  { container, meter }: BenchBackbone,
  topic: string,
  bounds: string,
  settings: object,
  plainUnits?: number,
): Promise<QuotaRow> {
  const call = container();
  await send(call, 'PUT', `/v1/topics/${topic}`, settings);
  await send(call, 'POST', `/v1/groups/${GROUP}/commits`, { offsets: [{ topic, partition: 0, offset: 0 }] });
  // Whoever appends next knows the topic: that read is not what is counted.
  await send(call, 'GET', `/v1/topics/${topic}/partitions/0/records?offset=earliest`);
  const requests = Array.from({ length: APPENDS }, (_, seed) => produceEvents(topic, orderEvents(1, seed)));
  const calls = (await exchange(meter, call, requests)).flatMap((each) => each.calls);
  const writeUnits = sum(calls, 'writeUnits');
  return {
    ...{ bounds, appends: APPENDS, writeUnits },
    readUnits: sum(calls, 'readUnits'),
    calls: calls.length,
    addedWriteUnitsPerAppend: (writeUnits - (plainUnits ?? writeUnits)) / APPENDS,
  };
}

async function send(call: Container, method: string, target: string, body?: object): Promise<void> {
  await call({
    ...{ method, target },
    ...(body && { body: Buffer.from(JSON.stringify(body)), headers: { 'content-type': 'application/json' } }),
  });
}
