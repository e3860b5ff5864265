import { DeliveryTimeout } from './errors.ts';
import { type Surroundings, unlessAborted } from './surroundings.ts';

/** Lets one caller at a time through, in the order in which they came. */
export class Turnstile {
  #last: Promise<void> = Promise.resolve();

  /** @throws {Aborted} while it waits for its turn, which then passes to the next */
  async pass<T>(act: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const before = this.#last;
    let leave = () => {};
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.#last = before.then(() => left);
    try {
      await unlessAborted(before, signal);
      return await act();
    } finally {
      leave();
    }
  }
}

/** Room for so many bytes. One caller at a time may wait for it. */
export class Budget {
  readonly #maxBytes: number;
  #used = 0;
  #wake = () => {};

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes taken. */
  get used(): number {
    return this.#used;
  }

  /** Takes room if there is some. What is larger than all of it needs it to be empty. */
  tryTake(bytes: number): boolean {
    if (this.#used > 0 && this.#used + bytes > this.#maxBytes) return false;
    this.#used += bytes;
    return true;
  }

  /** @throws {DeliveryTimeout} when there is none within `waitMs` @throws {Aborted} */
  async take(bytes: number, waitMs: number, { sleep }: Surroundings, signal: AbortSignal): Promise<void> {
    if (this.tryTake(bytes)) return;
    const enough = new AbortController();
    const over = sleep(waitMs, enough.signal).then(
      () => 'late' as const,
      () => 'late' as const,
    );
    try {
      while (!this.tryTake(bytes)) {
        const freed = new Promise<'freed'>((resolve) => {
          this.#wake = () => resolve('freed');
        });
        if ((await unlessAborted(Promise.race([freed, over]), signal)) === 'late') {
          throw new DeliveryTimeout(waitMs, 'none', new Error('the buffer stayed full'));
        }
      }
    } finally {
      enough.abort();
    }
  }

  release(bytes: number): void {
    this.#used -= bytes;
    this.#wake();
  }
}

/** Lets so many through at a time; the others wait, in order. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async hold<T>(act: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await act();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free++;
      else next();
    }
  }
}
