import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { UnknownLayout } from '../domain/errors.ts';
import type { GroupId } from '../domain/group.ts';
import type { PositionId } from '../domain/position.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { UploadId } from '../domain/upload.ts';

/*
 * Every stored item, its key and what it holds. No key is built or taken apart anywhere else, but those by which
 * subscriptions are woken (`push-keys.ts`), of what callers may do (`access-keys.ts`) and what apps name (`provision-keys.ts`).
 *
 * table  item           key                                      one per        mutable  attributes
 * -----  -------------  ---------------------------------------  -------------  -------  ----------------------------------
 * Log    slot (batch)   log=<topicId>.<partition>, last=<N>      append         never    v count batch json? uploads? at
 *                                                                                        append previous expiresAt?
 * Log    slot (spilled) the same                                 append         never    as a batch's, but spill instead of batch
 * Log    slot (void)    the same                                 settled gap    never    v count void at reservedBy previous
 *                                                                                        expiresAt
 * Log    intent         log=<topicId>.<partition>#spill,         upload of a    never    v at expiresAt
 *                       last=<N> of the slot                     spilled batch
 * Log    upload watch   log=<topicId>#upload.<uploadId>, last=0  upload         expiry   v expiresAt?
 * State  topic          pk=topics, sk=<topic name>               live topic     yes      v id partitions retentionMs
 *                                                                                        createdAt hiddenUntil growingTo?
 *                                                                                        subscribed? marks?
 * State  leftover       pk=leftovers, sk=<topicId>               incarnation    yes      v name partitions at deleted?
 *                                                                without topic           abandoned? closedAt?
 * State  head           pk=head#<topicId>.<partition>, sk=head   partition      yes      v next r0…r7 logStart settled
 *                                                                                        closed?
 * State  claim          pk=claim#<topicId>#<key digest>,         idempotency    pins     v claim expiresAt
 *                       sk=claim                                 key
 * State  upload         pk=uploads#<topicId>, sk=<uploadId>      upload         use      v size sha256 usableUntil
 *                                                                                        usedBy? usedAt? usedCount?
 * State  lease          pk=sweep, sk=lease                       working sweep  yes      v token until
 * State  group          pk=group#<group name>, sk=group          live group     yes      v id createdAt version checkAt
 *                                                                                        busyUntil subscription? redrivesAt?
 *                                                                                        redrivesFailed? redrivesStoppedAt?
 * State  group entry    pk=groups, sk=<group name>               live group     never    v id createdAt
 * State  deleted group  pk=deleted-groups, sk=<groupId>          group being    never    v name at
 *                                                                purged
 * State  subscription   pk=subscription#<name>,                  subscription   yes      v revision groupId topics target
 *                       sk=subscription                                                  state reason? lastError? …
 * State  subscription   pk=subscriptions, sk=<name>              subscription   never    v groupId
 *        entry
 * State  member         pk=<group>#members, sk=<member key>      member         yes      v memberId lastSeenAt
 *                                                                                        sessionTimeoutMs topics joinedAt
 *                                                                                        instanceId? expiresAt
 * State  assignment     pk=<group>#assignment,                   version        never    v at plan expiresAt
 *                       sk=<version, 10 digits>
 * State  group topic    pk=<group>#topics, sk=<topicId>          topic that the grows    v name known partitions
 *                                                                group knew
 * State  position       pk=<group>#<topicId>.<partition>,        partition of   yes      v epoch committed owner? metadata?
 *                       sk=position                              a group                 until? push? parked?
 * State  lane           pk=<group>#lanes#<topicId>.<partition>,  parked key     yes      as a position's, and key
 *                       sk=<key hash, 16 hex>                                            keyBytes parkedAt giveUp?
 * State  subscriber     pk=subscribers#<topicId>,                subscription   known    v groupId topic known
 *                       sk=<group name>                          of a topic
 * State  touched        pk=touched#<hour>,                       partition with yes      v expiresAt
 *                       sk=<topicId>.<partition>                 subscribers
 *                                                                that grew
 * State  pending        pk=pending, sk=<groupId>#<topicId>.      position that  yes      v group topic known dueAt
 *                       <partition>, with #redrive at its end    must not rest
 *                       where dead letters are to be given back,
 *                       or #lane.<key hash> for a parked key
 * State  dead letter    pk=<group>#dead-letters, sk=<topicId>.   dead letter    redrive  v topic payload or object, error
 *                       <partition, 4 digits>.<offset, 16>                               attempts redrives firstFailedAt
 *                                                                                        deadLetteredAt redriveAt history
 *                                                                                        correction or correctionObject
 * State  redrive        pk=<group>#redrives, sk=<as its letter>  marked letter  yes      v at epoch? times?
 * bucket object         <topicId>/<partition>/<last, 16 digits>  spilled batch  never    the batch's bytes
 * bucket object         uploads/<topicId>/<uploadId>             upload         never    the payload's bytes
 * bucket object         dead-letters/<groupId>/<dead letter id>  large dead     never    the payload's bytes
 *                                                                letter
 * bucket object         the same, with .<sha256> at its end      large          never    the corrected record's bytes
 *                                                                correction
 *
 * <group> = <group name>#<groupId>: what a group's members write begins with its name, so that a policy can name it
 * (`dynamodb:LeadingKeys`) before the group exists. Group names are as topic names.
 * Topic names contain neither `#` nor control characters (`domain/topic-name.ts`), topic ids are ULIDs.
 */

/** Partition key of everything stored in the Log table for one partition. */
export function logKey({ topicId, partition }: PartitionId): string {
  return `${topicId}.${partition}`;
}

/** The partition that a Log key belongs to. @throws {Error} when it is not one. */
export function parseLogKey(key: string): PartitionId {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})\.(0|[1-9][0-9]{0,3})$/.exec(key);
  if (match === null) throw new Error(`'${key}' is not the key of a partition's log`);
  return { topicId: match[1]!, partition: Number(match[2]) };
}

/** What an item of the Log table is, as its key alone tells: all that the table's stream says of one that is gone. */
export type LogItemKey =
  | ({ readonly kind: 'slot' | 'intent'; readonly last: number } & PartitionId)
  | ({ readonly kind: 'upload' } & UploadId);

/** Partition key of the intents of one partition: each stands for an object that is, or may be, under its slot's key. */
export function intentKey(partition: PartitionId): string {
  return `${logKey(partition)}${INTENT}`;
}

/** Partition key of the item whose removal makes somebody look after an upload. */
export function uploadLogKey({ topicId, uploadId }: UploadId): string {
  return `${topicId}${UPLOAD}${uploadId}`;
}

/** @throws {Error} when it is not the key of an item of the Log table */
export function parseLogItemKey(log: string, last: number): LogItemKey {
  const upload = /^([0-9A-HJKMNP-TV-Z]{26})#upload\.([0-9A-HJKMNP-TV-Z]{26})$/.exec(log);
  if (upload !== null) return { kind: 'upload', topicId: upload[1]!, uploadId: upload[2]! };
  if (log.endsWith(INTENT)) return { kind: 'intent', last, ...parseLogKey(log.slice(0, -INTENT.length)) };
  return { kind: 'slot', last, ...parseLogKey(log) };
}

/** Key of a spilled batch's object: it follows from its slot's key, so whoever sees a slot go can delete the object. */
export function batchObjectKey({ topicId, partition }: PartitionId, last: number): string {
  return `${topicId}/${partition}/${padded(last, OFFSET_DIGITS)}`;
}

/** Key of an uploaded payload's object. */
export function uploadObjectKey({ topicId, uploadId }: UploadId): string {
  return `uploads/${topicId}/${uploadId}`;
}

export interface StateKey {
  readonly pk: string;
  readonly sk: string;
}

export function topicKey(name: string): StateKey {
  return { pk: TOPICS, sk: name };
}

export function leftoverKey(topicId: string): StateKey {
  return { pk: LEFTOVERS, sk: topicId };
}

export function headKey(partition: PartitionId): StateKey {
  return { pk: `${HEAD}${logKey(partition)}`, sk: 'head' };
}

/** The partition whose head has this key. @throws {Error} when it is not a head's key. */
export function parseHeadKey({ pk, sk }: StateKey): PartitionId {
  if (!pk.startsWith(HEAD) || sk !== 'head') throw new Error(`'${pk}', '${sk}' is not the key of a head`);
  return parseLogKey(pk.slice(HEAD.length));
}

/** @param keyDigest SHA-256 of the idempotency key in base64url: no user text enters a key */
export function claimKey(topicId: string, keyDigest: string): StateKey {
  return { pk: `claim#${topicId}#${keyDigest}`, sk: 'claim' };
}

/** @param uploadId a ULID: no user text enters a key */
export function uploadKey({ topicId, uploadId }: UploadId): StateKey {
  return { pk: uploadsKey(topicId), sk: uploadId };
}

/** Partition key of all uploads to one incarnation of a topic, sorted by id. */
export function uploadsKey(topicId: string): string {
  return `uploads#${topicId}`;
}

/** @param name of the group: as topic names */
export function groupKey(name: string): StateKey {
  return { pk: `group#${name}`, sk: 'group' };
}

/** Key of the item by which a live group stands in the list of groups. */
export function groupEntryKey(name: string): StateKey {
  return { pk: GROUPS, sk: name };
}

/** @param name of the subscription, and of its group */
export function subscriptionKey(name: string): StateKey {
  return { pk: `subscription#${name}`, sk: 'subscription' };
}

/** Key of the item by which a subscription stands in the list of them. */
export function subscriptionEntryKey(name: string): StateKey {
  return { pk: SUBSCRIPTIONS, sk: name };
}

export function deletedGroupKey(groupId: string): StateKey {
  return { pk: DELETED_GROUPS, sk: groupId };
}

/** Partition key of all members of a group, sorted by member key. */
export function membersKey(group: GroupId): string {
  return `${ownedBy(group)}members`;
}

/** @param memberKey as `memberKeyOf` makes it: no user text enters a key */
export function memberKey(group: GroupId, key: string): StateKey {
  return { pk: membersKey(group), sk: key };
}

export function assignmentKey(group: GroupId, version: number): StateKey {
  return { pk: `${ownedBy(group)}assignment`, sk: padded(version, VERSION_DIGITS) };
}

/** Partition key of all topics that a group knew, sorted by topic id. */
export function groupTopicsKey(group: GroupId): string {
  return `${ownedBy(group)}topics`;
}

export function groupTopicKey(group: GroupId, topicId: string): StateKey {
  return { pk: groupTopicsKey(group), sk: topicId };
}

/** Of a partition, or of a lane. */
export function positionKey(position: PositionId): StateKey {
  const { group, lane } = position;
  return lane === undefined
    ? { pk: `${ownedBy(group)}${logKey(position)}`, sk: 'position' }
    : { pk: lanesKey(position), sk: lane };
}

/** Partition key of the lanes of one position, sorted by what they are of. */
export function lanesKey({ group, ...partition }: PositionId): string {
  return `${ownedBy(group)}lanes#${logKey(partition)}`;
}

export function ownedBy({ name, id }: GroupId): string {
  return `${name}#${id}#`;
}

export function padded(number: number, digits: number): string {
  return String(number).padStart(digits, '0');
}

/** Key of the one item by which runs of the sweep exclude each other. */
export const SWEEP_LEASE: StateKey = { pk: 'sweep', sk: 'lease' };
/** Partition key of all live topics, sorted by name. */
export const TOPICS = 'topics';
/** Partition key of incarnations that are being made or removed, sorted by id. */
export const LEFTOVERS = 'leftovers';
/** Partition key of the entries of all live groups, sorted by name. */
export const GROUPS = 'groups';
/** Partition key of the entries of all subscriptions, sorted by name. */
export const SUBSCRIPTIONS = 'subscriptions';
/** Partition key of groups that are being purged, sorted by id. */
export const DELETED_GROUPS = 'deleted-groups';
const HEAD = 'head#';
const INTENT = '#spill';
const UPLOAD = '#upload.';
/** 2^53 − 1 has 16 digits. */
export const OFFSET_DIGITS = 16;
const VERSION_DIGITS = 10;

/** Version of every stored layout, in attribute `v`. */
export const LAYOUT_VERSION = '1';

/** What every conditional write demands of an item that it would change: it is not for this version to touch another. */
export const KNOWN_LAYOUT = 'v = :v';
/** What `KNOWN_LAYOUT` is about. */
export const KNOWN_VERSION = { ':v': { N: LAYOUT_VERSION } } as const;

/**
 * Everybody who takes a stored item apart asks this first.
 *
 * @param item whole, or a projection of it with its key and `v`
 * @throws {UnknownLayout}
 */
export function refuseUnknownLayout(item: Readonly<Record<string, AttributeValue>>): void {
  if (item.v?.N === LAYOUT_VERSION) return;
  const { pk = item.log, sk = item.last, v } = item;
  throw new UnknownLayout(`${pk?.S} ${sk?.S ?? sk?.N}`, v?.N ?? v?.S, LAYOUT_VERSION);
}
