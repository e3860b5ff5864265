import { GroupNotFound } from '../domain/group-errors.ts';
import { sharesOf } from '../domain/plan.ts';
import type { Topic } from '../domain/topic.ts';
import type { Session } from './find-member.ts';
import { checkGroup, gatheringMs, markDue, refuseSurplus } from './group-check.ts';
import type { GroupPorts } from './group-ports.ts';
import type { TopicError } from './group-requests.ts';
import { compareTopics, topicErrors } from './group-topics.ts';
import type { KnownPlan } from './plan-cache.ts';
import { passingError } from './store-failed.ts';
import type { LiveShare } from './take-positions.ts';

/** What a member is to have, by the plan as it is known now. */
export interface Standing {
  readonly known: KnownPlan;
  /** By topic and partition; of topics that exist. */
  readonly shares: readonly LiveShare[];
  /** Topics that the member named and that do not exist, or have no room in the group. */
  readonly errors: readonly TopicError[];
  readonly topics: ReadonlyMap<string, Topic>;
}

/**
 * Finds out what a member is to have, and checks the group before where that is due. When the check fails, or somebody
 * else is at it, the plan so far holds on. @throws {GroupNotFound | GroupFull | Throttled | Unavailable | WriteFailed}
 */
export async function standingOf(ports: GroupPorts, session: Session, known: KnownPlan): Promise<Standing> {
  const { group, member, hasChanged } = session;
  const { topics, differ } = await compareTopics(ports, member.topics, known);
  if (differ) await markDue(ports, group);
  // What others did to it, joining mostly, waits until that many come together.
  const now = ports.clock.now();
  const isDue = differ || hasChanged || (group.checkAt <= now && gatheringMs(known, now) === 0);
  const isNamed = known.plan.members.some(({ key }) => key === member.key);
  const checked = isDue || !isNamed ? await checkNow(ports, session, known, !isNamed) : known;
  const errors = topicErrors(member.topics, topics, checked);
  return { known: checked, shares: liveShares(checked, member.key, topics), errors, topics };
}

/** @param isLost no plan names the member that the caller knows of: the mark that its join made may be lost */
async function checkNow(
  ports: GroupPorts,
  { group, member }: Session,
  known: KnownPlan,
  isLost: boolean,
): Promise<KnownPlan> {
  try {
    let checked = await checkGroup(ports, group);
    const isBusy = checked !== undefined && checked.group.busyUntil > ports.clock.now();
    if (isLost && !isBusy && !checked?.known.plan.members.some(({ key }) => key === member.key)) {
      await markDue(ports, group);
      checked = await checkGroup(ports, group);
    }
    if (checked === undefined) throw new GroupNotFound(group.name);
    await refuseSurplus(ports, checked, member);
    return checked.known;
  } catch (error) {
    passingError(error);
    return known;
  }
}

/** Those of a member by a plan, with their topics. */
export function liveShares({ plan }: KnownPlan, memberKey: string, topics: ReadonlyMap<string, Topic>): LiveShare[] {
  return sharesOf(plan, memberKey).flatMap((share) => {
    const of = topics.get(share.topic);
    return of?.id === share.topicId ? [{ ...share, of }] : [];
  });
}

export function byPartition(
  a: { topic: string; partition?: number },
  b: { topic: string; partition?: number },
): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return (a.partition ?? -1) - (b.partition ?? -1);
}
