import { InvalidRequest } from '../domain/errors.ts';
import {
  FETCH_BYTES_DEFAULT,
  FETCH_BYTES_MAX,
  FETCH_RECORDS_DEFAULT,
  FETCH_RECORDS_MAX,
  FETCH_WAIT_MS_MAX,
} from '../domain/limits.ts';
import { ANSWER_BODY_BYTES_MAX } from './http-answer.ts';
import { type ApiRequest, partitionOfPath, topicOf } from './http-request.ts';
import { CLOUD_EVENTS_BATCH_TYPE, JSON_TYPE, RECORD_BATCH_TYPE, weightOf } from './media-type.ts';
import { parseChoice, parseInteger, parseQuery } from './query.ts';

const ENDS = ['earliest', 'latest'] as const;
const PARAMETERS = ['offset', 'maxRecords', 'maxBytes', 'waitMs', 'values', 'reset'] as const;

export type FetchType = typeof JSON_TYPE | typeof RECORD_BATCH_TYPE | typeof CLOUD_EVENTS_BATCH_TYPE;

/** What a fetch asks for. */
export interface FetchRequest {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number | 'earliest' | 'latest';
  /** Where to go on when the offset is out of range; absent: refuse. */
  readonly reset?: 'earliest' | 'latest';
  readonly maxRecords: number;
  /** Of the encoded answer; never more than one answer of a function can carry. */
  readonly maxBytes: number;
  /** How long to wait for a first record. */
  readonly waitMs: number;
  readonly values: 'json' | 'utf8' | 'base64';
  /** JSON records, CloudEvents, or the stored batches as they are. */
  readonly as: FetchType;
}

/** @throws {InvalidRequest} naming the parameter that is missing, unknown, repeated or out of its range */
export function parseFetchRequest(request: ApiRequest): FetchRequest {
  const query = parseQuery(request.rawQuery, PARAMETERS);
  const integer = (name: 'maxRecords' | 'maxBytes' | 'waitMs', byDefault: number, min: number, max: number) =>
    query[name] === undefined ? byDefault : parseInteger(query[name], name, min, max);
  return {
    topic: topicOf(request),
    partition: partitionOfPath(request),
    offset: offsetOf(query.offset),
    ...(query.reset !== undefined && { reset: parseChoice(query.reset, 'reset', ENDS) }),
    maxRecords: integer('maxRecords', FETCH_RECORDS_DEFAULT, 1, FETCH_RECORDS_MAX),
    maxBytes: Math.min(integer('maxBytes', FETCH_BYTES_DEFAULT, 1, FETCH_BYTES_MAX), ANSWER_BODY_BYTES_MAX),
    waitMs: integer('waitMs', 0, 0, FETCH_WAIT_MS_MAX),
    values: parseChoice(query.values ?? 'json', 'values', ['json', 'utf8', 'base64']),
    as: typeOf(request.headers.get('accept')),
  };
}

function offsetOf(text: string | undefined): FetchRequest['offset'] {
  if (text === undefined) {
    throw new InvalidRequest("'offset' is required: a number, earliest or latest", { parameter: 'offset' });
  }
  const end = ENDS.find((word) => word === text);
  if (end !== undefined) return end;
  if (!/^\d/.test(text)) {
    throw new InvalidRequest("'offset' must be earliest, latest or a decimal integer", { parameter: 'offset' });
  }
  return parseInteger(text, 'offset', 0, Number.MAX_SAFE_INTEGER);
}

/** Another type only when it is named, and no less wanted than JSON. An `Accept` that names none gets JSON, never a 406. */
function typeOf(accept: string | undefined): FetchType {
  let [wanted, weight]: [FetchType, number] = [JSON_TYPE, weightOf(accept, JSON_TYPE)];
  for (const type of [CLOUD_EVENTS_BATCH_TYPE, RECORD_BATCH_TYPE] as const) {
    const other = weightOf(accept, type);
    if (other > 0 && other >= weight) [wanted, weight] = [type, other];
  }
  return wanted;
}
