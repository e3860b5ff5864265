import type { TopicPartition } from './consumer-errors.ts';
import { InvalidOptions } from './errors.ts';

export interface TopicPartitions {
  readonly topic: string;
  /** Absent: all of them. */
  readonly partitions?: readonly number[];
}

/** What the user wants no records of for now; it outlives rebalances. */
export class PauseList {
  readonly #topics = new Map<string, { all: boolean; readonly partitions: Set<number> }>();

  /** @throws {InvalidOptions} before anything is paused */
  pause(places: readonly TopicPartitions[]): void {
    check(places);
    for (const { topic, partitions } of places) {
      const paused = this.#topics.get(topic) ?? { all: false, partitions: new Set() };
      if (partitions === undefined) paused.all = true;
      else for (const partition of partitions) paused.partitions.add(partition);
      this.#topics.set(topic, paused);
    }
  }

  /** A partition of a topic that is paused as a whole stays so until the topic is resumed. */
  resume(places: readonly TopicPartitions[]): void {
    check(places);
    for (const { topic, partitions } of places) {
      if (partitions === undefined) this.#topics.delete(topic);
      else for (const partition of partitions) this.#topics.get(topic)?.partitions.delete(partition);
    }
  }

  has({ topic, partition }: TopicPartition): boolean {
    const paused = this.#topics.get(topic);
    return paused !== undefined && (paused.all || paused.partitions.has(partition));
  }

  list(): TopicPartitions[] {
    return [...this.#topics].flatMap(([topic, { all, partitions }]) => {
      if (all) return [{ topic }];
      return partitions.size > 0 ? [{ topic, partitions: [...partitions].sort((a, b) => a - b) }] : [];
    });
  }
}

/** A topic's name alone, as it is easily written, would pause nothing. */
function check(places: readonly TopicPartitions[]): void {
  const areMeant =
    Array.isArray(places) &&
    places.every(({ topic, partitions = [] }) => typeof topic === 'string' && Array.isArray(partitions));
  if (!areMeant) throw new InvalidOptions('Name what is paused or resumed as [{ topic, partitions? }]');
}
