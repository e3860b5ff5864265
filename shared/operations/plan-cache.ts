import type { Group, GroupId } from '../domain/group.ts';
import type { Plan } from '../domain/plan.ts';
import type { GroupStores } from './group-ports.ts';

/** Groups whose plans one container remembers: the largest have 4,096 partitions, some 100 KB each. */
const GROUPS_REMEMBERED_MAX = 200;

/** A plan, and which version of the group's assignment it is. */
export interface KnownPlan {
  readonly group: GroupId;
  readonly version: number;
  /** Epoch ms: when it was made; 0: there is none, or it is there no more. */
  readonly at: number;
  readonly plan: Plan;
}

const EMPTY: Plan = { topics: [], members: [], owners: [], epochFrom: [] };

/** One container's copies of assignments. They never change, so a copy is as good as the item. */
export class PlanCache {
  readonly #known = new Map<string, KnownPlan>();
  readonly #reading = new Map<string, Promise<KnownPlan>>();

  /** The incarnation that this container last met under a name. It may be gone. */
  groupNamed(name: string): GroupId | undefined {
    return this.#known.get(name)?.group;
  }

  /**
   * The plan of the version that a group was read with, or of a younger one where this container knows it already.
   * Requests that come together share one read. @throws {Throttled | Unavailable}
   */
  async of({ assignments }: Pick<GroupStores, 'assignments'>, group: Group): Promise<KnownPlan> {
    const known = this.#known.get(group.name);
    if (known?.group.id === group.id && known.version >= group.version) return known;
    if (group.version === 0) return this.remember({ group, version: 0, at: 0, plan: EMPTY });
    const key = `${group.id}.${group.version}`;
    const reading =
      this.#reading.get(key) ??
      assignments
        .read(group, group.version)
        .then((found) => this.remember({ group, version: group.version, ...(found ?? { at: 0, plan: EMPTY }) }))
        .finally(() => this.#reading.delete(key));
    this.#reading.set(key, reading);
    return reading;
  }

  /** Keeps the youngest. @returns the plan itself */
  remember({ group: { name, id }, version, at, plan }: KnownPlan): KnownPlan {
    const given = { group: { name, id }, version, at, plan };
    const known = this.#known.get(name);
    if (known?.group.id === id && known.version > version) return given;
    this.#known.delete(name);
    this.#known.set(name, given);
    if (this.#known.size > GROUPS_REMEMBERED_MAX) this.#known.delete(this.#known.keys().next().value!);
    return given;
  }

  forget(name: string): void {
    this.#known.delete(name);
  }
}
