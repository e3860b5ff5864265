import type { RecordFormat } from './consume-formats.ts';
import type { ConsumedRecord } from './record-text.ts';
import { flushed, type Output, write } from './terminal.ts';

/** Writes records until there were enough, or nobody wants more. */
export class RecordSink {
  readonly #output: Output;
  readonly #format: RecordFormat;
  readonly #max: number;
  readonly #ending = new AbortController();
  #taken = 0;
  #isBroken = false;

  /** @param signal ends it from outside */
  constructor(output: Output, format: RecordFormat, max: number | undefined, signal: AbortSignal) {
    this.#output = output;
    this.#format = format;
    this.#max = max ?? Number.POSITIVE_INFINITY;
    if (signal.aborted) this.#ending.abort();
    signal.addEventListener('abort', () => this.#ending.abort(), { once: true });
  }

  /** Aborted when no record is wanted any more. */
  get ended(): AbortSignal {
    return this.#ending.signal;
  }

  /** @returns whether all that was taken has left this process: not when whoever read it is gone */
  async flushed(): Promise<boolean> {
    if (!this.#isBroken) await flushed(this.#output);
    return !this.#isBroken;
  }

  /** No record is wanted any more. */
  end(): void {
    this.#ending.abort();
  }

  /** Writes a record, unless it has ended. @returns whether it was written */
  async take(record: ConsumedRecord): Promise<boolean> {
    if (this.ended.aborted) return false;
    if (this.#taken === 0) this.#output.write(this.#format.head);
    this.#taken++;
    const written = write(this.#output, this.#format.line(record), () => {
      this.#isBroken = true;
    });
    if (this.#taken >= this.#max) this.#ending.abort();
    await written;
    return true;
  }
}
