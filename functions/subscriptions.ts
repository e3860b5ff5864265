import { randomBytes } from 'node:crypto';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SQSClient } from '@aws-sdk/client-sqs';
import { type Caller, demand, isAllowed, targetName } from '../shared/domain/rights.ts';
import type { SubscriptionSettings } from '../shared/domain/subscription.ts';
import { seenIn } from '../shared/domain/topic.ts';
import { readSubscriptionsEnv } from '../shared/env.ts';
import { allowedMarks } from '../shared/operations/allowed-sinks.ts';
import { actOnParked, listParked } from '../shared/operations/parked-keys.ts';
import { putSubscription } from '../shared/operations/put-subscription.ts';
import { seekSubscription } from '../shared/operations/seek-subscription.ts';
import type { SubscriptionPorts } from '../shared/operations/subscription-ports.ts';
import {
  deleteSubscription,
  describeSubscription,
  listSubscriptions,
  pauseSubscription,
  resumeSubscription,
  rotateSecret,
} from '../shared/operations/subscriptions.ts';
import { DeliverySwitch } from '../shared/store/delivery-switch.ts';
import { WakeQueue } from '../shared/store/wake-queue.ts';
import { RemoteCheck } from '../shared/target/remote-check.ts';
import { jsonAnswer } from '../shared/wire/http-answer.ts';
import {
  parkedActAnswer,
  parkedListAnswer,
  parseParkedListing,
  parseParkedRequest,
} from '../shared/wire/parked-keys.ts';
import {
  putSubscriptionAnswer,
  seekAnswer,
  subscriptionAnswer,
  subscriptionDetailAnswer,
  subscriptionListAnswer,
} from '../shared/wire/subscription-answers.ts';
import {
  checkSettings,
  emptyBodyFor,
  onlySubscriptionOf,
  parseSeekRequest,
  parseSubscriptionListing,
  parseSubscriptionRequest,
  SUBSCRIPTION_DEFAULTS,
  subscriptionOf,
} from '../shared/wire/subscription-requests.ts';
import { SECRET_BYTES, secretText } from '../shared/wire/webhook-signature.ts';
import { type ApiPorts, type ApiRoutes, type ApiSettings, apiHandler, type GatewayHandler } from './api-handler.ts';
import { observe } from './observability.ts';
import { awsDynamoDB, CALLS, openTables, type Tables } from './tables.ts';

/** A target that is looked at may take its time: its name is resolved, or a service asked. */
export const LOOKS = { ...CALLS, requestHandler: { ...CALLS.requestHandler, requestTimeout: 15_000 } };

/** All that whoever looks after subscriptions needs. */
export type SubscriptionsBackbone = SubscriptionPorts & ApiPorts;

/** Whoever looks after subscriptions. */
export function subscriptionsHandler(ports: SubscriptionsBackbone, settings?: ApiSettings): GatewayHandler {
  return apiHandler(() => ports, subscriptionRoutes, settings);
}

export const handler = apiHandler(awsSubscriptions, subscriptionRoutes);

/** @param of who may be pushed to, and what wakes deliveries */
export function openSubscriptions(
  tables: Tables,
  sqs: Pick<SQSClient, 'send'>,
  { wakeQueueUrl }: { readonly wakeQueueUrl: string },
  of: Pick<SubscriptionPorts, 'targets' | 'deliveries'>,
): SubscriptionsBackbone {
  return {
    ...tables,
    ...of,
    wakeQueue: new WakeQueue(sqs, wakeQueueUrl),
    newSecret: () => secretText(randomBytes(SECRET_BYTES)),
  };
}

function awsSubscriptions(): SubscriptionsBackbone {
  const env = readSubscriptionsEnv();
  const lambda = new LambdaClient(LOOKS);
  return openSubscriptions(openTables(awsDynamoDB(), env, observe), new SQSClient(CALLS), env, {
    targets: new RemoteCheck(lambda, env.checkFunction),
    deliveries: new DeliverySwitch(lambda, env.deliveryMappings),
  });
}

function subscriptionRoutes(ports: SubscriptionsBackbone): ApiRoutes {
  /** With parked keys as this caller may touch them. */
  const parked = (caller: Caller) => ({ ...ports, pending: allowedMarks(ports.pending, caller) });
  return {
    'PUT /v1/subscriptions/{name}': async (request, _, caller) => {
      const [name, wish] = [subscriptionOf(request), parseSubscriptionRequest(request)];
      const check = (settings: SubscriptionSettings) => {
        demandPush(caller, name, settings);
        checkSettings(settings);
      };
      return putSubscriptionAnswer(await putSubscription(ports, name, wish, SUBSCRIPTION_DEFAULTS, check));
    },
    'GET /v1/subscriptions': async (request, _, caller) => {
      const page = await listSubscriptions(ports, parseSubscriptionListing(request));
      return subscriptionListAnswer(seenIn(page, ({ group }) => isAllowed(caller, 'any', { group: group.name })));
    },
    'GET /v1/subscriptions/{name}': async (request) =>
      subscriptionDetailAnswer(await describeSubscription(ports, onlySubscriptionOf(request))),
    'DELETE /v1/subscriptions/{name}': async (request) => {
      await deleteSubscription(ports, onlySubscriptionOf(request));
      return { status: 204 };
    },
    'POST /v1/subscriptions/{name}/pause': async (request) =>
      subscriptionAnswer(await pauseSubscription(ports, emptyBodyFor(request))),
    'POST /v1/subscriptions/{name}/resume': async (request) =>
      subscriptionAnswer(await resumeSubscription(ports, emptyBodyFor(request))),
    'POST /v1/subscriptions/{name}/seek': async (request) =>
      seekAnswer(await seekSubscription(ports, parseSeekRequest(request))),
    'GET /v1/subscriptions/{name}/parked': async (request, _, caller) => {
      const { subscription, ...page } = parseParkedListing(request);
      return parkedListAnswer(await listParked(parked(caller), subscription, page));
    },
    'POST /v1/subscriptions/{name}/parked/resume': async (request, deadline, caller) => {
      const { subscription, ...wish } = parseParkedRequest(request);
      const { count, more } = await actOnParked(parked(caller), subscription, { ...wish, act: 'resume', deadline });
      return parkedActAnswer({ resuming: count }, more);
    },
    'POST /v1/subscriptions/{name}/parked/dead-letter': async (request, deadline, caller) => {
      const { subscription, ...wish } = parseParkedRequest(request);
      const { count, more } = await actOnParked(parked(caller), subscription, {
        ...wish,
        act: 'dead-letter',
        deadline,
      });
      return parkedActAnswer({ deadLettering: count }, more);
    },
    'POST /v1/subscriptions/{name}/rotate-secret': async (request) =>
      jsonAnswer({ secret: await rotateSecret(ports, emptyBodyFor(request)) }),
  };
}

/** Each topic may be pushed to the target, also where one of them was there before and is not named. @throws {Forbidden} */
function demandPush(caller: Caller, group: string, { topics, target }: SubscriptionSettings): void {
  for (const topic of topics) demand(caller, 'subscribe', { topic, group, target: targetName(target) });
}
