import type { Clock } from '../shared/domain/clock.ts';
import type { Observe } from '../shared/domain/observation.ts';
import type { Env } from '../shared/env.ts';
import { Admission } from '../shared/operations/admit-append.ts';
import { Quotas } from '../shared/operations/spend-quota.ts';
import { GroupLags } from '../shared/operations/topic-lag.ts';
import { QuotaBuckets } from '../shared/store/quota-buckets.ts';
import { TopicLags } from '../shared/store/topic-lags.ts';
import { type Clients, openBackbone } from './backbone.ts';

/** What appending needs: also what holds it back, which no other function has in its package. */
export type ProduceBackbone = ReturnType<typeof openProduce>;

/** As `openBackbone`. */
export function openProduce(clients: Clients, env: Env, tell?: Observe, host?: Clock) {
  const backbone = openBackbone(clients, env, tell, host);
  const buckets = new QuotaBuckets(clients.dynamodb, env.stateTable);
  const topicLags = new TopicLags(clients.dynamodb, env.stateTable);
  return {
    ...backbone,
    admission: new Admission({
      ...backbone,
      quotas: new Quotas({ ...backbone, buckets }),
      groupLags: new GroupLags({ ...backbone, topicLags }),
    }),
  };
}
