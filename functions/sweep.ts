import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { ulid } from 'ulid';
import type { Clock } from '../shared/domain/clock.ts';
import { BACKGROUND_MARGIN_MS, SWEEP_RUN_MS } from '../shared/domain/limits.ts';
import type { Observe } from '../shared/domain/observation.ts';
import { readSweepEnv, type SweepEnv } from '../shared/env.ts';
import { type SweepPorts, sweep } from '../shared/operations/sweep.ts';
import { sweepWakeUps, type WakeSweepPorts } from '../shared/operations/sweep-wake-ups.ts';
import { DeadLetterObjects } from '../shared/store/dead-letter-objects.ts';
import { LogPurge } from '../shared/store/log-purge.ts';
import { SweepLease } from '../shared/store/sweep-lease.ts';
import { WakeQueue } from '../shared/store/wake-queue.ts';
import type { Clients } from './backbone.ts';
import { logFailure, observe, publishObservations } from './observability.ts';
import { awsDynamoDB, CALLS, openTables } from './tables.ts';

export type SweepHandler = (event: unknown, context: Pick<Context, 'getRemainingTimeInMillis'>) => Promise<void>;

/** Called every minute. What a run cannot do, or finish, the next one takes up: it never fails for that. */
export function sweepHandler(open: () => SweepPorts & WakeSweepPorts): SweepHandler {
  let ports: (SweepPorts & WakeSweepPorts) | undefined;
  return async (_, context) => {
    ports ??= open();
    const timeMs = Math.min(context.getRemainingTimeInMillis() - BACKGROUND_MARGIN_MS, SWEEP_RUN_MS);
    try {
      const stopAt = ports.clock.now() + timeMs;
      // Somebody waits for these.
      const failures = [...(await sweepWakeUps(ports, stopAt)), ...(await sweep(ports, stopAt))];
      for (const failure of failures) logFailure('a task of the sweep was left', failure);
    } finally {
      publishObservations();
    }
  };
}

export const handler = sweepHandler(() => {
  const env = readSweepEnv();
  const wakeQueue = new WakeQueue(new SQSClient(CALLS), env.wakeQueueUrl);
  return { ...openSweep({ dynamodb: awsDynamoDB(), s3: new S3Client(CALLS) }, env, observe), wakeQueue };
});

/** @param host the host's own clock */
export function openSweep(
  { dynamodb, s3 }: Clients,
  env: Omit<SweepEnv, 'wakeQueueUrl'>,
  tell?: Observe,
  host: Clock = Date,
) {
  return {
    ...openTables(dynamodb, env, tell, host),
    purge: new LogPurge(dynamodb, env.logTable),
    deadLetterObjects: new DeadLetterObjects(s3, env.bucket),
    lease: new SweepLease(dynamodb, env.stateTable),
    newToken: () => ulid(),
  } satisfies SweepPorts;
}
