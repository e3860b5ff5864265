import { type Group, isExpiredMember, type Member, memberKeyOf } from '../domain/group.ts';
import { GroupNotFound, InstanceFenced, MemberNotFound } from '../domain/group-errors.ts';
import { refuseSubscription } from '../domain/subscription-errors.ts';
import { markDue } from './group-check.ts';
import type { GroupPorts } from './group-ports.ts';

/** A live session, and its group as it was read with it. */
export interface Session {
  readonly group: Group;
  readonly member: Member;
  /** The member wants something else than before: the group is due because of it. */
  readonly hasChanged?: boolean;
}

/** Times that a session is found to have changed between two looks before the call gives up on it. */
const LOOKS_MAX = 4;
/** A member is written once in this part of its session. */
const HEARTBEATS_PER_SESSION = 3;

type Ports = Pick<GroupPorts, 'groups' | 'members' | 'plans' | 'clock' | 'sleep' | 'random'>;

/**
 * Finds the session that a call names: two eventually consistent reads. What they would refuse is judged by strong ones.
 *
 * @throws {GroupNotFound | GroupIsSubscription | MemberNotFound | InstanceFenced | Throttled | Unavailable}
 */
export async function findMember(ports: Ports, name: string, memberId: string): Promise<Session> {
  const key = memberKeyOf(memberId);
  if (key === undefined) {
    const group = await ports.groups.read(name, true);
    if (group === undefined) throw new GroupNotFound(name);
    refuseSubscription(group);
    throw new MemberNotFound(name, memberId);
  }
  const known = ports.plans.groupNamed(name);
  const [group, early] = await Promise.all([
    ports.groups.read(name, false),
    known === undefined ? undefined : ports.members.read(known, key, false),
  ]);
  if (group !== undefined) {
    const member = known?.id === group.id ? early : await ports.members.read(group, key, false);
    if (member?.memberId === memberId && !isExpiredMember(member, ports.clock.now())) return { group, member };
  }
  return lookClosely(ports, name, memberId, key);
}

/**
 * Finds a session by strong reads. Who is found expired is put out here and now: of a heartbeat and this, one wins.
 *
 * @throws {GroupNotFound | MemberNotFound | InstanceFenced | Throttled | Unavailable | WriteFailed}
 */
export async function lookClosely(ports: Ports, name: string, memberId: string, key: string): Promise<Session> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const group = await ports.groups.read(name, true);
    if (group === undefined) {
      ports.plans.forget(name);
      throw new GroupNotFound(name);
    }
    refuseSubscription(group);
    const member = await ports.members.read(group, key, true);
    if (member === undefined) break;
    if (member.memberId !== memberId) throw replaced(name, member, memberId);
    if (!isExpiredMember(member, ports.clock.now())) return { group, member };
    if (await ports.members.expire(group, member)) break;
  }
  throw new MemberNotFound(name, memberId);
}

function replaced(name: string, { instanceId }: Member, memberId: string): InstanceFenced | MemberNotFound {
  return instanceId === undefined ? new MemberNotFound(name, memberId) : new InstanceFenced(name, instanceId);
}

/** What a member may change of itself while it lives. */
export interface MemberChange {
  readonly topics?: readonly string[];
  readonly sessionTimeoutMs?: number;
}

/**
 * Finds the session, and writes that it lives when a third of it has passed since that was last written, or when
 * something changed. A change makes the group due for a check.
 *
 * @throws {GroupNotFound | MemberNotFound | InstanceFenced | Throttled | Unavailable | WriteFailed}
 */
export async function renewSession(
  ports: Ports,
  name: string,
  memberId: string,
  change: MemberChange = {},
): Promise<Session> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const { group, member } = await findMember(ports, name, memberId);
    const now = ports.clock.now();
    const topics = sameTopics(member.topics, change.topics) ? member.topics : change.topics!;
    const { sessionTimeoutMs = member.sessionTimeoutMs } = change;
    const hasChanged = topics !== member.topics || sessionTimeoutMs !== member.sessionTimeoutMs;
    if (!hasChanged && now - member.lastSeenAt < member.sessionTimeoutMs / HEARTBEATS_PER_SESSION) {
      return { group, member };
    }
    const seen = { ...member, topics, sessionTimeoutMs, lastSeenAt: Math.max(now, member.lastSeenAt) };
    if (!(await ports.members.heartbeat(group, seen))) {
      await lookClosely(ports, name, memberId, member.key);
      continue;
    }
    if (!hasChanged) return { group, member: seen };
    await markDue(ports, group);
    return { group, member: seen, hasChanged };
  }
  throw new MemberNotFound(name, memberId);
}

function sameTopics(named: readonly string[], wanted: readonly string[] | undefined): boolean {
  if (wanted === undefined) return true;
  return named.length === wanted.length && wanted.every((topic) => named.includes(topic));
}
