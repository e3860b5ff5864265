import type { Checked } from 'dynalite/db/index.js';
import { type JsonAnswer, refusal } from '../json-service.ts';
import { type Capacity, readUnits, withUnits, writeUnits } from './capacity.ts';
import { ChangeFeed, type ChangeListener } from './change-feed.ts';
import type { Database } from './database.ts';
import { isServiceError, nameOf } from './errors.ts';
import { bindOldValues } from './expressions.ts';
import { RemovalJournal } from './removal-journal.ts';
import { actionOf, checked, type DynaliteOperation } from './requests.ts';
import { StoreView } from './store-view.ts';
import { Streams } from './streams.ts';
import { TableOperations } from './table-operations.ts';
import { TimeToLive } from './time-to-live.ts';
import { Transactions } from './transactions.ts';

type Operation = (body: unknown) => unknown;

/** DynamoDB and its streams: dynalite's operations, and around them what it lacks. */
export class DynamoDb {
  readonly #database: Database;
  readonly #feed: ChangeFeed;
  readonly #timeToLive: TimeToLive;
  readonly #tables: TableOperations;
  readonly #transactions: Transactions;
  readonly #operations: Record<string, Operation>;
  readonly #streamOperations: Record<string, Operation>;
  readonly #now: () => number;
  #sweep: Promise<number> = Promise.resolve(0);

  constructor(database: Database, now: () => number) {
    this.#database = database;
    this.#now = now;
    this.#feed = new ChangeFeed(database, now);
    this.#timeToLive = new TimeToLive(database);
    this.#tables = new TableOperations(database, this.#feed, this.#timeToLive, now);
    this.#transactions = new Transactions(database, now);
    this.#operations = {
      ...this.#plain('BatchGetItem', 'BatchWriteItem', 'DescribeTable', 'ListTables', 'ListTagsOfResource'),
      ...this.#plain('TagResource', 'UntagResource'),
      GetItem: (body) => this.#read('GetItem', body),
      Query: (body) => this.#read('Query', body),
      Scan: (body) => this.#read('Scan', body),
      PutItem: (body) => this.#write('PutItem', body),
      UpdateItem: (body) => this.#write('UpdateItem', body),
      DeleteItem: (body) => this.#write('DeleteItem', body),
      TransactWriteItems: (body) => this.#transactions.write(body),
      TransactGetItems: (body) => this.#transactions.get(body),
      CreateTable: (body) => this.#tables.create(body),
      DeleteTable: (body) => this.#tables.delete(body),
      UpdateTable: (body) => this.#tables.update(body),
      UpdateTimeToLive: (body) => this.#timeToLive.update(body, new StoreView(database)),
      DescribeTimeToLive: (body) => this.#timeToLive.describe(body, new StoreView(database)),
    };
    const streams = new Streams(this.#feed, database, now);
    this.#streamOperations = {
      ListStreams: (body) => streams.list(body),
      DescribeStream: (body) => streams.describe(body),
      GetShardIterator: (body) => streams.iterator(body),
      GetRecords: (body) => streams.records(body),
    };
  }

  async open(): Promise<void> {
    await this.#timeToLive.open();
    await this.#tables.open();
  }

  /** Runs an operation of DynamoDB. */
  run(operation: string, body: unknown): Promise<JsonAnswer> {
    return answered(this.#operations, operation, body);
  }

  /** Runs an operation of DynamoDB Streams. */
  runStreams(operation: string, body: unknown): Promise<JsonAnswer> {
    return answered(this.#streamOperations, operation, body);
  }

  onChange(table: string, listener: ChangeListener): () => void {
    return this.#feed.onChange(table, listener);
  }

  /** Keeps note of a table's removals from now on, and of those that were not followed before. */
  journalRemovals(table: string): RemovalJournal {
    return new RemovalJournal(this.#database, table);
  }

  /** Removes items that have expired at `now` (epoch ms), and stale tokens. One sweep at a time. */
  expire(now = this.#now()): Promise<number> {
    const sweep = async () => {
      await this.#transactions.forgetTokens();
      return this.#timeToLive.expire(now);
    };
    const next = this.#sweep.then(sweep, sweep);
    this.#sweep = next.catch(() => 0);
    return next;
  }

  /** Waits for a sweep that is under way. */
  async close(): Promise<void> {
    await this.#sweep;
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

  async #read(operation: 'GetItem' | 'Query' | 'Scan', body: unknown): Promise<unknown> {
    const view = new StoreView(this.#database);
    const data = checked(operation, body, view);
    const answer = await view.run<{ ScannedCount?: number; ConsumedCapacity?: Capacity }>(actionOf(operation), data);
    // What a Query of an index costs is left to dynalite.
    if (data.IndexName) return answer;
    const read = answer.ScannedCount === undefined ? [view.found ?? {}] : view.streamed.slice(0, answer.ScannedCount);
    return withUnits(answer, () => readUnits(read, data.ConsistentRead === true));
  }

  async #write(operation: 'PutItem' | 'UpdateItem' | 'DeleteItem', body: unknown): Promise<unknown> {
    let data: Checked | undefined;
    const onRead = (item: StoreView['found']) => bindOldValues(data?._updates?.sections ?? [], item);
    const view = new StoreView(this.#database, { onRead });
    data = checked(operation, body, view);
    try {
      const answer = await view.run<object>(actionOf(operation), data);
      return withUnits(answer, () => writeUnits(view.found, view.written));
    } catch (error) {
      const asked = data.ReturnValuesOnConditionCheckFailure === 'ALL_OLD';
      if (asked && view.found && isServiceError(error) && nameOf(error) === 'ConditionalCheckFailedException') {
        error.body = { ...error.body, Item: view.found };
      }
      throw error;
    }
  }
}

async function answered(operations: Record<string, Operation>, name: string, body: unknown): Promise<JsonAnswer> {
  const run = Object.hasOwn(operations, name) ? operations[name] : undefined;
  if (!run) return refusal('UnknownOperationException');
  try {
    return { status: 200, body: await run(body) };
  } catch (error) {
    if (isServiceError(error)) return { status: error.statusCode, body: error.body };
    console.error(`${name} failed:`, error);
    return refusal('InternalServerError', 'an internal error occurred', 500);
  }
}
