import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import { compileFilter, type Filter } from '../shared/domain/filter.ts';
import { BACKGROUND_MARGIN_MS, DELIVER_FUNCTION_TIMEOUT_MS } from '../shared/domain/limits.ts';
import type { WakeUp } from '../shared/domain/wake-up.ts';
import { readDeliverEnv } from '../shared/env.ts';
import type { DeliverPorts } from '../shared/operations/deliver-ports.ts';
import { deliverWakeUp } from '../shared/operations/deliver-wake-up.ts';
import { decodeRemovals, decodeWakeUp, WakeQueue } from '../shared/store/wake-queue.ts';
import { AsideFunction } from '../shared/target/aside-function.ts';
import { LambdaFunctions } from '../shared/target/lambda.ts';
import { openKeptRecord } from '../shared/wire/dead-letter-delivery.ts';
import { DeliveryPart } from '../shared/wire/delivery-part.ts';
import { openBackbone } from './backbone.ts';
import { S3_CALLS } from './dispatch.ts';
import { type GroupsBackbone, openGroups } from './groups-backbone.ts';
import { observe, publishObservations } from './observability.ts';
import { awsDynamoDB, CALLS } from './tables.ts';
import { openTarget, type TargetPorts } from './targets.ts';
import { followHandedOn, timesReceived, workOff } from './wake-messages.ts';

/** A wake-up that a delivery has handed on to where those are served that may take long. */
export interface AsideEvent {
  readonly aside: WakeUp;
}

export type DeliverHandler = (
  event: SQSEvent | AsideEvent,
  context: Pick<Context, 'getRemainingTimeInMillis'>,
) => Promise<SQSBatchResponse>;

/** All that deliveries need, and how wake-ups are handed on. */
export type DeliverBackbone = ReturnType<typeof openDeliver>;

/** Time before the end of the function in which nothing is waited for any more. */
const END_MARGIN_MS = 2_000;

/** Works the wake queue off: wake-ups, and removals that dispatch could not follow. */
export function deliverHandler(open: () => DeliverBackbone): DeliverHandler {
  let opened: DeliverBackbone | undefined;
  return async (event, context) => {
    opened ??= open();
    const ports = opened;
    const deadline = ports.clock.now() + context.getRemainingTimeInMillis() - END_MARGIN_MS;
    try {
      if ('aside' in event) {
        await deliverWakeUp(ports, event.aside, { isReturned: false, deadline });
        return { batchItemFailures: [] };
      }
      return await workOff(ports.wakeQueue, event.Records, async (message) => {
        const wakeUp = decodeWakeUp(message.body);
        if (wakeUp === undefined)
          return followHandedOn(ports, decodeRemovals(message.body), deadline - BACKGROUND_MARGIN_MS);
        await deliverWakeUp(ports, wakeUp, { isReturned: timesReceived(message) > 1, deadline });
        return [];
      });
    } finally {
      publishObservations();
    }
  };
}

export const handler = deliverHandler(awsDeliver);

/**
 * @param callOf how a subscription's target is called
 * @param aside hands a wake-up on to where those are served that may take long; absent: this is there
 */
export function openDeliver(
  backbone: GroupsBackbone,
  sqs: Pick<SQSClient, 'send'>,
  { wakeQueueUrl }: { readonly wakeQueueUrl: string },
  callOf: DeliverPorts['callOf'],
  aside?: (wakeUp: WakeUp) => Promise<void>,
) {
  const filters = new Filters();
  const openCall: DeliverPorts['openCall'] = (room, { filter }) =>
    new DeliveryPart(room, filter === undefined ? undefined : filters.of(filter));
  const wakeQueue = new WakeQueue(sqs, wakeQueueUrl);
  // Deliveries go by the clock that is set right, timers of calls by the host's: a lease must outlive its call by either.
  const byHostClock: DeliverPorts['callOf'] = (subscription) => {
    const send = callOf(subscription);
    return (batch, deadline) => send(batch, Date.now() + deadline - backbone.clock.now());
  };
  return { ...backbone, wakeQueue, callOf: byHostClock, openCall, openLetter: openKeptRecord, ...(aside && { aside }) };
}

/** How targets are called that are reached by these. */
export function callsBy(ports: TargetPorts): DeliverPorts['callOf'] {
  return ({ target: spec }) => {
    const target = openTarget(spec, ports);
    return target.send.bind(target);
  };
}

/** Filters by their text, compiled once. */
class Filters {
  readonly #compiled = new Map<string, Filter>();

  of(text: string): Filter {
    const known = this.#compiled.get(text);
    if (known !== undefined) return known;
    const filter = compileFilter(JSON.parse(text));
    this.#compiled.set(text, filter);
    if (this.#compiled.size > FILTERS_MAX) this.#compiled.delete(this.#compiled.keys().next().value!);
    return filter;
  }
}

/** Filters that one container remembers at most. */
const FILTERS_MAX = 1_000;

function awsDeliver(): DeliverBackbone {
  const env = readDeliverEnv();
  const s3 = new S3Client({
    ...CALLS,
    requestHandler: { ...CALLS.requestHandler, requestTimeout: S3_CALLS.timeoutMs },
  });
  const clients = { dynamodb: awsDynamoDB(), s3, sqs: new SQSClient(CALLS) };
  // One attempt: a second could overlap with the first. Its answer is waited for as long as the function may take.
  const lambda = new LambdaClient({
    maxAttempts: 1,
    requestHandler: { ...CALLS.requestHandler, requestTimeout: DELIVER_FUNCTION_TIMEOUT_MS },
  });
  const callOf = callsBy({
    functions: new LambdaFunctions(lambda),
    sqs: clients.sqs,
    eventBridge: new EventBridgeClient(CALLS),
    rules: { loopback: false, ownHosts: env.ownHosts },
  });
  const besides = env.asideArn === undefined ? undefined : new AsideFunction(lambda, env.asideArn);
  const aside = besides && ((wakeUp: WakeUp) => besides.invoke({ aside: wakeUp } satisfies AsideEvent));
  return openDeliver(openGroups(openBackbone(clients, env, observe), clients, env), clients.sqs, env, callOf, aside);
}
