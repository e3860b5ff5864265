import type { DeadLetterState } from '../domain/dead-letter.ts';
import { InvalidRequest } from '../domain/errors.ts';
import {
  DEAD_LETTER_ERROR_BYTES_MAX,
  DEAD_LETTER_ERROR_NAME_BYTES_MAX,
  LIST_LIMIT_DEFAULT,
  LIST_LIMIT_MAX,
  PARTITIONS_MAX,
} from '../domain/limits.ts';
import {
  bodyFields,
  groupOf,
  integer,
  invalid,
  list,
  object,
  offsetNumber,
  partitionNumber,
  type Read,
  text,
  topicName,
} from './group-fields.ts';
import { memberIdText } from './group-requests.ts';
import { type ApiRequest, isName } from './http-request.ts';
import { instantOf, parseInstant } from './instant.ts';
import { type ListKind, parseNextToken } from './next-token.ts';
import { parseChoice, parseInteger, parseQuery } from './query.ts';
import { hasLoneSurrogate } from './utf8.ts';

/** Where a reset leads: an end of the log, the first record appended at or after a time (epoch ms), or an offset. */
export type ResetTarget = 'earliest' | 'latest' | { readonly at: number } | { readonly offset: number };

export interface ResetRequest {
  readonly group: string;
  readonly topic: string;
  /** Absent: all. */
  readonly partitions?: readonly number[];
  readonly to: ResetTarget;
}

export interface DeadLetterRequest {
  readonly group: string;
  readonly memberId: string;
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly epoch: number;
  readonly error: { readonly name: string; readonly message: string };
  /** Times that the record was tried. */
  readonly attempts: number;
  /** Of one that was given back: as the poll told it. */
  readonly redriven?: number;
}

/** A page of a list, and where the one before ended. */
export interface PageRequest {
  readonly limit: number;
  readonly after?: string;
}

export interface DeadLetterListing extends PageRequest {
  readonly group: string;
  readonly topic?: string;
  readonly partition?: number;
  /** The record's key, as text. */
  readonly key?: string;
  /** Epoch ms: those dead-lettered then or later. */
  readonly since?: number;
  readonly state?: DeadLetterState;
}

export const instant: Read<number> = (value, field) => {
  const ms = typeof value === 'string' ? instantOf(value) : undefined;
  if (ms !== undefined) return ms;
  throw invalid(field, 'must be a time as in RFC 3339 with its offset, such as 2026-01-01T00:00:00Z');
};

export const resetTarget: Read<ResetTarget> = (value, field) => {
  if (value === 'earliest' || value === 'latest') return value;
  if (typeof value === 'object' && value !== null && Object.keys(value).length === 1) {
    if ('at' in value) return { at: instant(value.at, `${field}.at`) };
    if ('offset' in value) return { offset: offsetNumber(value.offset, `${field}.offset`) };
  }
  throw invalid(field, `must be 'earliest', 'latest', {"at": "<time>"} or {"offset": <number>}`);
};

export const PARTITION_LIST = list(partitionNumber, PARTITIONS_MAX, String, 1);
const ERROR = object(['name', 'message'], (fields) => ({
  name: fields.required('name', text(DEAD_LETTER_ERROR_NAME_BYTES_MAX, 1)),
  message: fields.required('message', text(DEAD_LETTER_ERROR_BYTES_MAX)),
}));

/** @throws {InvalidRequest} naming the field that is missing, unknown, of the wrong type or out of its range */
export function parseResetRequest(request: ApiRequest): ResetRequest {
  const group = groupOf(request);
  const fields = bodyFields(request, ['topic', 'partitions', 'to']);
  const partitions = fields.optional('partitions', PARTITION_LIST);
  return {
    group,
    topic: fields.required('topic', topicName),
    ...(partitions !== undefined && { partitions }),
    to: fields.required('to', resetTarget),
  };
}

/** @throws {InvalidRequest} */
export function parseDeadLetterRequest(request: ApiRequest): DeadLetterRequest {
  const group = groupOf(request);
  const fields = bodyFields(request, [
    'memberId',
    'topic',
    'partition',
    'offset',
    'epoch',
    'error',
    'attempts',
    'redriven',
  ]);
  const redriven = fields.optional('redriven', integer(1));
  return {
    group,
    memberId: fields.required('memberId', memberIdText),
    topic: fields.required('topic', topicName),
    partition: fields.required('partition', partitionNumber),
    offset: fields.required('offset', offsetNumber),
    epoch: fields.required('epoch', integer(0)),
    error: fields.required('error', ERROR),
    attempts: fields.required('attempts', integer(1)),
    ...(redriven !== undefined && { redriven }),
  };
}

/** A request about a group that says nothing but its name. @throws {InvalidRequest} */
export function onlyGroupOf(request: ApiRequest): string {
  parseQuery(request.rawQuery, []);
  return groupOf(request);
}

/** @throws {InvalidRequest} */
export function parseGroupListing(request: ApiRequest): PageRequest {
  const query = parseQuery(request.rawQuery, ['limit', 'nextToken']);
  return pageOf('groups', query);
}

/** @throws {InvalidRequest} */
export function parseDeadLetterListing(request: ApiRequest): DeadLetterListing {
  const group = groupOf(request);
  const query = parseQuery(request.rawQuery, ['topic', 'partition', 'key', 'since', 'state', 'limit', 'nextToken']);
  const { topic, partition, key, since, state } = query;
  if (topic !== undefined && !isName(topic)) throw refused('topic', "must be a topic's name");
  if (key !== undefined && hasLoneSurrogate(key)) throw refused('key', 'has half of a surrogate pair');
  return {
    group,
    ...(topic !== undefined && { topic }),
    ...(partition !== undefined && { partition: parseInteger(partition, 'partition', 0, PARTITIONS_MAX - 1) }),
    ...(key !== undefined && { key }),
    ...(since !== undefined && { since: parseInstant(since, 'since') }),
    ...(state !== undefined && { state: parseChoice(state, 'state', ['stored', 'redriving']) }),
    ...pageOf('deadLetters', query),
  };
}

export function pageOf(
  kind: ListKind,
  { limit, nextToken }: { readonly limit?: string; readonly nextToken?: string },
): PageRequest {
  return {
    limit: limit === undefined ? LIST_LIMIT_DEFAULT : parseInteger(limit, 'limit', 1, LIST_LIMIT_MAX),
    ...(nextToken !== undefined && { after: parseNextToken(kind, nextToken) }),
  };
}

function refused(parameter: string, reason: string): InvalidRequest {
  return new InvalidRequest(`'${parameter}' ${reason}`, { parameter });
}
