import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Context, DynamoDBBatchResponse, DynamoDBRecord, DynamoDBStreamEvent } from 'aws-lambda';
import { BACKGROUND_MARGIN_MS } from '../shared/domain/limits.ts';
import type { Removal, SlotRemoval } from '../shared/domain/removal.ts';
import { readDispatchEnv } from '../shared/env.ts';
import { followRemovals, type RemovalPorts } from '../shared/operations/follow-removals.ts';
import { type WakeSubscribersPorts, wakeSubscribers } from '../shared/operations/wake-subscribers.ts';
import { Spill } from '../shared/store/spill.ts';
import { UploadObjects } from '../shared/store/upload-objects.ts';
import { removalOf, WakeQueue } from '../shared/store/wake-queue.ts';
import { logFailure, logger, observe, publishObservations } from './observability.ts';
import { awsDynamoDB, CALLS, openTables } from './tables.ts';

/** What is needed to follow what happens in the log. */
export interface DispatchPorts extends RemovalPorts, WakeSubscribersPorts {
  readonly wakeQueue: Pick<WakeQueue, 'sendRemovals' | 'wake'>;
}

export type DispatchHandler = (
  event: DynamoDBStreamEvent,
  context: Pick<Context, 'getRemainingTimeInMillis'>,
) => Promise<DynamoDBBatchResponse>;

/**
 * S3 takes its time over a thousand keys. One attempt, which may begin in the last moment before `BACKGROUND_MARGIN_MS`: what
 * it leaves is handed on, and that takes its time, too.
 */
export const S3_CALLS = { maxAttempts: 1, timeoutMs: 8_000 } as const;

/** Follows the log's stream: wakes subscribers, and removes payloads. What it cannot finish it hands to the wake queue. */
export function dispatchHandler(open: () => DispatchPorts): DispatchHandler {
  let ports: DispatchPorts | undefined;
  return async ({ Records }, context) => {
    ports ??= open();
    const stopAt = ports.clock.now() + context.getRemainingTimeInMillis() - BACKGROUND_MARGIN_MS;
    try {
      await followStream(ports, Records, stopAt);
      return { batchItemFailures: [] };
    } finally {
      publishObservations();
    }
  };
}

export const handler = dispatchHandler(awsDispatch);

/** @throws what kept unfinished work from being handed on: then the stream delivers these records again */
async function followStream(ports: DispatchPorts, records: readonly DynamoDBRecord[], stopAt: number): Promise<void> {
  // First of all: somebody waits for it.
  const slots = records.filter(({ eventName }) => eventName === 'INSERT').flatMap(itemIn);
  await wakeSubscribers(ports, slots.filter(isSlot));
  const removals = records.filter(({ eventName }) => eventName === 'REMOVE').flatMap(itemIn);
  const { unfinished, failures } = await followRemovals(ports, removals, stopAt);
  for (const failure of failures) logFailure('a removal could not be followed', failure);
  if (unfinished.length > 0) await ports.wakeQueue.sendRemovals(unfinished);
}

function isSlot(item: Removal): item is SlotRemoval & { readonly kind: 'slot' } {
  return item.kind === 'slot';
}

/** A key that is none of ours never will be: it must not hold up the stream. */
function itemIn({ dynamodb, userIdentity }: DynamoDBRecord): Removal[] {
  const { log, last } = dynamodb?.Keys ?? {};
  const expired = userIdentity?.principalId === 'dynamodb.amazonaws.com';
  try {
    return [removalOf(log?.S ?? '', Number(last?.N), expired)];
  } catch (error) {
    logger.error('an item with an unknown key was put into the log, or removed', { error: error as Error });
    return [];
  }
}

function awsDispatch(): DispatchPorts {
  const env = readDispatchEnv();
  const s3 = new S3Client({
    ...CALLS,
    maxAttempts: S3_CALLS.maxAttempts,
    requestHandler: { ...CALLS.requestHandler, requestTimeout: S3_CALLS.timeoutMs },
  });
  return {
    ...openTables(awsDynamoDB(), env, observe),
    spill: new Spill(s3, env.bucket),
    uploadObjects: new UploadObjects(s3, env.bucket),
    wakeQueue: new WakeQueue(new SQSClient(CALLS), env.wakeQueueUrl),
  };
}
