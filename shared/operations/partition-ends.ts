import { DOCTOR_PARTITIONS_REMEMBERED } from '../domain/doctor-limits.ts';
import type { PartitionId, Topic } from '../domain/topic.ts';
import { examinePartition, type PartitionEnd, type PartitionPorts } from './examine-partitions.ts';

export interface PartitionEndsPorts extends PartitionPorts {
  readonly topicItems: PartitionPorts['topicItems'] & { read(name: string): Promise<Topic | undefined> };
}

/** Where partitions end, looked up once for the many groups and claims that point into them. */
export class PartitionEnds {
  readonly #ports: PartitionEndsPorts;
  readonly #topics = new Map<string, Promise<Topic | undefined>>();
  readonly #ends = new Map<string, Promise<PartitionEnd | undefined>>();

  constructor(ports: PartitionEndsPorts) {
    this.#ports = ports;
  }

  /**
   * Where the log of a partition ends, if that is below `offset`, which was read before this is called.
   *
   * @param name of the topic @returns undefined also when the topic is no longer this incarnation
   */
  async endBelow(name: string, partition: PartitionId, offset: number): Promise<number | undefined> {
    const known = await remembered(this.#ends, keyOf(partition), () => this.#look(name, partition));
    if (known === undefined || offset <= lastOf(known)) return undefined;
    // It may have grown since it was looked at.
    const now = await this.#look(name, partition);
    return now === undefined || offset <= lastOf(now) ? undefined : lastOf(now);
  }

  async #look(name: string, { topicId, partition }: PartitionId): Promise<PartitionEnd | undefined> {
    const topic = await remembered(this.#topics, name, () => this.#ports.topicItems.read(name));
    if (topic?.id !== topicId || partition >= topic.partitions) return undefined;
    return (await examinePartition(this.#ports, topic, partition, false)).end;
  }
}

function lastOf({ lostFrom, next }: PartitionEnd): number {
  return lostFrom ?? next;
}

function keyOf({ topicId, partition }: PartitionId): string {
  return `${topicId}.${partition}`;
}

function remembered<T>(memory: Map<string, Promise<T>>, key: string, look: () => Promise<T>): Promise<T> {
  const known = memory.get(key);
  if (known !== undefined) return known;
  const found = look();
  memory.set(key, found);
  if (memory.size > DOCTOR_PARTITIONS_REMEMBERED) memory.delete(memory.keys().next().value!);
  return found;
}
