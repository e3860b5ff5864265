import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ulid } from 'ulid';
import { type Clock, CorrectedClock, WriterClock } from '../shared/domain/clock.ts';
import { STORE_ATTEMPT_TIMEOUT_MS } from '../shared/domain/limits.ts';
import type { Observe } from '../shared/domain/observation.ts';
import { type Env, readEnv } from '../shared/env.ts';
import type { RequestPorts } from '../shared/operations/append-batches.ts';
import type { ReadPorts } from '../shared/operations/read-batches.ts';
import { ReaderMemory } from '../shared/operations/reader-memory.ts';
import { TopicCache } from '../shared/operations/topic-cache.ts';
import type { TopicPorts } from '../shared/operations/topics.ts';
import { Claims } from '../shared/store/claims.ts';
import { Log } from '../shared/store/log.ts';
import { PartitionHeads } from '../shared/store/partition-head.ts';
import { RESERVATION_ID_BYTES } from '../shared/store/reservation-layout.ts';
import { Topics } from '../shared/store/topics.ts';
import { observe } from './observability.ts';

/** The AWS clients that the API's functions use. */
export interface Clients {
  readonly dynamodb: DynamoDBClient;
}

/** Everything that the operations need, wired together. */
export type Backbone = RequestPorts & ReadPorts & TopicPorts;

/**
 * Clients as a function makes them: each attempt has a deadline of its own, and there are few, because every write of
 * the append protocol has a deadline and a caller who waits.
 */
export function awsClients(): Clients {
  return {
    dynamodb: new DynamoDBClient({
      maxAttempts: 3,
      requestHandler: {
        connectionTimeout: 1_000,
        requestTimeout: STORE_ATTEMPT_TIMEOUT_MS,
        throwOnRequestTimeout: true,
        httpsAgent: { keepAlive: true, maxSockets: 128 },
      },
    }),
  };
}

/**
 * @param tell told what operations did or met beside their answer
 * @param host the host's own clock
 */
export function openBackbone({ dynamodb }: Clients, env: Env, tell: Observe = () => {}, host: Clock = Date): Backbone {
  // One clock for reservations, their deadlines and signatures, which the SDK dates by what AWS answers.
  const clock = new CorrectedClock(host, () => dynamodb.config.systemClockOffset);
  const heads = new PartitionHeads(dynamodb, env.stateTable);
  const topicItems = new Topics(dynamodb, env.stateTable);
  return {
    clock,
    writerClock: new WriterClock(clock),
    heads,
    log: new Log(dynamodb, env.logTable),
    claims: new Claims(dynamodb, env.stateTable),
    topicItems,
    topics: new TopicCache(topicItems, clock),
    readers: new ReaderMemory(),
    newReservationId: () => randomBytes(RESERVATION_ID_BYTES).toString('hex'),
    newTopicId: ulid,
    random: Math.random,
    sleep: async (ms) => {
      await sleep(ms);
    },
    observe: tell,
  };
}

/** A deployed function's backbone. @throws {Error} naming the environment variables that are missing */
export function awsBackbone(): Backbone {
  return openBackbone(awsClients(), readEnv(), observe);
}
