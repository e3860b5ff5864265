import type { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import type { SQSClient } from '@aws-sdk/client-sqs';
import type { LinkPayload, Target } from '../shared/domain/delivery.ts';
import { secretsAt, type TargetSpec } from '../shared/domain/target-spec.ts';
import type { UrlRules } from '../shared/domain/target-url.ts';
import { EventBridgeTarget } from '../shared/target/event-bridge.ts';
import { HttpTarget } from '../shared/target/http.ts';
import { type Functions, LambdaTarget } from '../shared/target/lambda.ts';
import { SqsTarget } from '../shared/target/sqs.ts';
import { readBatchAnswer } from '../shared/wire/batch-answer.ts';
import { cloudEvent, cloudEventBatch } from '../shared/wire/cloud-events.ts';
import { kafkaEvent, kafkaRecord } from '../shared/wire/kafka-event.ts';
import { CLOUD_EVENTS_BATCH_TYPE } from '../shared/wire/media-type.ts';
import { commonTraceContext } from '../shared/wire/trace-context.ts';
import { webhookHeaders, webhookId } from '../shared/wire/webhook-signature.ts';

/** What targets are reached by. */
export interface TargetPorts {
  readonly functions: Functions;
  readonly sqs: Pick<SQSClient, 'send'>;
  readonly eventBridge: Pick<EventBridgeClient, 'send'>;
  readonly rules: UrlRules;
  /** Absent: records that are too large for their target cannot be delivered. */
  readonly link?: LinkPayload;
}

/** A subscription's target, ready to be sent to: each kind with the form of a record that it takes. */
export function openTarget(spec: TargetSpec, { functions, sqs, eventBridge, rules, link }: TargetPorts): Target {
  const common = { readAnswer: readBatchAnswer, ...(link && { link }) };
  if ('lambda' in spec) {
    return new LambdaTarget(functions, { ...spec.lambda, ...common, record: kafkaRecord, event: kafkaEvent });
  }
  const events = { ...common, record: cloudEvent };
  if ('sqs' in spec) return new SqsTarget(sqs, { ...spec.sqs, ...events });
  if ('eventBridge' in spec) return new EventBridgeTarget(eventBridge, { ...spec.eventBridge, ...events });
  return new HttpTarget({
    url: spec.http.url,
    rules,
    ...events,
    contentType: CLOUD_EVENTS_BATCH_TYPE,
    body: cloudEventBatch,
    sign: ({ group, records }, body, now) => ({
      ...webhookHeaders(webhookId(group, body), body, secretsAt(spec.http, now), now),
      ...commonTraceContext(records),
    }),
  });
}
