import { isInstanceId, isMemberUlid } from '../domain/group.ts';
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
  SESSION_TIMEOUT_MS_DEFAULT,
  SESSION_TIMEOUT_MS_MAX,
  SESSION_TIMEOUT_MS_MIN,
} from '../domain/limits.ts';
import { REDRIVEN_REPORTS_MAX } from '../domain/redrive-limits.ts';
import {
  bodyFields,
  choice,
  type Fields,
  flag,
  groupOf,
  integer,
  invalid,
  letterId,
  list,
  object,
  offsetNumber,
  partitionNumber,
  partitionText,
  type Read,
  text,
  topicName,
} from './group-fields.ts';
import { ANSWER_BODY_BYTES_MAX } from './http-answer.ts';
import type { ApiRequest } from './http-request.ts';
import type { ValueForm } from './record-json.ts';

/** One partition, by the name of its topic. */
export interface NamedPartition {
  readonly topic: string;
  readonly partition: number;
}

export interface HeldPartition extends NamedPartition {
  readonly epoch: number;
}

export interface HeldPosition extends HeldPartition {
  readonly offset: number;
}

export interface OffsetToCommit extends NamedPartition {
  readonly offset: number;
  readonly epoch?: number;
  readonly metadata?: string;
}

/** What a member says beside reading. */
export interface HeartbeatRequest {
  readonly group: string;
  readonly memberId: string;
  readonly positions: readonly HeldPosition[];
  readonly commit: readonly (HeldPosition & { readonly metadata?: string })[];
  readonly release: readonly HeldPartition[];
  /** What it says of redriven records; absent: nothing. */
  readonly redriven?: readonly RedrivenReport[];
}

/** That a member holds a redriven record, or is done with it. */
export interface RedrivenReport {
  /** Of the dead letter. */
  readonly id: string;
  /** Of the partition, as it was when the record was given. */
  readonly epoch: number;
  readonly done?: boolean;
}

/** What a poll asks for. */
export interface PollRequest extends Omit<HeartbeatRequest, 'memberId'> {
  /** Absent: the caller joins. */
  readonly memberId?: string;
  /** A ULID that whoever joins proposes for itself, so that a repeated join is the same member. */
  readonly proposed?: string;
  readonly instanceId?: string;
  /** Absent: those that the member named before. Who joins names some. */
  readonly topics?: readonly string[];
  readonly paused: readonly NamedPartition[];
  readonly maxRecords: number;
  /** Of the encoded answer; never more than one answer of a function can carry. */
  readonly maxBytes: number;
  readonly waitMs: number;
  /** Absent: as before; of whoever joins, the default. */
  readonly sessionTimeoutMs?: number;
  readonly autoOffsetReset: 'earliest' | 'latest' | 'none';
  /** Where partitions go on whose position is out of range; absent: nowhere. */
  readonly reset?: 'earliest' | 'latest';
  /** As the answer before gave it: which of more than 32 partitions are looked at. */
  readonly turn?: number;
  readonly values: ValueForm;
}

export interface CommitsRequest {
  readonly group: string;
  readonly memberId?: string;
  readonly offsets: readonly OffsetToCommit[];
}

const PROPOSAL = 'new:';
/** None that was ever given out is longer: an instance id of three bytes a UTF-16 unit, `-`, a ULID. */
const MEMBER_ID_BYTES_MAX = 3 * INSTANCE_ID_CHARS_MAX + 27;

export const memberIdText: Read<string> = text(MEMBER_ID_BYTES_MAX, 1);

const instanceId: Read<string> = (value, field) => {
  if (typeof value === 'string' && isInstanceId(value)) return value;
  throw invalid(field, `must have 1 to ${INSTANCE_ID_CHARS_MAX} characters, no control character among them`);
};

/** `null` stands for none: who joins has none yet. */
const noneOr =
  <T>(read: Read<T>): Read<T | undefined> =>
  (value, field) =>
    value === null ? undefined : read(value, field);

const partitions = <T extends NamedPartition>(read: Read<T>) => list(read, GROUP_PARTITIONS_MAX, partitionText);

const named = (fields: Fields<'topic' | 'partition'>): NamedPartition => ({
  topic: fields.required('topic', topicName),
  partition: fields.required('partition', partitionNumber),
});
const held = (fields: Fields<'topic' | 'partition' | 'epoch'>): HeldPartition => ({
  ...named(fields),
  epoch: fields.required('epoch', integer(0)),
});
const heldAt = (fields: Fields<'topic' | 'partition' | 'offset' | 'epoch'>): HeldPosition => ({
  ...held(fields),
  offset: fields.required('offset', offsetNumber),
});
const metadataOf = (fields: Fields<'metadata'>) => present('metadata', fields.optional('metadata', metadata));
const metadata = text(METADATA_BYTES_MAX);

const POSITIONS = partitions(
  // As `assigned` gave them: what it said beside is no news to us.
  object(['topic', 'partition', 'offset', 'epoch', 'metadata', 'error'], heldAt),
);
const COMMIT = partitions(
  object(['topic', 'partition', 'offset', 'epoch', 'metadata'], (fields) => ({
    ...heldAt(fields),
    ...metadataOf(fields),
  })),
);
const RELEASE = partitions(object(['topic', 'partition', 'epoch'], held));
const PAUSED = partitions(object(['topic', 'partition'], named));
const REDRIVEN = list(
  object(
    ['id', 'epoch', 'done'],
    (fields): RedrivenReport => ({
      id: fields.required('id', letterId),
      epoch: fields.required('epoch', integer(0)),
      ...present('done', fields.optional('done', flag)),
    }),
  ),
  REDRIVEN_REPORTS_MAX,
  ({ id }) => id,
);
const OFFSETS = list(
  object(['topic', 'partition', 'offset', 'epoch', 'metadata'], (fields) => ({
    ...named(fields),
    offset: fields.required('offset', offsetNumber),
    ...present('epoch', fields.optional('epoch', integer(0))),
    ...metadataOf(fields),
  })),
  GROUP_PARTITIONS_MAX,
  partitionText,
  1,
);
const TOPICS = list(topicName, MEMBER_TOPICS_MAX, (topic) => topic, 1);

const HEARTBEAT_FIELDS = ['memberId', 'positions', 'commit', 'release', 'redriven'] as const;
const POLL_FIELDS = [
  ...HEARTBEAT_FIELDS,
  ...(['instanceId', 'topics', 'paused', 'maxRecords', 'maxBytes', 'waitMs', 'sessionTimeoutMs'] as const),
  ...(['autoOffsetReset', 'reset', 'turn', 'values'] as const),
];

/** @throws {InvalidRequest} naming the field that is missing, unknown, of the wrong type or out of its range */
export function parsePollRequest(request: ApiRequest): PollRequest {
  const group = groupOf(request);
  const fields = bodyFields(request, POLL_FIELDS);
  const who = memberOf(fields.optional('memberId', noneOr(memberIdText)));
  const topics = who.memberId === undefined ? fields.required('topics', TOPICS) : fields.optional('topics', TOPICS);
  const sessionTimeoutMs = fields.optional('sessionTimeoutMs', integer(SESSION_TIMEOUT_MS_MIN, SESSION_TIMEOUT_MS_MAX));
  return {
    group,
    ...who,
    ...present('instanceId', fields.optional('instanceId', instanceId)),
    ...present('topics', topics),
    ...heldIn(fields),
    paused: fields.optional('paused', PAUSED) ?? [],
    maxRecords: fields.optional('maxRecords', integer(1, FETCH_RECORDS_MAX)) ?? FETCH_RECORDS_DEFAULT,
    maxBytes: Math.min(
      fields.optional('maxBytes', integer(1, FETCH_BYTES_MAX)) ?? FETCH_BYTES_DEFAULT,
      ANSWER_BODY_BYTES_MAX,
    ),
    waitMs: fields.optional('waitMs', integer(0, FETCH_WAIT_MS_MAX)) ?? 0,
    ...present('sessionTimeoutMs', sessionTimeoutMs ?? (who.memberId ? undefined : SESSION_TIMEOUT_MS_DEFAULT)),
    autoOffsetReset: fields.optional('autoOffsetReset', choice('earliest', 'latest', 'none')) ?? 'earliest',
    ...present('reset', fields.optional('reset', choice('earliest', 'latest'))),
    ...present('turn', fields.optional('turn', integer(0))),
    values: fields.optional('values', choice('json', 'utf8', 'base64')) ?? 'json',
  };
}

/** @throws {InvalidRequest} */
export function parseHeartbeatRequest(request: ApiRequest): HeartbeatRequest {
  const group = groupOf(request);
  const fields = bodyFields(request, HEARTBEAT_FIELDS);
  return { group, memberId: fields.required('memberId', memberIdText), ...heldIn(fields) };
}

/** @throws {InvalidRequest} */
export function parseLeaveRequest(request: ApiRequest): { readonly group: string; readonly memberId: string } {
  const group = groupOf(request);
  return { group, memberId: bodyFields(request, ['memberId']).required('memberId', memberIdText) };
}

/** @throws {InvalidRequest} */
export function parseCommitsRequest(request: ApiRequest): CommitsRequest {
  const group = groupOf(request);
  const fields = bodyFields(request, ['memberId', 'offsets']);
  return {
    group,
    ...present('memberId', fields.optional('memberId', noneOr(memberIdText))),
    offsets: fields.required('offsets', OFFSETS),
  };
}

function memberOf(memberId: string | undefined): { memberId?: string; proposed?: string } {
  if (memberId === undefined) return {};
  if (!memberId.startsWith(PROPOSAL)) return { memberId };
  const proposed = memberId.slice(PROPOSAL.length);
  if (isMemberUlid(proposed)) return { proposed };
  throw invalid('memberId', `must be one that was given out, null, or '${PROPOSAL}' and a ULID in upper case`);
}

function heldIn(fields: Fields<'positions' | 'commit' | 'release' | 'redriven'>) {
  return {
    positions: fields.optional('positions', POSITIONS) ?? [],
    commit: fields.optional('commit', COMMIT) ?? [],
    release: fields.optional('release', RELEASE) ?? [],
    ...present('redriven', fields.optional('redriven', REDRIVEN)),
  };
}

/** A field of its own where there is a value, else none. */
function present<Name extends string, T>(name: Name, value: T | undefined): { [name in Name]?: T } {
  return (value === undefined ? {} : { [name]: value }) as { [name in Name]?: T };
}
