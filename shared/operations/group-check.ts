import { assign } from '../domain/assign.ts';
import { Unavailable } from '../domain/errors.ts';
import { type Group, type GroupId, type Member, memberExpiry } from '../domain/group.ts';
import { GroupFull } from '../domain/group-errors.ts';
import {
  ASSIGNMENT_LIFE_MS,
  GROUP_CHECK_MS,
  GROUP_MEMBERS_MAX,
  JOIN_PAUSE_MS_MAX,
  JOIN_PAUSE_MS_MIN,
  JOIN_WAIT_MS,
  JOINS_GATHERED_MS,
} from '../domain/limits.ts';
import { isSamePlan, type Plan, tenureFrom } from '../domain/plan.ts';
import type { Topic } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import type { GroupPorts } from './group-ports.ts';
import { fitting, forgetDeadTopic, type GroupTopics, readGroupTopics } from './group-topics.ts';
import { liveMembers } from './live-members.ts';
import type { KnownPlan } from './plan-cache.ts';
import { insisting } from './store-failed.ts';

type Ports = Pick<GroupPorts, 'groups' | 'members' | 'assignments' | 'groupTopics' | 'positions'> &
  Pick<GroupPorts, 'plans' | 'topics' | 'clock' | 'sleep' | 'random'>;

export interface Checked {
  readonly group: Group;
  readonly known: KnownPlan;
}

/** `checkAt` of a group without members: whoever joins makes it due. */
export const NEVER_DUE = Number.MAX_SAFE_INTEGER;
/** Rounds of one call: each is a pause, or somebody else was faster. */
const ROUNDS_MAX = 64;
/** Assignments found where one was to be put: each was left by a checker that died, since the last that did not. */
const PASSED_MAX = 64;

/**
 * Sees to it that the group's assignment is looked at, when that is due: expires members, finds topics that changed, and
 * hands partitions out anew. Whoever claims the group does it; safety never rests on that, for an assignment is put
 * only where none is, and owners are told apart by epochs.
 *
 * @param patient wait for somebody else who is at it, and for others who join now: for a joiner, who wants its share in
 *   this answer
 * @returns the group with the plan as they are then; undefined when this incarnation is gone
 * @throws {Throttled | Unavailable | WriteFailed}
 */
export async function checkGroup(ports: Ports, id: GroupId, patient = false): Promise<Checked | undefined> {
  const until = ports.clock.now() + JOIN_WAIT_MS;
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const group = await ports.groups.read(id.name, true);
    if (group?.id !== id.id) return undefined;
    const now = ports.clock.now();
    if (group.busyUntil > now) {
      if (!patient || now >= until) return { group, known: await ports.plans.of(ports, group) };
      await ports.sleep(JOIN_PAUSE_MS_MIN + ports.random() * (JOIN_PAUSE_MS_MAX - JOIN_PAUSE_MS_MIN));
      continue;
    }
    const known = await ports.plans.of(ports, group);
    if (group.checkAt > now) return { group, known };
    if (patient && now < until && gatheringMs(known, now) > 0) {
      await ports.sleep(gatheringMs(known, now));
      continue;
    }
    const busyUntil = now + GROUP_CHECK_MS;
    if (!(await insisting(ports, () => ports.groups.claim(group, busyUntil)))) continue;
    const claimed = { ...group, checkAt: busyUntil, busyUntil };
    const outcome = await assignAnew(ports, claimed);
    const { version } = outcome.known;
    const finished = await insisting(ports, () => ports.groups.finish(claimed, version, outcome.checkAt));
    if (finished === 'lost') continue;
    ports.plans.remember(outcome.known);
    await forgetDead(ports, claimed, outcome);
    return { group: { ...group, version, checkAt: outcome.checkAt, busyUntil: 0 }, known: outcome.known };
  }
  throw new Unavailable(`The assignment of group '${id.name}' is being changed by others all the time`);
}

/** ms for which joins are still gathered since the last assignment; its maker's clock may have been ahead: then none. */
export function gatheringMs({ at }: KnownPlan, now: number): number {
  return now < at ? 0 : Math.max(0, at + JOINS_GATHERED_MS - now);
}

interface Outcome {
  readonly known: KnownPlan;
  readonly checkAt: number;
  /** Incarnations of topics that are gone, and in no plan that may still be followed. */
  readonly dead: GroupTopics['dead'];
}

async function assignAnew(ports: Ports, claimed: Group): Promise<Outcome> {
  const [live, noted] = await Promise.all([liveMembers(ports, claimed), ports.groupTopics.all(claimed)]);
  const topics = await readGroupTopics(ports, claimed, noted, live);
  const before = await ports.plans.of(ports, claimed);
  const inPlan = new Set(before.plan.topics.map((topic) => topic.id));
  const known = await putPlan(ports, claimed, before, topics.wanted, live);
  return {
    known,
    checkAt: live.length === 0 ? NEVER_DUE : Math.min(...live.map(memberExpiry)),
    dead: topics.dead.filter(({ topicId }) => !inPlan.has(topicId)),
  };
}

/**
 * Puts the next version. One that is found in its place was put by a checker that never finished: it has never held, and
 * never will, as this one has the claim now. It is passed, not taken over: whoever is to release by it was never told.
 */
async function putPlan(
  ports: Ports,
  claimed: Group,
  before: KnownPlan,
  topics: readonly Topic[],
  live: readonly Member[],
): Promise<KnownPlan> {
  const group = { name: claimed.name, id: claimed.id };
  const candidates = eldest(live).map(({ key, sessionTimeoutMs, topics }) => ({ key, sessionTimeoutMs, topics }));
  const current = before.at === 0 ? undefined : before.plan;
  const planned = fitting(topics, before);
  for (let passed = 0; passed <= PASSED_MAX; passed++) {
    const now = ports.clock.now();
    const plan = assign(planned, candidates, current, tenureAfter(before.plan, now));
    if (before.at > now - ASSIGNMENT_LIFE_MS / 2 && isSamePlan(plan, before.plan)) return before;
    const version = before.version + 1 + passed;
    if (await ports.assignments.put(claimed, version, plan, now)) return { group, version, at: now, plan };
  }
  throw new Unavailable(`The assignment of group '${claimed.name}' is being changed by others all the time`);
}

/** Above every tenure before: by a checker whose clock is ahead, or of a topic that was deleted and made again at once. */
function tenureAfter({ epochFrom }: Plan, now: number): number {
  let latest = 0;
  for (const partitions of epochFrom) for (const epoch of partitions) latest = Math.max(latest, epoch);
  return Math.max(tenureFrom(now), latest + 1);
}

/** Where more joined at once than a group takes, those who came first are in it. */
function eldest(live: readonly Member[]): readonly Member[] {
  if (live.length <= GROUP_MEMBERS_MAX) return live;
  const inOrder = live.toSorted((a, b) => a.joinedAt - b.joinedAt || (a.key < b.key ? -1 : 1));
  return inOrder.slice(0, GROUP_MEMBERS_MAX);
}

/** A member for which a check found no place is none. @throws {GroupFull} */
export async function refuseSurplus(
  { members }: Pick<Ports, 'members'>,
  { group, known }: Checked,
  { key, memberId }: Member,
): Promise<void> {
  const { members: planned } = known.plan;
  if (planned.length < GROUP_MEMBERS_MAX || planned.some((member) => member.key === key)) return;
  await members.leave(group, key, memberId);
  throw new GroupFull(group.name, { maxMembers: GROUP_MEMBERS_MAX });
}

/** What cannot be removed now is removed by a later check. */
async function forgetDead(ports: Ports, id: GroupId, { dead }: Outcome): Promise<void> {
  const [first] = dead;
  if (first === undefined) return;
  try {
    await forgetDeadTopic(ports, id, first);
  } catch (error) {
    if (!(error instanceof WriteFailed)) throw error;
  }
}

/** Has somebody look at the group, at once or with its next poll. @throws {WriteFailed} */
export function markDue(ports: Pick<Ports, 'groups' | 'clock' | 'sleep' | 'random'>, group: GroupId): Promise<void> {
  return insisting(ports, () => ports.groups.markDue(group, ports.clock.now()));
}
