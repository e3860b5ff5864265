import type { Group, GroupId, GroupTopic, Member } from '../domain/group.ts';
import type { Plan } from '../domain/plan.ts';
import type { Position, PositionId } from '../domain/position.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { LinkPorts } from './link-uploads.ts';
import type { PlanCache } from './plan-cache.ts';
import type { ProvenOffsets } from './proven-offsets.ts';
import type { ReadPorts } from './read-batches.ts';
import type { HeadView } from './walk.ts';

/** The stores of groups. Writes throw `WriteFailed`, reads `Throttled` or `Unavailable`. */
export interface GroupStores {
  readonly groups: {
    read(name: string, strong: boolean): Promise<Group | undefined>;
    /** @returns false: the name is taken */
    create(group: Group): Promise<boolean>;
    /** @returns false: it is no longer as it was seen */
    claim(seen: Group, busyUntil: number): Promise<boolean>;
    markDue(id: GroupId, now: number): Promise<void>;
    /** 'left due': somebody wants one more check. 'lost': somebody else claimed the check meanwhile. */
    finish(claimed: Group, version: number, checkAt: number): Promise<'done' | 'left due' | 'lost'>;
  };
  readonly members: {
    read(id: GroupId, key: string, strong: boolean): Promise<Member | undefined>;
    /** @returns false: under its key there is another than was seen */
    join(id: GroupId, member: Member, replaced?: Member): Promise<boolean>;
    /** @returns false: the session is over */
    heartbeat(id: GroupId, member: Member): Promise<boolean>;
    /** @returns false: it was seen meanwhile, or is gone */
    expire(id: GroupId, member: Member): Promise<boolean>;
    /** @returns false: there is no such session */
    leave(id: GroupId, key: string, memberId: string): Promise<boolean>;
    all(id: GroupId): Promise<Member[]>;
  };
  readonly assignments: {
    read(id: GroupId, version: number): Promise<{ readonly at: number; readonly plan: Plan } | undefined>;
    /** @returns false: there is one already */
    put(id: GroupId, version: number, plan: Plan, at: number): Promise<boolean>;
  };
  readonly groupTopics: {
    all(id: GroupId): Promise<GroupTopic[]>;
    note(
      id: GroupId,
      topic: { readonly id: string; readonly name: string; readonly partitions: number },
    ): Promise<void>;
    remove(id: GroupId, topicId: string): Promise<void>;
  };
  readonly positions: {
    read(p: PositionId, strong?: boolean): Promise<Position | undefined>;
    /** All or none. @returns false: there is one already, or the group is gone */
    createAll(group: GroupId, starts: readonly (PartitionId & Position)[]): Promise<boolean>;
    /** One. */
    /** @returns false: it is no longer as it was seen */
    take(p: PositionId, seen: Position, owner: string, epoch: number): Promise<boolean>;
    /** @returns what stands there, where it is not the caller's to commit, or lies behind the offset already */
    commit(
      p: PositionId,
      by: { readonly owner?: string; readonly epoch: number },
      offset: number,
      options: { readonly release?: boolean; readonly metadata?: string },
    ): Promise<'done' | Position | undefined>;
    release(p: PositionId, by: { readonly owner: string; readonly epoch: number }): Promise<void>;
    /** A change by somebody who is not the owner. @returns false: it is no longer as it was seen */
    change(
      p: PositionId,
      seen: Position,
      to: Pick<Position, 'committed' | 'epoch' | 'metadata' | 'push' | 'parked'>,
    ): Promise<boolean>;
    remove(p: PositionId): Promise<void>;
  };
}

/** All that groups' operations need: their stores, what one container remembers, and the log. */
export interface GroupPorts extends GroupStores, ReadPorts, LinkPorts {
  readonly plans: PlanCache;
  readonly proven: ProvenOffsets;
  readonly heads: ReadPorts['heads'] & {
    /** @param strong false: half a unit, and perhaps a little old */
    read(p: PartitionId, strong?: boolean): Promise<HeadView | undefined>;
  };
  /** A new ULID each time. */
  newGroupId(): string;
  /** A new ULID each time. */
  newMemberUlid(): string;
  /** 0 ≤ n < 1 */
  random(): number;
}
