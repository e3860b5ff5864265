import { setTimeout as sleep } from 'node:timers/promises';
import type { Delivered } from '../shared/domain/delivery.ts';
import { produceOrders } from './backbone.ts';
import { PushBench } from './push-bench.ts';
import { COST_HEADS, type CostRow, costRow } from './push-cost.ts';
import { type Law, median, type Progress, type Section, tableOf } from './section.ts';

export interface PushCase {
  /** Records of the backlog that is drained. */
  readonly backlog: number;
  /** Appends whose delivery is timed, at 10 a second. */
  readonly appends: number;
  /** Partitions that hang beside a subscription that does not. */
  readonly hung: number;
  readonly subscriptions: readonly number[];
  readonly groups: readonly number[];
}

const FULL: PushCase = { backlog: 10_000, appends: 50, hung: 50, subscriptions: [0, 1, 1_000], groups: [0, 100] };
const DONE: Delivered = { kind: 'done' };
const BATCH = 100;
const TOPIC = 'orders';
const EVERY_MS = 100;
/** Records of the backlog that are delivered one by one: enough to know the rate. */
const SINGLES = 200;

const TIME_HEADS = { what: 'what', value: 'value', unit: 'unit' };

/** What pushing costs, how soon it comes, and whom it keeps waiting. */
export async function measurePush(progress: Progress, of: PushCase = FULL): Promise<Section> {
  progress('publish cost');
  const publish = await publishRows(of);
  progress('a delivered batch');
  const delivered = await deliveredRow();
  progress('from the acknowledgement to the target');
  const latency = await latencyRows(of.appends);
  progress('a backlog');
  const backlog = await backlogRows(of.backlog);
  progress(`${of.hung} partitions that hang`);
  const isolation = await isolationRows(of);
  return {
    title: 'Push: what it costs, how soon it comes, whom it keeps waiting',
    tables: [
      tableOf('Capacity as the engine reports it', COST_HEADS, [...publish, delivered]),
      tableOf('In one process', TIME_HEADS, [...latency, ...backlog, ...isolation]),
    ],
    laws: [publishLaw(publish), deliveredLaw(delivered)],
    notes: [
      'The first append of a container to a partition in an hour costs one write unit more, where anybody subscribes.',
      'Aims: target invoked within 8 bare round trips; batches at 20 times the rate of single records; p99 within twice.',
    ],
  };
}

async function publishRows({ subscriptions, groups }: PushCase): Promise<CostRow[]> {
  const rows: CostRow[] = [];
  const cases = [
    ...groups.map((count) => ({ groups: count, subscriptions: 0 })),
    ...subscriptions.filter((count) => count > 0).map((count) => ({ groups: 0, subscriptions: count })),
  ];
  for (const each of cases) {
    const bench = await PushBench.open();
    try {
      await bench.topic(TOPIC);
      await bench.groups(each.groups);
      for (let i = 0; i < each.subscriptions; i++) await bench.subscribe(`s${i}`, TOPIC, async () => DONE);
      const produce = bench.producer();
      await produce(produceOrders(TOPIC, 10, 1));
      await bench.meter.takeAll();
      await produce(produceOrders(TOPIC, 10, 2));
      rows.push(await costRow(bench, `an append beside ${each.groups} groups, ${each.subscriptions} subscriptions`));
    } finally {
      await bench.close();
    }
  }
  return rows;
}

async function deliveredRow(): Promise<CostRow> {
  const bench = await PushBench.open();
  try {
    await bench.topic(TOPIC);
    await bench.subscribe('s', TOPIC, async () => DONE);
    const produce = bench.producer();
    // The first one reads what a container remembers.
    for (const seed of [1, 2]) {
      await produce(produceOrders(TOPIC, BATCH, seed));
      await bench.meter.takeAll();
      await bench.deliver(TOPIC, seed * BATCH - 1);
    }
    return await costRow(bench, `a delivered batch of ${BATCH}`);
  } finally {
    await bench.close();
  }
}

function publishLaw(rows: readonly CostRow[]): Law {
  const bare = rows[0]!;
  const broken = rows.filter(
    ({ what, writeUnits, readUnits, sends }) =>
      writeUnits !== bare.writeUnits ||
      readUnits !== bare.readUnits ||
      sends !== (what.endsWith(' 0 subscriptions') ? 0 : 1),
  );
  return {
    law: 'an append costs the same however many read it, but for one message where anybody subscribes',
    broken: broken.map(({ what }) => what),
  };
}

function deliveredLaw({ what, writeUnits, queries }: CostRow): Law {
  return {
    law: 'a delivered batch takes two write units and no more than two Queries',
    broken: writeUnits <= 2 && queries <= 2 ? [] : [`${what}: ${writeUnits} write units, ${queries} Queries`],
  };
}

async function latencyRows(appends: number) {
  const bench = await PushBench.open();
  try {
    await bench.topic(TOPIC);
    bench.start();
    const healthy = new Healthy(bench);
    const p50 = median(await healthy.waits(appends));
    const put = median(healthy.bare);
    return [
      { what: 'a bare PutItem, p50', value: put, unit: 'ms' },
      { what: 'from acknowledgement to target, p50', value: p50, unit: 'ms' },
      { what: 'in bare round trips', value: p50 / put, unit: '' },
    ];
  } finally {
    await bench.close();
  }
}

/** A subscription that takes what it is given, timed from the acknowledgement of each append. */
class Healthy {
  /** ms of as many bare writes, at the same pace. */
  readonly bare: number[] = [];
  readonly #bench: PushBench;
  #taken = 0;
  #told = () => {};

  constructor(bench: PushBench) {
    this.#bench = bench;
  }

  /** @returns ms from each acknowledgement to the call: 0 when the call was first */
  async waits(appends: number): Promise<number[]> {
    await this.#bench.subscribe('healthy', TOPIC, async ({ records }) => {
      this.#taken += records.length;
      this.#told();
      return DONE;
    });
    const produce = this.#bench.producer();
    const waits: number[] = [];
    for (let i = 0; i < appends; i++) {
      const pause = sleep(EVERY_MS);
      await produce(produceOrders(TOPIC, 1, i + 1));
      const acknowledged = performance.now();
      while (this.#taken <= i) {
        await new Promise<void>((resolve) => {
          this.#told = resolve;
        });
      }
      waits.push(performance.now() - acknowledged);
      await sleep(EVERY_MS / 2);
      this.bare.push(await this.#bench.putItem());
      await pause;
    }
    return waits;
  }
}

async function backlogRows(records: number) {
  const [whole, single] = [await drained(records, BATCH), await drained(Math.min(records, SINGLES), 1)];
  return [
    { what: `a backlog of ${records}, in batches of ${BATCH}`, value: whole, unit: 'records/s' },
    { what: 'one invocation per record', value: single, unit: 'records/s' },
    { what: 'times as fast', value: whole / single, unit: '' },
  ];
}

async function drained(records: number, maxRecords: number): Promise<number> {
  const bench = await PushBench.open();
  try {
    await bench.topic(TOPIC);
    let taken = 0;
    const batch = { maxRecords, maxBytes: 5_242_880 };
    const target = async ({ records: some }: { records: readonly unknown[] }) => {
      taken += some.length;
      return DONE;
    };
    const produce = bench.producer();
    for (let i = 0; i < records; i += 1_000) await produce(produceOrders(TOPIC, Math.min(1_000, records - i), i + 1));
    await bench.subscribe('s', TOPIC, target, { batch });
    const begun = performance.now();
    await bench.deliver(TOPIC, records - 1);
    if (taken !== records) throw new Error(`${taken} of ${records} records were delivered`);
    return (records * 1_000) / (performance.now() - begun);
  } finally {
    await bench.close();
  }
}

async function isolationRows({ appends, hung }: PushCase) {
  const p99 = async (beside: number): Promise<number> => {
    const bench = await PushBench.open();
    const ends: (() => void)[] = [];
    try {
      await bench.topic(TOPIC);
      bench.start();
      if (beside > 0) {
        await bench.topic('stuck', beside);
        const hangs = () => new Promise<Delivered>((resolve) => ends.push(() => resolve(DONE)));
        await bench.subscribe('hung', 'stuck', hangs);
        const produce = bench.producer();
        await produce(produceOrders('stuck', 10 * beside, 1));
        while (ends.length < beside) await sleep(EVERY_MS);
      }
      const waits = (await new Healthy(bench).waits(appends)).sort((a, b) => a - b);
      return waits[Math.ceil(waits.length * 0.99) - 1]!;
    } finally {
      for (const end of ends) end();
      await bench.close();
    }
  };
  const [alone, beside] = [await p99(0), await p99(hung)];
  return [
    { what: 'a healthy subscription alone, p99', value: alone, unit: 'ms' },
    { what: `beside ${hung} partitions that hang, p99`, value: beside, unit: 'ms' },
    { what: 'times as long', value: beside / alone, unit: '' },
  ];
}
