import { OffsetOutOfRange, PartitionNotFound, TopicNotFound } from '../domain/errors.ts';
import type { Room } from '../domain/room.ts';
import type { Slot } from '../domain/slot.ts';
import type { PartitionId, Topic } from '../domain/topic.ts';
import { findBounds, type PartitionBounds } from './partition-bounds.ts';
import type { ReaderMemory } from './reader-memory.ts';
import { hasRoom, slotsLike, withMargin } from './slots-to-read.ts';
import { SpilledBatches, type SpillPorts } from './spilled-batches.ts';
import type { TopicCache } from './topic-cache.ts';
import { type Visit, Walk, type WalkPorts } from './walk.ts';

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

/** Where the records go. */
export interface Sink {
  /** Takes those of a slot from an offset on. @returns the next offset it wants: within the slot when it is full */
  readonly take: Visit;
  /** Takes no more, as far as it knows without seeing what comes next. */
  isFull(): boolean;
  /** What it can still take; absent: nobody knows. */
  room?(): Room;
}

const ENDLESS: Room = {
  records: Number.POSITIVE_INFINITY,
  bytes: Number.POSITIVE_INFINITY,
  partly: true,
};

export interface ReadPorts extends WalkPorts, SpillPorts {
  readonly log: WalkPorts['log'] & SpillPorts['log'];
  readonly topics: TopicCache;
  readonly readers: ReaderMemory;
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
    let stopAtExpired = true;
    let looked = false;
    for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS_MAX)) {
      const { walk, delivered } = await this.#look(position, stopAtExpired, !looked);
      if (walk.headMissing && !delivered) return 'gone';
      const mayBeBelow = walk.metExpired || walk.logStart > position;
      const inRange = !mayBeBelow && (walk.head === undefined || position <= walk.head.next);
      if (!delivered && !inRange && stopAtExpired) {
        const bounds = await this.#bounds();
        if (bounds === undefined) return 'gone';
        const elsewhere = this.#outOfRange(position, bounds);
        if (elsewhere !== undefined) return elsewhere;
        // Expired records lie behind some that are not: a hole, to be passed like a void.
        stopAtExpired = false;
        continue;
      }
      looked = true;
      position = walk.position;
      const remainingMs = this.#waitUntil - this.#ports.clock.now();
      if (delivered || remainingMs <= 0) return this.#result(walk);
      await this.#ports.sleep(Math.min(pauseMs, remainingMs));
      // Deleted, or made again, while nobody wrote to it: seen as soon as by a read that begins now.
      if ((await this.#ports.topics.get(this.#topic.name)).id !== this.#topic.id) return 'gone';
    }
  }

  async #look(from: number, stopAtExpired: boolean, needsTail: boolean) {
    let delivered = false;
    let [slots, full] = [0, false];
    const { slotsMax } = this.#request;
    const { readers } = this.#ports;
    const walk = new Walk(this.#ports, this.#topic, this.#request.partition, { from });
    const spilled = new SpilledBatches(this.#ports, this.#partition, readers.slotsWanted(this.#partition, slotsMax));
    const room = () => this.#sink.room?.() ?? ENDLESS;
    const options = {
      onPage: (slots: readonly Slot[]) => spilled.expect(slots),
      limitAfter: (slots: readonly Slot[]) => this.#limitAfter(slots),
      limit: readers.slotsToRead(this.#partition, slotsMax),
      outline: false,
      deadline: this.#request.deadline,
      stopAtExpired,
      needsTail: () => needsTail && !delivered,
      isFull: () => this.#sink.isFull(),
    };
    const walked = walk.run(options, async (slot, at) => {
      const left = room();
      if (delivered && !hasRoom(left, slot)) {
        full = true;
        return at;
      }
      const whole = await spilled.load(slot, at, left);
      if (whole === undefined) return slot.last + 1;
      if (whole.unreadable !== undefined) this.#ports.observe({ kind: whole.unreadable, log: walk.log });
      const next = await this.#sink.take(whole, at);
      delivered ||= next > at;
      if (next > at) slots += 1;
      full ||= next <= slot.last || this.#sink.isFull();
      return next;
    });
    await Promise.all([walked, readers.refresh(this.#ports, this.#partition)]);
    readers.proven(this.#partition, from, walk.position);
    readers.answered(this.#partition, slotsMax, slots, full);
    if (!delivered) await walk.advance();
    return { walk, delivered };
  }

  /** As many slots like these as there is room for. */
  #limitAfter(slots: readonly Slot[]): number | undefined {
    const room = this.#sink.room?.();
    const wanted = room && slotsLike(slots, room);
    return wanted === undefined ? undefined : withMargin(wanted);
  }

  #outOfRange(offset: number, bounds: PartitionBounds): number | undefined {
    if (offset >= bounds.logStartOffset && offset <= bounds.logEndOffset) return undefined;
    // Who asked for an end named no offset that could be refused.
    const { reset = typeof this.#request.offset === 'string' ? this.#request.offset : undefined } = this.#request;
    if (reset === undefined) throw new OffsetOutOfRange(offset, bounds.logStartOffset, bounds.highWatermark);
    return boundOf(bounds, reset);
  }

  async #bounds(): Promise<PartitionBounds | undefined> {
    const bounds = await findBounds(this.#ports, this.#topic, this.#request.partition, this.#request.deadline);
    this.#logStart = Math.max(this.#logStart, bounds?.logStartOffset ?? 0);
    return bounds;
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

function boundOf(bounds: PartitionBounds, place: 'earliest' | 'latest'): number {
  return place === 'earliest' ? bounds.logStartOffset : bounds.highWatermark;
}
