import type { SQSClient } from '@aws-sdk/client-sqs';
import type { GroupsEnv } from '../shared/env.ts';
import { PlanCache } from '../shared/operations/plan-cache.ts';
import { ProvenOffsets } from '../shared/operations/proven-offsets.ts';
import { DeadLetterObjects } from '../shared/store/dead-letter-objects.ts';
import { DeadLetterQueue } from '../shared/store/dead-letter-queue.ts';
import { WakeQueue } from '../shared/store/wake-queue.ts';
import type { Backbone, Clients } from './backbone.ts';

/** Everything that consumer groups need. Beside their routes: deliveries need it, and no routes. */
export type GroupsBackbone = ReturnType<typeof openGroups>;

/** @param backbone what appending and reading need, over the same clients */
export function openGroups(
  backbone: Backbone,
  { s3, sqs }: Pick<Clients, 's3'> & { readonly sqs: SQSClient },
  env: Pick<GroupsEnv, 'bucket' | 'deadLetterQueueUrl' | 'wakeQueueUrl'>,
) {
  return {
    ...backbone,
    plans: new PlanCache(),
    proven: new ProvenOffsets(),
    deadLetterObjects: new DeadLetterObjects(s3, env.bucket),
    deadLetterQueue: new DeadLetterQueue(sqs, env.deadLetterQueueUrl),
    wakeQueue: new WakeQueue(sqs, env.wakeQueueUrl),
  };
}
