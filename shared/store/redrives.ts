import {
  type AttributeValue,
  DeleteItemCommand,
  GetItemCommand,
  type TransactWriteItem,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { DeadLetter, DeadLetterId, KeptPayload, Redrive } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import type { PartitionId } from '../domain/topic.ts';
import { CORRECTION, correctionOf, letterItemKey, toLetterItem } from './dead-letter-item.ts';
import { deadLetterKey, deadLettersOf, parseDeadLetterSort, redrivesKey } from './dead-letter-keys.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, refuseUnknownLayout } from './keys.ts';
import { queryPage } from './state-query.ts';
import { transact } from './transact.ts';

type Item = Record<string, AttributeValue>;

/**
 * Dead letters on their way back to their groups, in the State table: a letter that is marked has an entry under a key of
 * its own, by which deliveries find it. Both are written together.
 */
export class Redrives {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /**
   * Marks a letter, or marks it anew: two write units for each KB of it, and two.
   *
   * @param at epoch ms from which on it may be given back
   * @param correction what is given back in its place: null: the record as it was; absent: what was told last
   * @returns false when it is gone @throws {WriteFailed}
   */
  async begin(group: GroupId, letter: DeadLetterId, at: number, correction?: KeptPayload | null): Promise<boolean> {
    const [[name, value] = []] = Object.entries(correction ? correctionOf(correction) : {});
    const dropped = correction === undefined ? [] : Object.values(CORRECTION).filter((other) => other !== name);
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        {
          Update: {
            TableName: this.#table,
            Key: letterItemKey(group, letter),
            UpdateExpression: `SET redriveAt = :at${name === undefined ? '' : `, ${name} = :correction`}${
              dropped.length === 0 ? '' : ` REMOVE ${dropped.join(', ')}`
            }`,
            ConditionExpression: KNOWN_LAYOUT,
            ExpressionAttributeValues: {
              ...KNOWN_VERSION,
              ':at': { N: String(at) },
              ...(value && { ':correction': value }),
            },
          },
        },
        {
          Update: {
            TableName: this.#table,
            Key: entryKey(group, letter),
            // Whoever has it as it was before it was corrected must not end it.
            UpdateExpression: `SET v = :v, #at = :at${correction === undefined ? '' : ' REMOVE #epoch, #times'}`,
            ExpressionAttributeNames: { '#at': 'at', ...(correction !== undefined && GIVEN) },
            ExpressionAttributeValues: { ...KNOWN_VERSION, ':at': { N: String(at) } },
          },
        },
      ],
    });
    return (await transact(this.#dynamodb, command)).isDone;
  }

  /** The first of a partition, strongly consistent: half a read unit for none. @throws {Throttled | Unavailable} */
  async first(group: GroupId, partition: PartitionId): Promise<Redrive | undefined> {
    return (await this.list(group, 1, partition))[0];
  }

  /** By topic id, partition, offset, strongly consistent. @param of one partition's @throws {Throttled | Unavailable} */
  async list(group: GroupId, limit: number, of?: PartitionId): Promise<readonly Redrive[]> {
    const { items } = await queryPage(this.#dynamodb, this.#table, {
      pk: redrivesKey(group),
      ...(of && { prefix: deadLettersOf(of) }),
      limit,
      read: toRedrive,
    });
    return items;
  }

  /** Reads one, strongly consistent. @throws {Throttled | Unavailable} */
  async read(group: GroupId, letter: DeadLetterId): Promise<Redrive | undefined> {
    const command = new GetItemCommand({
      TableName: this.#table,
      Key: entryKey(group, letter),
      ConsistentRead: true,
    });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? undefined : toRedrive(Item);
  }

  /**
   * Notes that one is given to whoever owns its partition under an epoch: one write unit.
   *
   * @param at epoch ms from which on it may be given again @returns false when it is no longer as seen @throws {WriteFailed}
   */
  async give(group: GroupId, seen: Redrive, epoch: number, at: number): Promise<boolean> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: entryKey(group, seen),
      UpdateExpression: 'SET #at = :next, #epoch = :epoch, #times = :times',
      ConditionExpression: `${KNOWN_LAYOUT} AND #at = :seen AND ${
        seen.given === undefined ? 'attribute_not_exists(#epoch)' : '#epoch = :was AND #times = :wasTimes'
      }`,
      ExpressionAttributeNames: { '#at': 'at', ...GIVEN },
      ExpressionAttributeValues: {
        ...KNOWN_VERSION,
        ':seen': { N: String(seen.at) },
        ':next': { N: String(at) },
        ':epoch': { N: String(epoch) },
        ':times': { N: String((seen.given?.times ?? 0) + 1) },
        ...(seen.given && { ':was': { N: String(seen.given.epoch) }, ':wasTimes': { N: String(seen.given.times) } }),
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    // An earlier attempt without an answer may be what the condition met: then it is given once more, a moment later.
    return whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** Takes one back: its letter lies as before. @throws {WriteFailed} */
  async recall(group: GroupId, letter: DeadLetterId): Promise<void> {
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        {
          Update: {
            TableName: this.#table,
            Key: letterItemKey(group, letter),
            UpdateExpression: 'REMOVE redriveAt',
            ConditionExpression: KNOWN_LAYOUT,
            ExpressionAttributeValues: KNOWN_VERSION,
          },
        },
        { Delete: { TableName: this.#table, Key: entryKey(group, letter) } },
      ],
    });
    if (!(await transact(this.#dynamodb, command)).isDone) await this.#forget(group, letter);
  }

  /** Puts one off: one write unit. One that has ended stays so. @throws {WriteFailed} */
  async postpone(group: GroupId, letter: DeadLetterId, at: number): Promise<void> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: entryKey(group, letter),
      UpdateExpression: 'SET #at = :at',
      ConditionExpression: KNOWN_LAYOUT,
      ExpressionAttributeNames: { '#at': 'at' },
      ExpressionAttributeValues: { ...KNOWN_VERSION, ':at': { N: String(at) } },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /**
   * Ends one by removing its letter. Its objects, if it has some, are for others to remove.
   *
   * @returns false when it is no longer as seen, or has ended @throws {WriteFailed}
   */
  async end(group: GroupId, letter: DeadLetterId, seen: Seen): Promise<boolean> {
    const key = { TableName: this.#table, Key: letterItemKey(group, letter) };
    const what = { Delete: { ...key, ...markedAt(seen, KNOWN_LAYOUT) } };
    return this.#close(group, letter, seen, what, (left) => left === undefined);
  }

  /**
   * Ends one that failed: the letter stands as given.
   *
   * @returns false when it is no longer as seen, or has ended: it has landed already, or was deleted @throws {WriteFailed}
   */
  async land(group: GroupId, letter: DeadLetter, seen: Seen): Promise<boolean> {
    const item = { TableName: this.#table, Item: toLetterItem(group, letter) };
    const what = { Put: { ...item, ...markedAt(seen, `${KNOWN_LAYOUT} AND attribute_exists(redriveAt)`) } };
    return this.#close(group, letter, seen, what, (left) => left?.redrives?.N === String(letter.redrives));
  }

  /** @param isClosed whether what is left of the letter is what this leaves: somebody else may have taken it back meanwhile */
  async #close(
    group: GroupId,
    letter: DeadLetterId,
    seen: Seen,
    what: TransactWriteItem,
    isClosed: (left: Item | undefined) => boolean,
  ): Promise<boolean> {
    const entry = { TableName: this.#table, Key: entryKey(group, letter) };
    const command = new TransactWriteItemsCommand({
      TransactItems: [what, { Delete: { ...entry, ...('epoch' in seen && givenTo(seen.epoch)) } }],
    });
    const { isDone, anyUnanswered } = await transact(this.#dynamodb, command);
    if (isDone) return true;
    const left = await this.read(group, letter);
    if (left === undefined) return anyUnanswered && isClosed(await this.#letter(group, letter));
    // An entry whose letter is not marked is a stray: the letter was deleted while it was.
    if ((await this.#letter(group, letter))?.redriveAt === undefined) await this.#forget(group, letter);
    return false;
  }

  async #letter(group: GroupId, letter: DeadLetterId): Promise<Item | undefined> {
    const command = new GetItemCommand({
      TableName: this.#table,
      Key: letterItemKey(group, letter),
      ProjectionExpression: 'v, redriveAt, redrives',
      ConsistentRead: true,
    });
    return (await readOutcome(this.#dynamodb.send(command))).Item;
  }

  async #forget(group: GroupId, letter: DeadLetterId): Promise<void> {
    const command = new DeleteItemCommand({ TableName: this.#table, Key: entryKey(group, letter) });
    await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
  }
}

function entryKey(group: GroupId, letter: DeadLetterId): Item {
  return { pk: { S: redrivesKey(group) }, sk: { S: deadLetterKey(group, letter).sk } };
}

/** As one was seen that is ended: given to an epoch, or marked at a time; without either, however it is. */
export type Seen = { readonly epoch: number } | { readonly redriveAt?: number };

const GIVEN = { '#epoch': 'epoch', '#times': 'times' };

/** @param least what is demanded of the letter in any case */
function markedAt(seen: Seen, least: string) {
  if ('epoch' in seen || seen.redriveAt === undefined) {
    return { ConditionExpression: least, ExpressionAttributeValues: KNOWN_VERSION };
  }
  return {
    ConditionExpression: `${least} AND redriveAt = :seen`,
    ExpressionAttributeValues: { ...KNOWN_VERSION, ':seen': { N: String(seen.redriveAt) } },
  };
}

function givenTo(epoch: number) {
  return {
    ConditionExpression: `${KNOWN_LAYOUT} AND #epoch = :epoch`,
    ExpressionAttributeNames: { '#epoch': GIVEN['#epoch'] },
    ExpressionAttributeValues: { ...KNOWN_VERSION, ':epoch': { N: String(epoch) } },
  };
}

function toRedrive(item: Item): Redrive {
  refuseUnknownLayout(item);
  return {
    ...parseDeadLetterSort(item.sk!.S!),
    at: Number(item.at!.N),
    ...(item.epoch && { given: { epoch: Number(item.epoch.N), times: Number(item.times!.N) } }),
  };
}
