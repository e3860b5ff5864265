import { randomBytes } from 'node:crypto';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SQSClient } from '@aws-sdk/client-sqs';
import { readSubscriptionsEnv } from '../shared/env.ts';
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
import { type ApiRoutes, apiHandler, type GatewayHandler } from './api-handler.ts';
import { observe } from './observability.ts';
import { awsDynamoDB, CALLS, openTables, type Tables } from './tables.ts';

/** A target that is looked at may take its time: its name is resolved, or a service asked. */
const LOOKS = { ...CALLS, requestHandler: { ...CALLS.requestHandler, requestTimeout: 15_000 } };

/** Whoever looks after subscriptions. */
export function subscriptionsHandler(ports: SubscriptionPorts, corsOrigins?: readonly string[]): GatewayHandler {
  return apiHandler(() => subscriptionRoutes(ports), corsOrigins, ports.clock);
}

export const handler = apiHandler(() => subscriptionRoutes(awsSubscriptions()));

/** @param of who may be pushed to, and what wakes deliveries */
export function openSubscriptions(
  tables: Tables,
  sqs: Pick<SQSClient, 'send'>,
  { wakeQueueUrl }: { readonly wakeQueueUrl: string },
  of: Pick<SubscriptionPorts, 'targets' | 'deliveries'>,
): SubscriptionPorts {
  return {
    ...tables,
    ...of,
    wakeQueue: new WakeQueue(sqs, wakeQueueUrl),
    newSecret: () => secretText(randomBytes(SECRET_BYTES)),
  };
}

function awsSubscriptions(): SubscriptionPorts {
  const env = readSubscriptionsEnv();
  const lambda = new LambdaClient(LOOKS);
  return openSubscriptions(openTables(awsDynamoDB(), env, observe), new SQSClient(CALLS), env, {
    targets: new RemoteCheck(lambda, env.checkFunction),
    deliveries: new DeliverySwitch(lambda, env.deliveryMappings),
  });
}

function subscriptionRoutes(ports: SubscriptionPorts): ApiRoutes {
  return {
    'PUT /v1/subscriptions/{name}': async (request) => {
      const [name, wish] = [subscriptionOf(request), parseSubscriptionRequest(request)];
      return putSubscriptionAnswer(await putSubscription(ports, name, wish, SUBSCRIPTION_DEFAULTS, checkSettings));
    },
    'GET /v1/subscriptions': async (request) =>
      subscriptionListAnswer(await listSubscriptions(ports, parseSubscriptionListing(request))),
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
    'POST /v1/subscriptions/{name}/rotate-secret': async (request) =>
      jsonAnswer({ secret: await rotateSecret(ports, emptyBodyFor(request)) }),
  };
}
