import { TopicNotFound } from '../domain/errors.ts';
import type { GroupId, GroupTopic, Member } from '../domain/group.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Topic } from '../domain/topic.ts';
import type { GroupPorts } from './group-ports.ts';
import type { TopicCache } from './topic-cache.ts';

/** The topics of a group, as they are now. */
export interface GroupTopics {
  /** Those that live members name and that exist. */
  readonly wanted: readonly Topic[];
  /** Incarnations that the group knew and that are gone. */
  readonly dead: readonly GroupTopic[];
}

type Ports = Pick<GroupPorts, 'groupTopics' | 'positions' | 'topics'>;

/**
 * Reads the topics that live members name, or that the group knew, and notes those that it did not know, or not with as
 * many partitions: before anything of them is handed out. @throws {Throttled | Unavailable | WriteFailed}
 */
export async function readGroupTopics(
  ports: Ports,
  id: GroupId,
  noted: readonly GroupTopic[],
  live: readonly Member[],
): Promise<GroupTopics> {
  const named = new Set(live.flatMap(({ topics }) => topics));
  const names = [...new Set([...named, ...noted.map(({ name }) => name)])];
  const found = await actOnAll(names, (name) => findTopic(ports.topics, name, true));
  const topics = found.filter((topic) => topic !== undefined);
  const wanted = topics.filter(({ name }) => named.has(name));
  const partitionsNoted = new Map(noted.map(({ topicId, partitions }) => [topicId, partitions]));
  const news = wanted.filter(({ id, partitions }) => (partitionsNoted.get(id) ?? 0) < partitions);
  await actOnAll(news, (topic) => ports.groupTopics.note(id, topic));
  const ids = new Set(topics.map((topic) => topic.id));
  return { wanted, dead: noted.filter(({ topicId }) => !ids.has(topicId)) };
}

/** Removes what a group holds of an incarnation that is gone. Nobody misses it. @throws {WriteFailed} to be done again */
export async function forgetDeadTopic(
  ports: Ports,
  group: GroupId,
  { topicId, partitions }: GroupTopic,
): Promise<void> {
  const all = Array.from({ length: partitions }, (_, partition) => partition);
  await actOnAll(all, (partition) => ports.positions.remove({ group, topicId, partition }));
  await ports.groupTopics.remove(group, topicId);
}

/** @param fresh read it now, instead of trusting a copy. @returns undefined when there is none. @throws {Throttled | Unavailable} */
export async function findTopic(topics: TopicCache, name: string, fresh = false): Promise<Topic | undefined> {
  try {
    return await (fresh ? topics.fresh(name) : topics.get(name));
  } catch (error) {
    if (error instanceof TopicNotFound) return undefined;
    throw error;
  }
}
