import type { DeadLetter, DeadLetterId, Redrive } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { GroupPorts } from './group-ports.ts';
import type { LetterObjects } from './letter-payload.ts';

/** What is needed of dead letters on their way back to a group's members. Writes throw `WriteFailed`. */
export interface RedrivenPorts {
  readonly deadLetters: {
    /** Strongly consistent. */
    read(group: GroupId, id: DeadLetterId): Promise<DeadLetter | undefined>;
  };
  readonly deadLetterObjects: LetterObjects;
  readonly deadLetterQueue: { tell(group: GroupId, letter: DeadLetter): Promise<void> };
  readonly redrives: {
    /** By topic id, partition, offset, strongly consistent. */
    list(group: GroupId, limit: number, of?: PartitionId): Promise<readonly Redrive[]>;
    /** Strongly consistent. */
    read(group: GroupId, letter: DeadLetterId): Promise<Redrive | undefined>;
    /** @param at epoch ms from which on it may be given again @returns false when it is no longer as seen */
    give(group: GroupId, seen: Redrive, epoch: number, at: number): Promise<boolean>;
    /** Removes the letter. @returns false: it was gone, or given to another epoch */
    end(group: GroupId, letter: DeadLetterId, seen: { readonly epoch: number }): Promise<boolean>;
    /** It failed, and stands as given. @returns false: as of `end` */
    land(group: GroupId, letter: DeadLetter, seen: { readonly epoch: number }): Promise<boolean>;
    /** It lies as before. */
    recall(group: GroupId, letter: DeadLetterId): Promise<void>;
  };
  readonly groupRedrives: {
    unmark(group: GroupId, seenAt: number): Promise<void>;
    /** @returns how many have failed in a row */
    fail(group: GroupId): Promise<number>;
    succeed(group: GroupId): Promise<void>;
    stop(group: GroupId, now: number): Promise<void>;
  };
}

/** All that members' calls need. */
export type MemberPorts = GroupPorts & RedrivenPorts;
