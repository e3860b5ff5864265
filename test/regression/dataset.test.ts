import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createTopic, type Placed, produceLines, readPartition } from '../support/api-client.ts';
import { type RunningBackbone, startBackbone } from '../support/process.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

// Real rows from the npm package vega-datasets, in the very bytes of its files.
const dataset = (name: string) =>
  readFileSync(fileURLToPath(new URL(`../../node_modules/vega-datasets/data/${name}.json`, import.meta.url)), 'utf8');

/** 3,201 films, one a line: nulls, escapes, titles that are numbers. */
const films = dataset('movies')
  .split('\n')
  .slice(1, -1)
  .map((line) => line.trim().replace(/,$/, ''));
/** 20,000 flights without any white space between them. */
const flights = dataset('flights-20k').replaceAll('},{', '}\n{').slice(1, -1).split('\n');

const PARTITIONS = [0, 1, 2, 3, 4, 5, 6, 7];
const chunk = <T>(rows: readonly T[], size: number) =>
  Array.from({ length: Math.ceil(rows.length / size) }, (_, i) => rows.slice(i * size, (i + 1) * size));
const keyOf = (row: string, member: string) => (JSON.parse(row) as Record<string, string | null>)[member] ?? null;

async function readAll(url: string, topic: string) {
  return new Map(
    await Promise.all(
      PARTITIONS.map(async (partition) => [partition, await readPartition(url, topic, partition)] as const),
    ),
  );
}

describe('a real data set', () => {
  it('comes back complete, in order per key, byte for byte', async () => {
    expect(films).toHaveLength(3_201);
    const backbone = await startBackbone('--port', '0', '--memory');
    await createTopic(backbone.url, 'films');
    for (const rows of chunk(films, 1_000)) {
      const placed = await produceLines(backbone.url, 'films', rows, '/Major Genre');
      expect(placed).toHaveLength(rows.length);
    }
    const read = [...(await readAll(backbone.url, 'films')).values()].flat();
    expect(read.map(({ value }) => value).sort()).toEqual([...films].sort());
    for (const { key, value } of read) expect(key).toBe(keyOf(value, 'Major Genre'));
    const genres = new Set(films.map((row) => keyOf(row, 'Major Genre')).filter((genre) => genre !== null));
    for (const genre of genres) {
      const sent = films.filter((row) => keyOf(row, 'Major Genre') === genre);
      expect(read.filter(({ key }) => key === genre).map(({ value }) => value)).toEqual(sent);
    }
  });

  it('that was acknowledged is there exactly once, in order, though the process was killed in the middle, twice', async () => {
    const data = temporaryFolder();
    const requests = chunk(flights, 500);
    const start = () => startBackbone('--port', '0', '--data', data);
    let backbone: RunningBackbone = await start();
    await createTopic(backbone.url, 'flights', { partitions: PARTITIONS.length });

    const acknowledged: (Placed & { row: string })[] = [];
    const unanswered: string[][] = [];
    for (const [i, rows] of requests.entries()) {
      const produced = produceLines(backbone.url, 'flights', rows, '/origin');
      if (i === 12 || i === 27) {
        // Somewhere within the request: right after it was sent, or a few milliseconds into its appends.
        await new Promise((resolve) => setTimeout(resolve, i === 12 ? 4 : 12));
        const ended = backbone.end('SIGKILL');
        const outcome = await produced.catch(() => null);
        await ended;
        backbone = await start();
        if (!outcome) unanswered.push(rows);
        else acknowledged.push(...outcome.map((place, row) => ({ ...place, row: rows[row]! })));
        continue;
      }
      acknowledged.push(...(await produced).map((place, row) => ({ ...place, row: rows[row]! })));
    }
    expect(unanswered).not.toEqual([]); // else nothing was in the middle
    expect(acknowledged.length + unanswered.flat().length).toBe(20_000);

    const partitionOf = new Map(acknowledged.map(({ row, partition }) => [keyOf(row, 'origin'), partition]));
    for (const [partition, records] of await readAll(backbone.url, 'flights')) {
      const values = new Map(records.map(({ offset, value }) => [offset, value]));
      expect(values.size).toBe(records.length);
      const own = acknowledged.filter((place) => place.partition === partition);
      for (const { offset, row } of own) {
        expect(values.get(offset)).toBe(row);
        values.delete(offset);
      }
      // What is left belongs to requests that nobody answered: of each, this partition's share whole or not at all.
      for (const rows of unanswered) {
        const share = rows.filter((row) => partitionOf.get(keyOf(row, 'origin')) === partition);
        const found = [...values.values()].slice(0, share.length);
        if (found[0] !== share[0]) continue;
        expect(found).toEqual(share);
        for (const offset of [...values.keys()].slice(0, share.length)) values.delete(offset);
      }
      expect([...values]).toEqual([]);
      expect(own.map(({ offset }) => offset)).toEqual(own.map(({ offset }) => offset).sort((a, b) => a - b));
    }
  }, 90_000);
});
