import type pg from 'pg';
import { outboxTableSql, relayOutbox } from '../client/relay/index.ts';
import { Vertebra } from '../client/vertebra.ts';
import { startChild } from './child.ts';
import { type OrderEvent, orderEvents } from './event.ts';
import { postgresPrograms, startPostgres } from './postgres.ts';
import type { ServerAnswer } from './sdk-producer-process.ts';
import { median, type Progress, type Section, tableOf } from './section.ts';

const PARTITIONS = [1, 8];
const ROUNDS = 3;
const EVENTS = 8_000;
/** Rows of one statement that fills the outbox. */
const INSERTED = 1_000;
const RATIO_TARGET = 0.5;
const TITLE = 'the relay of an outbox in PostgreSQL beside the producer of the SDK, orders of 1 KB';

interface Row {
  readonly partitions: number;
  readonly producedPerSecond: number;
  readonly relayedPerSecond: number;
  readonly ratio: number;
}

const HEADS = {
  partitions: 'partitions',
  producedPerSecond: 'producer/s',
  relayedPerSecond: 'relay/s',
  ratio: 'ratio',
};

/** In turns: events that the producer sends, and as many that wait in a table, until the relay has emptied it. */
export async function measureRelay(progress: Progress): Promise<Section> {
  const programs = postgresPrograms();
  if (programs === undefined) {
    return { title: TITLE, tables: [], laws: [], notes: ['Not measured: there is no PostgreSQL on this machine.'] };
  }
  const child = startChild('sdk-producer-process.ts');
  const postgres = await startPostgres(programs);
  const pool = postgres.pool();
  try {
    const { url } = await child.ask<ServerAnswer>({});
    const vertebra = new Vertebra({ endpoint: url });
    const rows: Row[] = [];
    const lost: string[] = [];
    for (const partitions of PARTITIONS) {
      progress(`${partitions} partitions`);
      rows.push(await measure(vertebra, pool, partitions, lost));
    }
    const worst = Math.min(...rows.map(({ ratio }) => ratio));
    return {
      title: TITLE,
      tables: [tableOf('one process each: relay or producer, backbone, PostgreSQL that writes to disk', HEADS, rows)],
      laws: [{ law: 'what is gone from the table is in the topic', broken: lost }],
      notes: [`ratio: relay by producer ≥ ${RATIO_TARGET}: ${worst >= RATIO_TARGET ? 'met' : 'MISSED'}`],
    };
  } finally {
    await pool.end();
    await postgres.dispose();
    await child.close();
  }
}

async function measure(vertebra: Vertebra, pool: pg.Pool, partitions: number, lost: string[]): Promise<Row> {
  const [topic, table] = [`relay-${partitions}`, `outbox_${partitions}`];
  await vertebra.admin().createTopics({ topics: [{ topic, numPartitions: partitions }] });
  await pool.query(outboxTableSql({ table }));
  const events = orderEvents(EVENTS);
  const [produced, relayed, ratios]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round <= ROUNDS; round++) {
    const producing = await produce(vertebra, topic, events);
    await fill(pool, table, topic, events);
    const relaying = await relay(vertebra, pool, table);
    if (round === 0) continue; // warms up
    produced.push(producing);
    relayed.push(relaying);
    ratios.push(relaying / producing);
  }
  // A repeat leaves a void, so that there may be more.
  const stored = (await vertebra.admin().fetchTopicOffsets(topic)).reduce((sum, { high }) => sum + high, 0);
  const wanted = 2 * (ROUNDS + 1) * EVENTS;
  if (stored < wanted) lost.push(`${partitions} partitions: ${stored} offsets for ${wanted} records`);
  return {
    partitions,
    producedPerSecond: Math.round(median(produced)),
    relayedPerSecond: Math.round(median(relayed)),
    ratio: median(ratios),
  };
}

async function produce(vertebra: Vertebra, topic: string, events: readonly OrderEvent[]): Promise<number> {
  await using producer = vertebra.producer();
  const begun = performance.now();
  await Promise.all(events.map((event) => producer.send({ topic, messages: [event] })));
  return (events.length * 1_000) / (performance.now() - begun);
}

async function fill(pool: pg.Pool, table: string, topic: string, events: readonly OrderEvent[]): Promise<void> {
  for (let from = 0; from < events.length; from += INSERTED) {
    const some = events.slice(from, from + INSERTED);
    await pool.query(
      `INSERT INTO ${table} (topic, key, value) SELECT $1, key, value FROM unnest($2::text[], $3::jsonb[]) AS e (key, value)`,
      [topic, some.map(({ key }) => key), some.map(({ value }) => JSON.stringify(value))],
    );
  }
}

async function relay(vertebra: Vertebra, pool: pg.Pool, table: string): Promise<number> {
  let left = EVENTS;
  let end = () => {};
  const emptied = new Promise<void>((resolve) => {
    end = resolve;
  });
  const begun = performance.now();
  const running = await relayOutbox({
    ...{ vertebra, pool, table },
    metrics(event) {
      if (event.kind === 'sent') left -= event.records;
      if (left <= 0) end();
    },
  });
  await emptied;
  const perSecond = (EVENTS * 1_000) / (performance.now() - begun);
  await running.stop();
  return perSecond;
}
