import { TopicNotFound } from '../domain/errors.ts';
import { type Group, type GroupTopic, isExpiredMember, type Member } from '../domain/group.ts';
import { GroupNotFound } from '../domain/group-errors.ts';
import { WALK_BUDGET_MS } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Position, PushState } from '../domain/position.ts';
import type { Page, Topic } from '../domain/topic.ts';
import type { GroupStores } from './group-ports.ts';
import { findBounds } from './partition-bounds.ts';
import type { TopicCache } from './topic-cache.ts';
import type { WalkPorts } from './walk.ts';

export type GroupEntry = Pick<Group, 'name' | 'id' | 'createdAt'>;

export interface GroupListPorts {
  readonly groups: { list(limit: number, after?: string): Promise<Page<GroupEntry>> };
}

export interface GroupDescribePorts extends WalkPorts {
  readonly groups: Pick<GroupStores['groups'], 'read'>;
  readonly members: Pick<GroupStores['members'], 'all'>;
  readonly groupTopics: Pick<GroupStores['groupTopics'], 'all'>;
  readonly positions: Pick<GroupStores['positions'], 'read'>;
  readonly topics: TopicCache;
}

/** How far a group is in one partition. */
export interface GroupOffset {
  readonly topic: string;
  readonly partition: number;
  /** Absent: the group has never had the partition. */
  readonly committed?: number;
  readonly highWatermark: number;
  /** Records from `committed` on, voids included; where nothing is committed, all that the partition holds. */
  readonly lag: number;
  readonly metadata?: string;
  /** Of a subscription. */
  readonly push?: PushState;
  /** Keys that are parked; absent: none. */
  readonly parked?: number;
}

export interface GroupMember extends Member {
  /** What it owns: it has taken this, and has not released it. */
  readonly assigned: readonly { readonly topic: string; readonly partition: number; readonly epoch: number }[];
}

export interface GroupDescription {
  readonly group: Group;
  /** Live ones, by id. */
  readonly members: readonly GroupMember[];
  /** By topic, then partition. */
  readonly offsets: readonly GroupOffset[];
}

/** Live groups by name. @throws {Throttled | Unavailable} */
export async function listGroups(
  ports: GroupListPorts,
  { limit, after }: { readonly limit: number; readonly after?: string },
): Promise<Page<GroupEntry>> {
  return ports.groups.list(limit, after);
}

/**
 * Who is in a group, what each owns, and how far behind the group is, exactly: every bound is found by walking.
 * Topics that were deleted since are left out, and so are those made again that the group has not met.
 *
 * @throws {GroupNotFound | Throttled | Unavailable}
 */
export async function describeGroup(ports: GroupDescribePorts, name: string): Promise<GroupDescription> {
  const group = await ports.groups.read(name, true);
  if (group === undefined) throw new GroupNotFound(name);
  const [members, known] = await Promise.all([ports.members.all(group), ports.groupTopics.all(group)]);
  const deadline = ports.clock.now() + WALK_BUDGET_MS;
  const topics = (await actOnAll(known, (topic) => incarnationOf(ports, topic))).filter((topic) => topic !== undefined);
  const partitions = topics.flatMap(([topic, entry]) =>
    Array.from({ length: topic.partitions }, (_, partition) => ({ topic, entry, partition })),
  );
  const found = await actOnAll(partitions, async ({ topic, entry, partition }) => {
    // The position first: what is committed then lies within the bounds that are found later.
    const position =
      partition < entry.partitions
        ? await ports.positions.read({ group, topicId: topic.id, partition }, true)
        : undefined;
    const bounds = await findBounds(ports, topic, partition, deadline, true);
    return bounds && { topic: topic.name, partition, position, bounds };
  });
  const there = found.filter((one) => one !== undefined).sort(byTopicThenPartition);
  const now = ports.clock.now();
  return {
    group,
    members: members
      .filter((member) => !isExpiredMember(member, now))
      .map((member) => ({
        ...member,
        assigned: there.flatMap(({ topic, partition, position }) =>
          position?.owner === member.memberId ? [{ topic, partition, epoch: position.epoch }] : [],
        ),
      }))
      .sort((a, b) => compare(a.memberId, b.memberId)),
    offsets: there.map(({ topic, partition, position, bounds }) => ({
      topic,
      partition,
      ...offsetOf(position, bounds),
    })),
  };
}

function offsetOf(
  position: Position | undefined,
  { logStartOffset, highWatermark }: { readonly logStartOffset: number; readonly highWatermark: number },
): Omit<GroupOffset, 'topic' | 'partition'> {
  if (position === undefined) return { highWatermark, lag: highWatermark - logStartOffset };
  const { committed, metadata, push, parked } = position;
  return {
    committed,
    highWatermark,
    lag: Math.max(0, highWatermark - committed),
    ...(metadata !== undefined && { metadata }),
    ...(push !== undefined && { push }),
    ...(parked !== undefined && { parked: parked.size }),
  };
}

/** @returns undefined when the name leads to no topic any more, or to another incarnation */
async function incarnationOf(
  { topics }: Pick<GroupDescribePorts, 'topics'>,
  entry: GroupTopic,
): Promise<[Topic, GroupTopic] | undefined> {
  try {
    const topic = await topics.fresh(entry.name);
    return topic.id === entry.topicId ? [topic, entry] : undefined;
  } catch (error) {
    if (error instanceof TopicNotFound) return undefined;
    throw error;
  }
}

function byTopicThenPartition(
  a: { readonly topic: string; readonly partition: number },
  b: { readonly topic: string; readonly partition: number },
): number {
  return compare(a.topic, b.topic) || a.partition - b.partition;
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
