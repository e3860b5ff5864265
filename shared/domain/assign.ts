import { Allotment } from './allotment.ts';
import { NOBODY, type Plan, type PlanMember, type PlanTopic } from './plan.ts';

/** What an assignment needs to know of a member. */
export interface Candidate extends PlanMember {
  /** Names of the topics that it wants partitions of. */
  readonly topics: readonly string[];
}

/**
 * Who is to have what next. Every partition that some member wants has one; whoever has a partition keeps it unless
 * that spoils the balance. Where all want the same topics, numbers of partitions differ by one at most and as few
 * partitions move as that allows; where they want different ones, no chain of moves could bring two numbers nearer.
 * Members beyond the number of partitions stand by with none. The orders of topics and members do not matter.
 *
 * @param current what holds now; a partition of another incarnation of its topic is a new one
 * @param epochFrom where tenures begin that this plan makes: see `tenureFrom`
 */
export function assign(
  topics: readonly PlanTopic[],
  candidates: readonly Candidate[],
  current: Plan | undefined,
  epochFrom: number,
): Plan {
  const inOrder = topics.toSorted((a, b) => byText(a.name, b.name));
  const members = candidates.toSorted((a, b) => byText(a.key, b.key));
  const before = inOrder.map((topic) => holdersOf(topic, current));
  const owners = ownersOf(inOrder, members, before);
  return {
    topics: inOrder.map(({ name, id, partitions }) => ({ name, id, partitions })),
    members: members.map(({ key, sessionTimeoutMs }) => ({ key, sessionTimeoutMs })),
    owners,
    epochFrom: owners.map((list, topic) =>
      list.map((owner, partition) => {
        const held = before[topic]![partition];
        if (held === undefined) return epochFrom;
        // Above what the tenure before it began with, whatever this checker's clock says.
        return held.key === members[owner]?.key ? held.epochFrom : Math.max(epochFrom, held.epochFrom + 1);
      }),
    ),
  };
}

/** Whom a plan named for a partition, if anybody, and since when. */
interface Held {
  readonly key: string | undefined;
  readonly epochFrom: number;
}

/** Per partition of this incarnation, as far as the plan knew them. */
function holdersOf({ id }: PlanTopic, plan: Plan | undefined): readonly Held[] {
  const topic = plan?.topics.findIndex((known) => known.id === id) ?? -1;
  if (plan === undefined || topic === -1) return [];
  return plan.owners[topic]!.map((owner, partition) => ({
    key: plan.members[owner]?.key,
    epochFrom: plan.epochFrom[topic]![partition]!,
  }));
}

function ownersOf(
  topics: readonly PlanTopic[],
  members: readonly Candidate[],
  before: readonly (readonly Held[])[],
): number[][] {
  const audiences = audiencesOf(topics, members);
  const places = new Map(members.map(({ key }, member) => [key, member]));
  const allotment = new Allotment(members.length, audiences);
  const owners = topics.map(({ partitions }, topic) =>
    Array.from({ length: partitions }, (_, partition) => {
      const member = places.get(before[topic]![partition]?.key ?? '');
      return member !== undefined && audiences[topic]!.includes(member) ? member : NOBODY;
    }),
  );
  for (const [topic, list] of owners.entries()) {
    for (const [partition, owner] of list.entries()) if (owner !== NOBODY) allotment.give(topic, partition, owner);
  }
  // Those that few can take come first: it is the others that make up for them.
  const fewestFirst = owners.map((_, topic) => topic).sort((a, b) => audiences[a]!.length - audiences[b]!.length);
  for (const topic of fewestFirst) {
    if (audiences[topic]!.length === 0) continue;
    for (const [partition, owner] of owners[topic]!.entries()) {
      if (owner === NOBODY) allotment.give(topic, partition, allotment.leastLoaded(topic));
    }
  }
  allotment.balance();
  for (const { topic, partition, member } of allotment.entries()) owners[topic]![partition] = member;
  return owners;
}

/** Per topic the members that want it, ascending. Topics that the same members want share one list. */
function audiencesOf(topics: readonly PlanTopic[], members: readonly Candidate[]): readonly (readonly number[])[] {
  // Most members want the same: they are counted together.
  const interests = new Map<string, { readonly wanted: readonly string[]; readonly members: number[] }>();
  for (const [member, { topics: wanted }] of members.entries()) {
    const name = wanted.join('\n');
    const interest = interests.get(name);
    if (interest === undefined) interests.set(name, { wanted, members: [member] });
    else interest.members.push(member);
  }
  const all = [...interests.values()];
  const interested = new Map(topics.map(({ name }): [string, number[]] => [name, []]));
  for (const [i, { wanted }] of all.entries()) for (const name of new Set(wanted)) interested.get(name)?.push(i);
  const audiences = new Map<string, readonly number[]>();
  return topics.map(({ name }) => {
    const by = interested.get(name)!;
    const same = audiences.get(by.join());
    if (same !== undefined) return same;
    const audience = by.flatMap((i) => all[i]!.members).sort((a, b) => a - b);
    audiences.set(by.join(), audience);
    return audience;
  });
}

/** By code units: the same everywhere. */
function byText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
