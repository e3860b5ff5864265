import { compileFilter } from '../domain/filter.ts';
import {
  FUNCTION_TIMEOUT_MS_MAX,
  HALT_AFTER_DEAD_LETTERS_DEFAULT,
  HALT_AFTER_DEAD_LETTERS_MAX,
  NAME_CHARS_MAX,
  PUSH_ATTEMPTS_DEFAULT,
  PUSH_ATTEMPTS_MAX,
  PUSH_BACKOFF_MS_DEFAULT,
  PUSH_BACKOFF_MS_MAX,
  PUSH_BACKOFF_MS_MAX_DEFAULT,
  PUSH_BACKOFF_MS_MIN,
  PUSH_BYTES_DEFAULT,
  PUSH_BYTES_MAX,
  PUSH_RECORDS_DEFAULT,
  PUSH_RECORDS_MAX,
  PUSH_TIMEOUT_MS_MAX,
  PUSH_TIMEOUT_MS_MIN,
  SUBSCRIPTION_TOPICS_MAX,
  TARGET_URL_CHARS_MAX,
} from '../domain/limits.ts';
import type { OnFailure, SubscriptionSettings, SubscriptionStart } from '../domain/subscription.ts';
import {
  instant,
  PARTITION_LIST,
  type PageRequest,
  pageOf,
  type ResetTarget,
  resetTarget,
} from './group-admin-requests.ts';
import { bodyFields, integer, invalid, list, object, type Read, text, topicName } from './group-fields.ts';
import { type ApiRequest, isName } from './http-request.ts';
import { parseQuery } from './query.ts';
import { isSecret } from './webhook-signature.ts';

/** A target as it is named: a secret is optional. */
export type NamedTarget =
  | { readonly lambda: { readonly functionArn: string } }
  | { readonly http: { readonly url: string; readonly secret?: string } }
  | { readonly sqs: { readonly queueUrl: string } }
  | { readonly eventBridge: { readonly eventBusName: string } };

/** What a PUT says. */
export interface SubscriptionRequest {
  readonly topics?: readonly string[];
  readonly target?: NamedTarget;
  readonly from?: SubscriptionStart;
  readonly batch?: { readonly maxRecords?: number; readonly maxBytes?: number };
  readonly timeoutMs?: number;
  /** JSON; null: none. */
  readonly filter?: string | null;
  readonly retry?: { readonly maxAttempts?: number; readonly minBackoffMs?: number; readonly maxBackoffMs?: number };
  readonly onFailure?: OnFailure;
  readonly haltAfterDeadLetters?: number;
}

export interface SeekRequest {
  readonly subscription: string;
  readonly topic?: string;
  readonly partitions?: readonly number[];
  readonly to: ResetTarget;
}

/** What a new subscription has where nothing is said. */
export const SUBSCRIPTION_DEFAULTS = {
  from: 'latest',
  batch: { maxRecords: PUSH_RECORDS_DEFAULT, maxBytes: PUSH_BYTES_DEFAULT },
  retry: {
    maxAttempts: PUSH_ATTEMPTS_DEFAULT,
    minBackoffMs: PUSH_BACKOFF_MS_DEFAULT,
    maxBackoffMs: PUSH_BACKOFF_MS_MAX_DEFAULT,
  },
  onFailure: 'deadLetter',
  haltAfterDeadLetters: HALT_AFTER_DEAD_LETTERS_DEFAULT,
} as const;

const address = text(TARGET_URL_CHARS_MAX, 1);
const secret: Read<string> = (value, field) => {
  if (typeof value === 'string' && isSecret(value)) return value;
  throw invalid(field, "must be 'whsec_' and base64 of 24 to 64 bytes, as Standard Webhooks writes it");
};
const TARGETS = object(['lambda', 'http', 'sqs', 'eventBridge'], (fields) => {
  const named = [
    fields.optional(
      'lambda',
      object(['functionArn'], (of) => ({ lambda: { functionArn: of.required('functionArn', address) } })),
    ),
    fields.optional(
      'http',
      object(['url', 'secret'], (of) => {
        const given = of.optional('secret', secret);
        return { http: { url: of.required('url', address), ...(given !== undefined && { secret: given }) } };
      }),
    ),
    fields.optional(
      'sqs',
      object(['queueUrl'], (of) => ({ sqs: { queueUrl: of.required('queueUrl', address) } })),
    ),
    fields.optional(
      'eventBridge',
      object(['eventBusName'], (of) => ({ eventBridge: { eventBusName: of.required('eventBusName', address) } })),
    ),
  ].filter((target) => target !== undefined);
  return named;
});
const target: Read<NamedTarget> = (value, field) => {
  const [named, another] = TARGETS(value, field);
  if (named !== undefined && another === undefined) return named;
  throw invalid(field, "must name exactly one of 'lambda', 'http', 'sqs', 'eventBridge'");
};

const start: Read<SubscriptionStart> = (value, field) => {
  if (value === 'earliest' || value === 'latest') return value;
  if (typeof value === 'object' && value !== null && Object.keys(value).join() === 'at' && 'at' in value) {
    return { at: instant(value.at, `${field}.at`) };
  }
  throw invalid(field, `must be 'earliest', 'latest' or {"at": "<time>"}`);
};

const filter: Read<string | null> = (value) => {
  if (value === null) return null;
  compileFilter(value);
  return JSON.stringify(value);
};

const onFailure: Read<OnFailure> = (value, field) => {
  if (value === 'deadLetter' || value === 'halt' || value === 'park') return value;
  throw invalid(field, "must be 'deadLetter', 'halt' or 'park'");
};

const BATCH = object(['maxRecords', 'maxBytes'], (fields) =>
  given({
    maxRecords: fields.optional('maxRecords', integer(1, PUSH_RECORDS_MAX)),
    maxBytes: fields.optional('maxBytes', integer(1, PUSH_BYTES_MAX)),
  }),
);
const RETRY = object(['maxAttempts', 'minBackoffMs', 'maxBackoffMs'], (fields) =>
  given({
    maxAttempts: fields.optional('maxAttempts', integer(1, PUSH_ATTEMPTS_MAX)),
    minBackoffMs: fields.optional('minBackoffMs', integer(PUSH_BACKOFF_MS_MIN, PUSH_BACKOFF_MS_MAX)),
    maxBackoffMs: fields.optional('maxBackoffMs', integer(PUSH_BACKOFF_MS_MIN, PUSH_BACKOFF_MS_MAX)),
  }),
);
const TOPICS = list(topicName, SUBSCRIPTION_TOPICS_MAX, (topic) => topic, 1);
const FIELDS = [
  'topics',
  'target',
  'from',
  'batch',
  'timeoutMs',
  'filter',
  'retry',
  'onFailure',
  'haltAfterDeadLetters',
] as const;

/** @throws {InvalidRequest | InvalidFilter} naming the field that is unknown, of the wrong type or out of its range */
export function parseSubscriptionRequest(request: ApiRequest): SubscriptionRequest {
  const fields = bodyFields(request, FIELDS);
  return given({
    topics: fields.optional('topics', TOPICS),
    target: fields.optional('target', target),
    from: fields.optional('from', start),
    batch: fields.optional('batch', BATCH),
    timeoutMs: fields.optional('timeoutMs', integer(PUSH_TIMEOUT_MS_MIN, FUNCTION_TIMEOUT_MS_MAX)),
    filter: fields.optional('filter', filter),
    retry: fields.optional('retry', RETRY),
    onFailure: fields.optional('onFailure', onFailure),
    haltAfterDeadLetters: fields.optional('haltAfterDeadLetters', integer(1, HALT_AFTER_DEAD_LETTERS_MAX)),
  });
}

/** Refuses settings that do not go together. @throws {InvalidRequest} */
export function checkSettings({ target: to, timeoutMs, retry }: SubscriptionSettings): void {
  if (!('lambda' in to) && timeoutMs > PUSH_TIMEOUT_MS_MAX) {
    throw invalid(
      'timeoutMs',
      `must be an integer from ${PUSH_TIMEOUT_MS_MIN} to ${PUSH_TIMEOUT_MS_MAX} for this target`,
    );
  }
  if (retry.minBackoffMs > retry.maxBackoffMs) {
    throw invalid('retry.minBackoffMs', `must be no more than 'retry.maxBackoffMs', which is ${retry.maxBackoffMs}`);
  }
}

/** @throws {InvalidRequest} */
export function parseSeekRequest(request: ApiRequest): SeekRequest {
  const subscription = subscriptionOf(request);
  const fields = bodyFields(request, ['topic', 'partitions', 'to']);
  const to = fields.required('to', resetTarget);
  return {
    ...{ subscription, to },
    ...given({ topic: fields.optional('topic', topicName), partitions: fields.optional('partitions', PARTITION_LIST) }),
  };
}

/** @throws {InvalidRequest} */
export function parseSubscriptionListing(request: ApiRequest): PageRequest {
  return pageOf('subscriptions', parseQuery(request.rawQuery, ['limit', 'nextToken']));
}

/** A request about a subscription that says nothing but its name. @throws {InvalidRequest} */
export function onlySubscriptionOf(request: ApiRequest): string {
  parseQuery(request.rawQuery, []);
  return subscriptionOf(request);
}

/** An act on a subscription that has nothing to say: no body, or an empty object. @throws {InvalidRequest} */
export function emptyBodyFor(request: ApiRequest): string {
  const name = subscriptionOf(request);
  bodyFields(request, []);
  return name;
}

/** The subscription that the path names. @throws {InvalidRequest} when it is no legal name */
export function subscriptionOf(request: ApiRequest): string {
  const name = request.parameters.get('name') ?? '';
  if (isName(name)) return name;
  throw invalid('name', `must be 1 to ${NAME_CHARS_MAX} characters out of A-Z a-z 0-9 . _ - and neither '.' nor '..'`);
}

/** Without the fields that are absent. */
function given<T extends object>(fields: T): { [name in keyof T]?: Exclude<T[name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [name in keyof T]?: Exclude<T[name], undefined>;
  };
}
