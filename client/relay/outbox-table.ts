import { InvalidOptions } from '../errors.ts';
import { namesOf, type OutboxNames } from './outbox-names.ts';
import type { OutboxRow } from './outbox-row.ts';
import { VALUE_TYPES, type ValueType } from './outbox-table-sql.ts';
import type { PlannedRequest } from './plan.ts';
import type { Backlog, OutboxPool, SetAside } from './words.ts';

/** A lane that is this relay's for the time of its lease. */
export interface ClaimedLane {
  readonly lane: number;
  /** By which it is known that it still is. */
  readonly token: string;
  /** Failed in a row. */
  readonly attempts: number;
  /** What may have been sent before, and was not told to be done. */
  readonly plan: readonly PlannedRequest[] | undefined;
}

/** How a lane is left. */
export interface LaneOutcome {
  /** Stored: they go. */
  readonly done: readonly string[];
  readonly setAside: readonly SetAside[];
  /** What is to be repeated. */
  readonly plan: readonly PlannedRequest[] | undefined;
  readonly attempts: number;
  /** Nobody works on the lane for so long. */
  readonly pauseMs: number;
}

type Columns = Readonly<Record<string, readonly string[]>>;

const TEXT = ['text', 'character varying'];
const INTEGER = ['bigint', 'integer', 'smallint'];
const TIME = ['timestamp with time zone'];
/** What must be there, and of which types. */
const COLUMNS: Columns = {
  ...{ id: INTEGER, topic: TEXT, key: TEXT, value: VALUE_TYPES, headers: ['jsonb', 'json'] },
  ...{ created_at: TIME, error: TEXT, failed_at: TIME, lane: INTEGER },
};
const LANE_COLUMNS: Columns = {
  lane: INTEGER,
  token: ['uuid'],
  free_at: TIME,
  attempts: INTEGER,
  plan: ['jsonb', 'json'],
};

/**
 * An outbox in PostgreSQL. Each call is one statement, a transaction of its own: no connection is held while the backbone is
 * called. Whatever depends on holding a lane asks for its token in the same statement.
 */
export class OutboxTable {
  readonly #pool: OutboxPool;
  readonly #names: OutboxNames;
  readonly #waiting: string;
  #valueType: ValueType = 'jsonb';

  /** @param holdKey rows behind a set-aside one of their topic and key wait @throws {InvalidOptions} */
  constructor(pool: OutboxPool, table: string, holdKey: boolean) {
    this.#pool = pool;
    this.#names = namesOf(table);
    const held = `EXISTS (SELECT FROM ${this.#names.table} f
      WHERE f.error IS NOT NULL AND f.topic = o.topic AND f.key = o.key AND f.id < o.id)`;
    this.#waiting = holdKey ? `o.error IS NULL AND NOT ${held}` : 'o.error IS NULL';
  }

  get valueType(): ValueType {
    return this.#valueType;
  }

  /** @throws {InvalidOptions} when it is no outbox. Else what the database says */
  async check(): Promise<void> {
    const { table, lanes } = this.#names;
    const types = await this.#columnsOf(table, COLUMNS);
    await this.#columnsOf(lanes, LANE_COLUMNS);
    this.#valueType = types.get('value') as ValueType;
    const { rows } = await this.#pool.query(`SELECT count(*)::int AS count FROM ${lanes}`);
    if (rows[0]!.count === 0) throw new InvalidOptions(`${lanes} has no rows; outboxTableSql() tells what it holds`);
  }

  async #columnsOf(table: string, needed: Columns): Promise<Map<string, string>> {
    const { rows } = await this.#pool.query(
      `SELECT attname::text AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
       WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped`,
      [table],
    );
    const types = new Map(rows.map(({ name, type }) => [String(name), String(type)]));
    const faults = Object.entries(needed).flatMap(([name, allowed]) => {
      const type = types.get(name);
      if (type === undefined) return [`it has no column '${name}'`];
      return allowed.includes(type) ? [] : [`its column '${name}' is ${type}, not ${allowed.join(' or ')}`];
    });
    if (faults.length === 0) return types;
    const fault = types.size === 0 ? `There is no table ${table}` : `${table} is no outbox: ${faults.join(', ')}`;
    throw new InvalidOptions(`${fault}; outboxTableSql() tells what it must be`);
  }

  /**
   * Takes the lane that has been free for longest, of those that have something to send. A lane is looked into for its first
   * row, not for any: that keeps the planner from reading the whole table where the lane is empty.
   */
  async claim(token: string, leaseMs: number): Promise<ClaimedLane | undefined> {
    const { table, lanes } = this.#names;
    const { rows } = await this.#pool.query(
      `UPDATE ${lanes} SET token = $1, free_at = now() + $2 * interval '1 millisecond'
       WHERE lane = (
         SELECT l.lane FROM ${lanes} l
         WHERE l.free_at <= now()
           AND (l.plan IS NOT NULL OR (
             SELECT o.id FROM ${table} o WHERE o.lane = l.lane AND ${this.#waiting} ORDER BY o.id LIMIT 1) IS NOT NULL)
         ORDER BY l.free_at LIMIT 1 FOR UPDATE SKIP LOCKED)
       RETURNING lane, attempts, plan::text`,
      [token, leaseMs],
    );
    const [row] = rows;
    if (row === undefined) return undefined;
    const plan = row.plan === null ? undefined : (JSON.parse(String(row.plan)) as PlannedRequest[]);
    return { lane: Number(row.lane), token, attempts: Number(row.attempts), plan };
  }

  /**
   * The first rows of a lane. To be asked for by a statement of its own after the claim: the one that claims may still see
   * rows that were sent and deleted while it waited for the lane.
   * @param bytes of values as they are stored, but for the last row
   */
  async read(lane: number, count: number, bytes: number): Promise<OutboxRow[]> {
    const { rows } = await this.#pool.query(
      `SELECT ${this.#fields()} FROM (
         SELECT p.*, sum(p.size) OVER (ORDER BY p.id) - p.size AS before FROM (
           SELECT o.*, coalesce(${this.#valueSize()}, 0) AS size FROM ${this.#names.table} o
           WHERE o.lane = $1 AND ${this.#waiting} ORDER BY o.id LIMIT $2) p) o
       WHERE before < $3 ORDER BY o.id`,
      [lane, count, bytes],
    );
    return rows as unknown as OutboxRow[];
  }

  /** Rows of a lane by their ids. */
  async readPlanned(lane: number, ids: readonly string[]): Promise<Map<string, OutboxRow>> {
    const { rows } = await this.#pool.query(
      `SELECT ${this.#fields()} FROM ${this.#names.table} o WHERE o.lane = $1 AND o.id = ANY($2::bigint[])`,
      [lane, ids],
    );
    return new Map((rows as unknown as OutboxRow[]).map((row) => [row.id, row]));
  }

  /**
   * Keeps what is going to be sent. It must outlive a crash of the database, so it is committed to disk even where other
   * transactions are not.
   * @returns whether the lane was still held: else nothing is to be sent
   */
  async pin({ lane, token }: ClaimedLane, plan: readonly PlannedRequest[]): Promise<boolean> {
    const { rows } = await this.#pool.query(
      `UPDATE ${this.#names.lanes} SET plan = $3
       FROM (SELECT set_config('synchronous_commit',
         replace(current_setting('synchronous_commit'), 'off', 'on'), true) AS durable) d
       WHERE lane = $1 AND token = $2 AND d.durable IS NOT NULL RETURNING lane`,
      [lane, token, JSON.stringify(plan)],
    );
    return rows.length === 1;
  }

  /** Leaves a lane that is still held; of one that is not, nothing is changed. May be repeated. */
  async leave({ lane, token }: ClaimedLane, outcome: LaneOutcome): Promise<void> {
    const { done, setAside, plan, attempts, pauseMs } = outcome;
    const { table, lanes } = this.#names;
    await this.#pool.query(
      `WITH held AS (
         UPDATE ${lanes} SET token = NULL, plan = $3, attempts = $4, free_at = now() + $5 * interval '1 millisecond'
         WHERE lane = $1 AND token = $2 RETURNING lane),
       aside AS (
         UPDATE ${table} o SET error = f.error, failed_at = now()
         FROM unnest($7::bigint[], $8::text[]) AS f (id, error)
         WHERE o.lane = $1 AND o.id = f.id AND EXISTS (SELECT FROM held))
       DELETE FROM ${table} WHERE lane = $1 AND id = ANY($6::bigint[]) AND EXISTS (SELECT FROM held)`,
      [
        ...[lane, token, plan === undefined ? null : JSON.stringify(plan), attempts, pauseMs, done],
        ...[setAside.map(({ id }) => id), setAside.map(({ error }) => error)],
      ],
    );
  }

  async backlog(): Promise<Backlog> {
    const { rows } = await this.#pool.query(
      `SELECT count(*) FILTER (WHERE error IS NULL) AS waiting, count(*) FILTER (WHERE error IS NOT NULL) AS aside,
         extract(epoch FROM now() - min(created_at) FILTER (WHERE error IS NULL)) * 1000 AS oldest
       FROM ${this.#names.table}`,
    );
    const { waiting, aside, oldest } = rows[0]!;
    return { waiting: Number(waiting), setAside: Number(aside), oldestMs: Math.max(0, Math.round(Number(oldest))) };
  }

  get #isJson(): boolean {
    return this.#valueType === 'json' || this.#valueType === 'jsonb';
  }

  #valueText(): string {
    return this.#isJson ? 'o.value::text' : 'o.value';
  }

  /** Neither looks at the value itself, which may be large: of JSON, the size as it is stored, compressed. */
  #valueSize(): string {
    return this.#isJson ? 'pg_column_size(o.value)' : 'octet_length(o.value)';
  }

  #fields(): string {
    return `o.id::text, o.topic, o.key, ${this.#valueText()} AS value, o.headers::text,
      CASE WHEN isfinite(o.created_at) THEN floor(extract(epoch FROM o.created_at) * 1000)::bigint::text END
        AS "createdMs"`;
  }
}
