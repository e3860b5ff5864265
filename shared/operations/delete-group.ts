import type { Clock } from '../domain/clock.ts';
import { Unavailable } from '../domain/errors.ts';
import type { Group, GroupId } from '../domain/group.ts';
import { GroupNotFound } from '../domain/group-errors.ts';
import { refuseSubscription } from '../domain/subscription-errors.ts';
import { storeFailed } from './store-failed.ts';

export interface DeleteGroupPorts {
  readonly groups: {
    read(name: string, strong: boolean): Promise<Group | undefined>;
    /** @returns false: the group is no longer this incarnation */
    delete(id: GroupId, at: number): Promise<boolean>;
  };
  readonly clock: Clock;
}

/** Times a deletion begins anew because the group was deleted and made again meanwhile. */
const TRIES_MAX = 8;

/**
 * Takes a group's name away: its members find no group from then on, and what it held is removed in the background. A
 * group that is made with the same name shares nothing with it.
 *
 * @throws {GroupNotFound | GroupIsSubscription}; {Throttled | Unavailable} it may be gone already
 */
export async function deleteGroup(ports: DeleteGroupPorts, name: string): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const group = await ports.groups.read(name, true);
    if (group === undefined) throw new GroupNotFound(name);
    refuseSubscription(group);
    if (await ports.groups.delete(group, ports.clock.now()).catch(storeFailed)) return;
  }
  throw new Unavailable(`Group '${name}' is being changed by others all the time`);
}
