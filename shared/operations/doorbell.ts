import type { Clock } from '../domain/clock.ts';
import { DOORBELL_WAIT_MS } from '../domain/limits.ts';
import { settleAll } from '../domain/parallel.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { WakeUp } from '../domain/wake-up.ts';
import { WriteFailed } from '../domain/write-failed.ts';

export interface DoorbellPorts {
  readonly wakeQueue: { wake(wakeUps: readonly WakeUp[]): Promise<void> };
  readonly touched: {
    /** @param hour since the epoch */
    note(partition: PartitionId, hour: number, now: number): Promise<void>;
  };
  readonly clock: Clock;
  sleep(ms: number): Promise<void>;
}

/** Partitions that one container remembers at most. */
const PARTITIONS_MAX = 10_000;

/**
 * Tells of what was appended to topics with subscriptions: at once, by a wake-up, and for the sweep, by a marker for each
 * partition and hour. Both are hints: whatever goes wrong with them is nothing to an append.
 */
export class Doorbell {
  readonly #ports: DoorbellPorts;
  /** The hour in which a partition was noted last. */
  readonly #noted = new Map<string, number>();

  constructor(ports: DoorbellPorts) {
    this.#ports = ports;
  }

  /** Before anything is acknowledged: partitions are about to grow. One write unit for each and hour. */
  async note(partitions: readonly PartitionId[]): Promise<void> {
    const now = this.#ports.clock.now();
    const hour = hourOf(now);
    const unknown = partitions.filter((partition) => this.#noted.get(nameOf(partition)) !== hour);
    await settleAll(unknown, async (partition) => {
      try {
        await this.#ports.touched.note(partition, hour, now);
      } catch (error) {
        if (error instanceof WriteFailed) return;
        throw error;
      }
      this.#noted.set(nameOf(partition), hour);
      if (this.#noted.size > PARTITIONS_MAX) this.#noted.delete(this.#noted.keys().next().value!);
    });
  }

  /** Sends wake-ups, and waits no longer than a moment for it. */
  async ring(wakeUps: readonly WakeUp[]): Promise<void> {
    if (wakeUps.length === 0) return;
    const sent = this.#ports.wakeQueue.wake(wakeUps).catch(() => {});
    await Promise.race([sent, this.#ports.sleep(DOORBELL_WAIT_MS)]);
  }
}

/** @param time epoch ms @returns hours since the epoch */
export function hourOf(time: number): number {
  return Math.floor(time / 3_600_000);
}

function nameOf({ topicId, partition }: PartitionId): string {
  return `${topicId}.${partition}`;
}
