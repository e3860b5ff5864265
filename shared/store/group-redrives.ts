import { type AttributeValue, UpdateItemCommand, type UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import type { GroupId } from '../domain/group.ts';
import { type DynamoDB, isConditionFailed, WriteAttempts } from './dynamo.ts';
import { itemKey } from './item-key.ts';
import { groupKey, KNOWN_LAYOUT, KNOWN_VERSION } from './keys.ts';

/** What a group's item says of dead letters on their way back to its members: a poll, which reads it, knows by it whether to look. */
export class GroupRedriveMarks {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /**
   * Has polls look for redrives, and count anew those that fail. @param now epoch ms
   * @returns false when the group is gone @throws {WriteFailed}
   */
  async mark(group: GroupId, now: number): Promise<boolean> {
    const written = await this.#update(group, {
      UpdateExpression: 'SET redrivesAt = :now REMOVE redrivesFailed',
      ExpressionAttributeValues: { ':now': { N: String(now) } },
    });
    return written !== undefined;
  }

  /** Has them look no more, unless some were marked since. @param seenAt of the mark as it was read @throws {WriteFailed} */
  async unmark(group: GroupId, seenAt: number): Promise<void> {
    await this.#update(group, {
      UpdateExpression: 'REMOVE redrivesAt, redrivesFailed',
      ConditionExpression: 'redrivesAt = :seen',
      ExpressionAttributeValues: { ':seen': { N: String(seenAt) } },
    });
  }

  /** One more has failed. @returns how many have in a row; 0: the group is gone @throws {WriteFailed} it may be counted */
  async fail(group: GroupId): Promise<number> {
    const written = await this.#update(group, {
      UpdateExpression: 'ADD redrivesFailed :one',
      ExpressionAttributeValues: { ':one': { N: '1' } },
      ReturnValues: 'UPDATED_NEW',
    });
    return Number(written?.redrivesFailed?.N ?? 0);
  }

  /** One was done. @throws {WriteFailed} */
  async succeed(group: GroupId): Promise<void> {
    await this.#update(group, { UpdateExpression: 'REMOVE redrivesFailed' });
  }

  /** So many have failed that the others are taken back. @param now epoch ms @throws {WriteFailed} */
  async stop(group: GroupId, now: number): Promise<void> {
    await this.#update(group, {
      UpdateExpression: 'SET redrivesStoppedAt = :now',
      ExpressionAttributeValues: { ':now': { N: String(now) } },
    });
  }

  /** @returns undefined: it is no longer as told, or gone */
  async #update(
    { name, id }: GroupId,
    {
      ConditionExpression,
      ExpressionAttributeValues,
      ...change
    }: Pick<
      UpdateItemCommandInput,
      'UpdateExpression' | 'ConditionExpression' | 'ExpressionAttributeValues' | 'ReturnValues'
    >,
  ): Promise<Record<string, AttributeValue> | undefined> {
    const isThis = `${KNOWN_LAYOUT} AND id = :id`;
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(groupKey(name)),
      ...change,
      ConditionExpression: ConditionExpression === undefined ? isThis : `${isThis} AND ${ConditionExpression}`,
      ExpressionAttributeValues: { ...ExpressionAttributeValues, ':id': { S: id }, ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    try {
      const { Attributes = {} } = await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
      return Attributes;
    } catch (error) {
      if (isConditionFailed(error)) return undefined;
      throw error;
    }
  }
}
