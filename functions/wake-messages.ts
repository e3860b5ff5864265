import type { SQSBatchResponse, SQSRecord } from 'aws-lambda';
import { WAKE_PAUSE_S, WAKE_PAUSE_S_MAX } from '../shared/domain/limits.ts';
import { settleAll } from '../shared/domain/parallel.ts';
import type { Removal } from '../shared/domain/removal.ts';
import { followRemovals, type RemovalPorts } from '../shared/operations/follow-removals.ts';
import type { WakeQueue } from '../shared/store/wake-queue.ts';
import { logFailure } from './observability.ts';

/**
 * Works messages of the wake queue off, side by side. What fails comes back after a pause that grows.
 *
 * @param work tells why a message must come back; nothing when it is done
 */
export async function workOff(
  wakeQueue: Pick<WakeQueue, 'delay'>,
  messages: readonly SQSRecord[],
  work: (message: SQSRecord) => Promise<readonly unknown[]>,
): Promise<SQSBatchResponse> {
  const outcomes = await settleAll(messages, async (message) => {
    const failures = await work(message).catch((error: unknown) => [error]);
    if (failures.length === 0) return [];
    for (const failure of failures) logFailure('work from the wake queue could not be finished', failure);
    const pauseS = Math.min(WAKE_PAUSE_S * 2 ** (timesReceived(message) - 1), WAKE_PAUSE_S_MAX);
    // Should this fail, it comes back after the queue's own time.
    await wakeQueue.delay(message.receiptHandle, pauseS).catch((error) => logFailure('not delayed', error));
    return [{ itemIdentifier: message.messageId }];
  });
  return {
    batchItemFailures: outcomes.flatMap((outcome, i) =>
      outcome.status === 'fulfilled' ? outcome.value : [{ itemIdentifier: messages[i]!.messageId }],
    ),
  };
}

/** Follows removals that were handed on. @returns why they must come back; nothing when they are done */
export async function followHandedOn(
  ports: RemovalPorts,
  removals: readonly Removal[],
  stopAt: number,
): Promise<readonly unknown[]> {
  const { unfinished, failures } = await followRemovals(ports, removals, stopAt);
  if (unfinished.length === 0) return [];
  return failures.length > 0 ? failures : [new Error(`${unfinished.length} removals are left`)];
}

/** 1: for the first time. */
export function timesReceived({ attributes }: SQSRecord): number {
  return Number(attributes.ApproximateReceiveCount) || 1;
}
