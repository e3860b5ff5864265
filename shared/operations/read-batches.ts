import { OffsetOutOfRange, PartitionNotFound, TopicNotFound } from '../domain/errors.ts';
import type { PartitionId, Topic } from '../domain/topic.ts';
import { type LookPorts, lookFrom, type Sink } from './look.ts';
import { boundOf, findBounds, type PartitionBounds } from './partition-bounds.ts';
import type { TopicCache } from './topic-cache.ts';
import type { Walk } from './walk.ts';

export interface ReadRequest {
  /** Name of the topic. */
  readonly topic: string;
  readonly partition: number;
  readonly offset: number | 'earliest' | 'latest';
  /** Where to go when the offset is out of range, instead of refusing. */
  readonly reset?: 'earliest' | 'latest';
  /** How long to wait for a record when there is none. */
  readonly waitMs: number;
  /** Slots per Query; a slot holds at least one record. */
  readonly slotsMax: number;
  /** Epoch ms by which to answer. */
  readonly deadline: number;
}

export interface ReadResult {
  readonly topicId: string;
  /** Where the next read goes on. */
  readonly nextOffset: number;
  readonly logStartOffset: number;
  /** A proven lower bound: every offset below it is settled. */
  readonly highWatermark: number;
}

export interface ReadPorts extends LookPorts {
  readonly topics: TopicCache;
  sleep(ms: number): Promise<void>;
}

/** Pauses between looks while waiting: short at first, for low latency, then longer, for cost. */
const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 500;
/** Times that a read begins anew: on the next incarnation, or where `reset` sends it. */
const STARTS_MAX = 4;

/**
 * Reads a partition from an offset on: one round trip when there is data. Never passes an unsettled offset (A3).
 *
 * @throws {TopicNotFound | PartitionNotFound | OffsetOutOfRange | Throttled | Unavailable}
 */
export async function readBatches(ports: ReadPorts, request: ReadRequest, sink: Sink): Promise<ReadResult> {
  const waitUntil = Math.min(ports.clock.now() + request.waitMs, request.deadline);
  let offset = request.offset;
  let logStart = 0;
  for (let start = 0; start < STARTS_MAX; start++) {
    const topic = await topicWithPartition(ports.topics, request);
    const read = new PartitionRead(ports, topic, request, sink, waitUntil, logStart);
    const outcome = await read.from(offset);
    if (typeof outcome === 'object') return outcome;
    if (outcome === 'gone') ports.topics.drop(topic.name);
    else offset = outcome;
    logStart = outcome === 'gone' ? 0 : read.logStart;
  }
  throw new TopicNotFound(request.topic);
}

async function topicWithPartition(topics: TopicCache, { topic: name, partition }: ReadRequest): Promise<Topic> {
  const copy = await topics.get(name);
  if (partition < copy.partitions) return copy;
  const topic = await topics.fresh(name);
  if (partition < topic.partitions) return topic;
  throw new PartitionNotFound(name, partition, topic.partitions);
}

/** One read of one partition of one incarnation. */
class PartitionRead {
  readonly #ports: ReadPorts;
  readonly #topic: Topic;
  readonly #request: ReadRequest;
  readonly #sink: Sink;
  readonly #waitUntil: number;
  readonly #partition: PartitionId;
  #logStart: number;

  /** @param logStart as far as it is known of this incarnation: it may lie past what the head says */
  constructor(ports: ReadPorts, topic: Topic, request: ReadRequest, sink: Sink, waitUntil: number, logStart: number) {
    this.#ports = ports;
    this.#topic = topic;
    this.#request = request;
    this.#sink = sink;
    this.#waitUntil = waitUntil;
    this.#partition = { topicId: topic.id, partition: request.partition };
    this.#logStart = logStart;
  }

  get logStart(): number {
    return this.#logStart;
  }

  /** @returns the result, the offset to begin at instead, or 'gone' when this incarnation was removed */
  async from(offset: ReadRequest['offset']): Promise<ReadResult | number | 'gone'> {
    if (typeof offset === 'string') {
      const bounds = await this.#bounds();
      return bounds === undefined ? 'gone' : boundOf(bounds, offset);
    }
    let position = offset;
    let isFirst = true;
    for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS_MAX)) {
      const request = { ...this.#request, needsTail: isFirst };
      const look = await lookFrom(this.#ports, this.#topic, this.#request.partition, position, request, this.#sink);
      if (look === 'gone') return 'gone';
      if ('outside' in look) return this.#elsewhere(position, look.outside);
      if (look.failure !== undefined) throw look.failure;
      if (look.bounds !== undefined) this.#know(look.bounds);
      isFirst = false;
      position = look.walk.position;
      const remainingMs = this.#waitUntil - this.#ports.clock.now();
      if (look.slots > 0 || remainingMs <= 0) return this.#result(look.walk);
      await this.#ports.sleep(Math.min(pauseMs, remainingMs));
      // Deleted, or made again, while nobody wrote to it: seen as soon as by a read that begins now.
      if ((await this.#ports.topics.get(this.#topic.name)).id !== this.#topic.id) return 'gone';
    }
  }

  #elsewhere(offset: number, bounds: PartitionBounds): number {
    this.#know(bounds);
    // Who asked for an end named no offset that could be refused.
    const { reset = typeof this.#request.offset === 'string' ? this.#request.offset : undefined } = this.#request;
    if (reset === undefined) throw new OffsetOutOfRange(offset, bounds.logStartOffset, bounds.highWatermark);
    return boundOf(bounds, reset);
  }

  async #bounds(): Promise<PartitionBounds | undefined> {
    const bounds = await findBounds(this.#ports, this.#topic, this.#request.partition, this.#request.deadline);
    if (bounds !== undefined) this.#know(bounds);
    return bounds;
  }

  #know({ logStartOffset }: PartitionBounds): void {
    this.#logStart = Math.max(this.#logStart, logStartOffset);
  }

  #result(walk: Walk): ReadResult {
    const logStart = Math.max(walk.logStart, this.#logStart, this.#ports.readers.logStart(this.#partition));
    return {
      topicId: this.#topic.id,
      nextOffset: walk.position,
      // A log start that was learned meanwhile may lie past what this read still found.
      logStartOffset: Math.min(logStart, walk.position),
      highWatermark: walk.position,
    };
  }
}
