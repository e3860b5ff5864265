import {
  DEAD_LETTER_ERROR_BYTES_MAX,
  DEAD_LETTER_ERROR_NAME_BYTES_MAX,
  REDRIVE_LETTERS_MAX,
  REDRIVE_RATE_MAX,
} from '../domain/limits.ts';
import {
  ANY,
  integer,
  type Json,
  list,
  MS,
  NAME,
  OFFSET,
  object,
  PARTITION,
  RECORD,
  ref,
  TEXT,
  words,
} from './openapi-schemas.ts';

const EXACT = { additionalProperties: false };
const { error: _, ...KEPT } = RECORD;
const STATE = words('stored', 'redriving');
const SINCE = { type: 'string', format: 'date-time' };
const HEADERS = {
  description: 'An object, or pairs of a name and a value, as records are produced with',
  type: ['object', 'array'],
};

/** What is sent and told of dead letters. */
export const DEAD_LETTER_SCHEMAS: { [name: string]: Json } = {
  DeadLetterReport: object(
    {
      ...{
        topic: NAME,
        partition: PARTITION,
        epoch: integer(),
        memberId: { type: 'string', minLength: 1 },
        offset: OFFSET,
      },
      error: object(
        {
          name: { type: 'string', minLength: 1, maxLength: DEAD_LETTER_ERROR_NAME_BYTES_MAX },
          message: { type: 'string', maxLength: DEAD_LETTER_ERROR_BYTES_MAX },
        },
        undefined,
        EXACT,
      ),
      attempts: integer(1),
      redriven: { ...integer(1), description: 'Of a record that was given back: as the poll told it' },
    },
    ['topic', 'partition', 'epoch', 'memberId', 'offset', 'error', 'attempts'],
    EXACT,
  ),
  DeadLettered: object({ id: TEXT, committed: OFFSET }),
  DeadLetter: object(
    {
      ...{ id: TEXT, topic: TEXT, partition: PARTITION },
      ...KEPT,
      recordError: object({ code: TEXT }, undefined, { description: 'Why there is no record' }),
      error: object({ name: TEXT, message: TEXT }),
      ...{ attempts: integer(1), redrives: integer(), firstFailedAt: MS, deadLetteredAt: MS },
      state: STATE,
      history: list(object({ error: object({ name: TEXT, message: TEXT }), deadLetteredAt: MS })),
      corrected: object(KEPT, ['offset'], { description: 'The record as it is given back, where it was corrected' }),
    },
    ['id', 'topic', 'partition', 'offset', 'error', 'attempts', 'redrives', 'firstFailedAt', 'deadLetteredAt', 'state'],
  ),
  DeadLetters: object({ deadLetters: list(ref('schemas', 'DeadLetter')), nextToken: TEXT }, ['deadLetters']),
  Redrive: object(
    {
      ids: { ...list(TEXT), minItems: 1, maxItems: REDRIVE_LETTERS_MAX },
      filter: object({ topic: NAME, partition: PARTITION, key: TEXT, since: SINCE, state: STATE }, [], EXACT),
      records: {
        ...list(
          object(
            { id: TEXT, value: ANY, valueEncoding: words('json', 'utf8', 'base64'), headers: HEADERS },
            ['id'],
            EXACT,
          ),
        ),
        ...{ minItems: 1, maxItems: REDRIVE_LETTERS_MAX },
        description:
          'Those to be given back corrected. With an id alone: as it was, whatever it was corrected to before',
      },
      ratePerSecond: integer(1, REDRIVE_RATE_MAX),
      dryRun: { type: 'boolean' },
    },
    [],
    EXACT,
  ),
  Redriving: object({ redriving: integer(), more: { type: 'boolean' } }),
};
