import { randomBytes, randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { neededPostgres, type Postgres, startPostgres } from '../../bench/postgres.ts';
import { outboxTableSql } from '../../client/relay/index.ts';
import { CLAIM_BYTES } from '../../client/relay/limits.ts';
import { OutboxTable } from '../../client/relay/outbox-table.ts';

let postgres: Postgres;
let pool: pg.Pool;
beforeAll(async () => {
  postgres = await startPostgres(neededPostgres());
  pool = postgres.pool();
});
afterAll(async () => {
  await pool?.end();
  await postgres?.dispose();
});

let made = 0;
async function outbox({ lanes = 1 } = {}) {
  const name = `outbox_${made++}`;
  await pool.query(outboxTableSql({ table: name, lanes }));
  const table = new OutboxTable(pool, name, true);
  const insert = (key: string | null, value: string) =>
    pool.query(`INSERT INTO ${name} (topic, key, value) VALUES ('orders', $1, $2)`, [key, value]);
  const left = async () => (await pool.query(`SELECT id::text FROM ${name} o ORDER BY o.id`)).rows.map(({ id }) => id);
  return { name, table, insert, left };
}
const claim = (table: OutboxTable, leaseMs = 60_000) => table.claim(randomUUID(), leaseMs);
const planOf = (...rows: string[]) => [{ key: `key-${rows}`, topic: 'orders', partition: 0, rows }];
const LEFT = { done: [], setAside: [], plan: undefined, attempts: 0, pauseMs: 0 };

describe('a lane', () => {
  it('is one holder’s until it is left, and is not claimed while nothing is in it', async () => {
    const { table, insert } = await outbox();
    expect(await claim(table)).toBeUndefined();
    await insert('a', '1');
    const lane = await claim(table);
    expect(lane).toMatchObject({ lane: 0, attempts: 0, plan: undefined });
    expect(await claim(table)).toBeUndefined();
    await table.leave(lane!, LEFT);
    expect(await claim(table)).toBeDefined();
  });

  it('goes to another when its lease is over; who held it before changes nothing any more', async () => {
    const { table, insert, left } = await outbox();
    await insert('a', '1');
    const stale = (await claim(table, 0))!;
    const lane = (await claim(table))!;
    expect(await table.pin(stale, planOf('1'))).toBe(false);
    expect(await table.pin(lane, planOf('1'))).toBe(true);
    await table.leave(stale, { ...LEFT, done: ['1'] });
    await table.leave(stale, { ...LEFT, setAside: [{ id: '1', error: 'x' }] });
    expect(await left()).toEqual(['1']);
    expect(await claim(table)).toBeUndefined();
    await table.leave(lane, { ...LEFT, done: ['1'] });
    await table.leave(lane, { ...LEFT, done: ['1'] }); // when the first answer was lost
    expect(await left()).toEqual([]);
  });

  it('hands what is pinned to the next holder, with what failed before', async () => {
    const { table, insert } = await outbox();
    await insert('a', '1');
    await insert('a', '2');
    const lane = (await claim(table, 0))!;
    expect(await table.pin(lane, planOf('1'))).toBe(true);
    const next = (await claim(table))!;
    expect(next.plan).toEqual(planOf('1'));
    await table.leave(next, { ...LEFT, plan: planOf('1'), attempts: 3 });
    expect(await claim(table)).toMatchObject({ plan: planOf('1'), attempts: 3 });
  });

  it('rests for as long as it is told to', async () => {
    const { table, insert } = await outbox();
    await insert('a', '1');
    await table.leave((await claim(table))!, { ...LEFT, pauseMs: 60_000 });
    expect(await claim(table)).toBeUndefined();
  });

  it('goes to one of those who ask at the same time', async () => {
    const { table, insert } = await outbox({ lanes: 4 });
    await Promise.all(Array.from({ length: 40 }, (_, i) => insert(`key-${i}`, '1')));
    const lanes = (await Promise.all(Array.from({ length: 12 }, () => claim(table)))).flatMap(
      (lane) => lane?.lane ?? [],
    );
    expect(new Set(lanes).size).toBe(lanes.length);
    while (lanes.length < 4) lanes.push((await claim(table))!.lane); // one that met another's lock got none
    expect(lanes.sort()).toEqual([0, 1, 2, 3]);
  });

  it('has the rows of a key, whatever else there is, and no more of them than fit', async () => {
    const { table, insert } = await outbox({ lanes: 16 });
    for (const key of ['a', 'b', 'a', null, 'a']) await insert(key, '1');
    let rows: { key: string | null }[] = [];
    for (let lane = 0; lane < 16 && !rows.some(({ key }) => key === 'a'); lane++) {
      rows = await table.read(lane, 10, CLAIM_BYTES);
    }
    expect(rows.filter(({ key }) => key === 'a').length).toBe(3);
  });

  it('is read in the order of ids, within bounds of rows and bytes, one row at least', async () => {
    const { table, insert } = await outbox();
    const kilobyte = () => JSON.stringify(randomBytes(500).toString('hex'));
    for (let i = 0; i < 4; i++) await insert('a', kilobyte());
    const idsOf = async (count: number, bytes: number) => (await table.read(0, count, bytes)).map(({ id }) => id);
    expect(await idsOf(10, CLAIM_BYTES)).toEqual(['1', '2', '3', '4']);
    expect(await idsOf(2, CLAIM_BYTES)).toEqual(['1', '2']);
    expect(await idsOf(10, 1)).toEqual(['1']);
    expect(await idsOf(10, 1_500)).toEqual(['1', '2']);
  });

  it('is pinned on disk, also where other transactions are not', async () => {
    const { name, insert } = await outbox();
    await insert('a', '1');
    const lazy = postgres.pool({ max: 1, options: '-c synchronous_commit=off' });
    const asked: string[] = [];
    const watched = {
      async query(text: string, values?: unknown[]) {
        // As the statement itself sees it when it ends.
        const seen = text.replace('RETURNING lane', "RETURNING lane, current_setting('synchronous_commit') AS durable");
        const answer = await lazy.query(seen, values);
        if (answer.rows[0]?.durable) asked.push(answer.rows[0].durable);
        return answer;
      },
    };
    const table = new OutboxTable(watched, name, true);
    const lane = await claim(table);
    asked.length = 0;
    expect(await table.pin(lane!, planOf('1'))).toBe(true);
    expect(asked).toEqual(['on']);
    expect((await lazy.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }]);
    await lazy.end();
  });
});
