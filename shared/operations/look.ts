import type { Room } from '../domain/room.ts';
import type { Slot } from '../domain/slot.ts';
import type { Topic } from '../domain/topic.ts';
import { findBounds, type PartitionBounds } from './partition-bounds.ts';
import type { ReaderMemory } from './reader-memory.ts';
import { hasRoom, slotsLike, withMargin } from './slots-to-read.ts';
import { SpilledBatches, type SpillPorts } from './spilled-batches.ts';
import { type Visit, Walk, type WalkPorts } from './walk.ts';

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

export interface LookPorts extends WalkPorts, SpillPorts {
  readonly log: WalkPorts['log'] & SpillPorts['log'];
  readonly readers: ReaderMemory;
}

export interface LookRequest {
  /** Slots per Query; a slot holds at least one record. */
  readonly slotsMax: number;
  /** Epoch ms after which no further Query is made. */
  readonly deadline: number;
  /** Whether the tail is settled, by a read of the head, where there is no record. */
  readonly needsTail: boolean;
}

/** What one look at a partition brought. */
export interface Look {
  /** Its position is behind what was taken. */
  readonly walk: Walk;
  /** Slots of which something was taken. */
  readonly slots: number;
  /** There was more than the sink had room for, or may be. */
  readonly isFull: boolean;
  /** What broke the look off after something had been taken. */
  readonly failure?: unknown;
  /** Where the log begins and ends, if it had to be found out. */
  readonly bounds?: PartitionBounds;
}

/** There is no such offset. */
export interface Outside {
  readonly outside: PartitionBounds;
}

/**
 * Reads a partition from an offset on, once: one Query where there is data. Never passes an unsettled offset (A3).
 *
 * @returns 'gone' when this incarnation was removed @throws {Throttled | Unavailable} nothing was taken
 */
export async function lookFrom(
  ports: LookPorts,
  topic: Topic,
  partition: number,
  from: number,
  request: LookRequest,
  sink: Sink,
): Promise<Look | Outside | 'gone'> {
  const look = await lookOnce(ports, topic, partition, from, request, sink, true);
  if (look.slots > 0) return look;
  if (look.walk.headMissing) return 'gone';
  if (isInside(look.walk, from)) return look;
  const bounds = await findBounds(ports, topic, partition, request.deadline);
  if (bounds === undefined) return 'gone';
  if (from < bounds.logStartOffset || from > bounds.logEndOffset) return { outside: bounds };
  // Expired records lie behind some that are not: a hole, to be passed like a void.
  const again = await lookOnce(ports, topic, partition, from, request, sink, false);
  return again.walk.headMissing && again.slots === 0 ? 'gone' : { ...again, bounds };
}

/** Whether an offset from which nothing was taken lies within the log, as far as the walk saw. */
function isInside({ metExpired, logStart, head }: Walk, from: number): boolean {
  return !metExpired && logStart <= from && (head === undefined || from <= head.next);
}

async function lookOnce(
  ports: LookPorts,
  topic: Topic,
  partition: number,
  from: number,
  { slotsMax, deadline, needsTail }: LookRequest,
  sink: Sink,
  stopAtExpired: boolean,
): Promise<Look> {
  const id = { topicId: topic.id, partition };
  const { readers } = ports;
  const walk = new Walk(ports, topic, partition, { from });
  const spilled = new SpilledBatches(ports, id, readers.slotsWanted(id, from, slotsMax));
  let slots = 0;
  let isFull = false;
  const options = {
    onPage: (page: readonly Slot[]) => spilled.expect(page),
    limitAfter: (page: readonly Slot[]) => limitAfter(page, sink.room?.()),
    limit: readers.slotsToRead(id, from, slotsMax),
    outline: false,
    deadline,
    stopAtExpired,
    needsTail: () => needsTail && slots === 0 && !isFull,
    isFull: () => isFull,
  };
  const walked = walk.run(options, async (slot, at) => {
    const room = sink.room?.() ?? ENDLESS;
    if (slots > 0 && !hasRoom(room, slot)) {
      isFull = true;
      return at;
    }
    const whole = await spilled.load(slot, at, room);
    if (whole === undefined) return slot.last + 1;
    if (whole.unreadable !== undefined) ports.observe({ kind: whole.unreadable, log: walk.log });
    const next = await sink.take(whole, at);
    if (next > at) slots += 1;
    isFull ||= next <= slot.last || sink.isFull();
    return next;
  });
  let failure: unknown;
  try {
    await Promise.all([walked, readers.refresh(ports, id)]);
  } catch (error) {
    if (slots === 0) throw error;
    failure = error;
  }
  readers.proven(id, from, walk.position);
  if (failure !== undefined) return { walk, slots, isFull, failure };
  readers.answered(id, { slotsMax, from, to: walk.position, slots, isFull });
  if (slots === 0) await walk.advance();
  return { walk, slots, isFull };
}

/** As many slots like these as there is room for. */
function limitAfter(page: readonly Slot[], room: Room | undefined): number | undefined {
  const wanted = room && slotsLike(page, room);
  return wanted === undefined ? undefined : withMargin(wanted);
}
