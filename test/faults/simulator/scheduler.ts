import type { Random } from './random.ts';

interface Event {
  readonly at: number;
  /** Orders events of the same moment: drawn, so that every order comes up. */
  readonly rank: number;
  readonly label: string;
  act(): void | Promise<void>;
}

/** What came of a promise until nothing more could move. */
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Thrown when a run does not come to an end. */
export class NoEnd extends Error {}

/**
 * Virtual time, and the one order in which everything happens. An event runs, whatever it set going runs until it waits
 * for another event, and only then comes the next: nothing depends on the machine, so a seed gives one run.
 */
export class Scheduler {
  /** Epoch ms. */
  now: number;
  /** One line per event and note, when it is asked for. */
  readonly trace: string[] | undefined;
  events = 0;
  readonly #random: Random;
  readonly #heap: Event[] = [];

  constructor(random: Random, start: number, traced: boolean) {
    this.#random = random;
    this.now = start;
    this.trace = traced ? [] : undefined;
  }

  /** Clocks show whole milliseconds, so that is when things happen. */
  at(time: number, label: string, act: Event['act']): void {
    const event = { at: Math.max(Math.ceil(time), this.now), rank: this.#random.next(), label, act };
    const heap = this.#heap;
    let child = heap.push(event) - 1;
    while (child > 0) {
      const parent = (child - 1) >> 1;
      if (!isBefore(event, heap[parent]!)) break;
      heap[child] = heap[parent]!;
      child = parent;
    }
    heap[child] = event;
  }

  after(ms: number, label: string, act: Event['act']): void {
    this.at(this.now + ms, label, act);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, '', resolve));
  }

  note(line: () => string): void {
    this.trace?.push(`${this.now} ${line()}`);
  }

  /** Runs until `work` is done. @throws {NoEnd} after `eventsMax` events, or when nothing is left to happen */
  async run<T>(work: Promise<T>, eventsMax: number): Promise<T> {
    let result: { value: T } | { error: unknown } | undefined;
    work.then(
      (value) => {
        result = { value };
      },
      (error) => {
        result = { error };
      },
    );
    await settled();
    while (result === undefined) {
      const event = this.#take();
      if (event === undefined) throw new NoEnd('the run waits for something that will not happen');
      if (++this.events > eventsMax) throw new NoEnd(`the run has not ended after ${eventsMax} events`);
      this.now = event.at;
      if (event.label !== '') this.note(() => event.label);
      await event.act();
      await settled();
    }
    if ('error' in result) throw result.error;
    return result.value;
  }

  #take(): Event | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || first === last) return first;
    let parent = 0;
    for (;;) {
      let child = 2 * parent + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1;
      if (!isBefore(heap[child]!, last)) break;
      heap[parent] = heap[child]!;
      parent = child;
    }
    heap[parent] = last;
    return first;
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at === b.at ? a.rank < b.rank : a.at < b.at;
}
