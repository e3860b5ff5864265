import {
  FETCH_BYTES_DEFAULT,
  FETCH_BYTES_MAX,
  FETCH_RECORDS_DEFAULT,
  FETCH_RECORDS_MAX,
  FETCH_WAIT_MS_MAX,
  IDEMPOTENCY_KEY_CHARS_MAX,
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  NAME_CHARS_MAX,
  PARTITIONS_DEFAULT,
  PARTITIONS_MAX,
  RECORDS_PER_REQUEST_MAX,
  RETENTION_FOREVER,
  RETENTION_MS_DEFAULT,
  RETENTION_MS_MIN,
  UPLOAD_BYTES_MAX,
} from '../domain/limits.ts';
import { STATUS } from './problem.ts';

/** A part of the OpenAPI document. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [name: string]: Json };

export const ref = (kind: 'schemas' | 'parameters' | 'responses' | 'headers', name: string) => ({
  $ref: `#/components/${kind}/${name}`,
});

export const integer = (minimum = 0, maximum = Number.MAX_SAFE_INTEGER) => ({ type: 'integer', minimum, maximum });
export const object = (properties: { [name: string]: Json }, required = Object.keys(properties), more = {}): Json => ({
  type: 'object',
  properties,
  required,
  ...more,
});
export const list = (items: Json) => ({ type: 'array', items });
export const words = (...choices: string[]) => ({ type: 'string', enum: choices });

export const TEXT = { type: 'string' };
export const MS = { type: 'integer', description: 'Epoch ms' };
export const OFFSET = integer();
export const PARTITION = integer(0, PARTITIONS_MAX - 1);
export const ANY = {};
const DUPLICATE = { type: 'boolean', description: 'The key was used before: these are the offsets of then' };
const BASE64 = object({ base64: { type: 'string', contentEncoding: 'base64' } }, undefined, {
  additionalProperties: false,
});
const HEADER_VALUE = { oneOf: [TEXT, { type: 'null' }, BASE64] };
/** `[name, value]`. A name is base64 only in answers, of a batch that came in raw and names a header with no text. */
const HEADER = { type: 'array', items: HEADER_VALUE, minItems: 2, maxItems: 2, description: 'Name and value' };

const CODE = ref('schemas', 'Code');
export const NAME = ref('schemas', 'Name');

const TOPIC = {
  name: TEXT,
  id: TEXT,
  partitions: integer(1, PARTITIONS_MAX),
  retentionMs: { type: 'integer' },
  createdAt: MS,
};
const LIMITS = { quota: ref('schemas', 'Quota'), maxLag: ref('schemas', 'MaxLag') };
/** A record as answers show it. */
export const RECORD = {
  offset: OFFSET,
  timestamp: MS,
  key: { type: ['string', 'null'] },
  keyEncoding: words('base64'),
  value: ANY,
  valueEncoding: {
    ...words('utf8', 'base64', 'url'),
    description: 'url: the value was uploaded, and is {"url", "size", "sha256"}',
  },
  headers: list(HEADER),
  error: object({ code: words('payload_corrupt', 'payload_missing', 'record_too_large') }),
};
export const ENTRY_ERROR = ref('schemas', 'EntryError');

export const SCHEMAS: { [name: string]: Json } = {
  Problem: object(
    {
      type: TEXT,
      title: TEXT,
      status: { type: 'integer' },
      detail: TEXT,
      code: CODE,
      requestId: TEXT,
    },
    undefined,
    { description: 'RFC 9457. Branch on `code`; what you can act on stands beside it' },
  ),
  EntryError: object({ code: CODE, detail: TEXT, retryable: { type: 'boolean' } }),
  Name: { type: 'string', pattern: `^[A-Za-z0-9._-]{1,${NAME_CHARS_MAX}}$`, not: { enum: ['.', '..'] } },
  Code: words(...Object.keys(STATUS)),
  Record: object(RECORD, ['offset']),
  Topic: object({ ...TOPIC, ...LIMITS }, Object.keys(TOPIC)),
  TopicSettings: object(
    {
      partitions: {
        ...integer(1, PARTITIONS_MAX),
        description: `New topics: ${PARTITIONS_DEFAULT}. Can grow, never shrink`,
      },
      retentionMs: {
        oneOf: [integer(RETENTION_MS_MIN), { const: RETENTION_FOREVER }],
        description: `${RETENTION_FOREVER}: for ever. New topics: ${RETENTION_MS_DEFAULT}`,
      },
      quota: { oneOf: [LIMITS.quota, { type: 'null' }], description: 'null: none any more' },
      maxLag: { oneOf: [LIMITS.maxLag, { type: 'null' }], description: 'null: none any more' },
    },
    [],
    { additionalProperties: false },
  ),
  TopicChange: object(
    { ...TOPIC, ...LIMITS, keysMoved: { const: true }, retentionAppliesTo: { const: 'later_appends' } },
    Object.keys(TOPIC),
    { description: '`keysMoved`: partitions were added. `retentionAppliesTo`: what is stored keeps its expiry' },
  ),
  Topics: object(
    {
      topics: list({
        oneOf: [
          ref('schemas', 'Topic'),
          object({ name: TEXT, id: TEXT, deletedAt: MS, slotsLeft: integer() }, undefined, {
            description:
              '`deleted=true`. `slotsLeft`: offsets that were reserved and not yet removed, of records or not, at most',
          }),
        ],
      }),
      nextToken: TEXT,
    },
    ['topics'],
  ),
  Partitions: object({
    partitions: list(
      object({ partition: PARTITION, logStartOffset: OFFSET, highWatermark: OFFSET, logEndOffset: OFFSET }),
    ),
  }),
  Offsets: object({ offsets: list(object({ partition: PARTITION, offset: OFFSET })) }),
  Records: object(
    {
      records: {
        type: 'array',
        minItems: 1,
        maxItems: RECORDS_PER_REQUEST_MAX,
        items: object(
          {
            key: { type: ['string', 'null'], description: 'Missing or null: none' },
            keyEncoding: words('utf8', 'base64'),
            value: { description: 'null: a tombstone' },
            valueEncoding: {
              ...words('json', 'utf8', 'base64', 'upload'),
              description: 'json keeps the text as sent; the value of an upload is {"uploadId"}',
            },
            headers: { oneOf: [{ type: 'object', additionalProperties: HEADER_VALUE }, list(HEADER)] },
            partition: PARTITION,
            timestamp: integer(),
          },
          ['value'],
          { additionalProperties: false },
        ),
      },
    },
    undefined,
    { additionalProperties: false },
  ),
  Stored: object(
    {
      offsets: list({
        oneOf: [
          object({ partition: PARTITION, offset: OFFSET, timestamp: MS }),
          object({ partition: PARTITION, error: ENTRY_ERROR }),
        ],
      }),
      duplicate: DUPLICATE,
    },
    undefined,
    { description: 'One entry per record, in the order sent' },
  ),
  StoredBatch: object({
    partition: PARTITION,
    baseOffset: OFFSET,
    count: integer(1, RECORDS_PER_REQUEST_MAX),
    duplicate: DUPLICATE,
  }),
  Payload: object(
    { size: integer(1, UPLOAD_BYTES_MAX), sha256: { type: 'string', pattern: '^[0-9A-Fa-f]{64}$' } },
    undefined,
    {
      additionalProperties: false,
    },
  ),
  Upload: object({
    uploadId: TEXT,
    url: { type: 'string', description: 'For one PUT of exactly these bytes' },
    headers: { type: 'object', additionalProperties: TEXT, description: 'To be sent exactly so' },
    expiresAt: { ...MS, description: 'Epoch ms by which a record must have named it' },
    urlExpiresAt: { ...MS, description: 'Epoch ms by which the PUT must have begun' },
  }),
  CloudEvent: {
    type: 'object',
    required: ['specversion', 'id', 'source', 'type'],
    properties: {
      specversion: { const: '1.0' },
      id: { type: 'string', minLength: 1 },
      source: { type: 'string', minLength: 1, format: 'uri-reference' },
      type: { type: 'string', minLength: 1 },
      time: { type: 'string', format: 'date-time' },
      datacontenttype: TEXT,
      partitionkey: { type: 'string', minLength: 1, description: "The record's key" },
      data: {},
      data_base64: TEXT,
    },
  },
  StoredEvents: object(
    {
      offsets: list({
        oneOf: [
          object({ partition: PARTITION, offset: OFFSET, timestamp: MS, duplicate: { type: 'boolean' } }),
          object({ error: ENTRY_ERROR }),
        ],
      }),
      duplicate: DUPLICATE,
    },
    undefined,
    { description: 'One entry per event, in the order sent' },
  ),
  Prepared: object({
    offsets: list(object({ partition: PARTITION, offset: OFFSET, timestamp: MS })),
    puts: list({
      type: 'object',
      description: "For TransactWriteItems, each as a Put; binary values are in base64, as in DynamoDB's JSON",
    }),
    lifeMs: { ...MS, description: 'ms from now in which they may be stored' },
    token: { type: 'string', description: 'For the settlement' },
  }),
  Settlement: object({ token: TEXT }, undefined, { additionalProperties: false }),
  Settled: object({ committed: { type: 'boolean' } }),
  Fetched: object({
    topicId: TEXT,
    records: list(ref('schemas', 'Record')),
    nextOffset: OFFSET,
    logStartOffset: OFFSET,
    highWatermark: OFFSET,
  }),
  Health: object({ status: { const: 'ok' }, version: TEXT }),
};

export const query = (name: string, schema: Json, more = {}): Json => ({ name, in: 'query', schema, ...more });

export const PARAMETERS: { [name: string]: Json } = {
  topic: {
    name: 'topic',
    in: 'path',
    required: true,
    schema: NAME,
    example: 'orders',
  },
  partition: { name: 'partition', in: 'path', required: true, schema: OFFSET, example: 1 },
  key: query(
    'key',
    { type: 'string', pattern: '^(/[^/]*)*$' },
    {
      description: 'NDJSON only: JSON Pointer (RFC 6901) of the key in each value',
    },
  ),
  idempotencyKey: {
    name: 'Idempotency-Key',
    in: 'header',
    schema: { type: 'string', pattern: `^[ -~]{1,${IDEMPOTENCY_KEY_CHARS_MAX}}$` },
    description: 'The same key with the same records again: the first answer, and nothing is appended',
    example: 'order-17-placed',
  },
  offset: query('offset', { oneOf: [OFFSET, words('earliest', 'latest')] }, { required: true, example: 'earliest' }),
  maxRecords: query('maxRecords', { ...integer(1, FETCH_RECORDS_MAX), default: FETCH_RECORDS_DEFAULT }),
  maxBytes: query('maxBytes', { ...integer(1, FETCH_BYTES_MAX), default: FETCH_BYTES_DEFAULT }),
  waitMs: query('waitMs', { ...integer(0, FETCH_WAIT_MS_MAX), default: 0 }),
  values: query('values', { ...words('json', 'utf8', 'base64'), default: 'json' }),
  reset: query('reset', words('earliest', 'latest'), { description: 'Where to go when `offset` is out of range' }),
  limit: query('limit', { ...integer(1, LIST_LIMIT_MAX), default: LIST_LIMIT_DEFAULT }),
  nextToken: query('nextToken', TEXT),
  deleted: query(
    'deleted',
    { type: 'boolean', default: false },
    { description: 'Those whose data is still being removed' },
  ),
  at: query(
    'at',
    { oneOf: [words('earliest', 'latest'), { type: 'string', format: 'date-time' }] },
    {
      required: true,
      example: '2026-01-01T00:00:00Z',
    },
  ),
};
