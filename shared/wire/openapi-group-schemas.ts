import {
  FETCH_BYTES_DEFAULT,
  FETCH_BYTES_MAX,
  FETCH_RECORDS_DEFAULT,
  FETCH_RECORDS_MAX,
  FETCH_WAIT_MS_MAX,
  GROUP_PARTITIONS_MAX,
  INSTANCE_ID_CHARS_MAX,
  MEMBER_TOPICS_MAX,
  METADATA_BYTES_MAX,
  PARTITIONS_MAX,
  SESSION_TIMEOUT_MS_DEFAULT,
  SESSION_TIMEOUT_MS_MAX,
  SESSION_TIMEOUT_MS_MIN,
} from '../domain/limits.ts';
import { REDRIVEN_REPORTS_MAX } from '../domain/redrive-limits.ts';
import { DEAD_LETTER_SCHEMAS } from './openapi-dead-letter-schemas.ts';
import {
  ENTRY_ERROR,
  integer,
  type Json,
  list,
  MS,
  NAME,
  OFFSET,
  object,
  PARTITION,
  query,
  ref,
  TEXT,
  words,
} from './openapi-schemas.ts';

const EPOCH = integer();
const MEMBER_ID = { type: 'string', minLength: 1, description: 'As it was given out' };
const METADATA = { type: 'string', description: `At most ${METADATA_BYTES_MAX} bytes` };
const EXACT = { additionalProperties: false };
const INSTANCE_ID = { type: 'string', minLength: 1, maxLength: INSTANCE_ID_CHARS_MAX };
const END = words('earliest', 'latest');

const PARTITION_OF = { topic: NAME, partition: PARTITION };
const HELD = { ...PARTITION_OF, epoch: EPOCH };
const many = (items: Json) => ({ type: 'array', items, maxItems: GROUP_PARTITIONS_MAX });

const AT = ['topic', 'partition', 'epoch', 'offset'];
const named = (schema: string) => ref('schemas', schema);

const POSITIONS = { ...many(named('Position')), description: 'What `assigned` said: reading goes on from there' };
const COMMIT = { ...many(named('Commit')), description: 'Offsets of the next records to be handled' };
const RELEASE = many(named('Release'));
const REDRIVEN = {
  ...list(object({ id: TEXT, epoch: EPOCH, done: { type: 'boolean' } }, ['id', 'epoch'], EXACT)),
  maxItems: REDRIVEN_REPORTS_MAX,
  description: 'Records with `redriven` that the member has in hand, by `deadLetter`, or is done with. Empty: none',
};
const TOLD_REDRIVEN = {
  ...list(object({ id: TEXT, error: ENTRY_ERROR }, ['id'])),
  description: 'How those ended that were said to be done',
};
const COMMITTED = list(named('CommitOutcome'));
const TOLD = {
  memberId: TEXT,
  assigned: list(named('Assigned')),
  revoked: list(named('Owned')),
  commits: COMMITTED,
  errors: list(object({ topic: TEXT, partition: PARTITION, code: TEXT, detail: TEXT }, ['topic', 'code', 'detail'])),
};

export const GROUP_SCHEMAS: { [name: string]: Json } = {
  Position: object({ ...HELD, offset: OFFSET, metadata: TEXT, error: {} }, AT, EXACT),
  Commit: object({ ...HELD, offset: OFFSET, metadata: METADATA }, AT, EXACT),
  Release: object(HELD, undefined, EXACT),
  PartitionOf: object({ topic: TEXT, partition: PARTITION }),
  Owned: object({ topic: TEXT, partition: PARTITION, epoch: EPOCH }),
  Assigned: { allOf: [named('Owned'), object({ offset: OFFSET, error: ENTRY_ERROR }, ['offset'])] },
  CommitOutcome: { allOf: [named('PartitionOf'), object({ offset: OFFSET, error: ENTRY_ERROR }, ['offset'])] },
  Poll: object(
    {
      memberId: {
        type: ['string', 'null'],
        description: 'null or none: join. `new:<ulid>`: join, the same however often',
      },
      instanceId: { ...INSTANCE_ID, description: 'Of who joins: its place is kept for its next session' },
      topics: { type: 'array', items: NAME, minItems: 1, maxItems: MEMBER_TOPICS_MAX, description: 'Needed to join' },
      positions: POSITIONS,
      commit: COMMIT,
      release: RELEASE,
      redriven: REDRIVEN,
      paused: many(object(PARTITION_OF, undefined, EXACT)),
      maxRecords: { ...integer(1, FETCH_RECORDS_MAX), default: FETCH_RECORDS_DEFAULT },
      maxBytes: { ...integer(1, FETCH_BYTES_MAX), default: FETCH_BYTES_DEFAULT },
      waitMs: { ...integer(0, FETCH_WAIT_MS_MAX), default: 0 },
      sessionTimeoutMs: {
        ...integer(SESSION_TIMEOUT_MS_MIN, SESSION_TIMEOUT_MS_MAX),
        description: `Of who joins without: ${SESSION_TIMEOUT_MS_DEFAULT}`,
      },
      autoOffsetReset: { ...words('earliest', 'latest', 'none'), default: 'earliest' },
      reset: { ...END, description: 'Where partitions go on whose offset is out of range' },
      turn: { ...integer(), description: 'As the answer before told it' },
      values: { ...words('json', 'utf8', 'base64'), default: 'json' },
    },
    [],
    EXACT,
  ),
  Polled: object(
    {
      ...TOLD,
      records: list({
        allOf: [
          named('Record'),
          named('PartitionOf'),
          object(
            { redriven: { ...integer(1), description: 'Times it came back from the dead letters' }, deadLetter: TEXT },
            [],
          ),
        ],
      }),
      redriven: TOLD_REDRIVEN,
      turn: { ...integer(), description: 'To be sent back, where not all partitions are looked at in each poll' },
    },
    [...Object.keys(TOLD), 'records'],
  ),
  Heartbeat: object(
    { memberId: MEMBER_ID, positions: POSITIONS, commit: COMMIT, release: RELEASE, redriven: REDRIVEN },
    ['memberId'],
    EXACT,
  ),
  Heard: object({ ...TOLD, redriven: TOLD_REDRIVEN }, Object.keys(TOLD)),
  Leave: object({ memberId: MEMBER_ID }, undefined, EXACT),
  Commits: object(
    {
      memberId: { type: ['string', 'null'] },
      offsets: {
        ...many(
          object(
            { ...PARTITION_OF, offset: OFFSET, epoch: EPOCH, metadata: METADATA },
            ['topic', 'partition', 'offset'],
            EXACT,
          ),
        ),
        minItems: 1,
      },
    },
    ['offsets'],
    EXACT,
  ),
  Committed: object({ commits: COMMITTED }),
  ...DEAD_LETTER_SCHEMAS,
  Groups: object({ groups: list(object({ group: TEXT, id: TEXT, createdAt: MS })), nextToken: TEXT }, ['groups']),
  Group: object(
    {
      ...{ group: TEXT, id: TEXT, createdAt: MS },
      members: list(
        object(
          {
            memberId: TEXT,
            instanceId: TEXT,
            ...{ joinedAt: MS, lastSeenAt: MS, sessionTimeoutMs: integer() },
            topics: list(TEXT),
            assigned: { ...list(named('Owned')), description: 'What it owns' },
          },
          ['memberId', 'joinedAt', 'lastSeenAt', 'sessionTimeoutMs', 'topics', 'assigned'],
        ),
      ),
      offsets: list(
        object(
          {
            ...PARTITION_OF,
            committed: { type: ['integer', 'null'], description: 'null: the group has never had the partition' },
            highWatermark: OFFSET,
            lag: { ...integer(), description: '`highWatermark` − `committed`' },
            parked: { ...integer(1), description: 'Of a subscription: keys that are parked; absent: none' },
            metadata: TEXT,
          },
          ['topic', 'partition', 'committed', 'highWatermark', 'lag'],
        ),
      ),
      redrives: object({ failed: integer(1), stoppedAt: MS }, [], {
        description:
          'Dead letters given back that failed again, one after another, and when the others were taken back',
      }),
    },
    ['group', 'id', 'createdAt', 'members', 'offsets'],
  ),
  Reset: object(
    {
      topic: NAME,
      partitions: {
        type: 'array',
        items: PARTITION,
        minItems: 1,
        maxItems: PARTITIONS_MAX,
        description: 'Default: all',
      },
      to: {
        oneOf: [
          END,
          object({ at: { type: 'string', format: 'date-time' } }, undefined, EXACT),
          object({ offset: OFFSET }, undefined, EXACT),
        ],
      },
    },
    ['topic', 'to'],
    EXACT,
  ),
  ResetTo: object({ offsets: list(object({ ...PARTITION_OF, offset: OFFSET, committed: OFFSET })) }),
};

export const GROUP_PARAMETERS: { [name: string]: Json } = {
  group: { name: 'group', in: 'path', required: true, schema: NAME, example: 'billing' },
  deadLetter: { name: 'id', in: 'path', required: true, schema: TEXT, example: '01J00000000000000000000000.3.41' },
  ofTopic: query('topic', NAME),
  ofPartition: query('partition', PARTITION),
  ofKey: query('key', TEXT, { description: "The record's key, as text" }),
  since: query('since', { type: 'string', format: 'date-time' }, { example: '2026-01-01T00:00:00Z' }),
  state: query('state', words('stored', 'redriving')),
};

export const GROUP_EXAMPLES = {
  poll: { memberId: null, topics: ['orders'], maxRecords: 100 },
  commits: { offsets: [{ topic: 'orders', partition: 0, offset: 0 }] },
  reset: { topic: 'orders', to: 'earliest' },
  member: { memberId: '01J00000000000000000000000' },
} satisfies { [name: string]: Json };
