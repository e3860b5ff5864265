import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import type {
  Context,
  DynamoDBBatchResponse,
  DynamoDBRecord,
  DynamoDBStreamEvent,
  SQSBatchResponse,
  SQSEvent,
  SQSRecord,
} from 'aws-lambda';
import { BACKGROUND_MARGIN_MS, WAKE_PAUSE_S, WAKE_PAUSE_S_MAX } from '../shared/domain/limits.ts';
import type { Removal } from '../shared/domain/removal.ts';
import { readDispatchEnv } from '../shared/env.ts';
import { followRemovals, type RemovalPorts } from '../shared/operations/follow-removals.ts';
import { Spill } from '../shared/store/spill.ts';
import { UploadObjects } from '../shared/store/upload-objects.ts';
import { decodeRemovals, removalOf, WakeQueue } from '../shared/store/wake-queue.ts';
import { logFailure, logger, observe, publishObservations } from './observability.ts';
import { awsDynamoDB, CALLS, openTables } from './tables.ts';

/** What is needed to follow what happens in the log. */
export interface DispatchPorts extends RemovalPorts {
  readonly wakeQueue: Pick<WakeQueue, 'sendRemovals' | 'delay'>;
}

export type DispatchHandler = (
  event: DynamoDBStreamEvent | SQSEvent,
  context: Pick<Context, 'getRemainingTimeInMillis'>,
) => Promise<DynamoDBBatchResponse | SQSBatchResponse>;

/**
 * S3 takes its time over a thousand keys. One attempt, which may begin in the last moment before `BACKGROUND_MARGIN_MS`: what
 * it leaves is handed on, and that takes its time, too.
 */
export const S3_CALLS = { maxAttempts: 1, timeoutMs: 8_000 } as const;

/** Follows the log's stream, and takes up from the wake queue what could not be finished then. */
export function dispatchHandler(open: () => DispatchPorts): DispatchHandler {
  let ports: DispatchPorts | undefined;
  return async ({ Records }, context) => {
    ports ??= open();
    const stopAt = ports.clock.now() + context.getRemainingTimeInMillis() - BACKGROUND_MARGIN_MS;
    try {
      const messages = Records.filter(isMessage);
      if (messages.length > 0) return await followMessages(ports, messages, stopAt);
      await followStream(ports, Records.filter(isChange), stopAt);
      return { batchItemFailures: [] };
    } finally {
      publishObservations();
    }
  };
}

export const handler = dispatchHandler(awsDispatch);

/** @throws what kept unfinished work from being handed on: then the stream delivers these records again */
async function followStream(ports: DispatchPorts, records: readonly DynamoDBRecord[], stopAt: number): Promise<void> {
  const removals = records.filter(({ eventName }) => eventName === 'REMOVE').flatMap(removalIn);
  const { unfinished, failures } = await followRemovals(ports, removals, stopAt);
  for (const failure of failures) logFailure('a removal could not be followed', failure);
  if (unfinished.length > 0) await ports.wakeQueue.sendRemovals(unfinished);
}

/** A key that is none of ours never will be: it must not hold up the stream. */
function removalIn({ dynamodb, userIdentity }: DynamoDBRecord): Removal[] {
  const { log, last } = dynamodb?.Keys ?? {};
  const expired = userIdentity?.principalId === 'dynamodb.amazonaws.com';
  try {
    return [removalOf(log?.S ?? '', Number(last?.N), expired)];
  } catch (error) {
    logger.error('an item with an unknown key was removed from the log', { error: error as Error });
    return [];
  }
}

async function followMessages(
  ports: DispatchPorts,
  messages: readonly SQSRecord[],
  stopAt: number,
): Promise<SQSBatchResponse> {
  const batchItemFailures: SQSBatchResponse['batchItemFailures'] = [];
  for (const message of messages) {
    const failures = await followMessage(ports, message, stopAt);
    if (failures.length === 0) continue;
    for (const failure of failures) logFailure('work from the wake queue could not be finished', failure);
    batchItemFailures.push({ itemIdentifier: message.messageId });
    const pauseS = Math.min(WAKE_PAUSE_S * 2 ** (triesOf(message) - 1), WAKE_PAUSE_S_MAX);
    // Should this fail, it comes back after the queue's own time.
    await ports.wakeQueue.delay(message.receiptHandle, pauseS).catch((error) => logFailure('not delayed', error));
  }
  return { batchItemFailures };
}

/** @returns why it must come back; nothing when it is done */
async function followMessage(ports: DispatchPorts, { body }: SQSRecord, stopAt: number): Promise<unknown[]> {
  try {
    const { unfinished, failures } = await followRemovals(ports, decodeRemovals(body), stopAt);
    if (unfinished.length === 0) return [];
    return failures.length > 0 ? [...failures] : [new Error(`${unfinished.length} removals are left`)];
  } catch (error) {
    return [error];
  }
}

function triesOf({ attributes }: SQSRecord): number {
  return Number(attributes.ApproximateReceiveCount) || 1;
}

function isMessage(record: SQSRecord | DynamoDBRecord): record is SQSRecord {
  return 'receiptHandle' in record;
}

function isChange(record: SQSRecord | DynamoDBRecord): record is DynamoDBRecord {
  return 'dynamodb' in record;
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
