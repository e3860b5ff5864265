import {
  BatchWriteItemCommand,
  DeleteItemCommand,
  GetItemCommand,
  PutItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import type { Page } from '../domain/topic.ts';
import type { Upload, UploadId, UploadUse } from '../domain/upload.ts';
import { type DynamoDB, isConditionFailed, readOutcome, WriteAttempts, whetherWritten } from './dynamo.ts';
import { type Item, itemKey } from './item-key.ts';
import {
  KNOWN_LAYOUT,
  KNOWN_VERSION,
  LAYOUT_VERSION,
  refuseUnknownLayout,
  uploadKey,
  uploadLogKey,
  uploadsKey,
} from './keys.ts';
import { listItems } from './state-items.ts';

/**
 * Uploads: what was announced and what became of it, in the State table; and for each a watch in the Log table, whose
 * removal makes somebody look after it.
 */
export class Uploads {
  readonly #dynamodb: DynamoDB;
  readonly #tables: { readonly stateTable: string; readonly logTable: string };

  constructor(dynamodb: DynamoDB, tables: { readonly stateTable: string; readonly logTable: string }) {
    this.#dynamodb = dynamodb;
    this.#tables = tables;
  }

  /**
   * Has somebody look after an upload at a time, and at no other: one write unit.
   *
   * @param expiresAt epoch s; 0: when the watch is deleted @throws {WriteFailed}
   */
  async watch(upload: UploadId, expiresAt: number): Promise<void> {
    const command = new PutItemCommand({
      TableName: this.#tables.logTable,
      Item: {
        ...watchKey(upload),
        v: { N: LAYOUT_VERSION },
        ...(expiresAt === 0 ? {} : { expiresAt: { N: String(expiresAt) } }),
      },
    });
    await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
  }

  /** Deletes the watches of up to 25 uploads. @returns those that were not deleted @throws {WriteFailed} */
  async unwatch(uploads: readonly UploadId[]): Promise<UploadId[]> {
    const requests = uploads.map((upload) => ({ DeleteRequest: { Key: watchKey(upload) } }));
    const command = new BatchWriteItemCommand({ RequestItems: { [this.#tables.logTable]: requests } });
    const { UnprocessedItems } = await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
    const left = new Set(
      Object.values(UnprocessedItems ?? {})
        .flat()
        .map(({ DeleteRequest }) => DeleteRequest!.Key!.log!.S),
    );
    return uploads.filter((upload) => left.has(uploadLogKey(upload)));
  }

  /**
   * Notes a new upload, which nobody has taken: one write unit. An attempt that lands late changes nothing: by then it may
   * have been taken. @throws {WriteFailed}
   */
  async create(upload: Omit<Upload, 'use'>): Promise<void> {
    const command = new PutItemCommand({
      TableName: this.#tables.stateTable,
      Item: {
        ...itemKey(uploadKey(upload)),
        v: { N: LAYOUT_VERSION },
        size: { N: String(upload.size) },
        sha256: { B: Buffer.from(upload.sha256, 'hex') },
        usableUntil: { N: String(upload.expiresAt) },
      },
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    await whetherWritten(new WriteAttempts(command).outcome(this.#dynamodb.send(command)));
  }

  /** Reads an upload, strongly consistent. @throws {Throttled | Unavailable} */
  async find(upload: UploadId): Promise<Upload | undefined> {
    const command = new GetItemCommand({
      TableName: this.#tables.stateTable,
      Key: itemKey(uploadKey(upload)),
      ConsistentRead: true,
    });
    const { Item } = await readOutcome(this.#dynamodb.send(command));
    return Item === undefined ? undefined : toUpload(upload.topicId, Item);
  }

  /** Lists a topic's uploads, strongly consistent. @throws {Throttled | Unavailable} */
  async list(topicId: string, after?: string): Promise<Page<Upload>> {
    const read = (item: Item) => toUpload(topicId, item);
    return listItems(this.#dynamodb, this.#tables.stateTable, { pk: uploadsKey(topicId), after, read });
  }

  /**
   * Takes an upload for a slot, by compare-and-set: one write unit.
   *
   * @param from the use that it may be taken from, if it is not free
   * @param isLate asked before every attempt; once true, no more is sent
   * @returns the use that it has instead; 'gone' when there is no such upload any more; undefined when it was taken
   * @throws {WriteFailed}
   */
  async take(
    upload: UploadId,
    use: UploadUse,
    from: UploadUse | undefined,
    isLate: () => boolean,
  ): Promise<UploadUse | 'gone' | undefined> {
    const command = new UpdateItemCommand({
      TableName: this.#tables.stateTable,
      Key: itemKey(uploadKey(upload)),
      UpdateExpression: 'SET usedBy = :use, usedAt = :at, usedCount = :count',
      // Its own use: an attempt whose answer was lost.
      ConditionExpression: `${KNOWN_LAYOUT} AND (attribute_not_exists(usedBy) OR usedBy IN (:use, :from))`,
      ExpressionAttributeValues: {
        ':use': { S: nameOf(use) },
        ':from': { S: nameOf(from ?? use) },
        ':at': { N: String(use.at) },
        ':count': { N: String(use.count) },
        ...KNOWN_VERSION,
      },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    try {
      await new WriteAttempts(command, isLate).outcome(this.#dynamodb.send(command));
      return undefined;
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      return error.Item === undefined ? 'gone' : toUpload(upload.topicId, error.Item).use;
    }
  }

  /**
   * Forgets an upload if its use is still this one; undefined: nobody has taken it. From then on nobody can.
   *
   * @returns the use that it has instead; undefined when it is forgotten, now or before @throws {WriteFailed}
   */
  async forget(upload: UploadId, use: UploadUse | undefined): Promise<UploadUse | undefined> {
    const isJudged = `attribute_not_exists(usedBy)${use === undefined ? '' : ' OR usedBy = :use'}`;
    const command = new DeleteItemCommand({
      TableName: this.#tables.stateTable,
      Key: itemKey(uploadKey(upload)),
      ConditionExpression: `attribute_not_exists(pk) OR (${KNOWN_LAYOUT} AND (${isJudged}))`,
      ExpressionAttributeValues: { ...(use === undefined ? {} : { ':use': { S: nameOf(use) } }), ...KNOWN_VERSION },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    });
    try {
      await new WriteAttempts(command).outcome(this.#dynamodb.send(command));
      return undefined;
    } catch (error) {
      if (!isConditionFailed(error)) throw error;
      const found = error.Item === undefined ? undefined : toUpload(upload.topicId, error.Item).use;
      if (found === undefined) throw WriteAttempts.vanished(error);
      return found;
    }
  }
}

function nameOf({ partition, last }: UploadUse): string {
  return `${partition}/${last}`;
}

function toUpload(topicId: string, item: Item): Upload {
  refuseUnknownLayout(item);
  return {
    topicId,
    uploadId: item.sk!.S!,
    size: Number(item.size!.N),
    sha256: Buffer.from(item.sha256!.B!).toString('hex'),
    expiresAt: Number(item.usableUntil!.N),
    ...(item.usedBy === undefined ? {} : { use: toUse(item) }),
  };
}

function toUse(item: Item): UploadUse {
  const [partition, last] = item.usedBy!.S!.split('/').map(Number);
  return { partition: partition!, last: last!, count: Number(item.usedCount!.N), at: Number(item.usedAt!.N) };
}

function watchKey(upload: UploadId): Item {
  return { log: { S: uploadLogKey(upload) }, last: { N: '0' } };
}
