import { DeleteItemCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { DeadLetter, DeadLetterId } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import type { Page } from '../domain/topic.ts';
import { letterItemKey, toDeadLetter, toLetterItem } from './dead-letter-item.ts';
import { deadLetterKey, deadLettersKey, deadLettersOf } from './dead-letter-keys.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, refuseUnknownLayout } from './keys.ts';
import { Redrives } from './redrives.ts';
import { queryPage } from './state-query.ts';

/** Which dead letters of a group, and how many of them. */
export interface DeadLetterQuery {
  readonly limit: number;
  /** As the last page's `next`. */
  readonly after?: string;
  /** Of this topic's incarnation only, or of one partition of it. */
  readonly of?: { readonly topicId: string; readonly partition?: number };
}

/** The dead letters of groups in the State table, one item each, never changed but by a redrive. */
export class DeadLetters {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** Stores a dead letter: ⌈KB⌉ write units. One that is there already stays as it is. @throws {WriteFailed} */
  async put(group: GroupId, letter: DeadLetter): Promise<void> {
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: toLetterItem(group, letter),
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** Reads one, strongly consistent. @throws {Throttled | Unavailable} */
  async read(group: GroupId, letter: DeadLetterId): Promise<DeadLetter | undefined> {
    const command = new GetItemCommand({
      TableName: this.#table,
      Key: letterItemKey(group, letter),
      ConsistentRead: true,
    });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? undefined : toDeadLetter(Item);
  }

  /** By topic id, partition, offset; a page may end early, at a megabyte. @throws {Throttled | Unavailable} */
  async list(group: GroupId, { limit, after, of }: DeadLetterQuery): Promise<Page<DeadLetter>> {
    return queryPage(this.#dynamodb, this.#table, {
      pk: deadLettersKey(group),
      limit,
      ...(of === undefined ? {} : { prefix: deadLettersOf(of) }),
      ...(after === undefined ? {} : { after }),
      read: toDeadLetter,
    });
  }

  /** How many a group has, as far as one look tells. @returns `more`: there are others @throws {Throttled | Unavailable} */
  async count(group: GroupId): Promise<{ readonly count: number; readonly more: boolean }> {
    const { items, next } = await queryPage(this.#dynamodb, this.#table, {
      pk: deadLettersKey(group),
      keysOnly: true,
      weak: true,
      read: refuseUnknownLayout,
    });
    return { count: items.length, more: next !== undefined };
  }

  /** Where a list goes on behind this one. */
  placeOf(letter: DeadLetterId): string {
    return deadLetterKey({ name: '', id: '' }, letter).sk;
  }

  /**
   * Removes one, whose object, if it has one, is removed already.
   *
   * @param letter with `redriveAt`: what tells of its redrive goes with it
   * @returns false when there is none @throws {WriteFailed}
   */
  async delete(group: GroupId, letter: DeadLetterId & Pick<DeadLetter, 'redriveAt'>): Promise<boolean> {
    if (letter.redriveAt !== undefined) return new Redrives(this.#dynamodb, this.#table).end(group, letter, {});
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: letterItemKey(group, letter),
      ConditionExpression: KNOWN_LAYOUT,
      ExpressionAttributeValues: KNOWN_VERSION,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const attempts = new WriteAttempts(command);
    return (await whetherWritten(attempts.outcome(this.#dynamodb.send(command)))) || attempts.anyUnanswered;
  }
}
