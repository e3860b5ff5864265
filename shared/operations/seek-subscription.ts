import { InvalidRequest } from '../domain/errors.ts';
import { actOnAll } from '../domain/parallel.ts';
import { type Reset, resetTopic } from './reset-group.ts';
import { storeFailed } from './store-failed.ts';
import type { SubscriptionPorts } from './subscription-ports.ts';
import { findSubscription } from './subscriptions.ts';
import { wakeSubscription } from './wake-subscription.ts';

export interface Seek extends Omit<Reset, 'group' | 'topic'> {
  readonly subscription: string;
  /** Absent: all of its topics. */
  readonly topic?: string;
}

export interface SeekOffset {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

/**
 * Sets where a subscription goes on, in all of its topics or some partitions of one. Calls on their way are fenced: what
 * they have done is not believed, and what lies behind the new place is delivered (again).
 *
 * @returns by topic, then partition
 * @throws {SubscriptionNotFound | TopicNotFound | InvalidRequest | OffsetOutOfRange | Throttled | Unavailable}
 */
export async function seekSubscription(ports: SubscriptionPorts, seek: Seek): Promise<readonly SeekOffset[]> {
  const { group, topics } = await findSubscription(ports, seek.subscription);
  const { topic: only, partitions, to } = seek;
  if (only !== undefined && !topics.includes(only)) {
    throw new InvalidRequest(`'topic' must be one that the subscription names: ${topics.join(', ')}`, {
      field: 'topic',
    });
  }
  const wanted = only === undefined ? topics : [only];
  if (wanted.length > 1 && (partitions !== undefined || (typeof to === 'object' && 'offset' in to))) {
    throw new InvalidRequest("'topic' is required with 'partitions' or an offset, for there are several topics", {
      field: 'topic',
    });
  }
  const offsets = await actOnAll(wanted, async (name) => {
    const moved = await resetTopic(ports, group, { topic: name, to, ...(partitions && { partitions }) });
    return moved.map(({ partition, offset }) => ({ topic: name, partition, offset }));
  });
  await wake(ports, seek.subscription, offsets.flat()).catch(storeFailed);
  return offsets.flat();
}

async function wake(ports: SubscriptionPorts, name: string, offsets: readonly SeekOffset[]): Promise<void> {
  const { group } = await findSubscription(ports, name);
  const known = await ports.groupTopics.all(group);
  await actOnAll(known, async (topic) => {
    const partitions = offsets.filter((offset) => offset.topic === topic.name).map(({ partition }) => partition);
    await wakeSubscription(ports, { group, topic: topic.name, known: topic.known }, topic.topicId, partitions);
  });
}
