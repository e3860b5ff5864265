import type { Item, Operation, Table } from 'dynalite/db/index.js';
import { KeyLocks } from '../storage/key-locks.ts';
import { Records } from '../storage/records.ts';

/** One item that a request changes: the image before (absent: created) and after (absent: removed). */
export interface Change {
  readonly table: Table;
  /** Key inside the table, as dynalite spells it. */
  readonly key: string;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
}

/** Who removed an item, when it was not a request. */
export type Remover = 'user' | 'ttl';

/** Adds what must be stored together with a change, such as an index of expiry times. */
export type Companion = (change: Change) => Operation[];

/**
 * All data, stored so that one request's changes are found whole or not at all, also after the process was killed.
 *
 * key                                        value
 * table~<name>                               description of the table           (dynalite's)
 * item-<table>~<key>                         item, as on the wire               (dynalite's)
 * index-<local|global>~<table>~<index>~<key> projected item                     (dynalite's)
 * tag-<table>~<key>                          tag                                (dynalite's)
 * ttl~<table>                                name of the expiry attribute
 * expiry-<table>~<seconds, padded>/<key>     nothing: the item is due then
 * removed-<table>~<keys as JSON>             nothing: the item is gone, and nobody has followed that
 * token~<client request token>               what a transaction was, and when
 */
export class Database extends Records {
  readonly locks = new KeyLocks();
  readonly companions: Companion[] = [];
  /** Called once changes are stored, while their items are still locked: in the order of each item's changes. */
  readonly listeners: ((changes: readonly Change[], remover: Remover) => void)[] = [];

  /** Key of an item, unique over all tables. Also the name of its lock. */
  static itemKey(table: string, key: string): string {
    return `item-${table}~${key}`;
  }

  /** Stores changes and what goes with them at one stroke, then tells. */
  async store(changes: readonly Change[], more: readonly Operation[] = [], remover: Remover = 'user'): Promise<void> {
    const operations: Operation[] = [...more];
    for (const change of changes) {
      const key = Database.itemKey(change.table.TableName, change.key);
      operations.push(change.after ? { type: 'put', key, value: change.after } : { type: 'del', key });
      for (const companion of this.companions) operations.push(...companion(change));
    }
    await this.batch(operations);
    for (const listener of this.listeners) listener(changes, remover);
  }
}
