import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { neededPostgres, type Postgres, postgresPrograms, startPostgres } from '../../../bench/postgres.ts';
import { outboxTableSql, type RelayEvent, type RelayOptions, relayOutbox } from '../../../client/relay/index.ts';
import { Vertebra } from '../../../client/vertebra.ts';
import { type LocalBackbone, startLocalBackbone } from '../../../local/embedding.ts';
import { readPartition } from '../../support/api-client.ts';
import { type FaultyProxy, openFaultyProxy, problem } from '../../support/faulty-proxy.ts';

const programs = process.env.VERTEBRA_POSTGRES === 'required' ? neededPostgres() : postgresPrograms();
if (programs === undefined) console.warn('SKIPPED: the relay on PostgreSQL. There is none on this machine.');

describe.skipIf(programs === undefined)('a relay on PostgreSQL', () => {
  let postgres: Postgres;
  let pool: pg.Pool;
  let backbone: LocalBackbone;
  let proxy: FaultyProxy;
  let vertebra: Vertebra;
  beforeAll(async () => {
    postgres = await startPostgres(programs!);
    pool = postgres.pool();
    backbone = await startLocalBackbone();
    proxy = await openFaultyProxy(backbone.url);
    vertebra = new Vertebra({ endpoint: proxy.url });
  });
  afterAll(async () => {
    await pool?.end();
    await proxy?.close();
    await backbone?.dispose();
    await postgres?.dispose();
  });

  let made = 0;
  /** An outbox and a topic of its own, of the same name. */
  async function outbox({ partitions = 1 } = {}) {
    const name = `outbox_${made++}`;
    proxy.fault = () => undefined;
    await pool.query(outboxTableSql({ table: name }));
    await vertebra.admin().createTopics({ topics: [{ topic: name, numPartitions: partitions }] });
    return {
      name,
      /** Inserts a row with a JSON text. @returns its id */
      async insert(key: string | null, value: string | null, topic = name): Promise<string> {
        const text = `INSERT INTO ${name} (topic, key, value) VALUES ($1, $2, $3) RETURNING id::text`;
        return (await pool.query(text, [topic, key, value])).rows[0].id;
      },
      sql: async (text: string) => (await pool.query(text.replaceAll('$T', name))).rows,
      /** What waits or is set aside: `[id, error]`. */
      left: async () =>
        (await pool.query(`SELECT id::text, error FROM ${name} o ORDER BY o.id`)).rows.map(({ id, error }) => [
          id,
          error,
        ]),
      values: async (partition = 0) => (await readPartition(backbone.url, name, partition)).map(({ value }) => value),
      /** Requests that were to store rows. */
      sent: () => proxy.passed.filter(({ method, target }) => method === 'POST' && target.includes(`/${name}/`)),
    };
  }
  async function relay(table: string, options: Partial<RelayOptions> = {}) {
    const events: RelayEvent[] = [];
    const running = await relayOutbox({
      ...{ vertebra, pool, table, pollMs: 20, minBackoffMs: 1, maxBackoffMs: 20 },
      ...{ metrics: (event) => void events.push(event), ...options },
    });
    onTestFinished(() => running.stop({ timeoutMs: 0 }));
    const kinds = () => new Set(events.map(({ kind }) => kind));
    return Object.assign(running, { events, kinds });
  }
  const becomes = (asked: () => unknown, answer: unknown) => expect.poll(asked, { timeout: 20_000 }).toEqual(answer);

  it('sends what was committed, and nothing else, with key, headers and time', async () => {
    const { name, insert, left, sql } = await outbox();
    const client = await pool.connect();
    await client.query('BEGIN');
    await client.query(`INSERT INTO ${name} (topic, key, value) VALUES ('${name}', 'k', '{"n":0}')`);
    await client.query('ROLLBACK');
    client.release();
    await sql(`INSERT INTO $T (topic, key, value, headers, created_at)
      VALUES ('$T', 'k', '{"n": 1}', '{"trace": "t"}', '2026-01-01T00:00:00.123Z')`);
    await insert('k', null);
    const running = await relay(name);
    await becomes(left, []);
    const url = `${backbone.url}/v1/topics/${name}/partitions/0/records?offset=0`;
    const { records } = (await (await fetch(url)).json()) as { records: object[] };
    expect(records).toMatchObject([
      { key: 'k', value: { n: 1 }, headers: [['trace', 't']], timestamp: Date.parse('2026-01-01T00:00:00.123Z') },
      { key: 'k', value: null, headers: [] },
    ]);
    await becomes(running.kinds, new Set(['sent']));
    expect(await running.backlog()).toEqual({ waiting: 0, setAside: 0, oldestMs: 0 });
  });

  it('stores rows once when an answer is lost, also when the topic has grown before they are sent again', async () => {
    const { name, insert, left, values, sent } = await outbox();
    await Promise.all(Array.from({ length: 20 }, (_, i) => insert(`k${i}`, String(i))));
    let grown = false;
    proxy.fault = ({ method }) => (method === 'POST' && !grown ? 'lose' : undefined);
    const running = await relay(name);
    await expect.poll(() => sent().length, { timeout: 20_000 }).toBeGreaterThan(20);
    await vertebra.admin().createPartitions({ topicPartitions: [{ topic: name, count: 5 }] });
    grown = true;
    await becomes(left, []);
    expect((await values()).sort()).toEqual(Array.from({ length: 20 }, (_, i) => String(i)).sort());
    expect(running.kinds()).toContain('trouble');
  });

  it('sets a row aside that was changed after it may have been sent', async () => {
    const { name, insert, left, values, sent, sql } = await outbox();
    const id = await insert('k', '1');
    let first: Buffer | undefined;
    proxy.fault = ({ method, body }) => {
      if (method === 'POST') first ??= body;
      return first?.equals(body) ? 'lose' : undefined;
    };
    await relay(name);
    await expect.poll(() => sent().length, { timeout: 20_000 }).toBeGreaterThan(0);
    await sql("UPDATE $T SET value = '2'");
    await becomes(left, [[id, expect.stringMatching(/^idempotency_key_reused: /)]]);
    expect(await values()).toEqual(['1']);
  });

  it('sets poison aside: its key waits until it is corrected, others go on', async () => {
    const { name, insert, left, values, sql } = await outbox();
    await insert('a', '1');
    const poison = await insert('a', 'null');
    const behind = await insert('a', '3');
    await insert('b', '4');
    await insert(null, '5');
    const running = await relay(name);
    const waiting = [
      [poison, expect.stringMatching(/^invalid_record: Its value is the JSON null/)],
      [behind, null],
    ];
    await becomes(left, waiting);
    const late = await insert('a', '6');
    await insert('c', '7');
    await becomes(left, [...waiting, [late, null]]);
    await becomes(() => running.events.find(({ kind }) => kind === 'setAside'), {
      kind: 'setAside',
      rows: [{ id: poison, error: expect.any(String) }],
    });
    await sql("UPDATE $T SET value = '2', error = NULL WHERE error IS NOT NULL");
    await becomes(left, []);
    const stored = await values();
    expect(stored.filter((value) => '1236'.includes(value))).toEqual(['1', '2', '3', '6']);
    expect([...stored].sort()).toEqual(['1', '2', '3', '4', '5', '6', '7']);
  });

  it('goes on with the key of poison where it is told to', async () => {
    const { name, insert, left, values } = await outbox();
    const poison = await insert('a', 'null');
    await insert('a', '2');
    await relay(name, { onPoison: 'skip' });
    await becomes(left, [[poison, expect.any(String)]]);
    expect(await values()).toEqual(['2']);
  });

  it('sets rows aside whose topic is none, or does not exist', async () => {
    const { name, insert, left, values } = await outbox();
    const odd = await insert('a', '1', 'a/b');
    const unknown = await insert('b', '2', `${name}-not`);
    await insert('b', '3');
    await relay(name);
    await becomes(left, [
      [odd, expect.stringMatching(/^invalid_request: "a\/b" cannot be a name/)],
      [unknown, expect.stringMatching(/^topic_not_found: /)],
    ]);
    expect(await values()).toEqual(['3']);
  });

  it.each([
    ['is away', problem(503, 'unavailable')],
    ['does not know the caller', problem(401, 'unauthenticated')],
    ['lets nobody in', problem(403, 'forbidden')],
  ])('waits while the backbone %s, and sets nothing aside', async (_, answer) => {
    const { name, insert, left, values } = await outbox();
    const id = await insert('a', '1');
    proxy.fault = () => answer;
    const running = await relay(name);
    await becomes(() => running.events.filter(({ kind }) => kind === 'trouble').length > 2, true);
    expect(await left()).toEqual([[id, null]]);
    proxy.fault = () => undefined;
    await becomes(left, []);
    expect(await values()).toEqual(['1']);
    expect(running.kinds()).toEqual(new Set(['trouble', 'sent']));
  });

  it('keeps the order of every key, and stores once, while two relays share what several write', async () => {
    const { name, left } = await outbox({ partitions: 3 });
    await Promise.all([relay(name, { batchRows: 20 }), relay(name, { batchRows: 20 })]);
    const writer = async (who: number) => {
      for (let n = 0; n < 15; n++) {
        await pool.query(
          `INSERT INTO ${name} (topic, key, value) SELECT $1, format('%s-%s', $2::int, k), to_jsonb($3::int)
           FROM generate_series(1, 5) k`,
          [name, who, n],
        );
      }
    };
    await Promise.all([0, 1, 2, 3].map(writer));
    await becomes(left, []);
    const byKey = new Map<string, string[]>();
    for (const partition of [0, 1, 2]) {
      for (const { key, value } of await readPartition(backbone.url, name, partition)) {
        byKey.set(key!, [...(byKey.get(key!) ?? []), value]);
      }
    }
    expect(byKey.size).toBe(20);
    const inOrder = Array.from({ length: 15 }, (_, n) => String(n));
    for (const stored of byKey.values()) expect(stored).toEqual(inOrder);
  });

  it('is stopped in mid-request, and what it had begun is repeated by the next one under the same key', async () => {
    const { name, insert, left, values, sent } = await outbox();
    await insert('a', '1');
    proxy.fault = ({ method }) => (method === 'POST' ? 'hang' : undefined);
    const first = await relay(name);
    await expect.poll(() => sent().length, { timeout: 20_000 }).toBe(1);
    await first.stop({ timeoutMs: 0 });
    await insert('a', '2');
    proxy.fault = () => undefined;
    await relay(name);
    await becomes(left, []);
    expect(await values()).toEqual(['1', '2']);
    const keys = sent().map(({ headers }) => headers['idempotency-key']);
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
  });

  it('takes ids beyond 2^53', async () => {
    const { name, insert, left, values, sql } = await outbox();
    await sql('ALTER TABLE $T ALTER COLUMN id RESTART WITH 9007199254740993');
    await insert('a', '1');
    await insert('a', '2');
    await relay(name);
    await becomes(left, []);
    expect(await values()).toEqual(['1', '2']);
  });

  it('ends the wait for rows when it is told that there are some', async () => {
    const { name, insert, left } = await outbox();
    const running = await relay(name, { pollMs: 60_000 });
    await insert('a', '1');
    running.wake();
    await becomes(left, []);
  });

  /** The statements of an outbox, for a name that is put in later. */
  const statements = outboxTableSql({ table: 'outbox' }).replaceAll('"outbox', '"$T');

  it.each([
    ['nobody', 'SELECT 1', /There is no table "none_\d+"/],
    [
      'somebody else',
      'CREATE TABLE $T (id bigint, topic text)',
      /"none_\d+" is no outbox: it has no column 'key', it has no column 'value'/,
    ],
    [
      'a migration with values of another type',
      `${statements}; ALTER TABLE $T ALTER value TYPE xml USING '<a/>'`,
      /its column 'value' is xml, not jsonb or json or text or bytea/,
    ],
    ['a migration without lanes', `${statements}; DELETE FROM $T_lanes`, /_lanes" has no rows/],
  ])('is refused where %s has made the table', async (_, sql, reason) => {
    const table = `none_${made++}`;
    await pool.query(sql.replaceAll('$T', table));
    await expect(relay(table)).rejects.toThrow(reason);
  });
});
