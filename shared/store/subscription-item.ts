import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { Subscription, SubscriptionSettings } from '../domain/subscription.ts';
import type { TargetSpec } from '../domain/target-spec.ts';
import { itemKey } from './item-key.ts';
import { LAYOUT_VERSION, refuseUnknownLayout, subscriptionKey } from './keys.ts';

type Item = Record<string, AttributeValue>;

/*
 * Attributes beside those of the key table:
 *
 *   target   {lambda: {functionArn}} | {http: {url, secret, previous?: {secret, until}}} | {sqs: {queueUrl}} |
 *            {eventBridge: {eventBusName}}, maps
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

function targetMap(target: TargetSpec): Item {
  if ('lambda' in target) return { lambda: { M: { functionArn: { S: target.lambda.functionArn } } } };
  if ('sqs' in target) return { sqs: { M: { queueUrl: { S: target.sqs.queueUrl } } } };
  if ('eventBridge' in target) return { eventBridge: { M: { eventBusName: { S: target.eventBridge.eventBusName } } } };
  const { url, secret, previous } = target.http;
  const before = previous && { M: { secret: { S: previous.secret }, until: numberOf(previous.until) } };
  return { http: { M: { url: { S: url }, secret: { S: secret }, ...(before && { previous: before }) } } };
}

function toTarget({ lambda, sqs, eventBridge, http }: Item): TargetSpec {
  if (lambda) return { lambda: { functionArn: lambda.M!.functionArn!.S! } };
  if (sqs) return { sqs: { queueUrl: sqs.M!.queueUrl!.S! } };
  if (eventBridge) return { eventBridge: { eventBusName: eventBridge.M!.eventBusName!.S! } };
  const { url, secret, previous } = http!.M!;
  const before = previous?.M && { secret: previous.M.secret!.S!, until: Number(previous.M.until!.N) };
  return { http: { url: url!.S!, secret: secret!.S!, ...(before && { previous: before }) } };
}

function numberOf(value: number): AttributeValue {
  return { N: String(value) };
}

function numbersOf(values: Readonly<Record<string, number>>): Item {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, numberOf(value)]));
}
