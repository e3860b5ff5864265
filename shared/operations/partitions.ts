import { TopicNotFound, Unavailable } from '../domain/errors.ts';
import { CLOCK_SKEW_MS, WALK_BUDGET_MS } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Topic } from '../domain/topic.ts';
import { findBounds, orderedTime, type PartitionBounds } from './partition-bounds.ts';
import { searchLog } from './search-log.ts';
import type { TopicCache } from './topic-cache.ts';
import { SLOTS_PER_QUERY_MAX, Walk, type WalkPorts } from './walk.ts';

export interface PartitionOffset {
  readonly partition: number;
  readonly offset: number;
}

type Ports = WalkPorts & { readonly topics: TopicCache };

/** The bounds of every partition, exact. A high watermark never goes back. @throws {TopicNotFound | Throttled | Unavailable} */
export async function describePartitions(ports: Ports, name: string): Promise<PartitionBounds[]> {
  const topic = await ports.topics.fresh(name);
  const deadline = ports.clock.now() + WALK_BUDGET_MS;
  return actOnAll(partitionsOf(topic), (partition) => boundsOf(ports, topic, partition, deadline, true));
}

/**
 * Finds an offset in every partition, or some: the log's start, its high watermark, or the first record that was appended at or
 * after a time; where there is none, the high watermark.
 *
 * @param at 'earliest', 'latest' or epoch ms. Exact while the clocks of writers differ by less than `CLOCK_SKEW_MS`.
 * @param only in these partitions, those of them that there are; absent: in all
 * @throws {TopicNotFound | Throttled | Unavailable}
 */
export async function findOffsets(
  ports: Ports,
  name: string,
  at: 'earliest' | 'latest' | number,
  only?: readonly number[],
): Promise<PartitionOffset[]> {
  const topic = await ports.topics.fresh(name);
  const deadline = ports.clock.now() + WALK_BUDGET_MS;
  const partitions = partitionsOf(topic).filter((partition) => only === undefined || only.includes(partition));
  return actOnAll(partitions, async (partition) => {
    const bounds = await boundsOf(ports, topic, partition, deadline);
    if (at === 'earliest') return { partition, offset: bounds.logStartOffset };
    if (at === 'latest') return { partition, offset: bounds.highWatermark };
    return { partition, offset: await findTime(ports, topic, bounds, at, deadline) };
  });
}

/** Append times are nearly, not quite, in order: the search ends a little early, and the walk goes on from there. */
async function findTime(
  ports: Ports,
  topic: Topic,
  { partition, logStartOffset, highWatermark }: PartitionBounds,
  time: number,
  deadline: number,
): Promise<number> {
  const id = { topicId: topic.id, partition };
  const from = await searchLog(
    ports,
    id,
    logStartOffset,
    highWatermark,
    (slot) => orderedTime(slot) < time - CLOCK_SKEW_MS,
  );
  const walk = new Walk(ports, topic, partition, { from });
  let found: number | undefined;
  await walk.run({ limit: SLOTS_PER_QUERY_MAX, outline: true, deadline, needsTail: () => false }, (slot, offset) => {
    if (offset < highWatermark && slot.at < time) return slot.last + 1;
    found = Math.min(offset, highWatermark);
    return offset;
  });
  // A walk that was cut short has not seen the record that is looked for: its end would skip it.
  if (found === undefined && walk.position < highWatermark) {
    throw new Unavailable(`Partition ${partition} of '${topic.name}' has too much to look at in one call`);
  }
  return found ?? highWatermark;
}

async function boundsOf(
  ports: Ports,
  topic: Topic,
  partition: number,
  deadline: number,
  toBeKept = false,
): Promise<PartitionBounds> {
  const bounds = await findBounds(ports, topic, partition, deadline, toBeKept);
  if (bounds === undefined) throw new TopicNotFound(topic.name);
  return bounds;
}

function partitionsOf(topic: Topic): number[] {
  return Array.from({ length: topic.partitions }, (_, partition) => partition);
}
