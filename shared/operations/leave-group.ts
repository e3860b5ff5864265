import { memberKeyOf } from '../domain/group.ts';
import { GroupNotFound, InstanceFenced, MemberNotFound } from '../domain/group-errors.ts';
import { markDue } from './group-check.ts';
import type { GroupPorts } from './group-ports.ts';
import { storeFailed } from './store-failed.ts';

/**
 * Ends a session. What it owned, and did not commit, is read again by whoever gets it.
 *
 * @throws {GroupNotFound | MemberNotFound | InstanceFenced} it had ended already, or never was; {Throttled | Unavailable}
 */
export async function leaveGroup(
  ports: Pick<GroupPorts, 'groups' | 'members' | 'clock' | 'sleep' | 'random'>,
  name: string,
  memberId: string,
): Promise<void> {
  const group = await ports.groups.read(name, true);
  if (group === undefined) throw new GroupNotFound(name);
  const key = memberKeyOf(memberId);
  if (key === undefined) throw new MemberNotFound(name, memberId);
  try {
    const isOut = await ports.members.leave(group, key, memberId).catch(async (error: unknown) => {
      // It may be out: then its partitions are not to wait until its session would have ended.
      await markDue(ports, group);
      throw error;
    });
    if (isOut) return await markDue(ports, group);
  } catch (error) {
    storeFailed(error);
  }
  const other = await ports.members.read(group, key, true);
  throw other?.instanceId !== undefined && other.memberId !== memberId
    ? new InstanceFenced(name, other.instanceId)
    : new MemberNotFound(name, memberId);
}
