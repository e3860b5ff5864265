import { TopicNotFound } from '../domain/errors.ts';
import { GroupNotFound } from '../domain/group-errors.ts';
import { JOINS_GATHERED_MS } from '../domain/limits.ts';
import { sharesOf } from '../domain/plan.ts';
import type { Topic } from '../domain/topic.ts';
import type { Session } from './find-member.ts';
import { checkGroup, compareTopics, markDue, refuseSurplus } from './group-check.ts';
import type { GroupPorts } from './group-ports.ts';
import type { NamedPartition, OwnedPartition, Report, TopicError } from './group-requests.ts';
import type { KnownPlan } from './plan-cache.ts';
import { passingError } from './store-failed.ts';
import type { Held, LiveShare } from './take-positions.ts';

/** What a member is to have, by the plan as it is known now. */
export interface Standing {
  readonly known: KnownPlan;
  /** By topic and partition; of topics that exist. */
  readonly shares: readonly LiveShare[];
  /** Topics that the member named and that do not exist. */
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
  const now = ports.clock.now();
  if (differ) await markDue(ports, group);
  // What others did to it, joining mostly, waits until that many come together.
  const isDue = differ || hasChanged || (group.checkAt <= now && known.at + JOINS_GATHERED_MS <= now);
  const checked = isDue ? await checkNow(ports, session, known) : known;
  const errors = member.topics
    .filter((name) => !topics.has(name))
    .map((topic) => ({ topic, error: new TopicNotFound(topic) }))
    .toSorted(byPartition);
  return { known: checked, shares: liveShares(checked, member.key, topics), errors, topics };
}

async function checkNow(ports: GroupPorts, { group, member }: Session, known: KnownPlan): Promise<KnownPlan> {
  try {
    const checked = await checkGroup(ports, group);
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

/** What a member says it owns, by partition; without an offset where it only committed there. */
export class Claims {
  readonly #claims = new Map<string, OwnedPartition & { readonly offset?: number }>();
  readonly #released: ReadonlySet<string>;

  constructor({ positions, commit, release }: Report) {
    this.#released = new Set(release.map(textOf));
    for (const { topic, partition, epoch } of commit) this.#add({ topic, partition, epoch });
    for (const position of positions) this.#add(position);
  }

  #add(claim: OwnedPartition & { readonly offset?: number }): void {
    if (!this.#released.has(textOf(claim))) this.#claims.set(textOf(claim), claim);
  }

  /** It has these now. */
  hold(held: readonly Held[]): void {
    for (const { topic, partition, epoch, offset } of held) this.#add({ topic: topic.name, partition, epoch, offset });
  }

  isReleased(partition: NamedPartition): boolean {
    return this.#released.has(textOf(partition));
  }

  /** Where it goes on in a partition that it is to have. An epoch of an earlier tenure is not believed. */
  believed(share: LiveShare): Held | undefined {
    const { of: topic, partition, epochFrom } = share;
    const claim = this.#claims.get(textOf(share));
    if (claim?.offset === undefined || claim.epoch < epochFrom) return undefined;
    return { topic, partition, epoch: claim.epoch, offset: claim.offset };
  }

  /** What it is to give back: all that it claims and does not hold any more. */
  revoked(held: readonly Held[]): OwnedPartition[] {
    const kept = new Set(held.map(({ topic, partition }) => textOf({ topic: topic.name, partition })));
    return [...this.#claims.values()]
      .filter((claim) => !kept.has(textOf(claim)))
      .map(({ topic, partition, epoch }) => ({ topic, partition, epoch }))
      .toSorted(byPartition);
  }
}

export function byPartition(
  a: { topic: string; partition?: number },
  b: { topic: string; partition?: number },
): number {
  if (a.topic !== b.topic) return a.topic < b.topic ? -1 : 1;
  return (a.partition ?? -1) - (b.partition ?? -1);
}

function textOf({ topic, partition }: NamedPartition): string {
  return `${topic}#${partition}`;
}
