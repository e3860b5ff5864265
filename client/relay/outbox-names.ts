import { InvalidOptions } from '../errors.ts';
import { TABLE_NAME_CHARS_MAX } from './limits.ts';

/** The names of an outbox, quoted for SQL: they are as they are written, capitals included. */
export interface OutboxNames {
  readonly table: string;
  /** One row per lane: who works on it, and what is on its way. */
  readonly lanes: string;
  readonly asideIndex: string;
}

/** @param table `name` or `schema.name` @throws {InvalidOptions} */
export function namesOf(table: string): OutboxNames {
  const parts = typeof table === 'string' ? table.split('.') : [];
  const isName = (part: string) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(part) && part.length <= TABLE_NAME_CHARS_MAX;
  if (parts.length < 1 || parts.length > 2 || !parts.every(isName)) {
    const form = `letters, digits and _, at most ${TABLE_NAME_CHARS_MAX}`;
    throw new InvalidOptions(`'table' must be a name or schema.name, each of ${form}, not ${JSON.stringify(table)}`);
  }
  const name = parts.at(-1)!;
  const within = parts.length === 2 ? `"${parts[0]}".` : '';
  return {
    table: `${within}"${name}"`,
    lanes: `${within}"${name}_lanes"`,
    asideIndex: `"${name}_aside"`, // an index is in the schema of its table
  };
}
