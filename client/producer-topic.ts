import { VertebraError } from './errors.ts';
import { TOPIC_AGE_MS_MAX } from './limits.ts';
import { type Partitioner, Placer } from './partitioner.ts';
import type { BufferedRecord } from './producer-batch.ts';
import { Brake } from './producer-brake.ts';
import { type LanePorts, PartitionLane } from './producer-lane.ts';
import type { EncodedRecord } from './producer-record.ts';
import { pathOf } from './transport.ts';

/** One topic as a producer knows it: how many partitions it has, and what is on its way to each. */
export class ProducerTopic<T> {
  readonly #name: string;
  readonly #ports: LanePorts;
  readonly #placer: Placer;
  readonly #lanes = new Map<number, PartitionLane<T>>();
  #partitions = 0;
  #learnedAt = 0;
  /** What is known is not only old, but not to be used any more. */
  #isUnknown = true;
  #refreshing = false;

  constructor(name: string, ports: Omit<LanePorts, 'brake'>, partitioner: Partitioner | undefined) {
    this.#name = name;
    this.#ports = { ...ports, brake: new Brake(name, ports.connection) };
    this.#placer = new Placer(name, partitioner, ports.connection.surroundings.random);
  }

  /**
   * Knows how many partitions there are, once this resolves. An old answer serves while a new one is asked for.
   * @param withinMs how long to try
   * @throws {ApiError} `topic_not_found` @throws {ConnectionError} @throws {RequestTimeout} @throws {Aborted}
   */
  async ready(withinMs: number, signal: AbortSignal): Promise<void> {
    if (this.#isUnknown) await this.#learn(withinMs, signal);
    else if (this.#ports.connection.surroundings.now() - this.#learnedAt > TOPIC_AGE_MS_MAX) this.#refresh(withinMs);
  }

  /** @throws {VertebraError} `partition_not_found` when the topic has none of this number. Else as `ready` does */
  async check(partition: number, withinMs: number, signal: AbortSignal): Promise<void> {
    if (partition >= this.#partitions) await this.#learn(withinMs, signal); // it may have grown
    if (partition < this.#partitions) return;
    const message = `'${this.#name}' has partitions 0 to ${this.#partitions - 1}, not ${partition}`;
    throw new VertebraError('partition_not_found', message, { data: { partition, partitions: this.#partitions } });
  }

  /** The partition that a record goes to. @throws {ValidationError} when the partitioner chose none that exists */
  place({ partition, key }: EncodedRecord): number {
    return partition ?? this.#placer.place(key, this.#partitions);
  }

  add(partition: number, record: BufferedRecord<T>): void {
    let lane = this.#lanes.get(partition);
    if (lane === undefined) {
      lane = new PartitionLane<T>(this.#name, partition, this.#ports, {
        onComplete: () => this.#placer.moveOn(partition),
        onMissing: () => {
          this.#isUnknown = true;
        },
        onIdle: () => this.#lanes.delete(partition),
      });
      this.#lanes.set(partition, lane);
    }
    lane.add(record);
  }

  /** Whether nothing is on its way. */
  get isIdle(): boolean {
    return this.#lanes.size === 0;
  }

  hurry(): void {
    for (const lane of this.#lanes.values()) lane.hurry();
  }

  async #learn(withinMs: number, signal?: AbortSignal): Promise<void> {
    const { connection } = this.#ports;
    const timeoutMs = Math.max(1, Math.min(withinMs, connection.transport.timeoutMs));
    const call = { method: 'GET', path: pathOf('topics', this.#name), signal, timeoutMs } as const;
    const answer = await connection.call(call, { withinMs });
    this.#partitions = answer.json<{ partitions: number }>().partitions;
    this.#isUnknown = false;
    this.#learnedAt = connection.surroundings.now();
  }

  #refresh(withinMs: number): void {
    if (this.#refreshing) return;
    this.#refreshing = true;
    this.#learn(withinMs, this.#ports.cut)
      .catch((error: unknown) => {
        const { logger } = this.#ports.connection;
        logger.warn('A topic could not be looked up again; what was known is used', { topic: this.#name, error });
      })
      .finally(() => {
        this.#refreshing = false;
      });
  }
}
