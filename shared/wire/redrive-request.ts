import { parseDeadLetterId } from '../domain/dead-letter.ts';
import { InvalidRequest } from '../domain/errors.ts';
import { REDRIVE_LETTERS_MAX, REDRIVE_RATE_MAX } from '../domain/limits.ts';
import { instant } from './group-admin-requests.ts';
import {
  bodyFields,
  groupOf,
  integer,
  invalid,
  list,
  object,
  partitionNumber,
  type Read,
  topicName,
} from './group-fields.ts';
import type { ApiRequest } from './http-request.ts';

/** Which dead letters are to be given back, and how. */
export interface RedriveRequest {
  readonly group: string;
  readonly wanted:
    | { readonly ids: readonly string[] }
    | { readonly filter: { readonly topic?: string; readonly partition?: number; readonly since?: number } };
  readonly ratePerSecond?: number;
  readonly isDryRun: boolean;
}

const letterId: Read<string> = (value, field) => {
  if (typeof value === 'string' && parseDeadLetterId(value) !== undefined) return value;
  throw invalid(field, "must be a dead letter's id, such as '01J00000000000000000000000.3.41'");
};
const IDS = list(letterId, REDRIVE_LETTERS_MAX, String, 1);
const FILTER = object(['topic', 'partition', 'since'], (fields) => {
  const topic = fields.optional('topic', topicName);
  const partition = fields.optional('partition', partitionNumber);
  const since = fields.optional('since', instant);
  return {
    ...(topic !== undefined && { topic }),
    ...(partition !== undefined && { partition }),
    ...(since !== undefined && { since }),
  };
});
const flag: Read<boolean> = (value, field) => {
  if (typeof value === 'boolean') return value;
  throw invalid(field, 'must be true or false');
};
const corrections: Read<never> = (_, field) => {
  throw invalid(field, "is not supported yet: name the dead letters in 'ids', they are given back as they are");
};

/** @throws {InvalidRequest} naming the field that is missing, unknown, of the wrong type or out of its range */
export function parseRedriveRequest(request: ApiRequest): RedriveRequest {
  const group = groupOf(request);
  const fields = bodyFields(request, ['ids', 'filter', 'records', 'ratePerSecond', 'dryRun']);
  fields.optional('records', corrections);
  const ids = fields.optional('ids', IDS);
  const filter = fields.optional('filter', FILTER);
  const ratePerSecond = fields.optional('ratePerSecond', integer(1, REDRIVE_RATE_MAX));
  const isDryRun = fields.optional('dryRun', flag) ?? false;
  const rest = { group, isDryRun, ...(ratePerSecond !== undefined && { ratePerSecond }) };
  if (ids !== undefined && filter === undefined) return { ...rest, wanted: { ids } };
  if (filter !== undefined && ids === undefined) return { ...rest, wanted: { filter } };
  throw new InvalidRequest("Exactly one of 'ids' and 'filter' is required: {} as the filter means all", {
    field: 'ids',
  });
}
