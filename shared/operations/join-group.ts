import { Unavailable } from '../domain/errors.ts';
import { type Group, isExpiredMember, type Member, newMemberId, staticMemberKey } from '../domain/group.ts';
import { GroupFull, InstanceFenced } from '../domain/group-errors.ts';
import { GROUP_PARTITIONS_MAX, SESSION_TIMEOUT_MS_DEFAULT } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import { refuseSubscription } from '../domain/subscription-errors.ts';
import type { Topic } from '../domain/topic.ts';
import { renewSession, type Session } from './find-member.ts';
import { checkGroup, markDue, NEVER_DUE, refuseSurplus } from './group-check.ts';
import type { GroupPorts } from './group-ports.ts';
import type { PollRequest } from './group-requests.ts';
import type { KnownPlan } from './plan-cache.ts';

export interface Joined extends Session {
  readonly known: KnownPlan;
}

type JoinRequest = Pick<PollRequest, 'group' | 'proposed' | 'instanceId' | 'topics' | 'sessionTimeoutMs'>;

/** Times that a join begins anew because the group, or the place in it, was somebody else's meanwhile. */
const TRIES_MAX = 4;

/**
 * Makes the caller a member, of a group that is made for it where there is none, and waits a little for its share.
 *
 * @throws {TopicNotFound | GroupFull} the caller is no member; {InstanceFenced} another session with this `instanceId`
 *   joined at the same time; {Throttled | Unavailable | WriteFailed} the caller may be a member: a repeat with the same
 *   proposal, or `instanceId`, is the same one
 */
export async function joinGroup(ports: GroupPorts, request: JoinRequest): Promise<Joined> {
  const names = request.topics ?? [];
  const topics = await actOnAll(names, (name) => ports.topics.fresh(name));
  const ulid = request.proposed ?? ports.newMemberUlid();
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const group = await findOrMakeGroup(ports, request.group);
    const before = await ports.plans.of(ports, group);
    refuseTooManyPartitions(group, before, topics);
    const inPlan = new Set(before.plan.topics.map((topic) => topic.id));
    const news = topics.filter((topic) => !inPlan.has(topic.id));
    await actOnAll(news, (topic) => ports.groupTopics.note(group, topic));
    const { member, isAsBefore } = await enter(ports, group, request, ulid);
    const isPlanned = before.plan.members.some(({ key }) => key === member.key);
    if (!isAsBefore || !isPlanned) await markDue(ports, group);
    const checked = await checkGroup(ports, group, true);
    if (checked === undefined) continue; // deleted meanwhile: this makes another
    await refuseSurplus(ports, checked, member);
    return { ...checked, member };
  }
  throw new Unavailable(`Group '${request.group}' is being deleted and made again all the time`);
}

/** @throws {GroupIsSubscription | Throttled | Unavailable | WriteFailed} */
export async function findOrMakeGroup(
  ports: Pick<GroupPorts, 'groups' | 'clock' | 'newGroupId'>,
  name: string,
): Promise<Group> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const found = await ports.groups.read(name, true);
    if (found !== undefined) {
      refuseSubscription(found);
      return found;
    }
    const createdAt = ports.clock.now();
    const group = { name, id: ports.newGroupId(), createdAt, version: 0, checkAt: NEVER_DUE, busyUntil: 0 };
    if (await ports.groups.create(group)) return group;
  }
  throw new Unavailable(`Group '${name}' is being deleted and made again all the time`);
}

function refuseTooManyPartitions({ name }: Group, { plan }: KnownPlan, topics: readonly Topic[]): void {
  const partitions = new Map(plan.topics.map((topic) => [topic.name, topic.partitions]));
  for (const topic of topics) partitions.set(topic.name, topic.partitions);
  const sum = [...partitions.values()].reduce((all, count) => all + count, 0);
  if (sum > GROUP_PARTITIONS_MAX) throw new GroupFull(name, { maxPartitions: GROUP_PARTITIONS_MAX });
}

interface Entry {
  readonly member: Member;
  /** The group's plan needs no change because of this: a static member's next session wants the same. */
  readonly isAsBefore: boolean;
}

/** Puts the member's item. A repeated join finds its own; a static one replaces its former session's. */
async function enter(ports: GroupPorts, group: Group, request: JoinRequest, ulid: string): Promise<Entry> {
  const { instanceId, topics = [], sessionTimeoutMs = SESSION_TIMEOUT_MS_DEFAULT } = request;
  const key = instanceId === undefined ? ulid : staticMemberKey(instanceId);
  const memberId = newMemberId(ulid, instanceId);
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const now = ports.clock.now();
    const found = tries === 0 && instanceId === undefined ? undefined : await ports.members.read(group, key, true);
    if (found?.memberId === memberId) {
      if (isExpiredMember(found, now)) {
        await ports.members.expire(group, found);
        continue;
      }
      const { member } = await renewSession(ports, group.name, memberId, { topics, sessionTimeoutMs });
      return { member, isAsBefore: true };
    }
    const member = {
      ...{ key, memberId, lastSeenAt: now, sessionTimeoutMs, topics, joinedAt: found?.joinedAt ?? now },
      ...(instanceId === undefined ? {} : { instanceId }),
    };
    if (!(await ports.members.join(group, member, found))) continue;
    const isAsBefore =
      found !== undefined &&
      found.sessionTimeoutMs === sessionTimeoutMs &&
      found.topics.length === topics.length &&
      topics.every((topic) => found.topics.includes(topic));
    return { member, isAsBefore };
  }
  throw instanceId === undefined
    ? new Unavailable(`A place in group '${group.name}' could not be taken`)
    : new InstanceFenced(group.name, instanceId);
}
