import type { Callback, Checked, Collection, Item, Operation, Range, Store, Table } from 'dynalite/db/index.js';
import { LevelCollection, valuesOf, within } from '../storage/level.ts';
import { itemBytes } from './capacity.ts';
import { type Change, Database } from './database.ts';
import { resourceNotFound, validationError } from './errors.ts';

export const ACCOUNT = '000000000000';
export const REGION = 'us-east-1';

/** Source: AWS, DynamoDB quotas, "Item size". Tables are ready at once. */
const OPTIONS = { maxItemSize: 400 * 1024, createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 };

export type Action = (store: Store, data: Checked, answer: Callback) => void;

/** How a request takes part: alone, each item locked and stored as its action says; or in a transaction that does both. */
export interface Part {
  /** Present: the caller holds the locks, and changes are collected here instead of stored. */
  readonly collect?: { changes: Change[]; operations: Operation[] };
  /** Called with the item as it is under the lock, before the action looks at it. */
  readonly onRead?: (item: Item | undefined) => void;
}

/**
 * The store as dynalite's actions see it during one request. Actions run unchanged; here their reads are observed and
 * their writes, of the item and of its index entries, go into one atomic write.
 */
export class StoreView implements Store {
  readonly options = OPTIONS;
  readonly tableDb: Collection & { awsAccountId: string; awsRegion: string };
  /** The item that the action read, of a write under its lock: the old image of a failed condition. */
  found: Item | undefined;
  /** The image that the action wrote last. */
  written: Item | undefined;
  /** Items that a Query or Scan was given, in order; it may have used fewer. */
  readonly streamed: Item[] = [];

  readonly #database: Database;
  readonly #part: Part;
  readonly #tables = new Map<string, Table>();
  readonly #held = new Set<string>();
  #indexWrites: Operation[] = [];
  #fail: (error: unknown) => void = () => {};

  constructor(database: Database, part: Part = {}) {
    this.#database = database;
    this.#part = part;
    this.tableDb = Object.assign(this.#collection('table~'), { awsAccountId: ACCOUNT, awsRegion: REGION });
  }

  /** Runs one of dynalite's actions. @throws what it answers, or what it throws; no lock is left behind. */
  async run<T>(action: Action, data: Checked): Promise<T> {
    try {
      return await new Promise<T>((resolve, reject) => {
        this.#fail = reject;
        this.#guard(() => action(this, data, (error, value) => (error ? reject(error) : resolve(value as T))));
      });
    } finally {
      for (const key of this.#held) if (this.#held.delete(key)) this.#database.locks.free(key);
    }
  }

  getTable(name: string, checkStatus: boolean | Callback, answer?: Callback): void {
    const done = typeof checkStatus === 'function' ? checkStatus : answer!;
    this.#settle(this.table(name, checkStatus !== false), done);
  }

  /** The table's description. @throws ResourceNotFoundException */
  async table(name: string, ready = true): Promise<Table> {
    const table = this.#tables.get(name) ?? (await this.#database.get<Table>(`table~${name}`));
    if (!table || (ready && table.TableStatus !== 'ACTIVE' && table.TableStatus !== 'UPDATING')) {
      throw resourceNotFound(`Requested resource not found${ready ? '' : `: Table: ${name} not found`}`);
    }
    this.#tables.set(name, table);
    return table;
  }

  getItemDb(table: string): Collection {
    const items = this.#collection(`item-${table}~`);
    let before: Item | undefined;
    const store = (key: string, after: Item | undefined, answer: Callback) => {
      const change = { table: this.#tables.get(table)!, key, before, after };
      const operations = this.#indexWrites;
      this.#indexWrites = [];
      this.written = after;
      if (after && itemBytes(after) > OPTIONS.maxItemSize) {
        answer(validationError('Item size has exceeded the maximum allowed size'));
        return;
      }
      if (this.#part.collect) {
        this.#part.collect.changes.push(change);
        this.#part.collect.operations.push(...operations);
        answer(null);
      } else {
        this.#settle(this.#database.store([change], operations), answer);
      }
    };
    return Object.assign(items, {
      get: (key: string, answer: Callback) =>
        this.#settle(this.#database.get<Item>(Database.itemKey(table, key)), (error, item) => {
          if (!error) {
            before = item as Item | undefined;
            this.found = before;
            this.#part.onRead?.(before);
          }
          answer(error, item);
        }),
      put: (key: string, item: unknown, answer: Callback) => store(key, item as Item, answer),
      del: (key: string, answer: Callback) => store(key, undefined, answer),
      createValueStream: (range?: Range) =>
        valuesOf(this.#database.level, within(`item-${table}~`, range), (item) => this.streamed.push(item as Item)),
    });
  }

  getIndexDb(type: string, table: string, index: string): Collection {
    const prefix = `index-${type.toLowerCase()}~${table}~${index}~`;
    // No index entry is written by itself: it waits for the item, whose action writes it next, in the same turn.
    const later = (operation: Operation, answer: Callback) => {
      this.#indexWrites.push(operation);
      answer(null);
    };
    return Object.assign(this.#collection(prefix), {
      put: (key: string, value: unknown, answer: Callback) => later({ type: 'put', key: prefix + key, value }, answer),
      del: (key: string, answer: Callback) => later({ type: 'del', key: prefix + key }, answer),
    });
  }

  getTagDb(table: string): Collection {
    return this.#collection(`tag-${table}~`);
  }

  deleteItemDb(table: string, answer: Callback): void {
    this.#settle(this.#database.clear(`item-${table}~`), answer);
  }

  deleteIndexDb(type: string, table: string, index: string, answer: Callback): void {
    this.#settle(this.#database.clear(`index-${type.toLowerCase()}~${table}~${index}~`), answer);
  }

  deleteTagDb(table: string, answer: Callback): void {
    this.#settle(this.#database.clear(`tag-${table}~`), answer);
  }

  #collection(prefix: string): LevelCollection {
    return new LevelCollection(
      this.#database.level,
      prefix,
      (promise, answer) => this.#settle(promise, answer),
      (key, take) => this.#lock(prefix + key, take),
    );
  }

  #lock(key: string, take: Parameters<Collection['lock']>[1]): void {
    if (this.#part.collect) {
      take((answer) => answer);
      return;
    }
    const { locks } = this.#database;
    locks.take(key, () => {
      this.#held.add(key);
      this.#guard(() =>
        take((answer) => (error, value) => {
          // A failed request has given its locks back already; they may be somebody else's by now.
          if (this.#held.delete(key)) locks.free(key);
          answer(error, value);
        }),
      );
    });
  }

  #settle(promise: Promise<unknown>, answer: Callback): void {
    promise.then(
      (value) => this.#guard(() => answer(null, value)),
      (error) => this.#guard(() => answer(error)),
    );
  }

  /** A fault in an action becomes the request's own answer instead of the end of the process. */
  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#fail(error);
    }
  }
}
