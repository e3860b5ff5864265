import type { ClassicLevel } from 'classic-level';
import type { Operation, Range } from 'dynalite/db/index.js';
import { type Level, within } from './level.ts';

/** Values under text keys, in the order of the keys' UTF-8 bytes. */
export class Records {
  constructor(readonly level: Level) {}

  async get<T>(key: string): Promise<T | undefined> {
    return (await this.level.get(key)) as T | undefined;
  }

  async put(key: string, value: unknown): Promise<void> {
    await this.level.put(key, value);
  }

  async del(key: string): Promise<void> {
    await this.level.del(key);
  }

  /** Keys and values of a range below `prefix`; keys come without it. */
  async *entries<T>(prefix: string, range: Range = {}): AsyncGenerator<[string, T]> {
    const found = (this.level as ClassicLevel<string, unknown>).iterator(within(prefix, range));
    for await (const [key, value] of found) yield [key.slice(prefix.length), value as T];
  }

  /** Does all of it or, when the process is killed meanwhile, nothing. */
  async batch(operations: readonly Operation[]): Promise<void> {
    await (this.level as ClassicLevel<string, unknown>).batch([...operations]);
  }

  /** Removes everything below `prefix`. */
  async clear(prefix: string): Promise<void> {
    await (this.level as ClassicLevel<string, unknown>).clear(within(prefix));
  }
}
