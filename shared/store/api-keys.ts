import { DeleteItemCommand, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { API_KEY_EXPIRED_SHOWN_MS } from '../domain/access-limits.ts';
import type { ApiKey } from '../domain/api-key.ts';
import type { Rights } from '../domain/rights.ts';
import type { Page } from '../domain/topic.ts';
import { API_KEYS, apiKeyKey } from './access-keys.ts';
import { type DynamoDB, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { type Item, itemKey } from './item-key.ts';
import { KNOWN_LAYOUT, KNOWN_VERSION, LAYOUT_VERSION, refuseUnknownLayout } from './keys.ts';
import { listItems } from './state-items.ts';

/** The API keys in the State table: who they are and what they may do, never what they are. */
export class ApiKeys {
  readonly #dynamodb: DynamoDB;
  readonly #table: string;

  constructor(dynamodb: DynamoDB, table: string) {
    this.#dynamodb = dynamodb;
    this.#table = table;
  }

  /** Reads one: half a unit unless it must be consistent. @throws {Throttled | Unavailable | UnknownLayout} */
  async read(id: string, consistent: boolean): Promise<ApiKey | undefined> {
    const Key = itemKey(apiKeyKey(id));
    const command = new GetItemCommand({ TableName: this.#table, Key, ConsistentRead: consistent });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? undefined : toKey(Item);
  }

  /** Stores a new one. @throws {WriteFailed} */
  async create(key: ApiKey): Promise<void> {
    const { id, name, hash, rights, createdAt, createdBy, expiresAt } = key;
    const command = new PutItemCommand({
      TableName: this.#table,
      Item: {
        ...itemKey(apiKeyKey(id)),
        v: { N: LAYOUT_VERSION },
        name: { S: name },
        hash: { S: hash },
        rights: { S: JSON.stringify(rights) },
        createdAt: { N: String(createdAt) },
        createdBy: { S: createdBy },
        ...(expiresAt !== undefined && {
          until: { N: String(expiresAt) },
          expiresAt: { N: String(Math.ceil((expiresAt + API_KEY_EXPIRED_SHOWN_MS) / 1_000)) },
        }),
      },
      // What is there has this id by an attempt of this call: nobody else has drawn it.
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** By id. @param limit absent: a megabyte of them @throws {Throttled | Unavailable | UnknownLayout} */
  async list(limit?: number, after?: string): Promise<Page<ApiKey>> {
    return listItems(this.#dynamodb, this.#table, {
      ...{ pk: API_KEYS, after, read: toKey },
      ...(limit !== undefined && { limit }),
    });
  }

  /** @returns false when there is none @throws {WriteFailed | UnknownLayout} */
  async delete(id: string): Promise<boolean> {
    const command = new DeleteItemCommand({
      TableName: this.#table,
      Key: itemKey(apiKeyKey(id)),
      ConditionExpression: KNOWN_LAYOUT,
      ExpressionAttributeValues: KNOWN_VERSION,
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    const attempts = new WriteAttempts(command);
    const written = await whetherWritten(attempts.outcome(this.#dynamodb.send(command)));
    // An attempt without an answer may be what took it away.
    return written || attempts.anyUnanswered;
  }
}

function toKey(item: Item): ApiKey {
  refuseUnknownLayout(item);
  return {
    id: item.sk!.S!,
    name: item.name!.S!,
    hash: item.hash!.S!,
    rights: JSON.parse(item.rights!.S!) as Rights[],
    createdAt: Number(item.createdAt!.N),
    createdBy: item.createdBy!.S!,
    ...(item.until !== undefined && { expiresAt: Number(item.until.N) }),
  };
}
