import { integer, known, oneOf } from '../option-checks.ts';
import { LANES_DEFAULT, LANES_MAX } from './limits.ts';
import { namesOf } from './outbox-names.ts';

export const VALUE_TYPES = ['jsonb', 'json', 'text', 'bytea'] as const;
export type ValueType = (typeof VALUE_TYPES)[number];

export interface OutboxTableOptions {
  /** `outbox`, or `schema.outbox`. */
  readonly table: string;
  /** Type of the column `value`. Default: `jsonb`. */
  readonly valueType?: ValueType;
  /** Rows of one key are in one lane, and lanes are worked on side by side, 1 to 256. Fixed for good. Default: 8. */
  readonly lanes?: number;
}

/**
 * The statements that make an outbox, for a migration. PostgreSQL 12 or later. The application inserts `topic`, `key`,
 * `value` and `headers`; the rest is the relay's.
 * @throws {InvalidOptions}
 */
export function outboxTableSql(options: OutboxTableOptions): string {
  known('outboxTableSql', options, ['table', 'valueType', 'lanes']);
  const { table: name, valueType = 'jsonb', lanes: count = LANES_DEFAULT } = options;
  oneOf('valueType', valueType, VALUE_TYPES);
  integer('lanes', count, 1, LANES_MAX);
  const { table, lanes, asideIndex } = namesOf(name);
  // The hash is that of hash partitioning, which PostgreSQL keeps over versions. Rows without a key go anywhere.
  const lane = `abs(hashtextextended(coalesce(key, id::text), 0) % ${count})`;
  return `CREATE TABLE ${table} (
  id bigint GENERATED ALWAYS AS IDENTITY,
  topic text NOT NULL,
  key text,                                      -- decides on the partition; NULL: in no order
  value ${valueType},${' '.repeat(40 - valueType.length)}-- NULL: a tombstone
  headers jsonb,                                 -- {"name": "text"} or [["name", "text"], ...]
  created_at timestamptz NOT NULL DEFAULT now(), -- the record's timestamp
  error text,                                    -- why it cannot be sent; set it to NULL to try again
  failed_at timestamptz,
  lane smallint NOT NULL GENERATED ALWAYS AS (${lane}) STORED,
  PRIMARY KEY (lane, id)                         -- in this order rows are sent
) WITH (autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 1000);
CREATE INDEX ${asideIndex} ON ${table} (topic, key, id) WHERE error IS NOT NULL;
CREATE TABLE ${lanes} (
  lane smallint PRIMARY KEY,
  token uuid,                                    -- of the relay that works on it
  free_at timestamptz NOT NULL DEFAULT now(),    -- nobody else does before
  attempts integer NOT NULL DEFAULT 0,           -- failed in a row
  plan jsonb                                     -- requests that may have been sent: repeated until they are answered
) WITH (fillfactor = 50);
INSERT INTO ${lanes} (lane) SELECT generate_series(0, ${count - 1});
ANALYZE ${lanes};                                -- else a claim looks so dear that it is compiled each time
`;
}
