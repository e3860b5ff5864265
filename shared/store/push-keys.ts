import type { GroupId } from '../domain/group.ts';
import type { PositionId } from '../domain/position.ts';
import type { PartitionId } from '../domain/topic.ts';
import { logKey, parseLogKey, type StateKey } from './keys.ts';

// The keys by which subscriptions are woken; what is under them is told in `keys.ts`.

/** Partition key of all subscriptions of one incarnation of a topic, sorted by name. */
export function subscribersKey(topicId: string): string {
  return `subscribers#${topicId}`;
}

export function subscriberKey(topicId: string, groupName: string): StateKey {
  return { pk: subscribersKey(topicId), sk: groupName };
}

/** Partition key of all partitions with subscribers that grew in one hour. @param hour since the epoch */
export function touchedKey(hour: number): string {
  return `touched#${hour}`;
}

/** @param isRedrive the mark of its dead letters that are to be given back; of a lane: that of its parked key */
export function pendingKey({ group, lane, ...partition }: PositionId, isRedrive = false): StateKey {
  const what = lane === undefined ? (isRedrive ? REDRIVE : '') : `${LANE_MARK}${lane}`;
  return { pk: PENDING, sk: `${pendingOf(group)}${logKey(partition)}${what}` };
}

/** How the sort keys of all marks of one group begin. */
export function pendingOf({ id }: GroupId): string {
  return `${id}#`;
}

/** The position that a pending marker is about, but for its group's name. @throws {Error} when it is none's key */
export function parsePendingSort(
  sk: string,
): PartitionId & { readonly groupId: string; readonly isRedrive: boolean; readonly lane?: string } {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})#([^#]+)(#redrive)?(?:#lane\.([0-9a-f]{16}))?$/.exec(sk);
  if (match === null) throw new Error(`'${sk}' is not the key of a pending marker`);
  const [, groupId, log, redrive, lane] = match;
  return {
    groupId: groupId!,
    ...parseLogKey(log!),
    isRedrive: redrive === REDRIVE,
    ...(lane !== undefined && { lane }),
  };
}

const REDRIVE = '#redrive';
const LANE_MARK = '#lane.';
/** Partition key of the positions of subscriptions that must not rest, sorted by group. */
export const PENDING = 'pending';
