import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { RETENTION_FOREVER } from '../../shared/domain/limits.ts';
import { checkOwned, markDone, moveBehind, type OwnedRecord, readOwned } from '../../shared/store/once-items.ts';
import { InvalidOptions } from '../errors.ts';
import { SURROUNDINGS, type Surroundings } from '../surroundings.ts';
import type { Delivered, DeliveryIds, RecordDelivery } from './delivery.ts';
import { DeliveryFenced } from './errors.ts';
import { type InTurn, newTurns } from './in-turn.ts';
import { checkWrites, commands, isRefused, mayPass, type Reason, reasonsOf, type Sender } from './transaction.ts';

export interface OnceOptions {
  /** A client of your own: its role needs the rights of `backbone.grantProcessOnce`. */
  readonly dynamodb: Sender;
  /** Default: the environment's `VERTEBRA_STATE_TABLE`. */
  readonly stateTable?: string;
  /** Time, chance and waiting. Default: those of this process. */
  readonly surroundings?: Surroundings;
}

/** Times a transaction is sent that only others' haste, or an outdated view, has cancelled. */
const TRIES_MAX = 8;
const PAUSE_MS = 30;
/** Beside the user's writes. */
const OWN_WRITES = 2;
/** A redelivery that runs late still finds the mark. */
const MARK_MARGIN_MS = 24 * 3_600_000;

/** Positions that one process knows. */
const KNOWN_MAX = 10_000;

/** What calls of one process share: those with the same surroundings. */
interface Shared {
  /** Committed offsets of positions, as it moved or met them. */
  readonly known: Map<string, number>;
  readonly inTurn: InTurn;
}
const shared = new WeakMap<Surroundings, Shared>();

/**
 * Processes a record exactly once: your writes, a mark that it is done, and the position's move behind it are one
 * transaction. A record that was processed before is passed, whoever did it; a delivery that was given up changes nothing, however late
 * it comes.
 *
 * @param delivered a message of a consumer, or a record of `deliveriesOf`
 * @param writes for TransactWriteItems: at most 98, 4 MB
 * @returns `done: false` when it had been processed before: nothing was written
 * @throws {DeliveryFenced} nothing was written; {InvalidOptions} nothing was sent; the SDK's own error for what the transaction
 *   failed with, a TransactionCanceledException where a condition of yours did: nothing was written, or, when no answer came, it is not
 *   known: the next delivery finds out
 */
export async function processOnce(
  delivered: Delivered,
  writes: readonly TransactWriteItem[],
  options: OnceOptions,
): Promise<{ readonly done: boolean }> {
  const delivery = deliveryOf(delivered);
  const table = stateTableOf(options);
  checkWrites(writes, OWN_WRITES, [table, ...logTable()]);
  const { group, topic, partition } = delivery;
  const { surroundings = SURROUNDINGS } = options;
  const { known, inTurn } = sharedBy(surroundings);
  // Each would find the other's move otherwise, and conflict with it.
  return inTurn(`${table} ${group} ${topic} ${partition}`, () =>
    new Once(delivery, writes, { ...options, stateTable: table, surroundings }, known).run(),
  );
}

class Once {
  readonly #delivery: RecordDelivery;
  readonly #writes: readonly TransactWriteItem[];
  readonly #dynamodb: Sender;
  readonly #table: string;
  readonly #surroundings: Surroundings;
  readonly #known: Map<string, number>;

  constructor(
    delivery: RecordDelivery,
    writes: readonly TransactWriteItem[],
    { dynamodb, stateTable, surroundings }: Required<OnceOptions>,
    known: Map<string, number>,
  ) {
    this.#delivery = delivery;
    this.#writes = writes;
    this.#dynamodb = dynamodb;
    this.#table = stateTable;
    this.#surroundings = surroundings;
    this.#known = known;
  }

  async run(): Promise<{ done: boolean }> {
    let ids = await this.#delivery.identify();
    let isAnew = false;
    for (let tries = 1; ; tries++) {
      const record = recordOf(this.#delivery, ids);
      const refusal = await this.#send(record, ids);
      if (refusal === undefined) return { done: true };
      const { error, reasons } = refusal;
      const [mark, position] = reasons.slice(this.#writes.length);
      if (isRefused(mark)) return { done: false };
      if (isRefused(position)) {
        const verdict = await this.#judge(record, position!);
        if (verdict === 'passed') return { done: false };
        if (verdict === 'lost') {
          if (isAnew) throw new DeliveryFenced(this.#delivery);
          ids = await this.#delivery.identify(true);
          isAnew = true;
        }
      } else if (!mayPass(reasons, this.#writes.length)) throw error;
      if (tries === TRIES_MAX) throw error;
      await this.#surroundings.sleep(this.#surroundings.random() * PAUSE_MS * tries);
    }
  }

  async #send(
    record: OwnedRecord,
    ids: DeliveryIds,
  ): Promise<{ error: unknown; reasons: readonly Reason[] } | undefined> {
    const { TransactWriteItemsCommand } = await commands();
    const now = this.#surroundings.now();
    const key = keyOf(record);
    const committed = this.#known.get(key) ?? record.offset;
    const { isRedriven } = this.#delivery;
    const moves = !isRedriven && committed === record.offset;
    const own = moves ? moveBehind(this.#table, record) : checkOwned(this.#table, record, isRedriven);
    // A dead letter lies for as long as nobody deletes it: it may come back once more at any time.
    const keptMs = isRedriven ? RETENTION_FOREVER : ids.retentionMs;
    const mark = markDone(this.#table, record, now, expiryOf(keptMs, now));
    try {
      await this.#dynamodb.send(new TransactWriteItemsCommand({ TransactItems: [...this.#writes, mark, own] }));
    } catch (error) {
      const reasons = reasonsOf(error);
      if (reasons === undefined) throw error;
      return { error, reasons };
    }
    if (moves) remember(this.#known, key, record.offset + 1);
    return undefined;
  }

  /** What the position is, that refused: another's, past the record, or not yet at it. */
  async #judge(record: OwnedRecord, { Item }: Reason): Promise<'passed' | 'lost' | 'again'> {
    const found = readOwned(Item ?? (await this.#find(record)));
    if (found === undefined || found.epoch !== record.epoch || !found.isOwned) return 'lost';
    remember(this.#known, keyOf(record), found.committed);
    return found.committed > record.offset && !this.#delivery.isRedriven ? 'passed' : 'again';
  }

  /** For engines that do not tell. */
  async #find(record: OwnedRecord): Promise<Record<string, never> | undefined> {
    const { GetItemCommand } = await commands();
    const { Key } = checkOwned(this.#table, record, true).ConditionCheck!;
    const { Item } = await this.#dynamodb.send(
      new GetItemCommand({ TableName: this.#table, Key: Key!, ConsistentRead: true }),
    );
    return Item as Record<string, never> | undefined;
  }
}

function sharedBy(surroundings: Surroundings): Shared {
  const there = shared.get(surroundings);
  if (there !== undefined) return there;
  const made = { known: new Map<string, number>(), inTurn: newTurns() };
  shared.set(surroundings, made);
  return made;
}

/** @throws {InvalidOptions} */
export function deliveryOf({ delivery }: Delivered): RecordDelivery {
  if (delivery !== undefined) return delivery;
  throw new InvalidOptions(
    'The message does not come from a consumer group or a subscription: nothing knows whether it is processed',
  );
}

/** @throws {InvalidOptions} */
export function stateTableOf({ stateTable = process.env.VERTEBRA_STATE_TABLE }: OnceOptions): string {
  if (stateTable !== undefined && stateTable !== '') return stateTable;
  throw new InvalidOptions(
    "No State table: give 'stateTable', or set VERTEBRA_STATE_TABLE, as backbone.grantProcessOnce does",
  );
}

/** The record, by the incarnations of its group and topic. */
export function recordOf({ group, partition, offset, epoch, lane }: RecordDelivery, ids: DeliveryIds): OwnedRecord {
  const of = { group: { name: group, id: ids.groupId }, topicId: ids.topicId, partition };
  return { position: { ...of, ...(lane !== undefined && { lane }) }, epoch, offset };
}

/** Epoch s, 0: never. No record outlives its mark. */
export function expiryOf(retentionMs: number, now: number): number {
  return retentionMs === RETENTION_FOREVER ? 0 : Math.ceil((now + retentionMs + MARK_MARGIN_MS) / 1_000);
}

function logTable(): string[] {
  const table = process.env.VERTEBRA_LOG_TABLE;
  return table ? [table] : [];
}

function keyOf({ position: { group, topicId, partition, lane = '' }, epoch }: OwnedRecord): string {
  return `${group.id} ${topicId} ${partition} ${lane} ${epoch}`;
}

function remember(known: Map<string, number>, key: string, committed: number): void {
  known.delete(key);
  known.set(key, committed);
  if (known.size > KNOWN_MAX) known.delete(known.keys().next().value!);
}
