import type { Clock } from '../domain/clock.ts';
import { InvalidRequest, OffsetOutOfRange, TopicNotFound, Unavailable } from '../domain/errors.ts';
import { type GroupId, isExpiredMember, nextEpoch } from '../domain/group.ts';
import { GroupActive, GroupNotFound } from '../domain/group-errors.ts';
import { WALK_BUDGET_MS } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { PositionId } from '../domain/position.ts';
import type { Topic } from '../domain/topic.ts';
import type { GroupStores } from './group-ports.ts';
import { findBounds } from './partition-bounds.ts';
import { findOffsets, type PartitionOffset } from './partitions.ts';
import { storeFailed } from './store-failed.ts';
import type { TopicCache } from './topic-cache.ts';
import type { WalkPorts } from './walk.ts';

export interface ResetPorts extends WalkPorts {
  readonly groups: Pick<GroupStores['groups'], 'read'>;
  readonly members: Pick<GroupStores['members'], 'all'>;
  readonly groupTopics: Pick<GroupStores['groupTopics'], 'note'>;
  readonly positions: Pick<GroupStores['positions'], 'read' | 'create' | 'change'>;
  readonly topics: TopicCache;
  readonly clock: Clock;
}

export interface Reset {
  readonly group: string;
  readonly topic: string;
  /** Absent: all. */
  readonly partitions?: readonly number[];
  /** An end of the log, the first record appended at or after a time (epoch ms), or an offset. */
  readonly to: 'earliest' | 'latest' | { readonly at: number } | { readonly offset: number };
}

/** Times a change begins anew because the position was changed by others meanwhile. */
const TRIES_MAX = 8;

/**
 * Sets where a group goes on in a topic, while no member lives. It may go back: the one way for a group to read again
 * what it has committed. What cannot be meant changes nothing; a store that fails midway leaves some partitions
 * changed, and a repeat changes the rest.
 *
 * @returns by partition
 * @throws {GroupNotFound | TopicNotFound | GroupActive | InvalidRequest | OffsetOutOfRange | Throttled | Unavailable}
 */
export async function resetGroup(ports: ResetPorts, reset: Reset): Promise<readonly PartitionOffset[]> {
  const group = await ports.groups.read(reset.group, true);
  if (group === undefined) throw new GroupNotFound(reset.group);
  const topic = await ports.topics.fresh(reset.topic);
  const strange = reset.partitions?.findIndex((partition) => partition >= topic.partitions) ?? -1;
  if (strange >= 0) {
    const field = `partitions[${strange}]`;
    throw new InvalidRequest(
      `'${field}' must be one of the partitions 0 to ${topic.partitions - 1} of '${topic.name}'`,
      {
        field,
        partitions: topic.partitions,
      },
    );
  }
  const offsets = await offsetsOf(ports, topic, reset);
  const now = ports.clock.now();
  const live = (await ports.members.all(group)).filter((member) => !isExpiredMember(member, now));
  if (live.length > 0) throw new GroupActive(group.name, live.length);
  // Whoever purges the group finds the positions by it.
  await ports.groupTopics.note(group, topic).catch(storeFailed);
  await actOnAll(offsets, ({ partition, offset }) =>
    change(ports, { group, topicId: topic.id, partition }, offset).catch(storeFailed),
  );
  ports.observe({ kind: 'positions_reset', count: offsets.length });
  return offsets;
}

async function offsetsOf(ports: ResetPorts, topic: Topic, { to, partitions }: Reset): Promise<PartitionOffset[]> {
  if (typeof to !== 'object' || 'at' in to) {
    return findOffsets(ports, topic.name, typeof to === 'object' ? to.at : to, partitions);
  }
  const { offset } = to;
  const deadline = ports.clock.now() + WALK_BUDGET_MS;
  return actOnAll(sorted(partitions ?? Array.from({ length: topic.partitions }, (_, i) => i)), async (partition) => {
    const bounds = await findBounds(ports, topic, partition, deadline, true);
    if (bounds === undefined) throw new TopicNotFound(topic.name);
    if (offset >= bounds.logStartOffset && offset <= bounds.highWatermark) return { partition, offset };
    throw new OffsetOutOfRange(offset, bounds.logStartOffset, bounds.highWatermark, partition);
  });
}

/** From outside: whoever owned the position is fenced. */
async function change(ports: ResetPorts, id: PositionId, committed: number): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const seen = await ports.positions.read(id, true);
    const to = { committed, epoch: nextEpoch(seen?.epoch ?? 0, ports.clock.now()) };
    if (await (seen === undefined ? ports.positions.create(id, to) : ports.positions.change(id, seen, to))) return;
    if (seen === undefined) await stillThere(ports, id.group);
  }
  throw new Unavailable(`The position of partition ${id.partition} is being changed by others all the time`);
}

async function stillThere({ groups }: Pick<ResetPorts, 'groups'>, { name, id }: GroupId): Promise<void> {
  if ((await groups.read(name, true))?.id !== id) throw new GroupNotFound(name);
}

function sorted(partitions: readonly number[]): number[] {
  return [...partitions].sort((a, b) => a - b);
}
