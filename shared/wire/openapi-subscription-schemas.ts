import {
  FUNCTION_TIMEOUT_MS_MAX,
  HALT_AFTER_DEAD_LETTERS_MAX,
  PARTITIONS_MAX,
  PUSH_ATTEMPTS_MAX,
  PUSH_BACKOFF_MS_MAX,
  PUSH_BACKOFF_MS_MIN,
  PUSH_BYTES_MAX,
  PUSH_RECORDS_MAX,
  PUSH_TIMEOUT_MS_MIN,
  REDRIVE_LETTERS_MAX,
  SUBSCRIPTION_TOPICS_MAX,
  TARGET_URL_CHARS_MAX,
} from '../domain/limits.ts';
import { integer, type Json, list, MS, NAME, OFFSET, object, PARTITION, ref, TEXT, words } from './openapi-schemas.ts';
import { SUBSCRIPTION_DEFAULTS } from './subscription-requests.ts';

const EXACT = { additionalProperties: false };
const INSTANT = { type: 'string', format: 'date-time' };
const ADDRESS = { type: 'string', minLength: 1, maxLength: TARGET_URL_CHARS_MAX };
const SECRET = { type: 'string', description: "'whsec_' and base64 of 24 to 64 bytes, as Standard Webhooks writes it" };
const END = words('earliest', 'latest');
const AT = object({ at: INSTANT }, undefined, EXACT);
const named = (schema: string) => ref('schemas', schema);
const { batch, retry, from, onFailure, haltAfterDeadLetters } = SUBSCRIPTION_DEFAULTS;

const of = (name: string, fields: { [name: string]: Json }, required?: string[]) =>
  object({ [name]: object(fields, required, EXACT) }, undefined, EXACT);

const SETTINGS: { [name: string]: Json } = {
  topics: { type: 'array', items: NAME, minItems: 1, maxItems: SUBSCRIPTION_TOPICS_MAX },
  target: {
    oneOf: [
      of('lambda', { functionArn: ADDRESS }),
      of('http', { url: ADDRESS, secret: SECRET }, ['url']),
      of('sqs', { queueUrl: ADDRESS }),
      of('eventBridge', { eventBusName: ADDRESS }),
    ],
  },
  from: { oneOf: [END, AT], default: from },
  batch: object(
    {
      maxRecords: { ...integer(1, PUSH_RECORDS_MAX), default: batch.maxRecords },
      maxBytes: { ...integer(1, PUSH_BYTES_MAX), default: batch.maxBytes },
    },
    [],
    EXACT,
  ),
  timeoutMs: {
    ...integer(PUSH_TIMEOUT_MS_MIN, FUNCTION_TIMEOUT_MS_MAX),
    description: 'How long a call may take. Of a function in Lambda: its own timeout, whatever is said here',
  },
  filter: {
    type: ['object', 'null'],
    description: "EventBridge's pattern language over {key, headers, value}; null: every record",
  },
  retry: object(
    {
      maxAttempts: { ...integer(1, PUSH_ATTEMPTS_MAX), default: retry.maxAttempts },
      minBackoffMs: { ...integer(PUSH_BACKOFF_MS_MIN, PUSH_BACKOFF_MS_MAX), default: retry.minBackoffMs },
      maxBackoffMs: { ...integer(PUSH_BACKOFF_MS_MIN, PUSH_BACKOFF_MS_MAX), default: retry.maxBackoffMs },
    },
    [],
    EXACT,
  ),
  onFailure: { ...words('deadLetter', 'halt', 'park'), default: onFailure },
  haltAfterDeadLetters: { ...integer(1, HALT_AFTER_DEAD_LETTERS_MAX), default: haltAfterDeadLetters },
};

const ERROR = { name: TEXT, message: TEXT };
const SHOWN = {
  name: TEXT,
  id: TEXT,
  state: words('active', 'paused', 'halted'),
  reason: { type: 'string', description: 'Why it is not active' },
  lastError: object({ ...ERROR, at: MS }, ['name', 'message']),
  ...SETTINGS,
  createdAt: MS,
  updatedAt: MS,
};
const OPTIONAL = ['reason', 'lastError', 'filter'];
const ALWAYS = Object.keys(SHOWN).filter((name) => !OPTIONAL.includes(name));
const FAILING = object({ offset: OFFSET, attempts: integer(), retryAt: MS, firstFailedAt: MS });

export const SUBSCRIPTION_SCHEMAS: { [name: string]: Json } = {
  SubscriptionSettings: object(SETTINGS, [], EXACT),
  Subscription: object(SHOWN, ALWAYS),
  Subscriptions: object({ subscriptions: list(named('Subscription')), nextToken: TEXT }, ['subscriptions']),
  SubscriptionDetail: object(
    {
      ...SHOWN,
      lag: integer(),
      expired: { ...integer(), description: 'Offsets that retention has overtaken' },
      partitions: list(
        object(
          {
            ...{ topic: TEXT, partition: PARTITION, committed: { type: ['integer', 'null'] }, highWatermark: OFFSET },
            ...{ lag: integer(), expired: integer(), retrying: FAILING },
            parked: { ...integer(1), description: 'Keys that are parked; absent: none' },
            lastError: object({ ...ERROR, at: MS }),
          },
          ['topic', 'partition', 'committed', 'highWatermark', 'lag', 'expired'],
        ),
      ),
      errors: list(object({ topic: TEXT, code: TEXT, detail: TEXT })),
    },
    [...ALWAYS, 'lag', 'expired', 'partitions', 'errors'],
  ),
  Seek: object(
    {
      topic: { ...NAME, description: 'Default: all' },
      partitions: {
        type: 'array',
        items: PARTITION,
        minItems: 1,
        maxItems: PARTITIONS_MAX,
        description: 'Default: all',
      },
      to: { oneOf: [END, AT, object({ offset: OFFSET }, undefined, EXACT)] },
    },
    ['to'],
    EXACT,
  ),
  Sought: object({ offsets: list(object({ topic: TEXT, partition: PARTITION, offset: OFFSET })) }),
  Secret: object({ secret: TEXT }),
  ParkedKeys: object(
    {
      parked: list(
        object(
          {
            ...{ id: TEXT, topic: TEXT, partition: PARTITION, key: TEXT, keyEncoding: words('base64') },
            keyBytes: { ...integer(), description: 'Of the whole key, where only its beginning is shown' },
            offset: { ...OFFSET, description: 'Of the record that is next: the one that fails' },
            waiting: { ...integer(), description: 'Records of the key that are there and not settled' },
            attempts: integer(),
            error: { oneOf: [object(ERROR), { type: 'null' }] },
            parkedAt: MS,
            nextRetryAt: { type: ['integer', 'null'], description: 'null: it is being delivered, or will be at once' },
          },
          ['id', 'topic', 'partition', 'key', 'offset', 'waiting', 'attempts', 'error', 'parkedAt', 'nextRetryAt'],
        ),
      ),
      nextToken: TEXT,
    },
    ['parked'],
  ),
  ParkedIds: object(
    { ids: { ...list(TEXT), minItems: 1, maxItems: REDRIVE_LETTERS_MAX, description: 'Default: all' } },
    [],
    EXACT,
  ),
  Resuming: object({ resuming: integer(), more: { type: 'boolean', description: 'There may be others: call again' } }),
  DeadLettering: object({ deadLettering: integer(), more: { type: 'boolean', description: 'As of resuming' } }),
};

export const SUBSCRIPTION_PARAMETERS: { [name: string]: Json } = {
  subscription: { name: 'name', in: 'path', required: true, schema: NAME, example: 'invoices' },
};

export const SUBSCRIPTION_EXAMPLE: Json = {
  topics: ['orders'],
  target: { http: { url: 'https://example.com/orders' } },
  filter: { value: { type: ['OrderPlaced'] } },
};
