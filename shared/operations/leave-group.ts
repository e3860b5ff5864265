import { type GroupId, memberKeyOf } from '../domain/group.ts';
import { GroupNotFound, InstanceFenced, MemberNotFound } from '../domain/group-errors.ts';
import { refuseSubscription } from '../domain/subscription-errors.ts';
import { checkGroup, markDue } from './group-check.ts';
import type { GroupPorts } from './group-ports.ts';
import { passingError, storeFailed } from './store-failed.ts';

/**
 * Ends a session, and gives its partitions to others. What it owned, and did not commit, is read again by whoever gets it.
 *
 * @throws {GroupNotFound | MemberNotFound | InstanceFenced} it had ended already, or never was; {Throttled | Unavailable}
 */
export async function leaveGroup(ports: GroupPorts, name: string, memberId: string): Promise<void> {
  const group = await ports.groups.read(name, true);
  if (group === undefined) throw new GroupNotFound(name);
  refuseSubscription(group);
  const key = memberKeyOf(memberId);
  if (key === undefined) throw new MemberNotFound(name, memberId);
  try {
    const isOut = await ports.members.leave(group, key, memberId).catch(async (error: unknown) => {
      await handOn(ports, group); // it may be out
      throw error;
    });
    if (isOut) return await handOn(ports, group);
  } catch (error) {
    storeFailed(error);
  }
  const other = await ports.members.read(group, key, true);
  throw other?.instanceId !== undefined && other.memberId !== memberId
    ? new InstanceFenced(name, other.instanceId)
    : new MemberNotFound(name, memberId);
}

/** So that nothing waits until the session would have ended. Where this fails it does; the member is out all the same. */
async function handOn(ports: GroupPorts, group: GroupId): Promise<void> {
  try {
    await markDue(ports, group);
    await checkGroup(ports, group);
  } catch (error) {
    passingError(error);
  }
}
