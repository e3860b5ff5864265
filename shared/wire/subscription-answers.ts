import type { PushState } from '../domain/position.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Page } from '../domain/topic.ts';
import { type ApiAnswer, jsonAnswer } from './http-answer.ts';
import { toNextToken } from './next-token.ts';

interface ShownOffset {
  readonly topic: string;
  readonly partition: number;
  readonly committed?: number;
  readonly highWatermark: number;
  readonly lag: number;
  readonly push?: PushState;
  /** Keys that are parked. */
  readonly parked?: number;
}

/** The answer to a PUT: the one answer that shows the secret. */
export function putSubscriptionAnswer(put: {
  readonly subscription: Subscription;
  readonly created: boolean;
}): ApiAnswer {
  return jsonAnswer(subscriptionJson(put.subscription, put.created), put.created ? 201 : 200);
}

export function subscriptionAnswer(subscription: Subscription): ApiAnswer {
  return jsonAnswer(subscriptionJson(subscription));
}

export function subscriptionListAnswer({ items, next }: Page<Subscription>): ApiAnswer {
  return jsonAnswer({
    subscriptions: items.map((subscription) => subscriptionJson(subscription)),
    ...(next !== undefined && { nextToken: toNextToken('subscriptions', next) }),
  });
}

/** With how far it is, partition by partition, and what it last met there. */
export function subscriptionDetailAnswer(description: {
  readonly subscription: Subscription;
  readonly offsets: readonly ShownOffset[];
}): ApiAnswer {
  const { subscription, offsets } = description;
  const latest = offsets
    .flatMap(({ push }) => push?.lastError ?? [])
    .reduce<PushState['lastError']>(
      (last, error) => (last !== undefined && last.at > error.at ? last : error),
      undefined,
    );
  const shown = subscriptionJson(subscription);
  const lastError = shown.lastError ?? latest;
  const found = new Set(offsets.map(({ topic }) => topic));
  const missing = subscription.topics.filter((topic) => !found.has(topic));
  return jsonAnswer({
    ...shown,
    ...(lastError !== undefined && { lastError }),
    lag: offsets.reduce((sum, { lag }) => sum + lag, 0),
    expired: offsets.reduce((sum, { push }) => sum + (push?.expired ?? 0), 0),
    partitions: offsets.map(partitionJson),
    errors: missing.map((topic) => ({
      topic,
      code: 'topic_not_found',
      detail: `Topic '${topic}' was deleted, or made again since: subscribe again, and it begins by 'from'`,
    })),
  });
}

export function seekAnswer(
  offsets: readonly { readonly topic: string; readonly partition: number; readonly offset: number }[],
): ApiAnswer {
  return jsonAnswer({ offsets });
}

function partitionJson({ topic, partition, highWatermark, lag, push, parked, ...offset }: ShownOffset) {
  const { committed = null } = offset;
  const { failure, lastError, expired = 0 } = push ?? {};
  return {
    ...{ topic, partition, committed, highWatermark, lag, expired },
    ...(failure && {
      retrying: {
        ...{ offset: committed, attempts: failure.attempts },
        ...{ retryAt: failure.retryAt, firstFailedAt: failure.firstFailedAt },
      },
    }),
    ...(parked !== undefined && { parked }),
    ...(lastError && { lastError }),
  };
}

function subscriptionJson(subscription: Subscription, withSecret = false) {
  const { group, topics, target, from, filter, state, reason, lastError } = subscription;
  return {
    ...{ name: group.name, id: group.id, state },
    ...(reason !== undefined && { reason }),
    ...(lastError !== undefined && { lastError }),
    topics,
    target:
      'http' in target ? { http: { url: target.http.url, ...(withSecret && { secret: target.http.secret }) } } : target,
    from: typeof from === 'object' ? { at: new Date(from.at).toISOString() } : from,
    ...{ batch: subscription.batch, timeoutMs: subscription.timeoutMs },
    ...(filter !== undefined && { filter: JSON.parse(filter) as unknown }),
    ...{ retry: subscription.retry, onFailure: subscription.onFailure },
    haltAfterDeadLetters: subscription.haltAfterDeadLetters,
    ...{ createdAt: subscription.createdAt, updatedAt: subscription.updatedAt },
  };
}
