import type { Item } from './expressions.ts';

export const TABLES = { logTable: 'log', stateTable: 'state' };

/** Names of the partition key (a text) and of the sort key of each table. */
export const KEYS: Readonly<Record<string, readonly [string, string]>> = {
  log: ['log', 'last'],
  state: ['pk', 'sk'],
  /** What those keep who process records. */
  user: ['pk', 'sk'],
};

export interface Change {
  readonly table: string;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
}

/** What a request comes to: the answer, or the error that the SDK makes of the refusal. */
export type Outcome = { readonly output: object } | { readonly error: Error };

/** DynamoDB with the backbone's two tables and one of its users, without a network: a request is carried out when it is run. */
export interface DynamoModel {
  /** Epoch ms. */
  now: number;
  /** Told of every change while it is made. */
  onChange: (change: Change) => void;
  run(operation: string, input: object): Promise<Outcome>;
  /** Everything that is stored, in one order for all engines. */
  items(): Promise<{ readonly table: string; readonly item: Item }[]>;
  empty(): Promise<void>;
}

/** The part of an item that names it. */
export function keyOf(table: string, item: Item): Item {
  return Object.fromEntries(KEYS[table]!.map((name) => [name, item[name]!]));
}
