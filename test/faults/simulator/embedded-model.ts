import { TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import { Database } from '../../../local/aws/dynamodb/database.ts';
import { DynamoDb } from '../../../local/aws/dynamodb/dynamodb.ts';
import { openLevel } from '../../../local/aws/storage/level.ts';
import type { Item } from './expressions.ts';
import { type Change, type DynamoModel, KEYS, type Outcome } from './tables.ts';

/**
 * The embedded engine as the model of a run: slower than `Model`, and under the contract suites. What a seed does on the
 * one it must do on the other.
 */
export class EmbeddedModel implements DynamoModel {
  now = 0;
  onChange: (change: Change) => void = () => {};
  readonly #database: Database;
  readonly #dynamodb: DynamoDb;

  private constructor(database: Database) {
    this.#database = database;
    this.#dynamodb = new DynamoDb(database, () => this.now);
    database.listeners.push((changes) => {
      for (const { table, before, after } of changes) {
        if (before === undefined && after === undefined) continue; // deleted, but it was not there
        this.onChange({ table: table.TableName, before: decoded(before) as Item, after: decoded(after) as Item });
      }
    });
  }

  static async open(): Promise<EmbeddedModel> {
    const model = new EmbeddedModel(new Database(await openLevel(undefined)));
    await model.#dynamodb.open();
    for (const [TableName, key] of Object.entries(KEYS)) {
      await model.#dynamodb.run('CreateTable', {
        TableName,
        BillingMode: 'PAY_PER_REQUEST',
        AttributeDefinitions: key.map((AttributeName) => ({
          AttributeName,
          AttributeType: AttributeName === 'last' ? 'N' : 'S',
        })),
        KeySchema: key.map((AttributeName, i) => ({ AttributeName, KeyType: i === 0 ? 'HASH' : 'RANGE' })),
      });
      const isReady = async () => {
        const { body } = await model.#dynamodb.run('DescribeTable', { TableName });
        return (body as { Table: { TableStatus: string } }).Table.TableStatus === 'ACTIVE';
      };
      while (!(await isReady())) await new Promise((resolve) => setImmediate(resolve));
    }
    return model;
  }

  async empty(): Promise<void> {
    for (const table of Object.keys(KEYS)) await this.#database.clear(`item-${table}~`);
  }

  async items(): Promise<{ readonly table: string; readonly item: Item }[]> {
    const found: { readonly table: string; readonly item: Item; readonly place: string }[] = [];
    for (const [table, [hash, range]] of Object.entries(KEYS)) {
      for await (const [, stored] of this.#database.entries(`item-${table}~`)) {
        const item = decoded(stored) as Item;
        const place = `${item[hash]!.S} ${item[range]!.S ?? item[range]!.N!.padStart(16, '0')}`;
        found.push({ table, item, place });
      }
    }
    return found.sort((a, b) => (`${a.table} ${a.place}` < `${b.table} ${b.place}` ? -1 : 1));
  }

  async run(operation: string, input: object): Promise<Outcome> {
    const { status, body } = await this.#dynamodb.run(operation, encoded(input));
    const answer = decoded(body) as Readonly<Record<string, unknown>>;
    return status === 200 ? { output: answer } : { error: errorOf(status, answer) };
  }
}

function errorOf(status: number, body: Readonly<Record<string, unknown>>): Error {
  const name = String(body.__type).split('#')[1] ?? 'UnknownError';
  const $metadata = { httpStatusCode: status };
  const message = String(body.message ?? name);
  if (name === 'TransactionCanceledException') {
    const CancellationReasons = body.CancellationReasons as { Code: string }[];
    return new TransactionCanceledException({ message, $metadata, CancellationReasons });
  }
  return Object.assign(new Error(message), {
    name,
    $metadata,
    ...(body.Item === undefined ? {} : { Item: body.Item }),
  });
}

/** Bytes as base64 text, at any depth. */
function encoded(value: unknown): unknown {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(encoded);
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) if (member !== undefined) copy[name] = encoded(member);
  return copy;
}

/** And back: an attribute's `B` is bytes. */
function decoded(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(decoded);
  if (typeof value !== 'object' || value === null) return value;
  const copy: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(value)) {
    const bytes = name === 'B' && typeof member === 'string';
    copy[name] = bytes ? Uint8Array.from(Buffer.from(member, 'base64')) : decoded(member);
  }
  return copy;
}
