import { InvalidRequest } from '../domain/errors.ts';
import type { MaxLag, Quota, Rates } from '../domain/quota.ts';
import { MAX_LAG_GROUPS_MAX } from '../domain/quota-limits.ts';
import { type Fields, integer, list, object, type Read, topicName } from './group-fields.ts';

type RateName = 'bytesPerSecond' | 'recordsPerSecond';
const RATES: readonly RateName[] = ['bytesPerSecond', 'recordsPerSecond'];

/** A topic's `quota`; null: none any more. @throws {InvalidRequest} */
export const quotaField: Read<Quota | null> = (value, field) => {
  if (value === null) return null;
  const quota = object([...RATES, 'perCaller'], (fields: Fields<RateName | 'perCaller'>): Quota => {
    const perCaller = fields.optional('perCaller', ratesField);
    return { ...ratesOf(fields), ...(perCaller && { perCaller }) };
  })(value, field);
  return notEmpty(quota, field, [...RATES, 'perCaller']);
};

/** A topic's `maxLag`; null: none any more. Names of groups are as names of topics. @throws {InvalidRequest} */
export const maxLagField: Read<MaxLag | null> = (value, field) => {
  if (value === null) return null;
  return object(['groups', 'records'], (fields: Fields<'groups' | 'records'>) => ({
    groups: fields.required(
      'groups',
      list(topicName, MAX_LAG_GROUPS_MAX, (name) => name, 1),
    ),
    records: fields.required('records', integer(1)),
  }))(value, field);
};

const ratesField: Read<Rates> = (value, field) => notEmpty(object(RATES, ratesOf)(value, field), field, RATES);

function ratesOf(fields: Fields<RateName>): Rates {
  const bytesPerSecond = fields.optional('bytesPerSecond', integer(1));
  const recordsPerSecond = fields.optional('recordsPerSecond', integer(1));
  return {
    ...(bytesPerSecond !== undefined && { bytesPerSecond }),
    ...(recordsPerSecond !== undefined && { recordsPerSecond }),
  };
}

/** One that says nothing may be meant to take a quota away: that is `null`. */
function notEmpty<T extends object>(limits: T, field: string, names: readonly string[]): T {
  if (Object.keys(limits).length > 0) return limits;
  throw new InvalidRequest(`'${field}' must say at least one of ${names.join(', ')}, or be null`, { field });
}
