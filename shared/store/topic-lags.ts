import { type AttributeValue, GetItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { LAG_LIFE_MS } from '../domain/quota-limits.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { itemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, refuseUnknownLayout } from './keys.ts';
import { lagKey } from './quota-keys.ts';

/** How far the groups of one topic were behind when somebody measured it. */
export interface TopicLag {
  /** Epoch ms at which the measurement began. */
  readonly at: number;
  /** Offsets by group name. */
  readonly groups: ReadonlyMap<string, number>;
}

/** What was measured of topics whose appends wait for groups, in the State table: one item each, for all containers. */
export class TopicLags {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** As some replica has it: half a read unit. @throws {Throttled | Unavailable} */
  async read(topicId: string): Promise<TopicLag | undefined> {
    const command = new GetItemCommand({ TableName: this.#table, Key: itemKey(lagKey(topicId)) });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    if (Item === undefined) return undefined;
    refuseUnknownLayout(Item);
    if (Item.at === undefined) return undefined;
    const groups = Object.entries(Item.groups!.M!).map(([name, lag]) => [name, Number(lag.N)] as const);
    return { at: Number(Item.at.N), groups: new Map(groups) };
  }

  /** @param unlessSince epoch ms @returns false when another has begun to measure it since then @throws {WriteFailed} */
  async begin(topicId: string, now: number, unlessSince: number): Promise<boolean> {
    return this.#update(
      topicId,
      now,
      'measuringAt = :now, v = :v',
      `attribute_not_exists(pk) OR (${KNOWN_LAYOUT} AND measuringAt <= :since)`,
      { ':now': { N: String(now) }, ':since': { N: String(unlessSince) } },
    );
  }

  /** @throws {WriteFailed} */
  async put(topicId: string, { at, groups }: TopicLag): Promise<void> {
    const lags = [...groups].map(([name, lag]) => [name, { N: String(lag) }] as const);
    await this.#update(topicId, at, '#at = :at, #groups = :groups', KNOWN_LAYOUT, {
      ':at': { N: String(at) },
      ':groups': { M: Object.fromEntries(lags) },
    });
  }

  async #update(
    topicId: string,
    now: number,
    changes: string,
    condition: string,
    values: Record<string, AttributeValue>,
  ): Promise<boolean> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(lagKey(topicId)),
      UpdateExpression: `SET ${changes}, expiresAt = :expiresAt`,
      ConditionExpression: condition,
      ...(changes.includes('#') && { ExpressionAttributeNames: { '#at': 'at', '#groups': 'groups' } }),
      ExpressionAttributeValues: {
        ...values,
        ':expiresAt': { N: String(Math.ceil((now + LAG_LIFE_MS) / 1_000)) },
        ...KNOWN_VERSION,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    return whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }
}
