import { BackboneError, type ErrorData } from './errors.ts';

/** No group has this name. Nothing was written. */
export class GroupNotFound extends BackboneError {
  readonly code = 'group_not_found';
  override readonly data: ErrorData;
  constructor(group: string) {
    super(`Group '${group}' does not exist`);
    this.data = { group };
  }
}

/** The group has no such member, or its session has ended. Nothing was written: join again. */
export class MemberNotFound extends BackboneError {
  readonly code = 'member_not_found';
  override readonly data: ErrorData;
  constructor(group: string, memberId: string) {
    super(`Group '${group}' has no member '${memberId}', or its session has ended; join again`);
    this.data = { group };
  }
}

/** Another session joined with the same `instanceId` and took this one's place. Nothing was written. */
export class InstanceFenced extends BackboneError {
  readonly code = 'instance_fenced';
  override readonly data: ErrorData;
  constructor(group: string, instanceId: string) {
    super(`Another session of group '${group}' joined with instanceId '${instanceId}' and took this one's place`);
    this.data = { group, instanceId };
  }
}

/** Somebody else owns the position, or it was taken anew since: this epoch is over. Nothing was written. */
export class Fenced extends BackboneError {
  readonly code = 'fenced';
  override readonly data: ErrorData;
  /** @param epoch the caller's; undefined: it named none, which is allowed only while no member lives */
  constructor(topic: string, partition: number, epoch: number | undefined) {
    super(
      epoch === undefined
        ? `Partition ${partition} of '${topic}' is committed by the group's members while there are some, with their epoch`
        : `Epoch ${epoch} of partition ${partition} of '${topic}' is over: another session may own it now`,
    );
    this.data = { topic, partition };
  }
}

/** No commit of the call was accepted: other sessions own, or may own, all of the positions now. Nothing was written. */
export class AllFenced extends BackboneError {
  readonly code = 'fenced';
  override readonly data: ErrorData;
  /** @param commits what each of them is told */
  constructor(commits: readonly object[]) {
    super('None of the commits was accepted: each tells why, and other sessions may own the partitions now');
    this.data = { commits };
  }
}

/** What is committed lies behind this offset already. Nothing was written. */
export class CommitRegressed extends BackboneError {
  readonly code = 'commit_regressed';
  override readonly data: ErrorData;
  constructor(offset: number, committed: number) {
    super(`Offset ${offset} lies before ${committed}, which is committed already`);
    this.data = { committed };
  }
}

/** Only while no member lives. Nothing was written. */
export class GroupActive extends BackboneError {
  readonly code = 'group_active';
  override readonly data: ErrorData;
  constructor(group: string, members: number) {
    super(`Group '${group}' has live members (${members}): stop them first, or wait until their sessions end`);
    this.data = { group, members };
  }
}

/** The group has as many members, or partitions, as it may. The caller is no member. */
export class GroupFull extends BackboneError {
  readonly code = 'group_full';
  override readonly data: ErrorData;
  constructor(group: string, limit: { readonly maxMembers: number } | { readonly maxPartitions: number }) {
    super(
      'maxMembers' in limit
        ? `Group '${group}' has ${limit.maxMembers} members, which is the most`
        : `The topics of group '${group}' would have more than ${limit.maxPartitions} partitions together`,
    );
    this.data = { group, ...limit };
  }
}

/** The group has no position in a partition, and `autoOffsetReset` names none. Who joined with this is no member. */
export class NoCommittedOffset extends BackboneError {
  readonly code = 'no_committed_offset';
  override readonly data: ErrorData;
  constructor(topic: string, partition: number) {
    super(`The group has no committed offset in partition ${partition} of '${topic}', and autoOffsetReset is 'none'`);
    this.data = { topic, partition };
  }
}

/** The group has no dead letter with this id. */
export class DeadLetterNotFound extends BackboneError {
  readonly code = 'dead_letter_not_found';
  override readonly data: ErrorData;
  constructor(group: string, id: string) {
    super(`Group '${group}' has no dead letter '${id}'`);
    this.data = { group, id };
  }
}
