import { randomUUID } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { REQUESTS_IN_FLIGHT_DEFAULT } from '../limits.ts';
import { Slots } from '../producer-buffer.ts';
import { pauseOf, retrying } from '../retry.ts';
import { LATE, within } from '../surroundings.ts';
import { LaneRun } from './lane-run.ts';
import { STOP_TIMEOUT_MS_DEFAULT } from './limits.ts';
import { type ClaimedLane, OutboxTable } from './outbox-table.ts';
import { type RelaySettings, relaySettingsOf } from './relay-options.ts';
import { RelayTopics } from './topics.ts';
import type { Backlog, RelayEvent, RelayOptions } from './words.ts';

/** No answer of the database within the time of a lease. */
class DatabaseTimeout extends Error {
  constructor(timeoutMs: number) {
    super(`The database did not answer within ${timeoutMs} ms`);
  }
}

/**
 * Sends rows of an outbox table to their topics, for as long as it runs, and deletes what is stored. Any number may run on one
 * table. Rows of one topic and key are sent in the order of their ids; each is stored once, also when relays or the database are
 * killed: the request that stores it is kept in the database first, and repeated under one idempotency key.
 *
 * @returns once the table was found to be an outbox
 * @throws {InvalidOptions} naming the option, or what the table lacks. Else what the database says
 */
export async function relayOutbox(options: RelayOptions): Promise<OutboxRelay> {
  const settings = relaySettingsOf(options);
  const table = new OutboxTable(settings.pool, settings.table, settings.onPoison === 'holdKey');
  await table.check();
  return new OutboxRelay(settings, table);
}

/** A relay that runs. */
export class OutboxRelay {
  readonly #settings: RelaySettings;
  readonly #table: OutboxTable;
  readonly #topics: RelayTopics;
  readonly #slots = new Slots(REQUESTS_IN_FLIGHT_DEFAULT);
  readonly #halt = new AbortController();
  readonly #cut = new AbortController();
  readonly #lanes = new Set<Promise<void>>();
  readonly #ended: Promise<void>;
  #wake = new AbortController();
  /** Of the database, in a row. */
  #failures = 0;
  #pauseMs = 0;

  constructor(settings: RelaySettings, table: OutboxTable) {
    this.#settings = settings;
    this.#table = table;
    this.#topics = new RelayTopics(settings.vertebra.connection);
    setMaxListeners(0, this.#cut.signal); // one for each request under way
    // A pool tells of idle connections that break; untold, that would end the process.
    settings.pool.on?.('error', this.#onPoolError);
    this.#ended = this.#run();
  }

  /** How much is waiting, and since when. Counts rows: not to be asked for often. */
  backlog(): Promise<Backlog> {
    return this.#table.backlog();
  }

  /** Looks for rows at once: to be called after a commit, if milliseconds matter. */
  wake(): void {
    this.#wake.abort('rows');
  }

  /**
   * Takes no more rows and waits for what is on its way.
   * @param timeoutMs then requests are cut off; whoever relays next repeats them. Default: 30 s
   */
  async stop({ timeoutMs = STOP_TIMEOUT_MS_DEFAULT }: { timeoutMs?: number } = {}): Promise<void> {
    this.#halt.abort('stopped');
    this.wake();
    const { surroundings } = this.#settings.vertebra.connection;
    if ((await within(this.#ended, timeoutMs, surroundings)) === LATE) this.#cut.abort('stopped');
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #run(): Promise<void> {
    const { concurrency, pollMs, pool } = this.#settings;
    while (!this.#halt.signal.aborted) {
      this.#wake = new AbortController();
      const isFull = this.#lanes.size >= concurrency;
      const found = !isFull && (await this.#startOne());
      if (isFull) await Promise.race(this.#lanes);
      else if (!found) await this.#sleep(this.#pauseMs || pollMs);
    }
    await Promise.all(this.#lanes);
    pool.off?.('error', this.#onPoolError);
  }

  /** @returns whether there was a lane with something to send */
  async #startOne(): Promise<boolean> {
    const { connection } = this.#settings.vertebra;
    const claimedAt = connection.surroundings.now();
    let lane: ClaimedLane | undefined;
    try {
      lane = await this.#ask(() => this.#table.claim(randomUUID(), this.#settings.leaseMs), 0);
      this.#failures = 0;
      this.#pauseMs = 0;
    } catch (error) {
      this.#onDatabaseTrouble(error);
    }
    if (lane === undefined) return false;
    const run = new LaneRun(lane, claimedAt, {
      ...{ settings: this.#settings, connection, table: this.#table, topics: this.#topics, slots: this.#slots },
      ...{ cut: this.#cut.signal, tell: (event) => this.#tell(event), ask: (act, ms) => this.#ask(act, ms) },
    });
    const ended: Promise<void> = run
      .run()
      .catch((error: unknown) => this.#onDatabaseTrouble(error))
      .finally(() => {
        this.#lanes.delete(ended);
        this.wake(); // there may be more in its lane
      });
    this.#lanes.add(ended);
    return true;
  }

  /** Time that is slept is cut short by `wake`, but not while the database is away. */
  async #sleep(ms: number): Promise<void> {
    const { sleep } = this.#settings.vertebra.connection.surroundings;
    const awaited = this.#pauseMs > 0 ? this.#halt.signal : this.#wake.signal;
    await sleep(ms, awaited).catch(() => {});
  }

  async #ask<T>(statement: () => Promise<T>, withinMs: number): Promise<T> {
    const { leaseMs, minBackoffMs, maxBackoffMs, vertebra } = this.#settings;
    const { surroundings } = vertebra.connection;
    const once = async () => {
      const answer = await within(statement(), leaseMs, surroundings);
      if (answer === LATE) throw new DatabaseTimeout(leaseMs);
      return answer;
    };
    return retrying(once, { withinMs, minBackoffMs, maxBackoffMs, surroundings, isRetryable: () => true });
  }

  #onDatabaseTrouble(error: unknown): void {
    const { random } = this.#settings.vertebra.connection.surroundings;
    this.#pauseMs = 1 + Math.round(pauseOf(error, this.#failures++, this.#settings, random()));
    this.#tell({ kind: 'trouble', source: 'database', error, pauseMs: this.#pauseMs });
  }

  #tell(event: RelayEvent): void {
    const { logger } = this.#settings.vertebra.connection;
    if (event.kind === 'setAside') logger.error('Rows of the outbox cannot be sent; they are set aside', event);
    if (event.kind === 'trouble') logger.warn(`The ${event.source} is away; it is tried again`, event);
    try {
      this.#settings.metrics?.(event);
    } catch (error) {
      logger.error("'metrics' failed", { error });
    }
  }

  readonly #onPoolError = (error: Error): void => {
    this.#settings.vertebra.connection.logger.warn('A connection to the database broke', { error });
  };
}
