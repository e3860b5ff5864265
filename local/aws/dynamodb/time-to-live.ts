import type { Item, Operation, Store, Table } from 'dynalite/db/index.js';
import type { Change, Database } from './database.ts';
import { isServiceError, nameOf, validationError } from './errors.ts';
import { actionOf, check } from './requests.ts';
import { StoreView } from './store-view.ts';

/** Items this long past their expiry are left alone. Source: AWS, "Time to Live", expiry more than five years ago. */
const TOO_OLD_SECONDS = 5 * 365 * 24 * 3600;
/** Digits of an expiry in the index: enough for any that can pass. */
const SECONDS_DIGITS = 12;
/** Expired items looked up at a time. */
const SWEEP_PAGE = 500;

const TABLE_NAME = { type: 'String', notNull: true, regex: '[a-zA-Z0-9_.-]+' };
const UPDATE_TYPES = {
  TableName: TABLE_NAME,
  TimeToLiveSpecification: {
    type: 'FieldStruct<TimeToLiveSpecification>',
    notNull: true,
    children: {
      Enabled: { type: 'Boolean', notNull: true },
      AttributeName: { type: 'String', notNull: true, lengthGreaterThanOrEqual: 1, lengthLessThanOrEqual: 255 },
    },
  },
};

/** Expiry of items: an index by time, written together with each item, and the removal of what is past it. */
export class TimeToLive {
  readonly #database: Database;
  /** Expiry attribute by table. */
  readonly #attributes = new Map<string, string>();

  constructor(database: Database) {
    this.#database = database;
    database.companions.push((change) => this.#indexed(change));
  }

  async open(): Promise<void> {
    for await (const [table, attribute] of this.#database.entries<string>('ttl~'))
      this.#attributes.set(table, attribute);
  }

  async update(body: unknown, store: StoreView): Promise<unknown> {
    const { TableName, TimeToLiveSpecification } = check(body, UPDATE_TYPES, undefined, store as Store) as unknown as {
      TableName: string;
      TimeToLiveSpecification: { Enabled: boolean; AttributeName: string };
    };
    const table = await store.table(TableName, false);
    const { Enabled, AttributeName } = TimeToLiveSpecification;
    const current = this.#attributes.get(TableName);
    if (Enabled === (current !== undefined)) {
      throw validationError(`TimeToLive is already ${Enabled ? 'enabled' : 'disabled'}`);
    }
    if (!Enabled && AttributeName !== current) {
      throw validationError(`TimeToLive is active on a different AttributeName: current AttributeName is ${current}`);
    }
    if (Enabled) await this.#enable(table, AttributeName);
    else await this.forget(TableName);
    return { TimeToLiveSpecification };
  }

  async describe(body: unknown, store: StoreView): Promise<unknown> {
    const { TableName } = check(body, { TableName: TABLE_NAME }, undefined, store as Store);
    await store.table(TableName, false);
    const AttributeName = this.#attributes.get(TableName);
    return {
      TimeToLiveDescription: AttributeName
        ? { TimeToLiveStatus: 'ENABLED', AttributeName }
        : { TimeToLiveStatus: 'DISABLED' },
    };
  }

  /** Ends expiry in a table; its items stay. */
  async forget(table: string): Promise<void> {
    this.#attributes.delete(table);
    await this.#database.del(`ttl~${table}`);
    await this.#database.clear(indexOf(table));
  }

  /** Removes what has expired at `now` (epoch ms). @returns how many items were removed */
  async expire(now: number): Promise<number> {
    const seconds = Math.floor(now / 1_000);
    let removed = 0;
    for (const [table, attribute] of this.#attributes) {
      const range = { gte: padded(Math.max(0, seconds - TOO_OLD_SECONDS)), lt: padded(seconds), limit: SWEEP_PAGE };
      let from = range.gte;
      for (;;) {
        const page: [string, string][] = [];
        const start = from === range.gte ? { gte: from } : { gt: from };
        for await (const entry of this.#database.entries<string>(indexOf(table), {
          ...start,
          lt: range.lt,
          limit: range.limit,
        })) {
          page.push(entry);
        }
        for (const [entry, expiry] of page) {
          if (await this.#remove(table, attribute, entry.slice(SECONDS_DIGITS + 1), expiry)) removed += 1;
        }
        if (page.length < SWEEP_PAGE) break;
        from = page.at(-1)![0];
      }
    }
    return removed;
  }

  /** Removes an item if it still expires when the index says so. */
  async #remove(tableName: string, attribute: string, key: string, expiry: string): Promise<boolean> {
    const view = new StoreView(this.#database, { remover: 'ttl' });
    const item = await this.#database.get<Item>(`item-${tableName}~${key}`);
    if (!item) return false;
    const table = await view.table(tableName);
    const Key = Object.fromEntries(table.KeySchema.map(({ AttributeName }) => [AttributeName, item[AttributeName]!]));
    const expression = { type: '=', args: [[attribute], { N: expiry }] };
    try {
      await view.run(actionOf('DeleteItem'), { TableName: tableName, Key, _condition: { expression } });
      return true;
    } catch (error) {
      if (isServiceError(error) && nameOf(error) === 'ConditionalCheckFailedException') return false;
      throw error;
    }
  }

  async #enable(table: Table, attribute: string): Promise<void> {
    await this.#database.put(`ttl~${table.TableName}`, attribute);
    this.#attributes.set(table.TableName, attribute);
    // From here on writes keep the index; what was there before is added. An entry whose item has changed since says
    // an expiry that the item no longer has, and removes nothing.
    for await (const [key, item] of this.#database.entries<Item>(`item-${table.TableName}~`)) {
      for (const entry of this.#indexed({ table, key, before: undefined, after: item })) {
        if (entry.type === 'put') await this.#database.put(entry.key, entry.value);
      }
    }
  }

  #indexed({ table, key, before, after }: Change): Operation[] {
    const attribute = this.#attributes.get(table.TableName);
    if (attribute === undefined) return [];
    const old = entryOf(table, attribute, key, before);
    const fresh = entryOf(table, attribute, key, after);
    const operations: Operation[] = [];
    if (old && old.key !== fresh?.key) operations.push({ type: 'del', key: old.key });
    if (fresh && fresh.key !== old?.key) operations.push({ type: 'put', ...fresh });
    return operations;
  }
}

const indexOf = (table: string) => `expiry-${table}~`;
const padded = (seconds: number) => String(seconds).padStart(SECONDS_DIGITS, '0');

function entryOf(table: Table, attribute: string, key: string, item: Item | undefined) {
  const value = item?.[attribute]?.N;
  const seconds = Math.floor(Number(value));
  if (value === undefined || !(seconds >= 0) || String(seconds).length > SECONDS_DIGITS) return undefined;
  return { key: `${indexOf(table.TableName)}${padded(seconds)}/${key}`, value };
}
