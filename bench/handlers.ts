import { startChild } from './child.ts';
import type { CpuAnswer, CpuQuestion, HandlerRow } from './cpu-process.ts';
import { type Progress, type Section, tableOf } from './section.ts';

const BATCHES = [1, 10, 100, 1_000];
const TARGET_BATCH = 100;
/** Source: the project's own targets, at `TARGET_BATCH`. */
const RATIO_TARGET = 1.6;
const RAW_MICROS_TARGET = 1;

const HEADS = {
  path: 'path',
  records: 'records',
  floor: 'floor µs/record',
  handler: 'handler µs/record',
  ratio: 'ratio',
  sdk: 'and the SDK µs/record',
  verdict: 'target',
};

/** CPU of whole functions, in a process that does nothing else. */
export async function measureHandlers(progress: Progress): Promise<Section> {
  // The functions write their access log as they do in Lambda: that is part of what a request costs.
  const child = startChild('cpu-process.ts', { POWERTOOLS_METRICS_DISABLED: 'false' });
  const ask = async (question: CpuQuestion) => (await child.ask<CpuAnswer>(question)).rows;
  const rows: HandlerRow[] = [];
  try {
    // All before any: functions that have run a few times are not yet those of a busy day.
    for (const records of BATCHES) {
      progress(`warming up, ${records} records`);
      await ask({ act: 'warm up', records });
    }
    for (const records of BATCHES) {
      progress(`measuring, ${records} records`);
      rows.push(...(await ask({ act: 'measure', records })));
    }
  } finally {
    await child.close();
  }
  return {
    title: 'CPU per record, from the gateway’s event to the AWS client’s call and back',
    tables: [
      tableOf(
        'AWS clients that answer at once',
        HEADS,
        rows.map((row) => ({ ...row, verdict: verdictOn(row) })),
      ),
    ],
    laws: [],
    notes: [
      'floor: JSON.parse + gzip level 1 of the same bytes (produce); gunzip + one string build (fetch). Access log included.',
    ],
  };
}

/** A time is no law: it is shown, and nothing fails. */
function verdictOn({ records, handler, ratio }: HandlerRow): string | undefined {
  if (records !== TARGET_BATCH) return undefined;
  const [met, target] =
    ratio === undefined
      ? [handler <= RAW_MICROS_TARGET, `≤ ${RAW_MICROS_TARGET} µs`]
      : [ratio <= RATIO_TARGET, `ratio ≤ ${RATIO_TARGET}`];
  return `${target}: ${met ? 'met' : 'MISSED'}`;
}
