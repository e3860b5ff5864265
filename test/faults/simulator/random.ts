/** Numbers that look random and follow from a seed alone (a 32-bit counter, mixed). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (Math.imul(seed, 0x9e3779b1) ^ (seed / 0x1_0000_0000)) >>> 0;
    for (let i = 0; i < 4; i++) this.next();
  }

  /** 0 ≤ n < 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** A whole number from `from` to `to`, both included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.next() * (to - from + 1));
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.next() * list.length)]!;
  }

  shuffled<T>(list: readonly T[]): T[] {
    return list
      .map((value) => ({ value, rank: this.next() }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ value }) => value);
  }

  hex(bytes: number): string {
    let text = '';
    while (text.length < bytes * 2) text += this.between(0, 255).toString(16).padStart(2, '0');
    return text;
  }
}
