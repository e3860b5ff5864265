import { type BenchBackbone, type Container, openBenchBackbone, produceOrders, putTopic } from './backbone.ts';
import { sum } from './meter.ts';
import { type Progress, type Section, tableOf } from './section.ts';
import { writeUnits } from './units.ts';

const WRITERS = [1, 8, 64];
/** Appends of all writers together, of one record each. */
const APPENDS = 1_280;

interface Row {
  readonly writers: number;
  readonly appends: number;
  readonly writeUnitsPerAppend: number;
  readonly expected: number;
  readonly failedConditions: number;
  readonly retries: number;
  readonly appendsPerSecond: number;
}

const HEADS = {
  writers: 'writers',
  appends: 'appends',
  writeUnitsPerAppend: 'write units per append',
  expected: '1 + ⌈slot KB⌉',
  failedConditions: 'failed conditions',
  retries: 'retries',
  appendsPerSecond: 'appends/s',
};

/** Writers that append to one partition at once, each a container of its own. */
export async function measureContention(
  progress: Progress,
  writers: readonly number[] = WRITERS,
  appends = APPENDS,
): Promise<Section> {
  const backbone = await openBenchBackbone();
  const rows: Row[] = [];
  const broken: string[] = [];
  const holes: string[] = [];
  try {
    for (const count of writers) {
      progress(`${count} writers`);
      const { row, offsets } = await contend(backbone, count, appends);
      rows.push(row);
      const exact = row.writeUnitsPerAppend === row.expected && row.failedConditions === 0 && row.retries === 0;
      if (!exact) broken.push(`${count} writers: see the table`);
      offsets.sort((a, b) => a - b);
      if (offsets.some((offset, i) => offset !== i)) holes.push(`${count} writers got other offsets`);
    }
  } finally {
    await backbone.close();
  }
  return {
    title: 'contention: many writers on one partition',
    tables: [tableOf('one record per append', HEADS, rows)],
    laws: [
      { law: 'write units per append are exactly 1 + ⌈slot KB⌉ at any contention, and no write fails', broken },
      { law: 'all offsets from 0 on are handed out, each once', broken: holes },
    ],
    notes: [
      'appends/s: in this process, without HTTP, engine included; for information. The clock of the writers stands still:',
      'one that is too slow for its own deadline gives its slot up and takes another, which is not what is counted here.',
    ],
  };
}

async function contend(
  { container, meter }: BenchBackbone,
  writers: number,
  appends: number,
): Promise<{ row: Row; offsets: number[] }> {
  const topic = `contention-${writers}`;
  await container()(putTopic(topic));
  const sent = Array.from({ length: appends / writers }, (_, i) => produceOrders(topic, 1, i + 1));
  const containers = Array.from({ length: writers }, container);
  meter.take();
  const begun = performance.now();
  const offsets = (await Promise.all(containers.map((call) => appendAll(call, sent)))).flat();
  const seconds = (performance.now() - begun) / 1_000;
  const calls = meter.take();
  const slots = calls.filter(({ operation }) => operation === 'PutItem');
  const expected = slots.reduce((units, { putBytes }) => units + 1 + writeUnits(putBytes), 0);
  return {
    offsets,
    row: {
      writers,
      appends,
      writeUnitsPerAppend: sum(calls, 'writeUnits') / appends,
      expected: expected / appends,
      failedConditions: calls.filter(({ conditionFailed }) => conditionFailed).length,
      retries: sum(calls, 'attempts') - calls.length,
      appendsPerSecond: Math.round(appends / seconds),
    },
  };
}

async function appendAll(call: Container, requests: readonly Parameters<Container>[0][]): Promise<number[]> {
  const offsets: number[] = [];
  for (const request of requests) {
    const { body } = await call(request);
    const answer = JSON.parse(body.toString()) as { offsets: { offset: number }[] };
    offsets.push(...answer.offsets.map(({ offset }) => offset));
  }
  return offsets;
}
