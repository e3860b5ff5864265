import { type AttributeValue, GetItemCommand, PutItemCommand, QueryCommand } from '@aws-sdk/client-dynamodb';
import type { VoidOrder } from '../domain/gap.ts';
import { VOID_LIFE_MS_MIN } from '../domain/limits.ts';
import type { Batch } from '../domain/record.ts';
import { fillDeadlineOf, type Reservation, type Slot, type Spilled } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';
import { type DynamoDB, isConditionFailed, readOutcome, WriteAttempts } from './dynamo.ts';
import { intentKey, LAYOUT_VERSION, logKey } from './keys.ts';
import { encodePrevious } from './reservation-layout.ts';
import { readSlot, writeSlot } from './slot-item.ts';

export interface SlotPage {
  /** Ascending. */
  readonly slots: readonly Slot[];
  /** The Query was cut by `limit` or by its 1 MB page: there may be more. */
  readonly more: boolean;
}

type Item = Record<string, AttributeValue>;

/** A put of one slot, as a transaction takes it. */
export type SlotPut = { readonly TableName: string; readonly Item: Item } & typeof IF_ABSENT;

const IF_ABSENT = { ConditionExpression: 'attribute_not_exists(#log)', ExpressionAttributeNames: { '#log': 'log' } };

const OUTLINE = '#v, #log, #last, #count, #at, #append, #previous, #expiresAt, #void, #reservedBy, #spill';
const KEY_NAMES = { '#log': 'log', '#last': 'last' };
const OUTLINE_NAMES = Object.fromEntries(OUTLINE.split(', ').map((name) => [name, name.slice(1)]));

/** The slots in the Log table. Every write is conditional on the slot being absent; none is ever changed. */
export class Log {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /**
   * Stores a batch in its reserved slot: ⌈KB⌉ write units.
   *
   * @param isLate asked before every attempt; once true, no more is sent
   * @param spilled where the batch's bytes are, if they are not to be stored in the slot
   * @returns who holds the slot: undefined for this very batch, else the void or the stranger that was there first
   * @throws {WriteFailed}
   */
  async fill(
    partition: PartitionId,
    reservation: Reservation,
    batch: Batch,
    isLate: () => boolean,
    spilled?: Spilled,
  ): Promise<Slot | undefined> {
    const item = writeSlot(partition, reservation, batch, spilled);
    const found = await this.#putIfAbsent(item, isLate, fillDeadlineOf(reservation));
    return found?.kind === 'batch' && found.append === reservation.id ? undefined : found;
  }

  /** What stores a batch in its reserved slot, for a transaction of somebody else's: the same put that `fill` makes. */
  put(partition: PartitionId, reservation: Reservation, batch: Batch): SlotPut {
    const Item = writeSlot(partition, reservation, batch);
    return { TableName: this.#table, Item, ...IF_ABSENT };
  }

  /**
   * Notes that an object may be put under a slot's key, before it is: one write unit. Its expiry makes somebody look.
   *
   * @param expiresAt epoch s
   * @throws {WriteFailed}
   */
  async putIntent(
    partition: PartitionId,
    last: number,
    at: number,
    expiresAt: number,
    isLate: () => boolean,
  ): Promise<void> {
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: {
        log: { S: intentKey(partition) },
        last: { N: String(last) },
        v: { N: LAYOUT_VERSION },
        at: { N: String(at) },
        expiresAt: { N: String(expiresAt) },
      },
    });
    await new WriteAttempts(command, isLate).outcome(this.#dynamodb.send(command));
  }

  /**
   * Settles a slot without records: from now on nothing can be stored there. One write unit.
   *
   * @param now epoch ms on the settler's clock
   * @param retentionMs of the topic: a void outlives every late write and every neighbour
   * @returns the slot that was there first, or undefined when the void was put
   * @throws {WriteFailed}
   */
  async putVoid(partition: PartitionId, order: VoidOrder, now: number, retentionMs: number): Promise<Slot | undefined> {
    const expiresAt = Math.ceil((now + Math.max(VOID_LIFE_MS_MIN, retentionMs)) / 1_000);
    return this.#putIfAbsent({
      ...this.#key(partition, order.last),
      v: { N: LAYOUT_VERSION },
      count: { N: String(order.count) },
      void: { BOOL: true },
      at: { N: String(now) },
      reservedBy: { N: String(order.reservedBy) },
      previous: { B: encodePrevious(order.previous, now) },
      expiresAt: { N: String(expiresAt) },
    });
  }

  /**
   * Reads the slots from the one that holds `offset` on: one strongly consistent Query.
   *
   * @param options `limit`: slots at most; `outline`: without the batches' bytes
   * @throws {Throttled | Unavailable}
   */
  async read(
    partition: PartitionId,
    offset: number,
    options: { readonly limit: number; readonly outline: boolean },
  ): Promise<SlotPage> {
    const command = new QueryCommand({
      TableName: this.#table,
      KeyConditionExpression: '#log = :log AND #last >= :offset',
      ExpressionAttributeNames: options.outline ? OUTLINE_NAMES : KEY_NAMES,
      ExpressionAttributeValues: { ':log': { S: logKey(partition) }, ':offset': { N: String(offset) } },
      ...(options.outline ? { ProjectionExpression: OUTLINE } : {}),
      ConsistentRead: true,
      Limit: options.limit,
    });
    const { Items, LastEvaluatedKey } = await readOutcome(this.#dynamodb.send(command));
    return { slots: (Items ?? []).map(readSlot), more: LastEvaluatedKey !== undefined };
  }

  /** Reads the slot with the highest offsets, strongly consistent, in outline. @throws {Throttled | Unavailable} */
  async readLast(partition: PartitionId): Promise<Slot | undefined> {
    const command = new QueryCommand({
      TableName: this.#table,
      KeyConditionExpression: '#log = :log',
      ExpressionAttributeNames: OUTLINE_NAMES,
      ExpressionAttributeValues: { ':log': { S: logKey(partition) } },
      ProjectionExpression: OUTLINE,
      ScanIndexForward: false,
      ConsistentRead: true,
      Limit: 1,
    });
    const { Items } = await readOutcome(this.#dynamodb.send(command));
    return Items?.[0] && readSlot(Items[0]);
  }

  /** Reads one slot by its key, strongly consistent, in outline. @throws {Throttled | Unavailable} */
  async find(partition: PartitionId, last: number): Promise<Slot | undefined> {
    const command = new GetItemCommand({
      TableName: this.#table,
      Key: this.#key(partition, last),
      ProjectionExpression: OUTLINE,
      ExpressionAttributeNames: OUTLINE_NAMES,
      ConsistentRead: true,
    });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? undefined : readSlot(Item);
  }

  #key(partition: PartitionId, last: number): Item {
    return { log: { S: logKey(partition) }, last: { N: String(last) } };
  }

  async #putIfAbsent(item: Item, isLate?: () => boolean, deadlineMs?: number): Promise<Slot | undefined> {
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: item,
      ...IF_ABSENT,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const attempts = new WriteAttempts(command, isLate);
    try {
      await attempts.outcome(this.#dynamodb.send(command, deadlineMs === undefined ? {} : attempts.within(deadlineMs)));
      return undefined;
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      // "Condition failed" alone proves nothing: who is there decides.
      return readSlot(error.Item ?? (await this.#whoIsThere(item, error)));
    }
  }

  /** For engines that do not tell. @throws {WriteFailed} when the slot is absent after all: the outcome is unknown */
  async #whoIsThere(item: Item, refusal: Error): Promise<Item> {
    const command = new GetItemCommand({
      TableName: this.#table,
      Key: { log: item.log!, last: item.last! },
      ConsistentRead: true,
    });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    if (Item === undefined) throw WriteAttempts.vanished(refusal);
    return Item;
  }
}
