import { MAX_LAG_GROUPS_MAX } from '../domain/quota-limits.ts';
import { integer, type Json, list, NAME, object } from './openapi-schemas.ts';

const RATES = { bytesPerSecond: integer(1), recordsPerSecond: integer(1) };
const STRICT = { additionalProperties: false, minProperties: 1 };

export const QUOTA_SCHEMAS: { [name: string]: Json } = {
  Quota: object({ ...RATES, perCaller: object(RATES, [], STRICT) }, [], {
    ...STRICT,
    description:
      'How much may be appended, by all together and by each caller; bytes as they are stored. Beyond it: 429',
  }),
  MaxLag: object(
    { groups: { ...list(NAME), minItems: 1, maxItems: MAX_LAG_GROUPS_MAX }, records: integer(1) },
    undefined,
    {
      additionalProperties: false,
      description: 'While one of these groups is further behind, over all partitions, appends are answered with 429',
    },
  ),
};
