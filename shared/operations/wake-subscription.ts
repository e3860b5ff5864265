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
  ports: WakePorts,
  to: Subscriber,
  topicId: string,
  partitions: readonly number[],
): Promise<void> {
  await markPending(ports, to, topicId, partitions, ports.clock.now());
  await sendWakeUps(ports, to, topicId, partitions);
}

/** The marks alone. @param dueAt epoch ms: until then none is taken off @throws {WriteFailed} some may be made */
export async function markPending(
  { pending }: Pick<WakePorts, 'pending'>,
  to: Subscriber,
  topicId: string,
  partitions: readonly number[],
  dueAt: number,
): Promise<void> {
  await actOnAll(partitions, (partition) => pending.put({ topicId, partition, to, dueAt }));
}

/** The wake-ups alone: one that cannot be sent is left to the sweep. */
export async function sendWakeUps(
  { wakeQueue }: Pick<WakePorts, 'wakeQueue'>,
  to: Subscriber,
  topicId: string,
  partitions: readonly number[],
): Promise<void> {
  await wakeQueue.wake(partitions.map((partition) => ({ topicId, partition, to, hop: 0 }))).catch(() => {});
}
