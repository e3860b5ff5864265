import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Subscription, SubscriptionSettings, TargetAddress } from '../domain/subscription.ts';
import { LAYOUT_VERSION, refuseUnknownLayout, subscriptionKey } from './keys.ts';
import { itemKey } from './state-items.ts';

type Item = Record<string, AttributeValue>;

/*
 * Attributes beside those of the key table:
 *
 *   target   {kind, …}, a map: functionArn | url secret oldSecret? oldSecretUntil? | queueUrl | eventBusName
 *   from     'earliest', 'latest', or epoch ms
 *   batch    {maxRecords, maxBytes}      retry  {maxAttempts, minBackoffMs, maxBackoffMs}
 *   filter?  JSON text                   lastError?  {name, message}
 */
export function subscriptionItem(subscription: Subscription): Item {
  const { group, topics, target, from, batch, timeoutMs, filter, retry, lastError, reason } = subscription;
  return {
    ...itemKey(subscriptionKey(group.name)),
    v: { N: LAYOUT_VERSION },
    revision: numberOf(subscription.revision),
    groupId: { S: group.id },
    topics: { L: topics.map((topic) => ({ S: topic })) },
    target: { M: targetMap(target) },
    from: typeof from === 'object' ? numberOf(from.at) : { S: from },
    batch: { M: numbersOf(batch) },
    timeoutMs: numberOf(timeoutMs),
    ...(filter !== undefined && { filter: { S: filter } }),
    retry: { M: numbersOf(retry) },
    onFailure: { S: subscription.onFailure },
    haltAfterDeadLetters: numberOf(subscription.haltAfterDeadLetters),
    state: { S: subscription.state },
    ...(reason !== undefined && { reason: { S: reason } }),
    ...(lastError !== undefined && {
      lastError: { M: { name: { S: lastError.name }, message: { S: lastError.message } } },
    }),
    createdAt: numberOf(subscription.createdAt),
    updatedAt: numberOf(subscription.updatedAt),
  };
}

/** @throws {UnknownLayout} */
export function toSubscription(name: string, item: Item): Subscription {
  refuseUnknownLayout(item);
  const [batch, retry, error] = [item.batch!.M!, item.retry!.M!, item.lastError?.M];
  return {
    group: { name, id: item.groupId!.S! },
    revision: Number(item.revision!.N),
    topics: item.topics!.L!.map((topic) => topic.S!),
    target: toTarget(item.target!.M!),
    from: item.from!.S === undefined ? { at: Number(item.from!.N) } : (item.from!.S as 'earliest' | 'latest'),
    batch: { maxRecords: Number(batch.maxRecords!.N), maxBytes: Number(batch.maxBytes!.N) },
    timeoutMs: Number(item.timeoutMs!.N),
    ...(item.filter && { filter: item.filter.S! }),
    retry: {
      maxAttempts: Number(retry.maxAttempts!.N),
      minBackoffMs: Number(retry.minBackoffMs!.N),
      maxBackoffMs: Number(retry.maxBackoffMs!.N),
    },
    onFailure: item.onFailure!.S as SubscriptionSettings['onFailure'],
    haltAfterDeadLetters: Number(item.haltAfterDeadLetters!.N),
    state: item.state!.S as Subscription['state'],
    ...(item.reason && { reason: item.reason.S! }),
    ...(error && { lastError: { name: error.name!.S!, message: error.message!.S! } }),
    createdAt: Number(item.createdAt!.N),
    updatedAt: Number(item.updatedAt!.N),
  };
}

function targetMap(target: TargetAddress): Item {
  const kind = { kind: { S: target.kind } };
  switch (target.kind) {
    case 'lambda':
      return { ...kind, functionArn: { S: target.functionArn } };
    case 'sqs':
      return { ...kind, queueUrl: { S: target.queueUrl } };
    case 'eventBridge':
      return { ...kind, eventBusName: { S: target.eventBusName } };
    case 'http': {
      const { url, secret, oldSecret } = target;
      return {
        ...kind,
        url: { S: url },
        secret: { S: secret },
        ...(oldSecret && { oldSecret: { S: oldSecret.secret }, oldSecretUntil: numberOf(oldSecret.until) }),
      };
    }
  }
}

function toTarget(map: Item): TargetAddress {
  const kind = map.kind!.S as TargetAddress['kind'];
  switch (kind) {
    case 'lambda':
      return { kind, functionArn: map.functionArn!.S! };
    case 'sqs':
      return { kind, queueUrl: map.queueUrl!.S! };
    case 'eventBridge':
      return { kind, eventBusName: map.eventBusName!.S! };
    case 'http':
      return {
        kind,
        url: map.url!.S!,
        secret: map.secret!.S!,
        ...(map.oldSecret && { oldSecret: { secret: map.oldSecret.S!, until: Number(map.oldSecretUntil!.N) } }),
      };
  }
}

function numberOf(value: number): AttributeValue {
  return { N: String(value) };
}

function numbersOf(values: Readonly<Record<string, number>>): Item {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, numberOf(value)]));
}
