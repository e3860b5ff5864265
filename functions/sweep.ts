import { S3Client } from '@aws-sdk/client-s3';
import type { Context } from 'aws-lambda';
import { ulid } from 'ulid';
import type { Clock } from '../shared/domain/clock.ts';
import { BACKGROUND_MARGIN_MS, SWEEP_RUN_MS } from '../shared/domain/limits.ts';
import type { Observe } from '../shared/domain/observation.ts';
import { readSweepEnv, type SweepEnv } from '../shared/env.ts';
import { type SweepPorts, sweep } from '../shared/operations/sweep.ts';
import { DeadLetterObjects } from '../shared/store/dead-letter-objects.ts';
import { LogPurge } from '../shared/store/log-purge.ts';
import { SweepLease } from '../shared/store/sweep-lease.ts';
import type { Clients } from './backbone.ts';
import { logFailure, observe, publishObservations } from './observability.ts';
import { awsDynamoDB, CALLS, openTables } from './tables.ts';

export type SweepHandler = (event: unknown, context: Pick<Context, 'getRemainingTimeInMillis'>) => Promise<void>;

/** Called every minute. What a run cannot do, or finish, the next one takes up: it never fails for that. */
export function sweepHandler(open: () => SweepPorts): SweepHandler {
  let ports: SweepPorts | undefined;
  return async (_, context) => {
    ports ??= open();
    const timeMs = Math.min(context.getRemainingTimeInMillis() - BACKGROUND_MARGIN_MS, SWEEP_RUN_MS);
    try {
      const failures = await sweep(ports, ports.clock.now() + timeMs);
      for (const failure of failures) logFailure('a task of the sweep was left', failure);
    } finally {
      publishObservations();
    }
  };
}

export const handler = sweepHandler(() =>
  openSweep({ dynamodb: awsDynamoDB(), s3: new S3Client(CALLS) }, readSweepEnv(), observe),
);

/** @param host the host's own clock */
export function openSweep({ dynamodb, s3 }: Clients, env: SweepEnv, tell?: Observe, host: Clock = Date): SweepPorts {
  return {
    ...openTables(dynamodb, env, tell, host),
    purge: new LogPurge(dynamodb, env.logTable),
    deadLetterObjects: new DeadLetterObjects(s3, env.bucket),
    lease: new SweepLease(dynamodb, env.stateTable),
    newToken: () => ulid(),
  };
}
