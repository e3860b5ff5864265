import { NotDelivered, VertebraError } from '../client/index.ts';
import type { InputRecord } from './input-lines.ts';

/** Records on their way in bytes, with what each takes beside them: what a command holds in memory. */
const UNDER_WAY_BYTES_MAX = 16 * 1024 * 1024;
const RECORD_OVERHEAD_BYTES = 512;

/** What became of the records so far. */
export interface DeliveryCounts {
  readonly delivered: number;
  /** Certainly not stored. */
  readonly failed: number;
  /** Nobody knows: no answer came. */
  readonly unknown: number;
}

export interface DeliveryFailure {
  /** Line of the first record that was not delivered. */
  readonly line: number;
  readonly error: VertebraError;
}

/** Hands records on, many at a time, and counts what becomes of them. */
export class Delivery {
  readonly #send: (records: readonly InputRecord[]) => Promise<unknown>;
  readonly #onFailure: () => void;
  readonly #underWay = new Set<Promise<void>>();
  #bytesUnderWay = 0;
  #counts = { delivered: 0, failed: 0, unknown: 0 };
  #failure: DeliveryFailure | undefined;

  /**
   * @param send settles when all of these records are delivered, or some never will be
   * @param onFailure told that there is a `failure`
   */
  constructor(send: (records: readonly InputRecord[]) => Promise<unknown>, onFailure: () => void) {
    this.#send = send;
    this.#onFailure = onFailure;
  }

  get counts(): DeliveryCounts {
    return this.#counts;
  }

  /** The first failure, by line. Once there is one, nothing more should be added. */
  get failure(): DeliveryFailure | undefined {
    return this.#failure;
  }

  /** Takes records over, and waits while too much is under way. */
  async add(records: readonly InputRecord[]): Promise<void> {
    if (records.length === 0) return;
    const bytes = records.reduce((sum, record) => sum + bytesOf(record), 0);
    this.#bytesUnderWay += bytes;
    const done: Promise<void> = this.#deliver(records).finally(() => {
      this.#bytesUnderWay -= bytes;
      this.#underWay.delete(done);
    });
    this.#underWay.add(done);
    while (this.#bytesUnderWay > UNDER_WAY_BYTES_MAX) await Promise.race(this.#underWay);
  }

  /** Waits for all that was added. @throws what is no refusal: a bug */
  async end(): Promise<void> {
    await Promise.all(this.#underWay);
  }

  async #deliver(records: readonly InputRecord[]): Promise<void> {
    try {
      await this.#send(records);
      this.#counts.delivered += records.length;
    } catch (error) {
      if (!(error instanceof VertebraError)) throw error;
      records.forEach((record, i) => {
        const failed = error instanceof NotDelivered ? errorIn(error.results[i]) : error;
        if (failed === undefined) this.#counts.delivered++;
        else this.#countFailure(record.line, failed);
      });
      this.#onFailure();
    }
  }

  #countFailure(line: number, error: VertebraError): void {
    this.#counts[error.effect === 'none' ? 'failed' : 'unknown']++;
    if (this.#failure === undefined || line < this.#failure.line) this.#failure = { line, error };
  }
}

function errorIn(result: NotDelivered['results'][number] | undefined): VertebraError | undefined {
  return result !== undefined && 'error' in result ? result.error : undefined;
}

function bytesOf({ key, value }: InputRecord): number {
  return (key?.length ?? 0) + (value?.length ?? 0) + RECORD_OVERHEAD_BYTES;
}
