import type { Item, Operation, Store, Table } from 'dynalite/db/index.js';
import { type Change, Database } from './database.ts';
import { validationError } from './errors.ts';
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

  /**
   * Removes what has expired at `now` (epoch ms): items whose expiry, in whole seconds, is past.
   * @returns how many items were removed
   */
  async expire(now: number): Promise<number> {
    const seconds = Math.floor(now / 1_000);
    let removed = 0;
    for (const table of [...this.#attributes.keys()]) {
      let from: { gt: string } | { gte: string } = { gte: padded(Math.max(0, seconds - TOO_OLD_SECONDS)) };
      for (;;) {
        const page: string[] = [];
        const range = { ...from, lt: padded(seconds), limit: SWEEP_PAGE };
        for await (const [entry] of this.#database.entries(indexOf(table), range)) page.push(entry);
        for (const entry of page) if (await this.#remove(table, entry)) removed += 1;
        if (page.length < SWEEP_PAGE) break;
        from = { gt: page.at(-1)! };
      }
    }
    return removed;
  }

  /** Removes an item if it still expires when its index entry says so; a stale entry goes by itself. */
  async #remove(tableName: string, entry: string): Promise<boolean> {
    const key = entry.slice(SECONDS_DIGITS + 1);
    const itemKey = Database.itemKey(tableName, key);
    return this.#database.locks.holding([itemKey], async () => {
      const item = await this.#database.get<Item>(itemKey);
      const table = await this.#database.get<Table>(`table~${tableName}`);
      const attribute = this.#attributes.get(tableName);
      const expected = table && attribute && item && entryOf(table, attribute, key, item)?.key;
      if (!table || !item || expected !== indexOf(tableName) + entry) {
        await this.#database.del(indexOf(tableName) + entry);
        return false;
      }
      const collect = { changes: [], operations: [] };
      const Key = Object.fromEntries(table.KeySchema.map(({ AttributeName }) => [AttributeName, item[AttributeName]!]));
      await new StoreView(this.#database, { collect }).run(actionOf('DeleteItem'), { TableName: tableName, Key });
      await this.#database.store(collect.changes, collect.operations, 'ttl');
      return true;
    });
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
  return { key: `${indexOf(table.TableName)}${padded(seconds)}/${key}`, value: '' };
}
