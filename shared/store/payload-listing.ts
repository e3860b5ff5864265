import { BatchGetItemCommand } from '@aws-sdk/client-dynamodb';
import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import { BATCH_GET_MAX } from '../domain/doctor-limits.ts';
import type { Page } from '../domain/topic.ts';
import { deadLetterKey } from './dead-letter-keys.ts';
import { type DynamoDB, readOutcome } from './dynamo.ts';
import { type Item, itemKey } from './item-key.ts';
import { intentKey, logKey, uploadKey, uploadLogKey } from './keys.ts';
import { parseObjectKey } from './listed-keys.ts';
import type { S3 } from './payload-object.ts';

/** An object of the bucket, as it is listed. */
export interface StoredObject {
  readonly key: string;
  /** Bytes. */
  readonly size: number;
  /** Epoch ms. */
  readonly at: number;
  /** The id of the group whose dead letter it holds, if it is one. */
  readonly groupId?: string;
}

/** Where the items are that objects belong to. */
export interface OwnerTables {
  readonly logTable: string;
  readonly stateTable: string;
}

/** The objects in the bucket, and the items that stand for them. */
export class PayloadListing {
  readonly #s3: S3;
  readonly #bucket: string;
  readonly #dynamodb: DynamoDB;
  readonly #tables: OwnerTables;

  constructor(s3: S3, bucket: string, dynamodb: DynamoDB, tables: OwnerTables) {
    this.#s3 = s3;
    this.#bucket = bucket;
    this.#dynamodb = dynamodb;
    this.#tables = tables;
  }

  /** Lists a thousand objects: one LIST. @param after the last page's `next` @throws {Throttled | Unavailable} */
  async list(after?: string): Promise<Page<StoredObject>> {
    const command = new ListObjectsV2Command({
      Bucket: this.#bucket,
      ...(after !== undefined && { StartAfter: after }),
    });
    const { Contents = [], IsTruncated } = await readOutcome(this.#s3.send(command));
    const items = Contents.map(({ Key = '', Size = 0, LastModified }) => {
      const parsed = parseObjectKey(Key);
      const groupId = parsed?.kind === 'dead letter' ? parsed.groupId : undefined;
      return { key: Key, size: Size, at: LastModified?.getTime() ?? 0, ...(groupId !== undefined && { groupId }) };
    });
    const last = items.at(-1);
    return { items, ...(IsTruncated && last && { next: last.key }) };
  }

  /**
   * Those of the objects that nothing stands for: no slot that was spilled, no intent, no upload, no dead letter. Up to two
   * read units each.
   *
   * @param groupNames by id, of the groups whose dead letters are among them; of others there are none
   * @throws {Throttled | Unavailable}
   */
  async withoutOwner(
    objects: readonly StoredObject[],
    groupNames: ReadonlyMap<string, string>,
  ): Promise<readonly StoredObject[]> {
    const owners = objects.map((object) => ({ object, keys: this.#ownersOf(object, groupNames) }));
    const present = await this.#present(owners.flatMap(({ keys }) => keys));
    return owners.filter(({ keys }) => !keys.some((owner) => present.has(textOf(owner)))).map(({ object }) => object);
  }

  /** The items of which each is reason enough for an object to be there. */
  #ownersOf({ key }: StoredObject, groupNames: ReadonlyMap<string, string>): Owner[] {
    const parsed = parseObjectKey(key);
    const { logTable, stateTable } = this.#tables;
    const inLog = (log: string, last: number) => ({
      table: logTable,
      key: { log: { S: log }, last: { N: String(last) } },
    });
    if (parsed === undefined) return [];
    if (parsed.kind === 'batch') return [inLog(logKey(parsed), parsed.last), inLog(intentKey(parsed), parsed.last)];
    if (parsed.kind === 'upload') {
      return [{ table: stateTable, key: itemKey(uploadKey(parsed)) }, inLog(uploadLogKey(parsed), 0)];
    }
    const name = groupNames.get(parsed.groupId);
    if (name === undefined) return [];
    return [{ table: stateTable, key: itemKey(deadLetterKey({ name, id: parsed.groupId }, parsed.letter)) }];
  }

  async #present(owners: readonly Owner[]): Promise<Set<string>> {
    const present = new Set<string>();
    for (let from = 0; from < owners.length; from += BATCH_GET_MAX) {
      let left: Owner[] = owners.slice(from, from + BATCH_GET_MAX);
      while (left.length > 0) left = await this.#look(left, present);
    }
    return present;
  }

  /** @returns those that were not read, for lack of throughput */
  async #look(owners: readonly Owner[], present: Set<string>): Promise<Owner[]> {
    const tables = [...new Set(owners.map(({ table }) => table))];
    const RequestItems = Object.fromEntries(
      tables.map((table) => [
        table,
        {
          Keys: owners.filter((owner) => owner.table === table).map(({ key }) => key),
          // A void has no payload: it stands for none.
          ProjectionExpression: 'pk, sk, #log, #last, #void',
          ExpressionAttributeNames: { '#log': 'log', '#last': 'last', '#void': 'void' },
          ConsistentRead: true,
        },
      ]),
    );
    const answer = await readOutcome(this.#dynamodb.send(new BatchGetItemCommand({ RequestItems })));
    for (const [table, items] of Object.entries(answer.Responses ?? {})) {
      for (const item of items) if (item.void === undefined) present.add(textOf({ table, key: item }));
    }
    return Object.entries(answer.UnprocessedKeys ?? {}).flatMap(([table, { Keys = [] }]) =>
      Keys.map((key) => ({ table, key })),
    );
  }
}

interface Owner {
  readonly table: string;
  readonly key: Item;
}

function textOf({ table, key }: Owner): string {
  return [table, key.pk?.S ?? key.log?.S, key.sk?.S ?? key.last?.N].join('\n');
}
