import { GetItemCommand, UpdateItemCommand, type UpdateItemCommandInput } from '@aws-sdk/client-dynamodb';
import type { Principal } from '../domain/principal.ts';
import type { Rights } from '../domain/rights.ts';
import { grantsKey } from './access-keys.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { type Item, itemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, refuseUnknownLayout } from './keys.ts';

/** How the names of attributes begin that hold a grant each. */
const GRANT = 'grant:';

/** What was granted, in the State table: one item per principal, so that one small read tells all of it. */
export class Grants {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** All that a principal was granted: half a unit unless it must be consistent. @throws {Throttled | Unavailable | UnknownLayout} */
  async of(principal: Principal, consistent: boolean): Promise<readonly Rights[]> {
    const Key = itemKey(grantsKey(principal));
    const command = new GetItemCommand({ TableName: this.#table, Key, ConsistentRead: consistent });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? [] : rightsIn(Item);
  }

  /** Grants, or changes what was granted under this id. Repeating it changes nothing. @throws {WriteFailed | UnknownLayout} */
  async put(principal: Principal, grantId: string, rights: readonly Rights[]): Promise<void> {
    await this.#update(principal, {
      UpdateExpression: 'SET v = :v, #grant = :rights',
      ConditionExpression: `attribute_not_exists(pk) OR ${KNOWN_LAYOUT}`,
      ExpressionAttributeNames: { '#grant': `${GRANT}${grantId}` },
      ExpressionAttributeValues: { ...KNOWN_VERSION, ':rights': { S: JSON.stringify(rights) } },
    });
  }

  /** Takes a grant back. Repeating it changes nothing. @throws {WriteFailed | UnknownLayout} */
  async delete(principal: Principal, grantId: string): Promise<void> {
    await this.#update(principal, {
      UpdateExpression: 'REMOVE #grant',
      ConditionExpression: KNOWN_LAYOUT,
      ExpressionAttributeNames: { '#grant': `${GRANT}${grantId}` },
      ExpressionAttributeValues: KNOWN_VERSION,
    });
  }

  async #update(principal: Principal, update: Omit<UpdateItemCommandInput, 'TableName' | 'Key'>): Promise<void> {
    const command = new UpdateItemCommand({
      TableName: this.#table,
      Key: itemKey(grantsKey(principal)),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      ...update,
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }
}

function rightsIn(item: Item): Rights[] {
  refuseUnknownLayout(item);
  return Object.entries(item).flatMap(([name, value]) =>
    name.startsWith(GRANT) ? (JSON.parse(value.S!) as Rights[]) : [],
  );
}
