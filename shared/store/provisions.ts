import { DeleteItemCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import type { Provision, ProvisionedThing } from '../domain/provision.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { itemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';
import { provisionKey } from './provision-keys.ts';

/** What deployments look after, in the State table: one item for each topic and subscription that stands in an app. */
export class Provisions {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** @returns undefined when no deployment looks after it. @throws {Throttled | Unavailable | UnknownLayout} */
  async read(thing: ProvisionedThing): Promise<Provision | undefined> {
    const Key = itemKey(provisionKey(thing));
    const command = new GetItemCommand({ TableName: this.#table, Key, ConsistentRead: true });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    if (Item === undefined) return undefined;
    refuseUnknownLayout(Item);
    return { owner: Item.owner!.S!, adopted: Item.adopted?.BOOL === true };
  }

  /** Whoever comes last looks after it. @throws {WriteFailed | UnknownLayout} */
  async put(thing: ProvisionedThing, { owner, adopted }: Provision): Promise<void> {
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: {
        ...itemKey(provisionKey(thing)),
        v: { N: LAYOUT_VERSION },
        owner: { S: owner },
        ...(adopted && { adopted: { BOOL: true } }),
      },
      ConditionExpression: `attribute_not_exists(pk) OR ${KNOWN_LAYOUT}`,
      ExpressionAttributeValues: KNOWN_VERSION,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** Unless somebody else has taken it over. @throws {WriteFailed | UnknownLayout} */
  async remove(thing: ProvisionedThing, owner: string): Promise<void> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: itemKey(provisionKey(thing)),
      ConditionExpression: `${KNOWN_LAYOUT} AND #owner = :owner`,
      ExpressionAttributeNames: { '#owner': 'owner' },
      ExpressionAttributeValues: { ...KNOWN_VERSION, ':owner': { S: owner } },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }
}
