import type { Clock } from '../domain/clock.ts';
import { CONFIGURATION_CACHE_MS } from '../domain/limits.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { WakePorts } from './deliver-ports.ts';

/** Topics that one container remembers at most. */
const TOPICS_MAX = 10_000;

export interface WakeSubscribersPorts extends WakePorts {
  readonly subscribed: SubscribedTopics;
  readonly clock: Clock;
}

/**
 * Topics that somebody was found to subscribe to. That nobody does is not remembered: a subscription that was just made
 * would miss what is appended then.
 */
export class SubscribedTopics {
  readonly #until = new Map<string, number>();

  has(topicId: string, now: number): boolean {
    return (this.#until.get(topicId) ?? 0) > now;
  }

  add(topicId: string, now: number): void {
    this.#until.set(topicId, now + CONFIGURATION_CACHE_MS);
    if (this.#until.size > TOPICS_MAX) this.#until.delete(this.#until.keys().next().value!);
  }
}

/**
 * Wakes whoever subscribes to what has grown: one wake-up for each partition.
 *
 * @param slots that are new in the log, voids among them: what lay behind them may be read now
 * @throws {Throttled | Unavailable | WriteFailed} to be repeated
 */
export async function wakeSubscribers(
  { subscribers, subscribed, wakeQueue, clock }: WakeSubscribersPorts,
  slots: readonly (PartitionId & { readonly last: number })[],
): Promise<void> {
  const newest = new Map<string, PartitionId & { readonly last: number }>();
  for (const slot of slots) {
    const name = `${slot.topicId}.${slot.partition}`;
    if ((newest.get(name)?.last ?? -1) < slot.last) newest.set(name, slot);
  }
  const now = clock.now();
  for (const topicId of new Set([...newest.values()].map((slot) => slot.topicId))) {
    if (!subscribed.has(topicId, now) && (await subscribers.of(topicId)).length > 0) subscribed.add(topicId, now);
  }
  const wakeUps = [...newest.values()]
    .filter(({ topicId }) => subscribed.has(topicId, now))
    .map(({ topicId, partition, last }) => ({ topicId, partition, last, hop: 0 }));
  if (wakeUps.length > 0) await wakeQueue.wake(wakeUps);
}
