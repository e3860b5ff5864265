import { Unavailable } from '../domain/errors.ts';
import { CLOCK_SKEW_MS, LATE_MAX_MS, SETTLED_EVERY_OFFSETS } from '../domain/limits.ts';
import { baseOf, reservedBy, type Slot } from '../domain/slot.ts';
import { isExpired, type Topic } from '../domain/topic.ts';
import { searchLog } from './search-log.ts';
import { type HeadView, SLOTS_PER_QUERY_MAX, Walk, type WalkPorts } from './walk.ts';

export interface PartitionBounds {
  readonly partition: number;
  /** First offset that may still be read. */
  readonly logStartOffset: number;
  /** Every offset below it is settled. */
  readonly highWatermark: number;
  /** Next offset to be reserved. */
  readonly logEndOffset: number;
}

/** The offset at one end of a partition. */
export function boundOf(bounds: PartitionBounds, place: 'earliest' | 'latest'): number {
  return place === 'earliest' ? bounds.logStartOffset : bounds.highWatermark;
}

/**
 * Finds a partition's bounds by walking: the head's register proves nothing about what it has forgotten. What the walk
 * proves is stored, so the next one begins there.
 *
 * @param deadline epoch ms
 * @param toBeKept no later answer may tell a lower high watermark. Slots and voids by which this one is proven expire, and
 *   what was reserved since may make a gap of them that nobody remembers: so `settled` is moved there before it is told
 * @returns undefined when the partition has no head: its topic is gone
 * @throws {Unavailable} the walk did not reach the end in time, or what it found could not be kept; a repeat gets further
 */
export async function findBounds(
  ports: WalkPorts,
  topic: Topic,
  partition: number,
  deadline: number,
  toBeKept = false,
): Promise<PartitionBounds | undefined> {
  const id = { topicId: topic.id, partition };
  const head = await ports.heads.read(id);
  if (head === undefined) return undefined;
  const { logStart, firstLeft } = await findLogStart(ports, topic, partition, head, deadline);
  // What is expired is settled, and so is what is older than any write can be late.
  const settled = await findLongSettled(ports, topic, partition, Math.max(head.settled, logStart), head.next);
  // What expires ahead of it then leaves a hole; the log does not start there.
  const isInside = firstLeft !== undefined && firstLeft < settled;
  const walk = new Walk(ports, topic, partition, { from: settled, head, provenFrom: head.settled, logStart, isInside });
  await walk.run({ limit: SLOTS_PER_QUERY_MAX, outline: true, deadline }, (slot) => slot.last + 1);
  const isKept = await walk.advance(toBeKept ? 1 : undefined);
  if (walk.position < head.next && ports.clock.now() >= deadline) {
    throw new Unavailable(`Partition ${partition} of '${topic.name}' has too much to look at in one call`);
  }
  // Not by this walk perhaps, but by another that was faster and got at least as far.
  if (toBeKept && !isKept && ((await ports.heads.read(id))?.settled ?? 0) < walk.position) {
    throw new Unavailable(`How far partition ${partition} of '${topic.name}' is settled could not be stored`);
  }
  return {
    partition,
    logStartOffset: walk.logStart,
    highWatermark: walk.position,
    logEndOffset: Math.max(head.next, walk.position),
  };
}

/**
 * The first offset that is not expired: the stored log start, unless time has gone on since it was stored.
 *
 * @returns `firstLeft`: an offset at which something is left, if this found one
 */
async function findLogStart(
  ports: WalkPorts,
  topic: Topic,
  partition: number,
  head: HeadView,
  deadline: number,
): Promise<{ readonly logStart: number; readonly firstLeft?: number }> {
  const id = { topicId: topic.id, partition };
  const first = (await ports.log.read(id, head.logStart, { limit: 1, outline: true })).slots[0];
  const isGone = (slot: Slot) => isExpired(topic, { time: orderedTime(slot), expiresAt: expiryOfRecords(slot) }, now);
  const now = ports.clock.now();
  if (first === undefined) return { logStart: head.logStart };
  if (baseOf(first) <= head.logStart && !isGone(first)) return { logStart: head.logStart, firstLeft: head.logStart };
  const from = await searchLog(ports, id, head.logStart, head.next, isGone);
  // What was deleted behind that place, up to the first record that is left, is told by that record.
  const walk = new Walk(ports, topic, partition, { from, head, logStart: from > head.logStart ? from : 0 });
  let firstLeft: number | undefined;
  await walk.run({ limit: 1, outline: true, deadline }, (_, at) => {
    firstLeft = at;
    return at;
  });
  return { logStart: walk.logStart, ...(firstLeft === undefined ? {} : { firstLeft }) };
}

/**
 * A time that no slot before this one exceeds by more than clocks differ, for searches. A batch was reserved within a second
 * of its time, or it would not have been filled; of a void, the reservation may have landed `LATE_MAX_MS` after it.
 */
export function orderedTime(slot: Slot): number {
  return slot.kind === 'void' ? slot.reservedBy + LATE_MAX_MS : slot.at;
}

/** A void's own expiry says nothing: it outlives the records around it. */
function expiryOfRecords(slot: Slot): number {
  return slot.kind === 'void' ? 0 : slot.expiresAt;
}

/**
 * An offset below which everything is settled because of its age: it was reserved before a slot that is older than two
 * late bounds, so nothing can be stored there any more. Spares the walk all but the last 40 minutes of a log.
 */
async function findLongSettled(
  ports: WalkPorts,
  topic: Topic,
  partition: number,
  from: number,
  to: number,
): Promise<number> {
  if (to - from <= SETTLED_EVERY_OFFSETS) return from;
  const before = ports.clock.now() - 2 * LATE_MAX_MS - CLOCK_SKEW_MS;
  return searchLog(ports, { topicId: topic.id, partition }, from, to, (slot) => reservedBy(slot) < before);
}
