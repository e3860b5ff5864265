import {
  type AttributeValue,
  DeleteItemCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { DeadLetter, DeadLetterId, Redrive } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import type { PartitionId } from '../domain/topic.ts';
import { letterItemKey, toLetterItem } from './dead-letter-item.ts';
import { type DynamoDB, WriteAttempts, whetherWritten } from './dynamo.ts';
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
   * @returns false when it is gone @throws {WriteFailed}
   */
  async begin(group: GroupId, letter: DeadLetterId, at: number): Promise<boolean> {
    const command = new TransactWriteItemsCommand({
      TransactItems: [
        {
          Update: {
            TableName: this.#table,
            Key: letterItemKey(group, letter),
            UpdateExpression: 'SET redriveAt = :at',
            ConditionExpression: KNOWN_LAYOUT,
            ExpressionAttributeValues: { ...KNOWN_VERSION, ':at': { N: String(at) } },
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
    const { items } = await queryPage(this.#dynamodb, this.#table, {
      pk: redrivesKey(group),
      prefix: deadLettersOf(partition),
      limit: 1,
      read: toRedrive,
    });
    return items[0];
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
   * Ends one by removing its letter. Its object, if it has one, is for others to remove.
   *
   * @returns false when the letter was gone @throws {WriteFailed}
   */
  async end(group: GroupId, letter: DeadLetterId): Promise<boolean> {
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
        { Delete: { TableName: this.#table, Key: entryKey(group, letter) } },
      ],
    });
    const { isDone, anyUnanswered } = await transact(this.#dynamodb, command);
    if (isDone) return true;
    await this.#forget(group, letter);
    return anyUnanswered;
  }

  /** Ends one that failed: the letter stands as given, if it is still marked. @throws {WriteFailed} */
  async land(group: GroupId, letter: DeadLetter): Promise<void> {
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
        { Delete: { TableName: this.#table, Key: entryKey(group, letter) } },
      ],
    });
    // Else it has landed already, or was deleted meanwhile.
    if (!(await transact(this.#dynamodb, command)).isDone) await this.#forget(group, letter);
  }

  async #forget(group: GroupId, letter: DeadLetterId): Promise<void> {
    const command = new DeleteItemCommand({ TableName: this.#table, Key: entryKey(group, letter) });
    await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
  }
}

function entryKey(group: GroupId, letter: DeadLetterId): Item {
  return { pk: { S: redrivesKey(group) }, sk: { S: deadLetterKey(group, letter).sk } };
}

function toRedrive(item: Item): Redrive {
  refuseUnknownLayout(item);
  return { ...parseDeadLetterSort(item.sk!.S!), at: Number(item.at!.N) };
}
