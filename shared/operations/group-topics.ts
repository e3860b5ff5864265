import { TopicNotFound } from '../domain/errors.ts';
import type { GroupId, GroupTopic, Member } from '../domain/group.ts';
import { GroupFull } from '../domain/group-errors.ts';
import { GROUP_PARTITIONS_MAX } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Plan, PlanTopic } from '../domain/plan.ts';
import type { Topic } from '../domain/topic.ts';
import type { GroupPorts } from './group-ports.ts';
import type { TopicError } from './group-requests.ts';
import type { KnownPlan } from './plan-cache.ts';
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

/**
 * The topics of a plan, with no more partitions together than a group may have. What was handed out before comes first;
 * then the topics, by name, have what is left.
 */
export function fitting(topics: readonly Topic[], { plan }: KnownPlan): PlanTopic[] {
  const inOrder = topics.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const before = new Map(plan.topics.map(({ id, partitions }) => [id, partitions]));
  const counts = inOrder.map(({ id, partitions }) => Math.min(partitions, before.get(id) ?? 0));
  let left = GROUP_PARTITIONS_MAX - sum(counts);
  return inOrder.flatMap(({ name, id, partitions }, i) => {
    const more = Math.min(left, partitions - counts[i]!);
    left -= more;
    return counts[i]! + more > 0 ? [{ name, id, partitions: counts[i]! + more }] : [];
  });
}

/** What a plan lacks, and what is wrong, of the topics that a member named. */
export interface Comparison {
  /** Those that exist, by name. */
  readonly topics: ReadonlyMap<string, Topic>;
  /** A check has something to do: a topic grew, was deleted or made again, or was named since. */
  readonly differ: boolean;
}

/**
 * Compares a member's topics with its group's plan. Copies of topics judge where they agree with it; before they disagree
 * the topic is read. @throws {Throttled | Unavailable}
 */
export async function compareTopics(
  ports: Pick<Ports, 'topics'>,
  names: readonly string[],
  { plan }: KnownPlan,
): Promise<Comparison> {
  const planned = new Map(plan.topics.map((topic) => [topic.name, topic]));
  const isFull = isFullPlan(plan);
  const topics = new Map<string, Topic>();
  const differs = await actOnAll(names, async (name) => {
    const there = planned.get(name);
    const isAsPlanned = (topic: Topic | undefined) =>
      there === undefined
        ? topic === undefined || isFull
        : topic?.id === there.id &&
          (topic.partitions === there.partitions || (isFull && topic.partitions > there.partitions));
    let topic = await findTopic(ports.topics, name);
    if (topic !== undefined && !isAsPlanned(topic)) topic = await findTopic(ports.topics, name, true);
    if (topic !== undefined) topics.set(name, topic);
    return !isAsPlanned(topic);
  });
  return { topics, differ: differs.includes(true) };
}

/** What is wrong with the topics that a member named, by their names: not there, or no room for all of their partitions. */
export function topicErrors(
  names: readonly string[],
  topics: ReadonlyMap<string, Topic>,
  { group, plan }: KnownPlan,
): TopicError[] {
  const planned = new Map(plan.topics.map(({ id, partitions }) => [id, partitions]));
  const isFull = isFullPlan(plan);
  return names.toSorted().flatMap((topic): TopicError[] => {
    const found = topics.get(topic);
    if (found === undefined) return [{ topic, error: new TopicNotFound(topic) }];
    if (!isFull || found.partitions <= (planned.get(found.id) ?? 0)) return [];
    return [{ topic, error: new GroupFull(group.name, { maxPartitions: GROUP_PARTITIONS_MAX }) }];
  });
}

function isFullPlan({ topics }: Plan): boolean {
  return sum(topics.map(({ partitions }) => partitions)) >= GROUP_PARTITIONS_MAX;
}

function sum(counts: readonly number[]): number {
  return counts.reduce((all, count) => all + count, 0);
}
