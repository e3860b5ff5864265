import { actOnAll } from '../domain/parallel.ts';
import type { Pending, Subscriber, WakeUp } from '../domain/wake-up.ts';

export interface WakePorts {
  /** Positions that are looked at until there is nothing to do, whatever becomes of a wake-up. */
  readonly pending: { put(pending: Pending): Promise<void> };
  readonly wakeQueue: { wake(wakeUps: readonly WakeUp[]): Promise<void> };
  readonly clock: { now(): number };
}

/**
 * Has a subscription look at partitions of a topic, now. A wake-up may get lost: the marks stay until somebody looked.
 *
 * @throws {WriteFailed} nothing, or not everything, is marked; a wake-up that cannot be sent is left to the sweep
 */
export async function wakeSubscription(
  { pending, wakeQueue, clock }: WakePorts,
  to: Subscriber,
  topicId: string,
  partitions: readonly number[],
): Promise<void> {
  const dueAt = clock.now();
  await actOnAll(partitions, (partition) => pending.put({ topicId, partition, to, dueAt }));
  await wakeQueue.wake(partitions.map((partition) => ({ topicId, partition, to, hop: 0 }))).catch(() => {});
}
