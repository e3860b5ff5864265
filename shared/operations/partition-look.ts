import { OffsetOutOfRange, TopicNotFound } from '../domain/errors.ts';
import type { Slot } from '../domain/slot.ts';
import type { PartitionId, Topic } from '../domain/topic.ts';
import type { GroupPorts } from './group-ports.ts';
import { type LinkingSink, linkUploads } from './link-uploads.ts';
import { findBounds } from './partition-bounds.ts';
import { hasRoom, slotsLike, withMargin } from './slots-to-read.ts';
import { SpilledBatches } from './spilled-batches.ts';
import { passingError } from './store-failed.ts';
import { Walk } from './walk.ts';

/** Slots that are likely to fill so many bytes: the first Query asks for no more, later ones for twice as many each. */
const SLOT_BYTES_LIKELY = 4_096;

export interface LookOptions {
  /** Room for so many records and bytes, about: how much is asked for. */
  readonly records: number;
  readonly bytes: number;
  /** Where to go on when the offset is out of range, instead of refusing. */
  readonly reset?: 'earliest' | 'latest';
  /** Epoch ms. */
  readonly deadline: number;
}

/**
 * Whether there may be something for a reader at an offset: half a read unit. The head may be a little old: then what
 * came last is seen by the next look. @throws {Throttled | Unavailable}
 */
export async function mayHaveMore(
  ports: GroupPorts,
  topic: Topic,
  partition: number,
  offset: number,
): Promise<boolean> {
  const id = { topicId: topic.id, partition };
  const head = await ports.heads.read(id, false);
  if (head === undefined) return true; // judged by a closer look
  ports.proven.noteHead(id, head);
  return head.next !== offset;
}

/**
 * Reads a partition from an offset on, once, into its part of an answer. Never passes an unsettled offset (A3).
 *
 * @returns where to go on, and whether the part was too small for what comes next
 * @throws {TopicNotFound} this incarnation is gone; {OffsetOutOfRange | Throttled | Unavailable}
 */
export async function lookAtPartition(
  ports: GroupPorts,
  topic: Topic,
  partition: number,
  offset: number,
  part: LinkingSink,
  options: LookOptions,
): Promise<{ readonly position: number; readonly isFull: boolean }> {
  const id = { topicId: topic.id, partition };
  const { proven, readers } = ports;
  const slotsMax = Math.max(1, Math.min(options.records, Math.ceil(options.bytes / SLOT_BYTES_LIKELY)));
  let position = offset;
  let mayReset = options.reset !== undefined;
  let stopAtExpired = true;
  for (;;) {
    const from = position;
    const walk = new Walk(ports, topic, partition, { from });
    const taken = await runInto(ports, id, walk, part, { slotsMax, stopAtExpired, deadline: options.deadline });
    readers.proven(id, from, walk.position);
    readers.answered(id, slotsMax, taken.slots, taken.isFull);
    if (walk.head !== undefined) proven.noteHead(id, walk.head);
    proven.noteWalk(id, from, walk.position);
    if (taken.slots > 0 || taken.isFull) return { position: walk.position, isFull: taken.isFull };
    if (walk.headMissing) throw gone(ports, topic);
    const mayBeBelow = walk.metExpired || walk.logStart > from;
    const isInRange = !mayBeBelow && (walk.head === undefined || from <= walk.head.next);
    if (isInRange || !stopAtExpired) {
      await walk.advance();
      return { position: walk.position, isFull: false };
    }
    const bounds = await findBounds(ports, topic, partition, options.deadline);
    if (bounds === undefined) throw gone(ports, topic);
    const { logStartOffset, highWatermark, logEndOffset } = bounds;
    proven.note(id, highWatermark, logStartOffset);
    // Expired records lie behind some that are not: a hole, to be passed like a void.
    if (from >= logStartOffset && from <= logEndOffset) stopAtExpired = false;
    else if (mayReset) {
      position = options.reset === 'earliest' ? logStartOffset : highWatermark;
      mayReset = false;
    } else throw new OffsetOutOfRange(from, logStartOffset, highWatermark);
  }
}

function gone(ports: GroupPorts, topic: Topic): TopicNotFound {
  ports.topics.drop(topic.name);
  return new TopicNotFound(topic.name);
}

/** What went in before something failed stays in: the walk's position is behind it. */
async function runInto(
  ports: GroupPorts,
  id: PartitionId,
  walk: Walk,
  part: LinkingSink,
  { slotsMax, stopAtExpired, deadline }: { slotsMax: number; stopAtExpired: boolean; deadline: number },
): Promise<{ readonly slots: number; readonly isFull: boolean }> {
  const { readers } = ports;
  const spilled = new SpilledBatches(ports, id, readers.slotsWanted(id, slotsMax));
  const sink = linkUploads(ports, part);
  let slots = 0;
  let isFull = false;
  const options = {
    onPage: (page: readonly Slot[]) => spilled.expect(page),
    limitAfter: (page: readonly Slot[]) => {
      const wanted = slotsLike(page, part.room());
      return wanted === undefined ? undefined : withMargin(wanted);
    },
    limit: readers.slotsToRead(id, slotsMax),
    outline: false,
    deadline,
    stopAtExpired,
    needsTail: () => slots === 0 && !isFull,
    isFull: () => isFull,
  };
  const walked = walk.run(options, async (slot, at) => {
    const room = part.room();
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
  try {
    await Promise.all([walked, readers.refresh(ports, id)]);
  } catch (error) {
    if (slots === 0) throw error;
    passingError(error);
  }
  return { slots, isFull };
}
