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

/** @param isRedrive the mark of its dead letters that are to be given back */
export function pendingKey({ group, ...partition }: PositionId, isRedrive = false): StateKey {
  return { pk: PENDING, sk: `${group.id}#${logKey(partition)}${isRedrive ? REDRIVE : ''}` };
}

/** The position that a pending marker is about, but for its group's name. @throws {Error} when it is none's key */
export function parsePendingSort(sk: string): PartitionId & { readonly groupId: string; readonly isRedrive: boolean } {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})#([^#]+)(#redrive)?$/.exec(sk);
  if (match === null) throw new Error(`'${sk}' is not the key of a pending marker`);
  return { groupId: match[1]!, ...parseLogKey(match[2]!), isRedrive: match[3] === REDRIVE };
}

const REDRIVE = '#redrive';
/** Partition key of the positions of subscriptions that must not rest, sorted by group. */
export const PENDING = 'pending';
