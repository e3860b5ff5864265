import { partitionOf } from '../../shared/domain/partition.ts';
import type { Connection } from '../connection.ts';
import { ValidationError, VertebraError } from '../errors.ts';
import { batchRequest } from '../producer-batch.ts';
import type { Slots } from '../producer-buffer.ts';
import type { EncodedRecord } from '../producer-record.ts';
import { pauseOf } from '../retry.ts';
import { LATE } from '../surroundings.ts';
import { CLAIM_BYTES, REQUEST_LEASE_SHARE, SENDING_LEASE_SHARE } from './limits.ts';
import { type OutboxRow, recordOf } from './outbox-row.ts';
import type { ClaimedLane, OutboxTable } from './outbox-table.ts';
import { inSequence, type PlacedRow, type PlannedRequest, planOf } from './plan.ts';
import { isPoison, toldOf } from './refusals.ts';
import type { RelaySettings } from './relay-options.ts';
import type { RelayTopics } from './topics.ts';
import type { RelayEvent, SetAside } from './words.ts';

export interface LanePorts {
  readonly settings: RelaySettings;
  readonly connection: Connection;
  readonly table: OutboxTable;
  readonly topics: RelayTopics;
  readonly slots: Slots;
  /** Aborted when nothing is waited for any more. */
  readonly cut: AbortSignal;
  tell(event: RelayEvent): void;
  /** Asks the database once, or several times while it is away. @throws what the last attempt failed with */
  ask<T>(statement: () => Promise<T>, withinMs: number): Promise<T>;
}

/** One claim of a lane: what is to be sent, what became of it. */
export class LaneRun {
  readonly #ports: LanePorts;
  readonly #lane: ClaimedLane;
  readonly #sendUntil: number;
  #rows = new Map<string, OutboxRow>();
  readonly #records = new Map<string, EncodedRecord>();
  readonly #done: string[] = [];
  readonly #aside: SetAside[] = [];
  readonly #kept: PlannedRequest[] = [];
  #trouble: unknown;

  /** @param claimedAt epoch ms, before the claim was asked for */
  constructor(lane: ClaimedLane, claimedAt: number, ports: LanePorts) {
    this.#lane = lane;
    this.#ports = ports;
    this.#sendUntil = claimedAt + ports.settings.leaseMs * SENDING_LEASE_SHARE;
  }

  /** @throws what the database says: then the lane waits for the end of its lease */
  async run(): Promise<void> {
    const { table, ask } = this.#ports;
    const plan = this.#lane.plan ?? (await this.#newPlan());
    if (plan === undefined) return; // somebody else has it
    if (this.#lane.plan !== undefined) {
      const ids = plan.flatMap(({ rows }) => rows);
      this.#rows = await ask(() => table.readPlanned(this.#lane.lane, ids), 0);
    }
    await Promise.all(inSequence(plan).map((requests) => this.#sendAll(requests)));
    await this.#leave();
  }

  /** @returns undefined when the lane is not held any more */
  async #newPlan(): Promise<readonly PlannedRequest[] | undefined> {
    const { table, settings, ask } = this.#ports;
    const rows = await ask(() => table.read(this.#lane.lane, settings.batchRows, CLAIM_BYTES), 0);
    this.#rows = new Map(rows.map((row) => [row.id, row]));
    let placed: readonly PlacedRow[];
    try {
      placed = await this.#place(rows);
    } catch (error) {
      this.#trouble = error;
      return [];
    }
    const plan = planOf(placed, this.#lane.token);
    if (plan.length === 0) return plan;
    return (await ask(() => table.pin(this.#lane, plan), 0)) ? plan : undefined;
  }

  async #place(rows: readonly OutboxRow[]): Promise<PlacedRow[]> {
    const { topics, connection, settings, cut } = this.#ports;
    const placed: PlacedRow[] = [];
    const held = new Set<string>();
    const chance = connection.surroundings.random(); // rows without a key stay together, for this claim
    for (const row of rows) {
      const { id, topic, key } = row;
      const ordered = key === null ? undefined : JSON.stringify([topic, key]);
      if (ordered !== undefined && held.has(ordered)) continue;
      try {
        const partitions = await topics.partitions(topic, this.#requestTimeoutMs, cut);
        const record = await recordOf(row, this.#ports.table.valueType);
        this.#records.set(id, record);
        const partition = record.key === null ? Math.floor(chance * partitions) : partitionOf(record.key, partitions);
        placed.push({ id, topic, partition, record });
      } catch (error) {
        if (!isPoison(error)) throw error;
        this.#aside.push({ id, error: toldOf(error) });
        if (ordered !== undefined && settings.onPoison === 'holdKey') held.add(ordered);
      }
    }
    return placed;
  }

  /** Sends requests for one partition, in order: none before the one before it is answered. */
  async #sendAll(requests: readonly PlannedRequest[]): Promise<void> {
    for (const [i, request] of requests.entries()) {
      try {
        await this.#send(request);
        this.#done.push(...request.rows);
      } catch (error) {
        // The rest was never sent, for it follows this one: it is planned anew, unless this one is to be repeated.
        if (isPoison(error)) {
          this.#aside.push(...request.rows.map((id) => ({ id, error: toldOf(error) })));
          if (error.code === 'topic_not_found') this.#ports.topics.forget(request.topic);
        } else if (error instanceof VertebraError && error.code === 'partition_not_found') {
          this.#ports.topics.forget(request.topic); // there is another topic of this name now: planned anew
          this.#trouble = error;
        } else {
          if (!(error instanceof OutOfTime)) this.#trouble = error;
          this.#kept.push(...requests.slice(i));
        }
        return;
      }
    }
  }

  async #send({ topic, partition, rows, key }: PlannedRequest): Promise<void> {
    const { connection, table, slots, cut } = this.#ports;
    const { surroundings, transport } = connection;
    if (!rows.every((id) => this.#rows.has(id))) {
      throw new ValidationError('Rows that may have been sent with this one were deleted; look whether it was sent');
    }
    const records: EncodedRecord[] = [];
    for (const id of rows) {
      records.push(this.#records.get(id) ?? (await recordOf(this.#rows.get(id)!, table.valueType)));
    }
    const request = batchRequest(topic, partition, records, key);
    const leftMs = () => this.#sendUntil - surroundings.now();
    const act = async () => {
      if (leftMs() <= 0) return LATE;
      const timeoutMs = this.#requestTimeoutMs;
      request.deliveries(await transport.call({ ...request.call, signal: cut, timeoutMs }));
      return undefined;
    };
    if ((await slots.hold(act, leftMs(), surroundings, cut)) === LATE) throw new OutOfTime();
  }

  get #requestTimeoutMs(): number {
    const { connection, settings } = this.#ports;
    return Math.min(connection.transport.timeoutMs, Math.round(settings.leaseMs * REQUEST_LEASE_SHARE));
  }

  async #leave(): Promise<void> {
    const { connection, settings, table, cut, ask, tell } = this.#ports;
    const { random, now } = connection.surroundings;
    const { attempts } = this.#lane;
    const failed = this.#trouble !== undefined && !cut.aborted;
    const pauseMs = failed ? Math.round(pauseOf(this.#trouble, attempts, settings, random())) : 0;
    const outcome = {
      ...{ done: this.#done, setAside: this.#aside, attempts: failed ? attempts + 1 : 0, pauseMs },
      plan: this.#kept.length > 0 ? this.#kept : undefined,
    };
    await ask(() => table.leave(this.#lane, outcome), settings.leaseMs * REQUEST_LEASE_SHARE);
    if (this.#done.length > 0) {
      const oldest = this.#done.reduce((least, id) => Math.min(least, Number(this.#rows.get(id)?.createdMs)), Infinity);
      tell({ kind: 'sent', records: this.#done.length, oldestMs: Math.max(0, now() - oldest) });
    }
    if (this.#aside.length > 0) tell({ kind: 'setAside', rows: this.#aside });
    if (failed) tell({ kind: 'trouble', source: 'backbone', error: this.#trouble, pauseMs });
  }
}

/** What is left of the lease is too short for another request. */
class OutOfTime extends Error {}
