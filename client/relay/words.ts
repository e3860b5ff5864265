import type { Vertebra } from '../vertebra.ts';

/** The part of a `Pool` of `pg` (8 or later) that is used. Every statement is a transaction of its own. */
export interface OutboxPool {
  query(text: string, values?: unknown[]): Promise<{ readonly rows: Record<string, unknown>[] }>;
  on?(event: 'error', listener: (error: Error) => void): unknown;
  off?(event: 'error', listener: (error: Error) => void): unknown;
}

/** What happens, for metrics. Ids of rows are decimal text. */
export type RelayEvent =
  /** Rows were stored in the backbone, and are gone from the table. `oldestMs`: how long the oldest had waited. */
  | { readonly kind: 'sent'; readonly records: number; readonly oldestMs: number }
  /** Rows that cannot be sent as they are: they stay in the table, with `error`. */
  | { readonly kind: 'setAside'; readonly rows: readonly SetAside[] }
  /** Something is away; it is tried again after a pause. */
  | {
      readonly kind: 'trouble';
      readonly source: 'database' | 'backbone';
      readonly error: unknown;
      readonly pauseMs: number;
    };

export interface SetAside {
  readonly id: string;
  readonly error: string;
}

export interface RelayOptions {
  readonly vertebra: Vertebra;
  /** Of the database that has the outbox. It is not ended by the relay. */
  readonly pool: OutboxPool;
  /** `outbox`, or `schema.outbox`; made by what `outboxTableSql` says. */
  readonly table: string;
  /** Lanes worked on at a time, 1 to 256. Default: 4. */
  readonly concurrency?: number;
  /** Rows taken at a time, 1 to 10,000. Default: 2,000. */
  readonly batchRows?: number;
  /** How often an empty outbox is looked at, 10 to 60,000. Default: 500. */
  readonly pollMs?: number;
  /** How long a lane waits for a relay that has died, 5,000 to 600,000. Default: 30,000. */
  readonly leaseMs?: number;
  /**
   * What becomes of later rows of the same topic and key when one is set aside. `holdKey`, the default: they wait until it is
   * corrected or deleted. `skip`: they are sent.
   */
  readonly onPoison?: 'holdKey' | 'skip';
  /** Pauses while something is away: full jitter up to this, doubled with each. Default: 100 and 10,000. */
  readonly minBackoffMs?: number;
  readonly maxBackoffMs?: number;
  /** Told what happens. Must be quick; what it throws is logged. */
  readonly metrics?: (event: RelayEvent) => void;
}

/** What is in an outbox. */
export interface Backlog {
  /** Rows that are to be sent, those that a set-aside row holds included. */
  readonly waiting: number;
  readonly setAside: number;
  /** Age of the oldest row that is to be sent, ms; 0 when there is none. */
  readonly oldestMs: number;
}
