import { InvalidRequest } from '../domain/errors.ts';
import {
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  PARTITIONS_MAX,
  RETENTION_FOREVER,
  RETENTION_MS_MIN,
} from '../domain/limits.ts';
import { type ApiRequest, mediaTypeOf } from './http-request.ts';
import { parseInstant } from './instant.ts';
import { JSON_TYPE } from './media-type.ts';
import { parseNextToken } from './next-token.ts';
import { parseChoice, parseInteger, parseQuery } from './query.ts';

/** What a PUT asks for; what is absent keeps its value, or takes the default when the topic is new. */
export interface TopicSettings {
  readonly partitions?: number;
  readonly retentionMs?: number;
}

/** @throws {InvalidRequest} naming the field that is unknown, of the wrong type or out of its range */
export function parseTopicSettings(request: ApiRequest): TopicSettings {
  parseQuery(request.rawQuery, []);
  mediaTypeOf(request, [JSON_TYPE]);
  const { partitions, retentionMs, ...unknown } = objectOf(request.readBody());
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
  return { ...(partitions !== undefined && { partitions }), ...(retentionMs !== undefined && { retentionMs }) };
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

function objectOf(body: Uint8Array): Record<string, unknown> {
  if (body.length === 0) return {};
  const value = parseJson(body);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new InvalidRequest('The body must be a JSON object');
}

function parseJson(body: Uint8Array): unknown {
  try {
    // A byte order mark stays, and is no JSON: it is refused here as it is in records.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    throw new InvalidRequest('The body is not valid JSON in UTF-8');
  }
}

function isIntegerFrom(value: unknown, min: number, max = Number.MAX_SAFE_INTEGER): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
}
