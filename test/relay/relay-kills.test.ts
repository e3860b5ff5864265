import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { neededPostgres, type Postgres, startPostgres } from '../../bench/postgres.ts';
import { outboxTableSql } from '../../client/relay/index.ts';
import { type LocalBackbone, startLocalBackbone } from '../../local/embedding.ts';
import { Random } from '../faults/simulator/random.ts';
import { createTopic, readPartition } from '../support/api-client.ts';
import { type FaultyProxy, openFaultyProxy } from '../support/faulty-proxy.ts';
import type { RelayCommand } from './relay-process.ts';

const PROCESS = fileURLToPath(new URL('relay-process.ts', import.meta.url));
/** Each has its rows, and its kill in the middle of them. */
const ROUNDS = 10;
const ROWS = 10_000;
const KEYS = 250;
const PARTITIONS = 4;
/** Of all requests, one of so many loses its answer besides. */
const LOST = 10;
const DEADLINE_MS = 60_000;

let postgres: Postgres;
let backbone: LocalBackbone;
let proxy: FaultyProxy;
beforeAll(async () => {
  postgres = await startPostgres(neededPostgres());
  backbone = await startLocalBackbone();
  proxy = await openFaultyProxy(backbone.url);
});
afterAll(async () => {
  await proxy?.close();
  await backbone?.dispose();
  await postgres?.dispose();
});

const nameOf = (relay: number) => `relay-${relay}`;

async function startRelay(relay: number): Promise<ChildProcess> {
  const { connection } = postgres;
  const command: RelayCommand = { endpoint: proxy.url, connection, table: 'outbox', clientId: nameOf(relay) };
  const child = spawn(process.execPath, ['--import', 'tsx', PROCESS, JSON.stringify(command)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (chunk) => (output += String(chunk)));
  await expect.poll(() => output, { timeout: DEADLINE_MS }).toContain('ready');
  return child;
}

async function ask<Row>(text: string): Promise<Row[]> {
  const pool = postgres.pool({ max: 1 });
  try {
    return (await pool.query(text)).rows as Row[];
  } finally {
    await pool.end();
  }
}

describe('two relays, killed in mid-batch, on a database that is killed, too', () => {
  it(`store ${ROWS} rows once each, and in order for every key`, async () => {
    const random = new Random(ROWS);
    await createTopic(backbone.url, 'orders', { partitions: PARTITIONS });
    await ask(outboxTableSql({ table: 'outbox', lanes: 8 }));
    const relays = [await startRelay(0), await startRelay(1)];

    let kill: (() => Promise<unknown>) | undefined;
    let until = 0;
    let killed = 0;
    let victim = 0; // one of the relays, or the database
    proxy.fault = async ({ method, headers }) => {
      if (method !== 'POST') return undefined;
      const isVictims = victim === 2 || headers['user-agent']?.endsWith(nameOf(victim));
      if (kill === undefined || !isVictims || until-- > 0) return random.between(1, LOST) === 1 ? 'lose' : undefined;
      const act = kill;
      kill = undefined;
      await act();
      killed++;
      return random.between(0, 1) === 0 ? 'drop' : undefined; // the backbone has it or not; nobody hears
    };
    for (let round = 0; round < ROUNDS; round++) {
      victim = round % 3;
      const [from, to] = [(round * ROWS) / ROUNDS, ((round + 1) * ROWS) / ROUNDS - 1];
      await ask(`INSERT INTO outbox (topic, key, value) SELECT 'orders', 'key-' || i % ${KEYS}, to_jsonb(i)
        FROM generate_series(${from}, ${to}) i`);
      until = random.between(0, 3);
      kill = async () => {
        if (victim === 2) return postgres.kill();
        const ended = once(relays[victim]!, 'exit');
        relays[victim]!.kill('SIGKILL');
        return ended;
      };
      await expect.poll(() => killed, { timeout: DEADLINE_MS }).toBe(round + 1);
      if (victim === 2) await postgres.start();
      else relays[victim] = await startRelay(victim);
    }
    const left = () => ask('SELECT count(*)::int FROM outbox');
    await expect.poll(left, { timeout: 2 * DEADLINE_MS, interval: 200 }).toEqual([{ count: 0 }]);
    for (const relay of relays) {
      const ended = once(relay, 'exit');
      relay.kill('SIGTERM');
      expect(await ended).toEqual([0, null]);
    }
    expect(await ask('SELECT lane FROM outbox_lanes WHERE plan IS NOT NULL OR token IS NOT NULL')).toEqual([]);

    const byKey = new Map<string, number[]>();
    for (let partition = 0; partition < PARTITIONS; partition++) {
      for (const { key, value } of await readPartition(backbone.url, 'orders', partition, DEADLINE_MS)) {
        const stored = byKey.get(key!) ?? [];
        byKey.set(key!, stored);
        stored.push(Number(value));
      }
    }
    const wanted = Array.from({ length: KEYS }, (_, k) => [
      `key-${k}`,
      Array.from({ length: ROWS / KEYS }, (_, i) => k + i * KEYS),
    ]);
    expect([...byKey].sort()).toEqual(wanted.sort());
    const requests = proxy.passed.filter(({ method }) => method === 'POST');
    const keys = new Set(requests.map(({ headers }) => headers['idempotency-key']));
    console.info(`${killed} kills, ${keys.size} requests for ${ROWS} rows, ${requests.length - keys.size} repeats`);
    expect(requests.length - keys.size).toBeGreaterThan(ROUNDS / 2); // else the kills met nothing
  });
});
