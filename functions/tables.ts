import { randomBytes, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ulid } from 'ulid';
import { API_KEY_SECRET_BYTES } from '../shared/domain/access-limits.ts';
import { type Clock, CorrectedClock, WriterClock } from '../shared/domain/clock.ts';
import { STORE_ATTEMPT_TIMEOUT_MS } from '../shared/domain/limits.ts';
import type { Observe } from '../shared/domain/observation.ts';
import { readTableEnv, type TableEnv } from '../shared/env.ts';
import { Access } from '../shared/operations/authorise.ts';
import { Lags } from '../shared/operations/measure-lag.ts';
import { ReaderMemory } from '../shared/operations/reader-memory.ts';
import { ServedSubscribers } from '../shared/operations/served-subscribers.ts';
import { CaughtUp } from '../shared/operations/sweep-wake-ups.ts';
import { TopicCache } from '../shared/operations/topic-cache.ts';
import { SubscribedTopics } from '../shared/operations/wake-subscribers.ts';
import { ApiKeys } from '../shared/store/api-keys.ts';
import { Assignments } from '../shared/store/assignments.ts';
import { Claims } from '../shared/store/claims.ts';
import { DeadLetters } from '../shared/store/dead-letters.ts';
import { Grants } from '../shared/store/grants.ts';
import { GroupRedriveMarks } from '../shared/store/group-redrives.ts';
import { GroupTopics } from '../shared/store/group-topics.ts';
import { Groups } from '../shared/store/groups.ts';
import { Lanes } from '../shared/store/lanes.ts';
import { Leftovers } from '../shared/store/leftovers.ts';
import { Log } from '../shared/store/log.ts';
import { Members } from '../shared/store/members.ts';
import { PartitionHeads } from '../shared/store/partition-head.ts';
import { PendingPositions } from '../shared/store/pending.ts';
import { Positions } from '../shared/store/positions.ts';
import { PushPositions } from '../shared/store/push-positions.ts';
import { Redrives } from '../shared/store/redrives.ts';
import { SettleSecret } from '../shared/store/settle-secret.ts';
import { Subscribers } from '../shared/store/subscribers.ts';
import { Subscriptions } from '../shared/store/subscriptions.ts';
import { Topics } from '../shared/store/topics.ts';
import { Touched } from '../shared/store/touched.ts';
import { Uploads } from '../shared/store/uploads.ts';
import { observe } from './observability.ts';

/** How a function's clients call AWS: each attempt has a deadline, and there are few, because a caller waits. */
export const CALLS = {
  maxAttempts: 3,
  requestHandler: {
    connectionTimeout: 1_000,
    requestTimeout: STORE_ATTEMPT_TIMEOUT_MS,
    throwOnRequestTimeout: true,
    httpsAgent: { keepAlive: true, maxSockets: 128 },
  },
} as const;

export function awsDynamoDB(): DynamoDBClient {
  return new DynamoDBClient(CALLS);
}

/** What operations need of the two tables, of time and of chance. */
export type Tables = ReturnType<typeof openTables>;

/**
 * @param tell told what operations did or met beside their answer
 * @param host the host's own clock
 */
export function openTables(dynamodb: DynamoDBClient, env: TableEnv, tell: Observe = () => {}, host: Clock = Date) {
  // One clock for reservations, their deadlines and signatures, which the SDK dates by what AWS answers.
  const clock = new CorrectedClock(host, () => dynamodb.config.systemClockOffset);
  const topicItems = new Topics(dynamodb, env.stateTable);
  const apiKeys = new ApiKeys(dynamodb, env.stateTable);
  const grants = new Grants(dynamodb, env.stateTable);
  const positions = new Positions(dynamodb, env.stateTable);
  return {
    clock,
    writerClock: new WriterClock(clock),
    heads: new PartitionHeads(dynamodb, env.stateTable),
    log: new Log(dynamodb, env.logTable),
    settleSecret: new SettleSecret(dynamodb, env.stateTable),
    claims: new Claims(dynamodb, env.stateTable),
    uploads: new Uploads(dynamodb, env),
    topicItems,
    leftovers: new Leftovers(dynamodb, env.stateTable),
    topics: new TopicCache(topicItems, clock),
    groups: new Groups(dynamodb, env.stateTable),
    members: new Members(dynamodb, env.stateTable),
    assignments: new Assignments(dynamodb, env.stateTable),
    groupTopics: new GroupTopics(dynamodb, env.stateTable),
    positions,
    lanes: new Lanes(dynamodb, env.stateTable, positions),
    pushPositions: new PushPositions(dynamodb, env.stateTable),
    touched: new Touched(dynamodb, env.stateTable),
    deadLetters: new DeadLetters(dynamodb, env.stateTable),
    redrives: new Redrives(dynamodb, env.stateTable),
    groupRedrives: new GroupRedriveMarks(dynamodb, env.stateTable),
    subscriptions: new Subscriptions(dynamodb, env.stateTable),
    subscribers: new Subscribers(dynamodb, env.stateTable),
    pending: new PendingPositions(dynamodb, env.stateTable),
    apiKeys,
    grants,
    access: new Access({ clock, apiKeys, grants }),
    readers: new ReaderMemory(),
    subscribed: new SubscribedTopics(),
    served: new ServedSubscribers(),
    caughtUp: new CaughtUp(),
    lags: new Lags(),
    newReservationId,
    newTopicId: () => ulid(),
    newUploadId: () => ulid(),
    newGroupId: () => ulid(),
    newMemberUlid: () => ulid(),
    newRunId: () => ulid(),
    newKeyId: () => ulid(),
    newKeySecret: () => randomBytes(API_KEY_SECRET_BYTES).toString('base64url'),
    random: Math.random,
    sleep: async (ms: number) => {
      await sleep(ms);
    },
    observe: tell,
  };
}

/** 12 random bytes in hex: a UUID without its groups that are not all random. UUIDs are drawn from a stock, bytes are not. */
function newReservationId(): string {
  const uuid = randomUUID();
  return uuid.slice(0, 8) + uuid.slice(9, 13) + uuid.slice(24);
}

/** A deployed function's tables. @throws {Error} naming the environment variables that are missing */
export function awsTables(): Tables {
  return openTables(awsDynamoDB(), readTableEnv(), observe);
}
