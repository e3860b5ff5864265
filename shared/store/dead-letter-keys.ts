import type { DeadLetterId } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import { OFFSET_DIGITS, ownedBy, padded, type StateKey } from './keys.ts';

// The keys of dead letters, and of those that are given back; what is under them is told in `keys.ts`.

/** Partition key of all dead letters of a group, sorted by topic id, partition, offset. */
export function deadLettersKey(group: GroupId): string {
  return `${ownedBy(group)}dead-letters`;
}

export function deadLetterKey(group: GroupId, { offset, ...partition }: DeadLetterId): StateKey {
  return { pk: deadLettersKey(group), sk: `${deadLettersOf(partition)}${padded(offset, OFFSET_DIGITS)}` };
}

/** Partition key of a group's dead letters that are on their way back to it, sorted as they are. */
export function redrivesKey(group: GroupId): string {
  return `${ownedBy(group)}redrives`;
}

/** How the sort keys begin of all dead letters of one partition; without `partition`: of one topic. */
export function deadLettersOf({
  topicId,
  partition,
}: {
  readonly topicId: string;
  readonly partition?: number;
}): string {
  return partition === undefined ? `${topicId}.` : `${topicId}.${padded(partition, PARTITION_DIGITS)}.`;
}

/** The dead letter that has this sort key. @throws {Error} when it is not one's */
export function parseDeadLetterSort(sk: string): DeadLetterId {
  const match = /^([0-9A-HJKMNP-TV-Z]{26})\.(\d{4})\.(\d{16})$/.exec(sk);
  if (match === null) throw new Error(`'${sk}' is not the key of a dead letter`);
  return { topicId: match[1]!, partition: Number(match[2]), offset: Number(match[3]) };
}

/**
 * Key of the object of a dead letter that is too large for its item.
 * @param sha256 of what it was corrected to, in hex; absent: of the letter itself
 */
export function deadLetterObjectKey({ id }: GroupId, letter: DeadLetterId, sha256?: string): string {
  const key = `dead-letters/${id}/${deadLetterKey({ name: '', id }, letter).sk}`;
  return sha256 === undefined ? key : `${key}.${sha256}`;
}

const PARTITION_DIGITS = 4;
