import { ACCOUNT, REGION } from '../dynamodb/store-view.ts';
import { MESSAGE_BYTES_MAX } from './message.ts';
import { invalidValue, SqsError, wholeNumber } from './sqs-error.ts';

/** Attributes of a queue that can be set: as the API spells them, all text. */
export type QueueAttributes = Readonly<Record<string, string>>;

/** Least, most and default. Source: AWS, SetQueueAttributes. */
const BOUNDS: Record<string, readonly [number, number, number]> = {
  DelaySeconds: [0, 900, 0],
  MaximumMessageSize: [1_024, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX],
  MessageRetentionPeriod: [60, 1_209_600, 345_600],
  ReceiveMessageWaitTimeSeconds: [0, 20, 0],
  VisibilityTimeout: [0, 43_200, 30],
};
/** Accepted and given back; they change nothing here. */
const INERT = [
  'Policy',
  'SqsManagedSseEnabled',
  'KmsMasterKeyId',
  'KmsDataKeyReusePeriodSeconds',
  'RedriveAllowPolicy',
];

export interface RedrivePolicy {
  /** Name of the queue that takes what was received too often. */
  readonly target: string;
  readonly maxReceiveCount: number;
}

export const arnOf = (queue: string) => `arn:aws:sqs:${REGION}:${ACCOUNT}:${queue}`;

/** What a new queue has. */
export function defaultAttributes(): QueueAttributes {
  return Object.fromEntries(Object.entries(BOUNDS).map(([name, [, , absent]]) => [name, String(absent)]));
}

/** Attributes to set, checked. An empty text takes one away. @throws {SqsError} */
export function checkedAttributes(input: unknown): QueueAttributes {
  const attributes = (input ?? {}) as Record<string, string>;
  for (const [name, value] of Object.entries(attributes)) {
    const bounds = BOUNDS[name];
    if (bounds) wholeNumber(value, name, ...bounds);
    else if (name === 'RedrivePolicy') redrivePolicyOf({ RedrivePolicy: value });
    else if (name === 'FifoQueue')
      throw new SqsError('InvalidAttributeValue', 'The embedded queues are standard queues only');
    else if (!INERT.includes(name)) throw new SqsError('InvalidAttributeName', `Unknown Attribute ${name}.`);
  }
  return attributes;
}

export function numberOf(attributes: QueueAttributes, name: string): number {
  return Number(attributes[name]);
}

export function redrivePolicyOf(attributes: QueueAttributes): RedrivePolicy | undefined {
  const text = attributes.RedrivePolicy;
  if (!text) return undefined;
  const refused = invalidValue(
    text,
    'RedrivePolicy',
    'Redrive policy is not a valid JSON map with deadLetterTargetArn and maxReceiveCount',
  );
  let policy: { deadLetterTargetArn?: unknown; maxReceiveCount?: unknown };
  try {
    policy = JSON.parse(text);
  } catch {
    throw refused;
  }
  const target = String(policy?.deadLetterTargetArn ?? '')
    .split(':')
    .at(-1)!;
  const maxReceiveCount = Number(policy?.maxReceiveCount);
  if (target === '' || !Number.isInteger(maxReceiveCount) || maxReceiveCount < 1 || maxReceiveCount > 1_000)
    throw refused;
  return { target, maxReceiveCount };
}
