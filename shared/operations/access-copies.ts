import { ACCESS_COPY_MS } from '../domain/access-limits.ts';
import type { Clock } from '../domain/clock.ts';

/** Copies that one container remembers at most. */
const COPIES_MAX = 10_000;

/** What was read of somebody, and how. */
export interface Copy<T> {
  readonly value: T;
  /** Epoch ms at which its read began. */
  readonly readAt: number;
  readonly isStrong: boolean;
}

/** @returns undefined: there is none */
export type ReadAccess<T> = (name: string, consistent: boolean) => Promise<T | undefined>;

/**
 * A container's copies of what callers may do, at most `ACCESS_COPY_MS` old. As long as there are copies, somebody costs half
 * a read unit a minute. That there is none is not remembered: names that are made up push nobody out.
 */
export class AccessCopies<T> {
  readonly #read: ReadAccess<T>;
  readonly #clock: Clock;
  readonly #copies = new Map<string, Copy<T>>();
  readonly #reading = new Map<string, Promise<Copy<T> | undefined>>();

  constructor(read: ReadAccess<T>, clock: Clock) {
    this.#read = read;
    this.#clock = clock;
  }

  /** Those who ask at the same time share one read. What a weak read does not find is looked for strongly. */
  async get(name: string): Promise<Copy<T> | undefined> {
    const copy = this.#copies.get(name);
    if (copy !== undefined && this.isYounger(copy, ACCESS_COPY_MS)) return copy;
    const reading = this.#reading.get(name) ?? this.#readOnce(name, false).finally(() => this.#reading.delete(name));
    this.#reading.set(name, reading);
    return (await reading) ?? this.fresh(name);
  }

  /** Reads it now, strongly consistent. */
  async fresh(name: string): Promise<Copy<T> | undefined> {
    return this.#readOnce(name, true);
  }

  isYounger({ readAt }: Copy<T>, ms: number): boolean {
    const age = this.#clock.now() - readAt;
    return age >= 0 && age < ms;
  }

  /** Forgets a copy that is known to be wrong. */
  drop(name: string): void {
    this.#copies.delete(name);
  }

  async #readOnce(name: string, isStrong: boolean): Promise<Copy<T> | undefined> {
    const readAt = this.#clock.now();
    const value = await this.#read(name, isStrong);
    this.#copies.delete(name);
    if (value === undefined) return undefined;
    const copy = { value, readAt, isStrong };
    this.#copies.set(name, copy);
    if (this.#copies.size > COPIES_MAX) this.#copies.delete(this.#copies.keys().next().value!);
    return copy;
  }
}
