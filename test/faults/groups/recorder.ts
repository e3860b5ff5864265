import { decodePlan } from '../../../shared/store/plan-layout.ts';
import type { Item } from '../simulator/expressions.ts';
import type { Change } from '../simulator/tables.ts';
import type { World } from '../simulator/world.ts';
import type {
  AssignmentChange,
  GroupChange,
  GroupHistory,
  GroupTopicChange,
  Handled,
  MemberCall,
  MemberChange,
  PositionChange,
} from './history.ts';

export type Writable<T> = { -readonly [K in keyof T]: T[K] };

/** Collects what members see, and what the table holds of groups, while a simulated world runs. */
export class GroupRecorder {
  readonly calls: MemberCall[] = [];
  readonly handled: Handled[] = [];
  readonly foreign: GroupHistory['foreign'][number][] = [];
  readonly positions: PositionChange[] = [];
  readonly members: MemberChange[] = [];
  readonly groups: GroupChange[] = [];
  readonly assignments: AssignmentChange[] = [];
  readonly topics: GroupTopicChange[] = [];
  readonly deletedTopics = new Map<string, number>();
  readonly #world: World;

  constructor(world: World) {
    this.#world = world;
  }

  call(call: Omit<MemberCall, 'begin'>): Writable<MemberCall> {
    const noted = { ...call, begin: this.#world.now };
    this.calls.push(noted);
    return noted;
  }

  /** Notes what a change did to an item of a group. */
  take({ table, before, after }: Change): void {
    const item = after ?? before;
    const pk = item?.pk?.S;
    if (table !== 'state' || pk === undefined) return;
    const sk = item!.sk!.S!;
    const at = this.#world.now;
    const both = <T>(read: (item: Item) => T) => ({ before: before && read(before), after: after && read(after) });
    const [first = '', groupId = '', what = ''] = pk.split('#');
    if (pk === 'topics') {
      if (before !== undefined && after?.id?.S !== before.id!.S) this.deletedTopics.set(before.id!.S!, at);
    } else if (first === 'group' && sk === 'group') {
      const version = ({ version }: Item) => ({ version: Number(version!.N) });
      this.groups.push({ at, group: groupId, groupId: item!.id!.S!, ...both(version) });
    } else if (what === 'members') {
      this.members.push({ at, groupId, key: sk, ...both(memberOf) });
    } else if (what === 'assignment') {
      this.assignments.push({ at, groupId, version: Number(sk), ...both(({ plan }) => decodePlan(plan!.B!)) });
    } else if (what === 'topics') {
      const topic = ({ name, known }: Item) => ({ name: name!.S!, known: Number(known!.N) });
      this.topics.push({ at, groupId, topicId: sk, ...both(topic) });
    } else if (sk === 'position') {
      const [topicId = '', partition] = what.split('.');
      this.positions.push({ at, groupId, topicId, partition: Number(partition), ...both(positionOf) });
    }
  }

  history(skewMs: number): GroupHistory {
    const { calls, handled, foreign, positions, members, groups, assignments, topics, deletedTopics } = this;
    const { slots } = this.#world.mirror;
    return { slots, calls, handled, foreign, positions, members, groups, assignments, topics, deletedTopics, skewMs };
  }
}

function memberOf({ memberId, lastSeenAt, sessionTimeoutMs }: Item) {
  return {
    memberId: memberId!.S!,
    lastSeenAt: Number(lastSeenAt!.N),
    sessionTimeoutMs: Number(sessionTimeoutMs!.N),
  };
}

function positionOf({ epoch, committed, owner }: Item) {
  return {
    epoch: Number(epoch!.N),
    committed: Number(committed!.N),
    ...(owner === undefined ? {} : { owner: owner.S! }),
  };
}
