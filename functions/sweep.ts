import { LambdaClient } from '@aws-sdk/client-lambda';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { ulid } from 'ulid';
import type { Clock } from '../shared/domain/clock.ts';
import { BACKGROUND_MARGIN_MS, KEEP_DELIVERIES_MINUTES, SWEEP_RUN_MS } from '../shared/domain/limits.ts';
import type { Observe } from '../shared/domain/observation.ts';
import { readSweepEnv, type SweepEnv } from '../shared/env.ts';
import { keepDeliveries } from '../shared/operations/keep-deliveries.ts';
import { type LagPorts, measureLag, measureParked } from '../shared/operations/measure-lag.ts';
import { type SweepPorts, sweep } from '../shared/operations/sweep.ts';
import { sweepWakeUps, type WakeSweepPorts } from '../shared/operations/sweep-wake-ups.ts';
import { DeadLetterObjects } from '../shared/store/dead-letter-objects.ts';
import { DeliverySwitch } from '../shared/store/delivery-switch.ts';
import { LogPurge } from '../shared/store/log-purge.ts';
import { SweepLease } from '../shared/store/sweep-lease.ts';
import { WakeQueue } from '../shared/store/wake-queue.ts';
import type { Clients } from './backbone.ts';
import { logFailure, observe, publishObservations, recordLag, recordParked, recordTasksLeft } from './observability.ts';
import { awsDynamoDB, CALLS, openTables } from './tables.ts';

export type SweepHandler = (event: unknown, context: Pick<Context, 'getRemainingTimeInMillis'>) => Promise<void>;

/** `keep`: sees that what wakes deliveries is on while it is needed, and off otherwise; absent: it is on for ever. */
type SweptBackbone = SweepPorts & WakeSweepPorts & LagPorts & { readonly keep?: () => Promise<void> };

/** Called every minute. What a run cannot do, or finish, the next one takes up: it never fails for that. */
export function sweepHandler(open: () => SweptBackbone): SweepHandler {
  let ports: SweptBackbone | undefined;
  return async (_, context) => {
    ports ??= open();
    const timeMs = Math.min(context.getRemainingTimeInMillis() - BACKGROUND_MARGIN_MS, SWEEP_RUN_MS);
    try {
      const stopAt = ports.clock.now() + timeMs;
      const kept = keptUp(ports);
      // Somebody waits for these.
      const failures = await sweepWakeUps(ports, stopAt);
      const lag = await measureLag(ports);
      recordLag(lag.report);
      recordParked(measureParked(ports));
      failures.push(...lag.failures, ...(await sweep(ports, stopAt)), ...(await kept));
      recordTasksLeft(failures.length);
      for (const failure of failures) logFailure('a task of the sweep was left', failure);
    } finally {
      publishObservations();
    }
  };
}

/** @returns what kept it from that */
async function keptUp({ keep, clock }: SweptBackbone): Promise<unknown[]> {
  const minute = Math.floor(clock.now() / 60_000);
  if (keep === undefined || minute % KEEP_DELIVERIES_MINUTES !== 0) return [];
  return keep().then(
    () => [],
    (error: unknown) => [error],
  );
}

export const handler = sweepHandler(() => {
  const env = readSweepEnv();
  const wakeQueue = new WakeQueue(new SQSClient(CALLS), env.wakeQueueUrl);
  const deliveries = new DeliverySwitch(new LambdaClient(CALLS), env.deliveryMappings);
  const ports = { ...openSweep({ dynamodb: awsDynamoDB(), s3: new S3Client(CALLS) }, env, observe), wakeQueue };
  return { ...ports, keep: () => keepDeliveries({ ...ports, deliveries }) };
});

/** @param host the host's own clock */
export function openSweep(
  { dynamodb, s3 }: Clients,
  env: Omit<SweepEnv, 'wakeQueueUrl' | 'deliveryMappings'>,
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
