import { TopicNotFound } from '../domain/errors.ts';
import { type GroupId, type GroupTopic, nextEpoch } from '../domain/group.ts';
import { GroupFull } from '../domain/group-errors.ts';
import {
  API_FUNCTION_TIMEOUT_MS,
  CONFIGURATION_CACHE_MS,
  GROUP_PARTITIONS_MAX,
  TOPIC_SUBSCRIPTIONS_MAX,
} from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Subscription, SubscriptionStart } from '../domain/subscription.ts';
import { TooManySubscriptions } from '../domain/subscription-errors.ts';
import type { Topic } from '../domain/topic.ts';
import { createPositions } from './create-positions.ts';
import { forgetDeadTopic } from './group-topics.ts';
import { findOffsets } from './partitions.ts';
import type { SubscriptionPorts } from './subscription-ports.ts';
import { unsubscribeTopic } from './unsubscribe-topic.ts';
import { markPending, sendWakeUps } from './wake-subscription.ts';

/**
 * How long appends may go untold after a topic was marked: a process still has a copy from before, and takes its time.
 * The stream of the first subscription may not be read yet then.
 */
const UNTOLD_MS_MAX = CONFIGURATION_CACHE_MS + API_FUNCTION_TIMEOUT_MS;

/**
 * Reads the topics that a subscription names, and sees that there is room for it.
 * @param name of the subscription @throws {TopicNotFound | GroupFull | TooManySubscriptions | Throttled | Unavailable}
 */
export async function topicsToSubscribe(
  ports: SubscriptionPorts,
  name: string,
  names: readonly string[],
): Promise<Topic[]> {
  const topics = await actOnAll(names, (topic) => ports.topics.fresh(topic));
  if (topics.reduce((sum, { partitions }) => sum + partitions, 0) > GROUP_PARTITIONS_MAX) {
    throw new GroupFull(name, { maxPartitions: GROUP_PARTITIONS_MAX });
  }
  await actOnAll(topics, async (topic) => {
    const others = (await ports.subscribers.of(topic.id)).filter(({ group }) => group.name !== name);
    if (others.length >= TOPIC_SUBSCRIPTIONS_MAX) throw new TooManySubscriptions(topic.name, TOPIC_SUBSCRIPTIONS_MAX);
  });
  return topics;
}

/**
 * Brings what a subscription holds of topics in line with those that it names: what is missing is made, in any state that
 * a call before this one left, and what is no longer named, or was deleted, goes. What is appended from then on is told.
 *
 * @throws {TopicNotFound | GroupNotFound | Throttled | Unavailable | WriteFailed} some may be done: a repeat does the rest
 */
export async function alignTopics(
  ports: SubscriptionPorts,
  { group, from }: Subscription,
  topics: readonly Topic[],
): Promise<void> {
  const known = await ports.groupTopics.all(group);
  await actOnAll(topics, (topic) =>
    subscribe(
      ports,
      group,
      topic,
      known.find(({ topicId }) => topicId === topic.id),
      from,
    ),
  );
  const named = new Set(topics.map(({ id }) => id));
  const others = known.filter(({ topicId }) => !named.has(topicId));
  await actOnAll(others, async (topic) => {
    await unsubscribeTopic(ports, group, topic);
    await forgetDeadTopic(ports, group, topic);
  });
}

async function subscribe(
  ports: SubscriptionPorts,
  group: GroupId,
  topic: Topic,
  before: GroupTopic | undefined,
  from: SubscriptionStart,
): Promise<void> {
  const known = before?.known ?? topic.partitions;
  // Whoever purges the group finds its positions by this.
  await ports.groupTopics.note(group, topic);
  const subscriber = { group, topic: topic.name, known };
  await ports.subscribers.put(topic.id, subscriber);
  if (!(await ports.topicItems.markSubscribed(topic))) throw new TopicNotFound(topic.name);
  const all = Array.from({ length: topic.partitions }, (_, partition) => partition);
  const found = await actOnAll(all, (partition) => ports.positions.read({ group, topicId: topic.id, partition }));
  const missing = all.filter((partition) => found[partition] === undefined);
  // Before there is anything to find: whoever completes what breaks off behind the positions would not know of it.
  await markPending(ports, subscriber, topic.id, missing, ports.clock.now() + UNTOLD_MS_MAX);
  const added = missing.filter((partition) => partition >= known);
  const offsets = await startsOf(
    ports,
    topic,
    from,
    missing.filter((partition) => partition < known),
  );
  // G5: what was added since it knew the topic starts at its first record.
  offsets.push(...(await startsOf(ports, topic, 'earliest', added)));
  const epoch = nextEpoch(0, ports.clock.now());
  const starts = offsets.map(({ partition, offset }) => ({ topicId: topic.id, partition, epoch, committed: offset }));
  await createPositions(ports, group, starts);
  await sendWakeUps(ports, subscriber, topic.id, missing);
}

async function startsOf(
  ports: SubscriptionPorts,
  topic: Topic,
  from: SubscriptionStart,
  partitions: readonly number[],
): Promise<{ readonly partition: number; readonly offset: number }[]> {
  if (partitions.length === 0) return [];
  return findOffsets(ports, topic.name, typeof from === 'object' ? from.at : from, partitions);
}
