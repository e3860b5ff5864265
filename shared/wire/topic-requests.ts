import { InvalidRequest } from '../domain/errors.ts';
import {
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  PARTITIONS_MAX,
  RETENTION_FOREVER,
  RETENTION_MS_MIN,
} from '../domain/limits.ts';
import type { MaxLag, Quota } from '../domain/quota.ts';
import { maxLagField, quotaField } from './back-pressure-fields.ts';
import { type ApiRequest, mediaTypeOf } from './http-request.ts';
import { parseInstant } from './instant.ts';
import { jsonObjectOf } from './json-body.ts';
import { JSON_TYPE } from './media-type.ts';
import { parseNextToken } from './next-token.ts';
import { parseChoice, parseInteger, parseQuery } from './query.ts';

/** What a PUT asks for; what is absent keeps its value, or takes the default when the topic is new. */
export interface TopicSettings {
  readonly partitions?: number;
  readonly retentionMs?: number;
  /** null: none any more. */
  readonly quota?: Quota | null;
  readonly maxLag?: MaxLag | null;
}

/** @throws {InvalidRequest} naming the field that is unknown, of the wrong type or out of its range */
export function parseTopicSettings(request: ApiRequest): TopicSettings {
  parseQuery(request.rawQuery, []);
  mediaTypeOf(request, [JSON_TYPE]);
  const { partitions, retentionMs, quota, maxLag, ...unknown } = jsonObjectOf(request.readBody());
  const [field] = Object.keys(unknown);
  if (field !== undefined) throw new InvalidRequest(`A topic has no field '${field.slice(0, 64)}'`, { field });
  if (partitions !== undefined && !isIntegerFrom(partitions, 1, PARTITIONS_MAX)) {
    throw new InvalidRequest(`'partitions' must be an integer from 1 to ${PARTITIONS_MAX}`, { field: 'partitions' });
  }
  if (retentionMs !== undefined && retentionMs !== RETENTION_FOREVER && !isIntegerFrom(retentionMs, RETENTION_MS_MIN)) {
    throw new InvalidRequest(
      `'retentionMs' must be an integer of at least ${RETENTION_MS_MIN}, or ${RETENTION_FOREVER} for ever`,
      { field: 'retentionMs' },
    );
  }
  return {
    ...(partitions !== undefined && { partitions }),
    ...(retentionMs !== undefined && { retentionMs }),
    ...(quota !== undefined && { quota: quotaField(quota, 'quota') }),
    ...(maxLag !== undefined && { maxLag: maxLagField(maxLag, 'maxLag') }),
  };
}

/** Which page of which list is asked for. */
export interface TopicListing {
  readonly deleted: boolean;
  readonly limit: number;
  /** Where the page before ended. */
  readonly after?: string;
}

export function parseTopicListing(request: ApiRequest): TopicListing {
  const query = parseQuery(request.rawQuery, ['limit', 'nextToken', 'deleted']);
  const deleted = parseChoice(query.deleted ?? 'false', 'deleted', ['true', 'false']) === 'true';
  const limit = query.limit === undefined ? LIST_LIMIT_DEFAULT : parseInteger(query.limit, 'limit', 1, LIST_LIMIT_MAX);
  if (query.nextToken === undefined) return { deleted, limit };
  return { deleted, limit, after: parseNextToken(deleted ? 'deletedTopics' : 'topics', query.nextToken) };
}

/** Which offsets `GET …/offsets` asks for: an end of the log, or a time in epoch ms. */
export function parseOffsetsAt(request: ApiRequest): 'earliest' | 'latest' | number {
  const { at } = parseQuery(request.rawQuery, ['at']);
  if (at === undefined) {
    throw new InvalidRequest("'at' is required: earliest, latest or a time as in RFC 3339", { parameter: 'at' });
  }
  return at === 'earliest' || at === 'latest' ? at : parseInstant(at, 'at');
}

function isIntegerFrom(value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}
