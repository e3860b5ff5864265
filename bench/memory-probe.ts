import { syncBuiltinESMExports } from 'node:module';
import zlib from 'node:zlib';

/** Results and arguments from this size on are worth a look. */
const LARGE_BYTES = 64 * 1024;

/** What can be patched: an object by the names of its functions. */
type Owner = Record<string, (...args: unknown[]) => unknown>;

/*
 * Every function by which the backbone makes something large: buffers, strings, JSON, gzip.
 */
const MAKERS: readonly (readonly [owner: object, names: readonly string[]])[] = [
  [zlib, ['gzipSync', 'gunzipSync']],
  [Buffer, ['alloc', 'allocUnsafe', 'concat', 'from']],
  [Buffer.prototype, ['toString', 'latin1Slice', 'utf8Slice']],
  [JSON, ['parse', 'stringify']],
  [TextDecoder.prototype, ['decode']],
];

/**
 * Collects garbage and looks at what is left, each time that something large was made, while its maker's caller still
 * holds whatever it holds. Slow: for a process that does nothing else. Needs `--expose-gc`.
 */
export class MemoryProbe {
  #watching = false;
  #peakBytes = 0;

  constructor() {
    for (const [owner, names] of MAKERS) for (const name of names) this.#wrap(owner as Owner, name);
    syncBuiltinESMExports();
  }

  /** Runs `work`. @returns the most that was in use beyond what is before it, bytes of heap and buffers */
  async peakBytesOf(work: () => Promise<unknown>): Promise<number> {
    const before = inUse();
    this.#peakBytes = before;
    this.#watching = true;
    await work();
    this.#watching = false;
    return this.#peakBytes - before;
  }

  /** Has a look now. */
  look(): void {
    if (this.#watching) this.#peakBytes = Math.max(this.#peakBytes, inUse());
  }

  #wrap(owner: Owner, name: string): void {
    const made = owner[name]!;
    const look = (sizes: readonly unknown[]) => {
      if (this.#watching && sizes.some((size) => lengthOf(size) >= LARGE_BYTES)) this.look();
    };
    owner[name] = function (this: unknown, ...args: unknown[]) {
      const result = made.apply(this, args);
      look([result, args[0]]);
      return result;
    };
  }
}

/** Bytes in use once the garbage is gone: heap, and buffers outside it. Twice, for buffers go after their owners. */
export function inUse(): number {
  globalThis.gc!();
  globalThis.gc!();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function lengthOf(value: unknown): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
}
