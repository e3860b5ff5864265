import { DeleteItemCommand, GetItemCommand, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { REGISTER_LENGTH } from '../domain/limits.ts';
import { fillDeadlineOf, type Reservation, type Reserved } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';
import { type DynamoDB, isConditionFailed, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { type Item, itemKey } from './item-key.ts';
import { headKey, KNOWN_LAYOUT, KNOWN_VERSION, LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';
import {
  decodeRegisterEntry,
  encodeRegisterEntry,
  NO_RESERVATION,
  RESERVATION_ID_BYTES,
} from './reservation-layout.ts';

/** A partition's reservation counter, as read. */
export interface Head {
  /** Next offset to reserve: the log end offset. */
  readonly next: number;
  /** The last reservations, newest first. */
  readonly register: readonly Reserved[];
  readonly logStart: number;
  /** Every offset below it is settled. */
  readonly settled: number;
  /** Its topic is deleted: nothing is reserved any more. */
  readonly closed: boolean;
}

const REGISTER = Array.from({ length: REGISTER_LENGTH }, (_, i) => `r${i}`);
const SHIFTS = REGISTER.slice(1).map((name, i) => `${name} = r${i}`);
const RESERVE = `SET #next = #next + :count, ${SHIFTS.join(', ')}, r0 = :entry`;
/** The head exists, is not closed, and does not hold this reservation already. */
const MAY_RESERVE = [
  `${KNOWN_LAYOUT} AND attribute_exists(#next) AND attribute_not_exists(closed)`,
  ...REGISTER.map((name) => `NOT begins_with(${name}, :id)`),
].join(' AND ');

/** The heads in the State table: reservations, log starts, `settled`. */
export class PartitionHeads {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /**
   * Reserves the next `count` offsets. One write unit, and it never conflicts.
   *
   * @param isLate asked before every attempt; once true, no more is sent
   * @returns the reservation with those before it, or undefined when the head is closed or missing
   * @throws {WriteFailed} a reservation may have been left behind; readers will settle it
   */
  async reserve(
    partition: PartitionId,
    id: string,
    reserved: Reserved,
    isLate: () => boolean,
  ): Promise<Reservation | undefined> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(headKey(partition)),
      UpdateExpression: RESERVE,
      ConditionExpression: MAY_RESERVE,
      ExpressionAttributeNames: { '#next': 'next' },
      ExpressionAttributeValues: {
        ':count': { N: String(reserved.count) },
        ':entry': { B: encodeRegisterEntry(id, reserved) },
        ':id': { B: Buffer.from(id, 'hex') },
        ...KNOWN_VERSION,
      },
      ReturnValues: 'UPDATED_OLD',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    try {
      const attempts = new WriteAttempts(command, isLate);
      const sent = this.#dynamodb.send(command, attempts.within(fillDeadlineOf(reserved)));
      const { Attributes } = await attempts.outcome(sent);
      const base = numberOf(Attributes!, 'next');
      return { id, ...reserved, base, last: base + reserved.count - 1, previous: registerOf(Attributes!) };
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      return error.Item === undefined ? undefined : ownReservation(error.Item, id);
    }
  }

  /**
   * Reads a head. @returns undefined when there is none. @throws {Throttled | Unavailable}
   * @param strong else as some replica has it: half a read unit
   */
  async read(partition: PartitionId, strong = true): Promise<Head | undefined> {
    const command = new GetItemCommand({
      TableName: this.#table,
      Key: itemKey(headKey(partition)),
      ConsistentRead: strong,
    });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    if (Item === undefined) return undefined;
    refuseUnknownLayout(Item);
    return {
      next: numberOf(Item, 'next'),
      register: registerOf(Item),
      logStart: numberOf(Item, 'logStart'),
      settled: numberOf(Item, 'settled'),
      closed: Item.closed?.BOOL === true,
    };
  }

  /**
   * Makes the head of a new partition, unless it is there already.
   *
   * @param isLate asked before every attempt; once true, no more is sent
   * @throws {WriteFailed}
   */
  async create(partition: PartitionId, isLate: () => boolean = () => false): Promise<void> {
    const zero = { N: '0' };
    const register = Object.fromEntries(REGISTER.map((name) => [name, { B: NO_RESERVATION }]));
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: {
        ...itemKey(headKey(partition)),
        v: { N: LAYOUT_VERSION },
        next: zero,
        logStart: zero,
        settled: zero,
        ...register,
      },
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command, isLate).outcome(this.#dynamodb.send(command)));
  }

  /** Refuses every later reservation. A head that is gone stays gone. @throws {WriteFailed} */
  async close(partition: PartitionId): Promise<void> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(headKey(partition)),
      UpdateExpression: 'SET closed = :true',
      ConditionExpression: KNOWN_LAYOUT,
      ExpressionAttributeValues: { ':true': { BOOL: true }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** Removes a head. Only for an incarnation into which nobody appends any more. @throws {WriteFailed} */
  async remove(partition: PartitionId): Promise<void> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: itemKey(headKey(partition)),
      ConditionExpression: KNOWN_LAYOUT,
      ExpressionAttributeValues: KNOWN_VERSION,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /**
   * Tells how far a closed partition has been emptied, as its log start: one write unit.
   *
   * @param below nothing is left below it; `all`: nothing at all is left
   * @throws {WriteFailed}
   */
  async markPurged(partition: PartitionId, below: number | 'all'): Promise<void> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(headKey(partition)),
      UpdateExpression: `SET logStart = ${below === 'all' ? '#next' : ':below'}`,
      ConditionExpression: `${KNOWN_LAYOUT} AND attribute_exists(closed) AND logStart < ${below === 'all' ? '#next' : ':below'}`,
      ...(below === 'all' ? { ExpressionAttributeNames: { '#next': 'next' } } : {}),
      ExpressionAttributeValues: { ...(below === 'all' ? {} : { ':below': { N: String(below) } }), ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /**
   * Moves a head that has been left behind by its log: what is appended next goes behind what is there. Only while nothing
   * is appended, for what an append has reserved before would lie in the midst of it.
   *
   * @param seen its `next` as it was read @param register what it is to remember, newest first
   * @returns false when it is no longer as seen, or not behind @throws {WriteFailed}
   */
  async moveBehind(partition: PartitionId, seen: number, to: number, register: readonly Reserved[]): Promise<boolean> {
    const entries = REGISTER.map((name, i): [string, Uint8Array] => {
      const reserved = register[i];
      return [name, reserved === undefined ? NO_RESERVATION : encodeRegisterEntry(UNKNOWN_ID, reserved)];
    });
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(headKey(partition)),
      UpdateExpression: `SET #next = :to, ${REGISTER.map((name) => `${name} = :${name}`).join(', ')}`,
      ConditionExpression: `${KNOWN_LAYOUT} AND #next = :seen AND #next < :to`,
      ExpressionAttributeNames: { '#next': 'next' },
      ExpressionAttributeValues: {
        ':seen': { N: String(seen) },
        ':to': { N: String(to) },
        ...Object.fromEntries(entries.map(([name, bytes]) => [`:${name}`, { B: bytes }])),
        ...KNOWN_VERSION,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    return whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /**
   * Moves `settled` on, if what is below `from` is known to be settled, and the log start with it.
   *
   * @param proven every offset from `from` to `to` was found settled; `logStart`: nothing below it is left
   * @returns false when `settled` was below `from`, or at `to` already: nothing was written
   * @throws {WriteFailed}
   */
  async advance(
    partition: PartitionId,
    proven: { readonly from: number; readonly to: number; readonly logStart?: number },
  ): Promise<boolean> {
    const setStart = proven.logStart === undefined ? '' : ', logStart = :start';
    const startGrows = proven.logStart === undefined ? '' : ' AND logStart <= :start';
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(headKey(partition)),
      UpdateExpression: `SET settled = :to${setStart}`,
      ConditionExpression: `${KNOWN_LAYOUT} AND settled BETWEEN :from AND :to${startGrows}`,
      ExpressionAttributeValues: {
        ':from': { N: String(proven.from) },
        ':to': { N: String(proven.to) },
        ...(proven.logStart === undefined ? {} : { ':start': { N: String(proven.logStart) } }),
        ...KNOWN_VERSION,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    return whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }
}

/** Stands for reservations of others, whose ids are not known: no id that is made has as many zeros. */
const UNKNOWN_ID = '00'.repeat(RESERVATION_ID_BYTES);

function numberOf(item: Item, name: string): number {
  return Number(item[name]!.N);
}

function registerOf(item: Item): Reserved[] {
  const entries = REGISTER.map((name) => decodeRegisterEntry(item[name]!.B!));
  return entries.filter((entry) => entry !== undefined).map(({ id: _, ...reserved }) => reserved);
}

/** A retry met what its own first attempt had written: the register holds the id, and after it what came before. */
function ownReservation(item: Item, id: string): Reservation | undefined {
  refuseUnknownLayout(item);
  let last = numberOf(item, 'next') - 1;
  for (const [i, name] of REGISTER.entries()) {
    const entry = decodeRegisterEntry(item[name]!.B!);
    if (entry === undefined) return undefined;
    if (entry.id === id) {
      const previous = registerOf(item).slice(i + 1);
      return { ...entry, base: last - entry.count + 1, last, previous };
    }
    last -= entry.count;
  }
  return undefined;
}
