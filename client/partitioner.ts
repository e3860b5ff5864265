import { partitionOf } from '../shared/domain/partition.ts';
import { ValidationError } from './errors.ts';

/** A record whose partition is to be chosen. */
export interface ToPlace {
  readonly topic: string;
  readonly key: Uint8Array | null;
  /** 0 to this − 1. */
  readonly partitions: number;
}

/** Chooses a partition; undefined leaves it to the default. Must be quick, and the same for the same key. */
export type Partitioner = (record: ToPlace) => number | undefined;

/**
 * Where records of one topic go, as Kafka's Java client has it: by murmur2 of the key's bytes; without a key to one
 * partition until its batch is sent, then to another, so that such records share batches.
 */
export class Placer {
  readonly #topic: string;
  readonly #partitioner: Partitioner | undefined;
  readonly #random: () => number;
  #sticky: number | undefined;

  constructor(topic: string, partitioner: Partitioner | undefined, random: () => number) {
    this.#topic = topic;
    this.#partitioner = partitioner;
    this.#random = random;
  }

  /** @throws {ValidationError} when the user's partitioner chooses what does not exist */
  place(key: Uint8Array | null, partitions: number): number {
    const chosen = this.#partitioner?.({ topic: this.#topic, key, partitions });
    if (chosen !== undefined) {
      if (Number.isInteger(chosen) && chosen >= 0 && chosen < partitions) return chosen;
      throw new ValidationError(
        `The partitioner chose ${chosen}; '${this.#topic}' has partitions 0 to ${partitions - 1}`,
      );
    }
    if (key !== null) return partitionOf(key, partitions);
    this.#sticky ??= Math.floor(this.#random() * partitions);
    return this.#sticky;
  }

  /** A batch for this partition is complete: keyless records that follow go elsewhere. */
  moveOn(partition: number): void {
    if (this.#sticky === partition) this.#sticky = undefined;
  }
}
