import { setTimeout as sleep } from 'node:timers/promises';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Context } from 'aws-lambda';
import { BackboneError, InvalidRequest } from '../shared/domain/errors.ts';
import { PROVISION_MARGIN_MS, PROVISION_PAUSE_MS } from '../shared/domain/limits.ts';
import { readSubscriptionsEnv } from '../shared/env.ts';
import { type ProvisionPorts, provisionSubscription, provisionTopic, retire } from '../shared/operations/provision.ts';
import { DeliverySwitch } from '../shared/store/delivery-switch.ts';
import type { Grants } from '../shared/store/grants.ts';
import { Provisions } from '../shared/store/provisions.ts';
import { RemoteCheck } from '../shared/target/remote-check.ts';
import { type ProvisionOutcome, provisionAnswer } from '../shared/wire/provision-answer.ts';
import {
  type ProvisionEvent,
  type ProvisionRequest,
  parseProvisionEvent,
  physicalIdOf,
} from '../shared/wire/provision-request.ts';
import { checkSettings, SUBSCRIPTION_DEFAULTS } from '../shared/wire/subscription-requests.ts';
import { logFailure, logger, observe } from './observability.ts';
import { LOOKS, openSubscriptions } from './subscriptions.ts';
import { awsDynamoDB, CALLS, openTables } from './tables.ts';

/** All that deployments look after, and how long is waited between two tries. */
export type ProvisionBackbone = ProvisionPorts & {
  readonly grants: Pick<Grants, 'put' | 'delete'>;
  readonly pauseMs?: number;
};

export type ProvisionHandler = (
  event: ProvisionEvent,
  context: Pick<Context, 'getRemainingTimeInMillis'>,
) => Promise<void>;

/**
 * Serves the custom resources by which apps make topics, subscriptions and grants: each request comes to an answer at
 * the URL that it brings, good or bad, before the function ends. Every one may come twice.
 */
export function provisionHandler(open: () => ProvisionBackbone): ProvisionHandler {
  let ports: ProvisionBackbone | undefined;
  return async (event, context) => {
    const stopAt = Date.now() + context.getRemainingTimeInMillis() - PROVISION_MARGIN_MS;
    const outcome = await outcomeOf(() => (ports ??= open()), event, stopAt);
    await answer(event.ResponseURL, provisionAnswer(event, outcome));
  };
}

export const handler = provisionHandler(() => {
  const env = readSubscriptionsEnv();
  const dynamodb = awsDynamoDB();
  const tables = openTables(dynamodb, env, observe);
  const lambda = new LambdaClient(LOOKS);
  const of = {
    targets: new RemoteCheck(lambda, env.checkFunction),
    deliveries: new DeliverySwitch(lambda, env.deliveryMappings),
  };
  const backbone = openSubscriptions(tables, new SQSClient(CALLS), env, of);
  return { ...backbone, ...tables, provisions: new Provisions(dynamodb, env.stateTable) };
});

async function outcomeOf(
  open: () => ProvisionBackbone,
  event: ProvisionEvent,
  stopAt: number,
): Promise<ProvisionOutcome> {
  const physicalId = physicalIdOf(event);
  try {
    const request = parseProvisionEvent(event);
    return { physicalId, attributes: await insisting(open, request, stopAt) };
  } catch (error) {
    // What was refused was never made: there is nothing to remove, and the stack is to be rid of it.
    if (event.RequestType === 'Delete' && error instanceof InvalidRequest) return { physicalId, attributes: {} };
    logFailure('a resource of a stack was not provisioned', error);
    const { name, message } = error as Error;
    return { physicalId, failed: error instanceof BackboneError ? message : `${name}: ${message}` };
  }
}

/** Tries again what passes: rights that were given a moment ago are not yet known everywhere, those to a target either. */
async function insisting(
  open: () => ProvisionBackbone,
  request: ProvisionRequest,
  stopAt: number,
): Promise<Record<string, string | number>> {
  for (;;) {
    try {
      return await carryOut(open(), request);
    } catch (error) {
      const { pauseMs = PROVISION_PAUSE_MS } = open();
      if (!passes(error) || Date.now() + pauseMs >= stopAt) throw error;
      logger.info('a resource of a stack is tried again', { error: (error as Error).message });
      await sleep(pauseMs);
    }
  }
}

function passes(error: unknown): boolean {
  if (error instanceof BackboneError) return error.retryable || error.code === 'target_forbidden';
  return /AccessDenied/.test((error as Error).name);
}

async function carryOut(ports: ProvisionBackbone, request: ProvisionRequest): Promise<Record<string, string | number>> {
  const { owner, isRemoval } = request;
  if (request.kind === 'grant') {
    const { principal, rights } = request;
    await (isRemoval ? ports.grants.delete(principal, owner) : ports.grants.put(principal, owner, rights));
    return {};
  }
  if (isRemoval) {
    const { kind, name, onRemoval } = request;
    const isGone = await retire(ports, owner, { kind, name }, onRemoval);
    logger.info(isGone ? 'removed' : 'left as it is', { kind, name });
    return {};
  }
  if (request.kind === 'topic') {
    const { id, partitions } = await provisionTopic(ports, owner, request);
    return { TopicId: id, Partitions: partitions };
  }
  const { name, wish } = request;
  await provisionSubscription(ports, owner, { name, wish, defaults: SUBSCRIPTION_DEFAULTS, check: checkSettings });
  return {};
}

/** Attempts to answer: until one is taken the stack waits. */
const ANSWERS_MAX = 4;
const ANSWER_TIMEOUT_MS = 5_000;

/** @throws when nobody takes it: then Lambda calls once more */
async function answer(url: string, body: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      // The URL is signed for a request without a type.
      const headers = { 'content-type': '' };
      const { ok, status } = await fetch(url, {
        ...{ method: 'PUT', body, headers },
        signal: AbortSignal.timeout(ANSWER_TIMEOUT_MS),
      });
      if (ok) return;
      throw new Error(`answered with ${status}`);
    } catch (error) {
      logFailure('CloudFormation could not be answered', error);
      if (tries === ANSWERS_MAX) throw error;
    }
  }
}
