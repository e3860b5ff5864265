import type { Item, Operation } from 'dynalite/db/index.js';
import type { Database } from './database.ts';

/**
 * Keys of items that are gone from one table and that nobody has followed yet. Each is stored at one stroke with the
 * removal itself, so a process that was killed in between leaves it to the next one.
 *
 * key                                        value
 * removed-<table>~<keys of the item, JSON>   nothing
 */
export class RemovalJournal {
  readonly #database: Database;
  readonly #prefix: string;

  constructor(database: Database, tableName: string) {
    this.#database = database;
    this.#prefix = `removed-${tableName}~`;
    database.companions.push(({ table, before, after }): Operation[] => {
      if (table.TableName !== tableName || before === undefined || after !== undefined) return [];
      const keys = Object.fromEntries(table.KeySchema.map(({ AttributeName: name }) => [name, before[name]!]));
      return [{ type: 'put', key: this.#entry(keys), value: '' }];
    });
  }

  /** What earlier processes left, and what this one has not followed yet. */
  async pending(): Promise<Item[]> {
    const found: Item[] = [];
    for await (const [entry] of this.#database.entries(this.#prefix)) found.push(JSON.parse(entry) as Item);
    return found;
  }

  /** These have been followed. */
  async forget(keys: readonly Item[]): Promise<void> {
    await this.#database.batch(keys.map((item) => ({ type: 'del', key: this.#entry(item) })));
  }

  #entry(keys: Item): string {
    return `${this.#prefix}${JSON.stringify(keys)}`;
  }
}
