import type { GroupId, GroupTopic } from '../domain/group.ts';
import type { Topic } from '../domain/topic.ts';
import type { Subscriber } from '../domain/wake-up.ts';

export interface UnsubscribePorts {
  readonly subscribers: {
    /** Strongly consistent. */
    of(topicId: string): Promise<readonly Subscriber[]>;
    remove(topicId: string, group: GroupId): Promise<void>;
  };
  readonly topicItems: {
    /** Strongly consistent. @returns how often it was marked as subscribed; undefined: it is not, or gone */
    marksOf(topic: Pick<Topic, 'name' | 'id'>): Promise<number | undefined>;
    /** Unless it was marked since. */
    unmarkSubscribed(topic: Pick<Topic, 'name' | 'id'>, marks: number): Promise<void>;
  };
}

/**
 * Takes a subscription off a topic's list, and with the last one the mark that makes appends tell of themselves, each at
 * the price of a message. Whoever subscribes meanwhile marks the topic after its entry: it is either seen, or its mark stays.
 *
 * @throws {Throttled | Unavailable | WriteFailed} to be done again
 */
export async function unsubscribeTopic(
  { subscribers, topicItems }: UnsubscribePorts,
  group: GroupId,
  { topicId, name }: Pick<GroupTopic, 'topicId' | 'name'>,
): Promise<void> {
  await subscribers.remove(topicId, group);
  const topic = { name, id: topicId };
  const marks = await topicItems.marksOf(topic);
  if (marks === undefined || (await subscribers.of(topicId)).length > 0) return;
  await topicItems.unmarkSubscribed(topic, marks);
}
