import { type AttributeValue, DeleteItemCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { DeadLetter, DeadLetterId } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import type { Page } from '../domain/topic.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import {
  deadLetterKey,
  deadLettersKey,
  deadLettersOf,
  KNOWN_LAYOUT,
  KNOWN_VERSION,
  LAYOUT_VERSION,
  parseDeadLetterSort,
  refuseUnknownLayout,
} from './keys.ts';
import { queryPage } from './state-query.ts';

type Item = Record<string, AttributeValue>;

/** Which dead letters of a group, and how many of them. */
export interface DeadLetterQuery {
  readonly limit: number;
  /** As the last page's `next`. */
  readonly after?: string;
  /** Of this topic's incarnation only, or of one partition of it. */
  readonly of?: { readonly topicId: string; readonly partition?: number };
}

/** The dead letters of groups in the State table, one item each, never changed. */
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
      Item: toItem(group, letter),
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** Reads one, strongly consistent. @throws {Throttled | Unavailable} */
  async read(group: GroupId, letter: DeadLetterId): Promise<DeadLetter | undefined> {
    const command = new GetItemCommand({ TableName: this.#table, Key: itemKey(group, letter), ConsistentRead: true });
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

  /** Where a list goes on behind this one. */
  placeOf(letter: DeadLetterId): string {
    return deadLetterKey({ name: '', id: '' }, letter).sk;
  }

  /** Removes one, whose object, if it has one, is removed already. @returns false when there is none @throws {WriteFailed} */
  async delete(group: GroupId, letter: DeadLetterId): Promise<boolean> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: itemKey(group, letter),
      ConditionExpression: KNOWN_LAYOUT,
      ExpressionAttributeValues: KNOWN_VERSION,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const attempts = new WriteAttempts(command);
    return (await whetherWritten(attempts.outcome(this.#dynamodb.send(command)))) || attempts.anyUnanswered;
  }
}

function itemKey(group: GroupId, { topicId, partition, offset }: DeadLetterId): Item {
  const { pk, sk } = deadLetterKey(group, { topicId, partition, offset });
  return { pk: { S: pk }, sk: { S: sk } };
}

function toItem(group: GroupId, letter: DeadLetter): Item {
  const { payload } = letter;
  return {
    ...itemKey(group, letter),
    v: { N: LAYOUT_VERSION },
    topic: { S: letter.topic },
    ...('bytes' in payload
      ? { payload: { B: payload.bytes } }
      : {
          object: {
            M: { size: { N: String(payload.object.size) }, sha256: { B: Buffer.from(payload.object.sha256, 'hex') } },
          },
        }),
    error: { M: { name: { S: letter.error.name }, message: { S: letter.error.message } } },
    attempts: { N: String(letter.attempts) },
    redrives: { N: String(letter.redrives) },
    firstFailedAt: { N: String(letter.firstFailedAt) },
    deadLetteredAt: { N: String(letter.deadLetteredAt) },
  };
}

function toDeadLetter(item: Item): DeadLetter {
  refuseUnknownLayout(item);
  const object = item.object?.M;
  const error = item.error!.M!;
  return {
    ...parseDeadLetterSort(item.sk!.S!),
    topic: item.topic!.S!,
    payload:
      object === undefined
        ? { bytes: item.payload!.B! }
        : { object: { size: Number(object.size!.N), sha256: Buffer.from(object.sha256!.B!).toString('hex') } },
    error: { name: error.name!.S!, message: error.message!.S! },
    attempts: Number(item.attempts!.N),
    redrives: Number(item.redrives!.N),
    firstFailedAt: Number(item.firstFailedAt!.N),
    deadLetteredAt: Number(item.deadLetteredAt!.N),
  };
}
