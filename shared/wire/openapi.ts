import type { ErrorCode } from '../domain/errors.ts';
import {
  CLOUD_EVENT_TYPE,
  CLOUD_EVENTS_BATCH_TYPE,
  JSON_TYPE,
  NDJSON_TYPE,
  PROBLEM_TYPE,
  RECORD_BATCH_TYPE,
} from './media-type.ts';
import { API_KEY_OPERATIONS, API_KEY_PARAMETERS, API_KEY_SCHEMAS } from './openapi-api-keys.ts';
import { GROUP_PARAMETERS, GROUP_SCHEMAS } from './openapi-group-schemas.ts';
import { GROUP_OPERATIONS } from './openapi-groups.ts';
import { answer, BODY, count, json, type Operation, STORE } from './openapi-operation.ts';
import { QUOTA_SCHEMAS } from './openapi-quota-schemas.ts';
import { type Json, list, PARAMETERS, ref, SCHEMAS } from './openapi-schemas.ts';
import { SUBSCRIPTION_PARAMETERS, SUBSCRIPTION_SCHEMAS } from './openapi-subscription-schemas.ts';
import { SUBSCRIPTION_OPERATIONS } from './openapi-subscriptions.ts';
import { STATUS } from './problem.ts';
import { ROUTE_RIGHTS } from './route-rights.ts';
import type { ROUTES } from './routes.ts';
import { VERSION } from './version.ts';

const EXAMPLE_RECORD = {
  key: 'order-17',
  value: { type: 'OrderPlaced', total: 12.5 },
  headers: { source: 'shop' },
};

const EXAMPLE_EVENT = {
  specversion: '1.0',
  id: '8d1f',
  source: '/shop',
  type: 'shop.order.placed',
  partitionkey: 'order-17',
  data: { total: 12.5 },
};

const EXAMPLE_PAYLOAD = {
  size: 1_073_741_824,
  sha256: '49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14',
};

/** What an append may come to beside that. */
const APPEND: readonly ErrorCode[] = [
  ...BODY,
  'topic_not_found',
  'idempotency_in_progress',
  'idempotency_key_reused',
  ...STORE,
  'outcome_unknown',
];
/** Codes whose answers say when to try again. */
const LATER: ReadonlySet<ErrorCode> = new Set(['idempotency_in_progress', ...STORE]);

const OPERATIONS: { readonly [route in (typeof ROUTES)[number]['key']]: Operation } = {
  'POST /v1/topics/{topic}/records': {
    summary: 'Append records. Those that share a partition get consecutive offsets and are stored all or none',
    takes: ['topic', 'key', 'idempotencyKey'],
    body: {
      required: true,
      content: {
        ...json('Records', { records: [EXAMPLE_RECORD] }),
        [NDJSON_TYPE]: {
          schema: { type: 'string', description: 'Each line is a value' },
          example: '{"id":"order-18","total":3}\n{"id":"order-19","total":4}\n',
        },
      },
    },
    answers: {
      200: answer('All are stored', json('Stored')),
      207: answer('Some partitions stored theirs, others did not', json('Stored')),
    },
    refuses: ['upload_invalid', ...APPEND, 'record_too_large'],
  },
  'POST /v1/topics/{topic}/partitions/{partition}/records': {
    summary: 'Append one Kafka record batch v2, stored as it is sent',
    takes: ['topic', 'partition', 'idempotencyKey'],
    body: { required: true, content: { [RECORD_BATCH_TYPE]: {} } },
    answers: { 200: answer('It is stored', json('StoredBatch')) },
    refuses: [...APPEND, 'partition_not_found'],
  },
  'POST /v1/topics/{topic}/events': {
    summary:
      'Append CloudEvents: one, in binary mode (headers `ce-…`, any Content-Type) or structured, or a batch of up to 100',
    takes: ['topic'],
    body: {
      required: true,
      content: {
        [CLOUD_EVENT_TYPE]: { schema: ref('schemas', 'CloudEvent'), example: EXAMPLE_EVENT },
        [CLOUD_EVENTS_BATCH_TYPE]: { schema: list(ref('schemas', 'CloudEvent')), example: [EXAMPLE_EVENT] },
      },
    },
    answers: {
      200: answer('All are stored, now or before: `source` and `id` name an event', json('StoredEvents')),
      207: answer('Some are stored, others are not', json('StoredEvents')),
    },
    refuses: [...APPEND, 'record_too_large'],
  },
  'POST /v1/topics/{topic}/prepare': {
    summary: "Reserve offsets for records that a transaction of the caller's own stores, beside its other writes",
    takes: ['topic'],
    body: { required: true, content: json('Records', { records: [EXAMPLE_RECORD] }) },
    answers: { 200: answer('What stores them, and where they will be', json('Prepared')) },
    refuses: [...BODY, 'topic_not_found', 'record_too_large', ...STORE],
  },
  'POST /v1/topics/{topic}/settle': {
    summary: 'Find out whether a prepared append was carried out; if not, it cannot be any more',
    takes: ['topic'],
    body: { required: true, content: json('Settlement') },
    answers: { 200: answer('Whether the records are stored', json('Settled')) },
    refuses: [...BODY, ...STORE, 'outcome_unknown'],
  },
  'POST /v1/topics/{topic}/uploads': {
    summary: 'Announce a value that is too large for a request. PUT it to the URL, then produce a record that names it',
    takes: ['topic'],
    body: { required: true, content: json('Payload', EXAMPLE_PAYLOAD) },
    answers: { 201: answer('Where it is to be put', json('Upload')) },
    refuses: [...BODY, 'topic_not_found', ...STORE, 'outcome_unknown'],
  },
  'GET /v1/topics/{topic}/partitions/{partition}/records': {
    summary: 'Read a partition from an offset on',
    takes: ['topic', 'partition', 'offset', 'maxRecords', 'maxBytes', 'waitMs', 'values', 'reset'],
    answers: {
      200: answer(
        'Records, none when there are none yet; if accepted, as CloudEvents, or as stored batches one after the other',
        {
          ...json('Fetched'),
          [CLOUD_EVENTS_BATCH_TYPE]: { schema: list(ref('schemas', 'CloudEvent')) },
          [RECORD_BATCH_TYPE]: {},
        },
        { headers: { 'Vertebra-Next-Offset': count, 'Vertebra-High-Watermark': count } },
      ),
    },
    refuses: [
      'topic_not_found',
      'partition_not_found',
      'offset_out_of_range',
      // Of stored batches, which have no place to say so; among JSON records it is the record's own `error`.
      'payload_missing',
      'payload_corrupt',
      ...STORE,
    ],
  },
  'GET /v1/topics': {
    summary: 'List topics by name',
    takes: ['limit', 'nextToken', 'deleted'],
    answers: { 200: answer('A page', json('Topics')) },
    refuses: STORE,
  },
  'PUT /v1/topics/{topic}': {
    summary: 'Make a topic, or change the settings that are given',
    takes: ['topic'],
    body: { required: false, content: json('TopicSettings', { partitions: 8, retentionMs: 604_800_000 }) },
    answers: {
      200: answer('It existed', json('TopicChange')),
      201: answer('It was made', json('TopicChange')),
    },
    refuses: [...BODY, 'partitions_cannot_shrink', ...STORE, 'outcome_unknown'],
  },
  'GET /v1/topics/{topic}': {
    summary: 'Describe a topic',
    takes: ['topic'],
    answers: { 200: answer('The topic', json('Topic')) },
    refuses: ['topic_not_found', ...STORE],
  },
  'DELETE /v1/topics/{topic}': {
    summary: 'Delete a topic. Its name is free at once; its data is removed in the background',
    takes: ['topic'],
    answers: { 204: { description: 'It is gone' } },
    refuses: ['topic_not_found', ...STORE, 'outcome_unknown'],
  },
  'GET /v1/topics/{topic}/partitions': {
    summary: 'Bounds of every partition, exact',
    takes: ['topic'],
    answers: { 200: answer('By partition', json('Partitions')) },
    refuses: ['topic_not_found', ...STORE],
  },
  'GET /v1/topics/{topic}/offsets': {
    summary: 'The first record appended at or after a time, in every partition',
    takes: ['topic', 'at'],
    answers: { 200: answer('By partition', json('Offsets')) },
    refuses: ['topic_not_found', ...STORE],
  },
  ...GROUP_OPERATIONS,
  ...SUBSCRIPTION_OPERATIONS,
  ...API_KEY_OPERATIONS,
  'GET /v1/health': {
    summary: 'Whether the API answers',
    answers: { 200: answer('It does', json('Health')) },
    refuses: [],
  },
  'GET /v1/openapi.json': {
    summary: 'This document',
    answers: { 200: answer('OpenAPI 3.1', { [JSON_TYPE]: { schema: { type: 'object' } } }) },
    refuses: [],
  },
};

const DESCRIPTION = `Bodies may be sent with \`Content-Encoding: gzip\`, answers come so with \`Accept-Encoding: gzip\`. Refusals are RFC 9457 problems. \
What the gateway refuses itself (401, 403, a request beyond its own limits) is \`{"message"}\` instead. Who calls is known by \
a signature (AWS SigV4), an API key or a token (both as \`Authorization: Bearer …\`), as the deployment says; not at all on a laptop.`;

const SECURITY_SCHEMES = {
  bearer: { type: 'http', scheme: 'bearer', description: 'An API key, or a token of the issuer' },
  iam: { type: 'apiKey', in: 'header', name: 'Authorization', description: 'AWS Signature Version 4 for execute-api' },
};

/** The OpenAPI 3.1 page of this API, as served. */
export function openApiDocument(): Json {
  const paths: { [path: string]: { [method: string]: Json } } = {};
  const responses: Record<string, Json> = {};
  for (const [key, operation] of Object.entries(OPERATIONS)) {
    const [method, path] = key.split(' ') as [string, string];
    const refuses = [...accessRefusals(key as keyof typeof OPERATIONS), ...operation.refuses];
    paths[path] = { ...paths[path], [method.toLowerCase()]: describe({ ...operation, refuses }, responses) };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Vertebra',
      version: VERSION,
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths,
    components: {
      schemas: { ...SCHEMAS, ...GROUP_SCHEMAS, ...SUBSCRIPTION_SCHEMAS, ...API_KEY_SCHEMAS, ...QUOTA_SCHEMAS },
      parameters: { ...PARAMETERS, ...GROUP_PARAMETERS, ...SUBSCRIPTION_PARAMETERS, ...API_KEY_PARAMETERS },
      responses,
      securitySchemes: SECURITY_SCHEMES,
    },
    // One of them, as the deployment says; none on a laptop.
    security: [{}, ...Object.keys(SECURITY_SCHEMES).map((name) => ({ [name]: [] }))],
  };
}

/** What a route is refused for before anything of it is done, where callers are asked who they are. */
function accessRefusals(route: keyof typeof ROUTE_RIGHTS): ErrorCode[] {
  const right = ROUTE_RIGHTS[route];
  if (right === 'open') return [];
  return right === 'list' ? ['unauthenticated'] : ['unauthenticated', 'forbidden'];
}

function describe({ summary, takes = [], body, answers, refuses }: Operation, shared: Record<string, Json>): Json {
  return {
    summary,
    parameters: takes.map((name) => ref('parameters', name)),
    ...(body !== undefined && { requestBody: body }),
    responses: { ...answers, ...refusals(['invalid_request', ...refuses, 'internal'], shared) },
  };
}

/** One answer per status, with the codes that it comes with: those with the same codes are described once. */
function refusals(codes: readonly ErrorCode[], shared: Record<string, Json>): { [status: string]: Json } {
  const byStatus: { [status: string]: Json } = {};
  for (const code of codes) {
    const status = STATUS[code];
    const alike = codes.filter((other) => STATUS[other] === status).sort();
    const name = alike.join('_or_');
    shared[name] ??= problem(alike);
    byStatus[status] = ref('responses', name);
  }
  return byStatus;
}

function problem(codes: readonly ErrorCode[]): Json {
  const schema = { allOf: [ref('schemas', 'Problem'), { properties: { code: { enum: codes } } }] };
  return {
    description: codes.join(', '),
    content: { [PROBLEM_TYPE]: { schema } },
    ...(codes.some((code) => LATER.has(code)) && { headers: { 'Retry-After': count } }),
  };
}
