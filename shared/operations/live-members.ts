import { type GroupId, isExpiredMember, type Member } from '../domain/group.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { GroupPorts } from './group-ports.ts';

/**
 * The members of a group whose sessions last. Those that have ended are put out for good: of a heartbeat and this, one
 * wins, so that nobody counts as dead and comes back. @throws {Throttled | Unavailable | WriteFailed}
 */
export async function liveMembers(
  { members, clock }: Pick<GroupPorts, 'members' | 'clock'>,
  group: GroupId,
): Promise<Member[]> {
  const all = await members.all(group);
  const now = clock.now();
  const isOut = await actOnAll(
    all,
    async (member) => isExpiredMember(member, now) && (await members.expire(group, member)),
  );
  return all.filter((_, i) => !isOut[i]);
}
