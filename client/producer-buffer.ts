import { DeliveryTimeout } from './errors.ts';
import { LATE, type Surroundings, within } from './surroundings.ts';

/** Lets one caller at a time through, in the order in which they came. */
export class Turnstile {
  #last: Promise<void> = Promise.resolve();

  async pass<T>(act: () => Promise<T>): Promise<T> {
    const before = this.#last;
    let leave = () => {};
    this.#last = new Promise((resolve) => {
      leave = resolve;
    });
    await before;
    try {
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
  #wake: (() => void) | undefined;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes taken. */
  get used(): number {
    return this.#used;
  }

  /** Whether somebody waits for room. */
  get isWaitedFor(): boolean {
    return this.#wake !== undefined;
  }

  /** Takes room if there is some. What is larger than all of it needs it to be empty. */
  tryTake(bytes: number): boolean {
    if (this.#used > 0 && this.#used + bytes > this.#maxBytes) return false;
    this.#used += bytes;
    return true;
  }

  /** @throws {DeliveryTimeout} when there is none within `waitMs` @throws {Aborted} */
  async take(bytes: number, waitMs: number, surroundings: Surroundings, signal: AbortSignal): Promise<void> {
    const until = surroundings.now() + waitMs;
    try {
      while (!this.tryTake(bytes)) {
        const freed = new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        if ((await within(freed, until - surroundings.now(), surroundings, signal)) === LATE) {
          throw new DeliveryTimeout(waitMs, 'none', new Error('the buffer stayed full'));
        }
      }
    } finally {
      this.#wake = undefined;
    }
  }

  release(bytes: number): void {
    this.#used -= bytes;
    this.#wake?.();
  }
}

/** Lets so many through at a time; the others wait, in order. */
export class Slots {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  /** @returns `LATE`, without having acted, when no turn comes within `waitMs` @throws {Aborted} */
  async hold<T>(
    act: () => Promise<T>,
    waitMs: number,
    surroundings: Surroundings,
    signal: AbortSignal,
  ): Promise<T | typeof LATE> {
    if (this.#free > 0) this.#free--;
    else if ((await this.#turn(waitMs, surroundings, signal)) === LATE) return LATE;
    try {
      return await act();
    } finally {
      this.#leave();
    }
  }

  async #turn(waitMs: number, surroundings: Surroundings, signal: AbortSignal): Promise<typeof LATE | undefined> {
    let begin = () => {};
    const turn = new Promise<undefined>((resolve) => {
      begin = () => resolve(undefined);
    });
    this.#waiting.push(begin);
    try {
      const came = await within(turn, waitMs, surroundings, signal);
      if (came === LATE) this.#goWithout(begin);
      return came;
    } catch (error) {
      this.#goWithout(begin);
      throw error;
    }
  }

  /** Its turn may have come in the same moment: then the next one has it. */
  #goWithout(begin: () => void): void {
    const at = this.#waiting.indexOf(begin);
    if (at < 0) this.#leave();
    else this.#waiting.splice(at, 1);
  }

  #leave(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
