import {
  type AttributeValue,
  DeleteItemCommand,
  GetItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { DeadLetter, DeadLetterId, KeptPayload, Redrive } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import type { PartitionId } from '../domain/topic.ts';
import { CORRECTION, correctionOf, letterItemKey, toLetterItem } from './dead-letter-item.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import {
  deadLetterKey,
  deadLettersOf,
  KNOWN_LAYOUT,
  KNOWN_VERSION,
  LAYOUT_VERSION,
  parseDeadLetterSort,
  redrivesKey,
  refuseUnknownLayout,
} from './keys.ts';
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
          Put: {
            TableName: this.#table,
            Item: { ...entryKey(group, letter), v: { N: LAYOUT_VERSION }, at: { N: String(at) } },
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
      ExpressionAttributeNames: { '#at': 'at', '#epoch': 'epoch', '#times': 'times' },
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
   * @param epoch only if it was given to that one last
   * @returns false when the letter was gone, or was given to another; then nothing was written @throws {WriteFailed}
   */
  async end(group: GroupId, letter: DeadLetterId, epoch?: number): Promise<boolean> {
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        {
          Delete: {
            TableName: this.#table,
            Key: letterItemKey(group, letter),
            ConditionExpression: KNOWN_LAYOUT,
            ExpressionAttributeValues: KNOWN_VERSION,
          },
        },
        {
          Delete: { TableName: this.#table, Key: entryKey(group, letter), ...(epoch !== undefined && givenTo(epoch)) },
        },
      ],
    });
    const { isDone, anyUnanswered } = await transact(this.#dynamodb, command);
    if (isDone) return true;
    if (epoch === undefined) await this.#forget(group, letter);
    return anyUnanswered && (await this.read(group, letter)) === undefined;
  }

  /**
   * Ends one that failed: the letter stands as given, if it is still marked.
   *
   * @param epoch only if it was given to that one last
   * @returns false when it was not, or has ended before; of one that has an epoch nothing was written
   * @throws {WriteFailed}
   */
  async land(group: GroupId, letter: DeadLetter, epoch?: number): Promise<boolean> {
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        {
          Put: {
            TableName: this.#table,
            Item: toLetterItem(group, letter),
            ConditionExpression: `${KNOWN_LAYOUT} AND attribute_exists(redriveAt)`,
            ExpressionAttributeValues: KNOWN_VERSION,
          },
        },
        {
          Delete: { TableName: this.#table, Key: entryKey(group, letter), ...(epoch !== undefined && givenTo(epoch)) },
        },
      ],
    });
    if ((await transact(this.#dynamodb, command)).isDone) return true;
    // It has landed already, or was deleted meanwhile.
    if (epoch === undefined) await this.#forget(group, letter);
    return false;
  }

  async #forget(group: GroupId, letter: DeadLetterId): Promise<void> {
    const command = new DeleteItemCommand({ TableName: this.#table, Key: entryKey(group, letter) });
    await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
  }
}

function entryKey(group: GroupId, letter: DeadLetterId): Item {
  return { pk: { S: redrivesKey(group) }, sk: { S: deadLetterKey(group, letter).sk } };
}

function givenTo(epoch: number) {
  return {
    ConditionExpression: `${KNOWN_LAYOUT} AND #epoch = :epoch`,
    ExpressionAttributeNames: { '#epoch': 'epoch' },
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
