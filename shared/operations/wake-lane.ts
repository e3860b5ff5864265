import type { LaneId } from '../domain/lane.ts';
import { WAKE_DELAY_MS_MAX } from '../domain/limits.ts';
import type { Subscriber, WakeUp } from '../domain/wake-up.ts';

/** Has a parked key looked after, then. Where no message can wait as long, or none can be sent, the sweep does it. */
export async function wakeLane(
  { wakeQueue }: { readonly wakeQueue: { wake(wakeUps: readonly WakeUp[], delayMs?: number): Promise<void> } },
  to: Subscriber,
  { topicId, partition, lane }: Omit<LaneId, 'group'>,
  waitMs = 0,
): Promise<void> {
  if (waitMs > WAKE_DELAY_MS_MAX) return;
  await wakeQueue.wake([{ topicId, partition, to, lane, hop: 0 }], Math.max(0, waitMs)).catch(() => {});
}
