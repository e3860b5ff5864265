import type { Clock } from '../domain/clock.ts';
import { TopicNotFound } from '../domain/errors.ts';
import { CONFIGURATION_CACHE_MS } from '../domain/limits.ts';
import type { Topic } from '../domain/topic.ts';

/** Topics that one container remembers at most. */
const TOPICS_MAX = 10_000;

interface TopicReader {
  /** Strongly consistent. */
  read(name: string): Promise<Topic | undefined>;
}

interface Copy {
  readonly topic: Topic;
  /** Epoch ms at which its read began. */
  readonly readAt: number;
  /** Reads in the order in which they began. */
  readonly turn: number;
}

/**
 * A container's copies of topics' configuration, at most `CONFIGURATION_CACHE_MS` old (A6). Many requests for one
 * topic share one read. What a copy would refuse must be judged again on `fresh`.
 */
export class TopicCache {
  readonly #reader: TopicReader;
  readonly #clock: Clock;
  readonly #copies = new Map<string, Copy>();
  readonly #reading = new Map<string, Promise<Topic>>();
  #turns = 0;

  constructor(reader: TopicReader, clock: Clock) {
    this.#reader = reader;
    this.#clock = clock;
  }

  /** @throws {TopicNotFound}, and what the read throws */
  async get(name: string): Promise<Topic> {
    const copy = this.#copies.get(name);
    if (copy !== undefined) {
      const age = this.#clock.now() - copy.readAt;
      if (age >= 0 && age < CONFIGURATION_CACHE_MS) return copy.topic;
    }
    const reading = this.#reading.get(name);
    // A read that began earlier may not know a topic that was made since.
    return reading?.catch(() => this.#read(name)) ?? this.#read(name);
  }

  /** Reads the topic now. A read that began earlier will not do. @throws {TopicNotFound}, and what the read throws */
  async fresh(name: string): Promise<Topic> {
    return this.#read(name);
  }

  /** Forgets a copy that proved wrong. */
  drop(name: string): void {
    this.#copies.delete(name);
  }

  #read(name: string): Promise<Topic> {
    const reading = this.#readOnce(name).finally(() => {
      if (this.#reading.get(name) === reading) this.#reading.delete(name);
    });
    this.#reading.set(name, reading);
    return reading;
  }

  async #readOnce(name: string): Promise<Topic> {
    const readAt = this.#clock.now();
    const turn = ++this.#turns;
    const topic = await this.#reader.read(name);
    // A read that began earlier may end later: the younger copy stays.
    const known = this.#copies.get(name);
    if (known !== undefined && known.turn > turn) return topic ?? known.topic;
    this.#copies.delete(name);
    if (topic === undefined) throw new TopicNotFound(name);
    this.#copies.set(name, { topic, readAt, turn });
    if (this.#copies.size > TOPICS_MAX) this.#copies.delete(this.#copies.keys().next().value!);
    return topic;
  }
}
