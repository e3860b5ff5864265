import { Readable } from 'node:stream';
import type { ClassicLevel } from 'classic-level';
import type { Callback, Collection, Operation, Range } from 'dynalite/db/index.js';
import { MemoryLevel } from 'memory-level';

/** An ordered store of JSON values under text keys: LevelDB on disk, or the same in memory. */
export type Level = ClassicLevel<string, unknown> | MemoryLevel<string, unknown>;

/** Another process, or this one, has the same data folder open. Nothing was read or written. */
export class DataInUse extends Error {
  constructor(
    readonly path: string,
    options?: ErrorOptions,
  ) {
    super(`the data in ${path} is in use by another running backbone`, options);
    this.name = 'DataInUse';
  }
}

/** Opens the store in folder `path`, or in memory when there is none. @throws {DataInUse} */
export async function openLevel(path: string | undefined): Promise<Level> {
  if (path === undefined) {
    const memory = new MemoryLevel<string, unknown>({ valueEncoding: 'json' });
    await memory.open();
    return memory;
  }
  // Native code, of no use in memory.
  const { ClassicLevel } = await import('classic-level');
  const disk = new ClassicLevel<string, unknown>(path, { valueEncoding: 'json' });
  try {
    await disk.open();
  } catch (error) {
    if (isLocked(error)) throw new DataInUse(path, { cause: error });
    throw error;
  }
  return disk;
}

function isLocked(error: unknown): boolean {
  return (
    error instanceof Error &&
    error.cause instanceof Error &&
    'code' in error.cause &&
    error.cause.code === 'LEVEL_LOCKED'
  );
}

/** Ends every key of a collection: above all characters that keys are made of. */
const LAST = '\u{10ffff}';

/** Range of all keys that begin with `prefix`. */
export function within(prefix: string, range: Range = {}): Range {
  const inside: Range = { limit: range.limit ?? -1, reverse: range.reverse ?? false };
  if (range.gt !== undefined) inside.gt = prefix + range.gt;
  else inside.gte = prefix + (range.gte ?? '');
  if (range.lte !== undefined) inside.lte = prefix + range.lte;
  else inside.lt = prefix + (range.lt ?? LAST);
  return inside;
}

/** The values of a range, from one snapshot, read a few at a time; the snapshot goes when the reader goes. */
export function valuesOf(level: Level, range: Range, onValue?: (value: unknown) => void): Readable {
  return streamOf((level as ClassicLevel<string, unknown>).values(range), onValue);
}

function streamOf(
  iterator: { nextv(size: number): Promise<unknown[]>; close(): Promise<void> },
  onValue?: (value: unknown) => void,
): Readable {
  return new Readable({
    objectMode: true,
    read(size) {
      iterator.nextv(size).then(
        (found) => {
          for (const value of found) {
            onValue?.(value);
            this.push(value);
          }
          if (found.length === 0) this.push(null);
        },
        (error) => this.destroy(error),
      );
    },
    destroy(error, done) {
      iterator.close().then(
        () => done(error),
        (closing) => done(error ?? closing),
      );
    },
  });
}

/** Part of a store whose keys begin with `prefix`, in the shape that dynalite's actions use. */
export class LevelCollection implements Collection {
  constructor(
    readonly level: Level,
    readonly prefix: string,
    readonly settle: (promise: Promise<unknown>, answer: Callback) => void,
    readonly lock: Collection['lock'],
  ) {}

  get(key: string, answer: Callback): void {
    this.settle(this.level.get(this.prefix + key), answer);
  }

  put(key: string, value: unknown, answer: Callback): void {
    this.settle(this.level.put(this.prefix + key, value), answer);
  }

  del(key: string, answer: Callback): void {
    this.settle(this.level.del(this.prefix + key), answer);
  }

  batch(operations: Operation[], answer: Callback): void {
    const named = operations.map((operation) => ({ ...operation, key: this.prefix + operation.key }));
    this.settle((this.level as ClassicLevel<string, unknown>).batch(named), answer);
  }

  createKeyStream(): Readable {
    const keys = (this.level as ClassicLevel<string, unknown>).keys(within(this.prefix));
    return streamOf({
      nextv: async (size) => (await keys.nextv(size)).map((key) => key.slice(this.prefix.length)),
      close: () => keys.close(),
    });
  }

  createValueStream(range?: Range): Readable {
    return valuesOf(this.level, within(this.prefix, range));
  }
}
