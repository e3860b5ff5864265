import { OffsetOutOfRange, TopicNotFound } from '../domain/errors.ts';
import type { Topic } from '../domain/topic.ts';
import type { GroupPorts } from './group-ports.ts';
import { type LinkingSink, linkUploads } from './link-uploads.ts';
import { lookFrom } from './look.ts';
import { boundOf } from './partition-bounds.ts';
import { passingError } from './store-failed.ts';

/** Slots that are likely to fill so many bytes: one Query asks for no more. */
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
  const { proven } = ports;
  const slotsMax = Math.max(1, Math.min(options.records, Math.ceil(options.bytes / SLOT_BYTES_LIKELY)));
  const request = { slotsMax, deadline: options.deadline, needsTail: true };
  const sink = linkUploads(ports, part);
  let { reset } = options;
  for (let position = offset; ; reset = undefined) {
    const look = await lookFrom(ports, topic, partition, position, request, sink);
    if (look === 'gone') {
      ports.topics.drop(topic.name);
      throw new TopicNotFound(topic.name);
    }
    const bounds = 'outside' in look ? look.outside : look.bounds;
    if (bounds !== undefined) proven.note(id, bounds.highWatermark, bounds.logStartOffset);
    if ('outside' in look) {
      const { logStartOffset, highWatermark } = look.outside;
      if (reset === undefined) throw new OffsetOutOfRange(position, logStartOffset, highWatermark);
      position = boundOf(look.outside, reset);
      continue;
    }
    const { walk, isFull, failure } = look;
    if (failure !== undefined) passingError(failure); // what went in before stays in
    if (walk.head !== undefined) proven.noteHead(id, walk.head);
    proven.noteWalk(id, position, walk.position);
    return { position: walk.position, isFull };
  }
}
