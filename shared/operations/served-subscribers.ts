import type { Subscriber } from '../domain/wake-up.ts';

/** Topics that one container remembers at most. */
const TOPICS_MAX = 10_000;

/** Whom of a topic's subscribers this container served last. Nothing rests on it: it may be empty, or out of date. */
export class ServedSubscribers {
  readonly #last = new Map<string, Subscriber>();

  get(topicId: string): Subscriber | undefined {
    return this.#last.get(topicId);
  }

  /** @param to absent: there is none */
  set(topicId: string, to: Subscriber | undefined): void {
    if (to === undefined) {
      this.#last.delete(topicId);
      return;
    }
    this.#last.set(topicId, to);
    if (this.#last.size > TOPICS_MAX) this.#last.delete(this.#last.keys().next().value!);
  }
}
