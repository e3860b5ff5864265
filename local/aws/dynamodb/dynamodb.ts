import type { Checked, Table } from 'dynalite/db/index.js';
import { type JsonAnswer, refusal } from '../json-service.ts';
import type { Database } from './database.ts';
import { isServiceError, nameOf } from './errors.ts';
import { bindOldValues } from './expressions.ts';
import { actionOf, checked, type DynaliteOperation } from './requests.ts';
import { StoreView } from './store-view.ts';
import { TimeToLive } from './time-to-live.ts';

type Operation = (body: unknown) => Promise<unknown>;

/** DynamoDB's operations: dynalite's, and around them what it lacks. */
export class DynamoDb {
  readonly #database: Database;
  readonly #operations: Record<string, Operation>;
  readonly timeToLive: TimeToLive;

  constructor(database: Database) {
    this.#database = database;
    this.timeToLive = new TimeToLive(database);
    this.#operations = {
      ...this.#plain('BatchGetItem', 'BatchWriteItem', 'DescribeTable', 'GetItem', 'ListTables', 'ListTagsOfResource'),
      ...this.#plain('Query', 'Scan', 'TagResource', 'UntagResource', 'UpdateTable'),
      CreateTable: (body) => this.#createTable(body),
      DeleteTable: (body) => this.#deleteTable(body),
      UpdateTimeToLive: (body) => this.timeToLive.update(body, new StoreView(database)),
      DescribeTimeToLive: (body) => this.timeToLive.describe(body, new StoreView(database)),
      PutItem: (body) => this.#write('PutItem', body),
      UpdateItem: (body) => this.#write('UpdateItem', body),
      DeleteItem: (body) => this.#write('DeleteItem', body),
    };
  }

  async run(operation: string, body: unknown): Promise<JsonAnswer> {
    const run = Object.hasOwn(this.#operations, operation) ? this.#operations[operation] : undefined;
    if (!run) return refusal('UnknownOperationException');
    try {
      return { status: 200, body: await run(body) };
    } catch (error) {
      if (isServiceError(error)) return { status: error.statusCode, body: error.body };
      console.error(`${operation} failed:`, error);
      return refusal('InternalServerError', 'an internal error occurred', 500);
    }
  }

  #plain(...operations: DynaliteOperation[]): Record<string, Operation> {
    return Object.fromEntries(
      operations.map((operation) => [
        operation,
        (body: unknown) => {
          const view = new StoreView(this.#database);
          return view.run(actionOf(operation), checked(operation, body, view));
        },
      ]),
    );
  }

  async #createTable(body: unknown): Promise<unknown> {
    const view = new StoreView(this.#database);
    const data = checked('CreateTable', body, view);
    const answer = await view.run<{ TableDescription: Table }>(actionOf('CreateTable'), data);
    await this.#settled(data.TableName, 'CREATING');
    return answer;
  }

  async #deleteTable(body: unknown): Promise<unknown> {
    const view = new StoreView(this.#database);
    const data = checked('DeleteTable', body, view);
    const answer = await view.run(actionOf('DeleteTable'), data);
    await this.timeToLive.forget(data.TableName);
    await this.#settled(data.TableName, 'DELETING');
    return answer;
  }

  /** Waits for what dynalite does to a table in the background. */
  async #settled(table: string, status: string): Promise<void> {
    while ((await this.#database.get<Table>(`table~${table}`))?.TableStatus === status) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  }

  async #write(operation: 'PutItem' | 'UpdateItem' | 'DeleteItem', body: unknown): Promise<unknown> {
    let data: Checked | undefined;
    const view = new StoreView(this.#database, {
      onRead: (item) => bindOldValues(data?._updates?.sections ?? [], item),
    });
    data = checked(operation, body, view);
    try {
      return await view.run(actionOf(operation), data);
    } catch (error) {
      if (
        isServiceError(error) &&
        nameOf(error) === 'ConditionalCheckFailedException' &&
        data.ReturnValuesOnConditionCheckFailure === 'ALL_OLD' &&
        view.found
      ) {
        error.body = { ...error.body, Item: view.found };
      }
      throw error;
    }
  }
}
