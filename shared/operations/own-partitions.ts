import { actOnAll } from '../domain/parallel.ts';
import { lookClosely, type Session } from './find-member.ts';
import type { GroupPorts } from './group-ports.ts';
import type { Reading, TopicError } from './group-requests.ts';
import { byPartition, liveShares, type Standing } from './group-standing.ts';
import type { Claims } from './member-claims.ts';
import type { KnownPlan } from './plan-cache.ts';
import { type Epochs, type Held, type LiveShare, takePositions } from './take-positions.ts';

export interface Owned {
  /** By topic and partition. */
  readonly held: readonly Held[];
  readonly errors: readonly TopicError[];
}

type Request = Pick<Reading, 'autoOffsetReset'> & { readonly deadline: number };

/**
 * What a member says it holds and is to have, with what it takes now. Before it takes anything group and member are read
 * strongly: by an older copy a former session, or a former plan, would take from those who came after.
 *
 * @param isFresh they have just been read so
 * @throws {GroupNotFound | MemberNotFound | InstanceFenced | NoCommittedOffset | Throttled | Unavailable | WriteFailed}
 */
export async function ownPartitions(
  ports: GroupPorts,
  { group, member }: Session,
  { known, shares, topics }: Standing,
  claims: Claims,
  request: Request,
  isFresh: boolean,
): Promise<Owned> {
  const readAgain = async () => {
    const current = await lookClosely(ports, group.name, member.memberId, member.key);
    return ports.plans.of(ports, current.group);
  };
  const take = (by: KnownPlan, from: readonly LiveShare[], foundBefore: Epochs) =>
    takePositions(ports, { group, member, plan: by.plan, foundBefore, ...request }, claims.wanting(from));
  if (claims.wanting(shares).length === 0) return owned(claims.held(shares), [], []);

  const current = isFresh ? known : await readAgain();
  const wanted = current === known ? shares : liveShares(current, member.key, topics);
  const first = await take(current, wanted, new Map());
  if (first.stale.size === 0) return owned(claims.held(wanted), first.held, first.errors);

  const younger = await readAgain();
  const named = liveShares(younger, member.key, topics);
  const second = await take(younger, named, first.stale);
  // Taken by the older plan, and not named by the younger: nobody would ever hear of it again.
  const kept = new Set(named.map(({ topicId, partition }) => `${topicId}.${partition}`));
  const strays = first.held.filter(({ topic, partition }) => !kept.has(`${topic.id}.${partition}`));
  await actOnAll(strays, ({ topic, partition, epoch }) =>
    ports.positions.release({ group, topicId: topic.id, partition }, { owner: member.memberId, epoch }),
  );
  return owned(claims.held(named), second.held, second.errors);
}

function owned(believed: readonly Held[], taken: readonly Held[], errors: readonly TopicError[]): Owned {
  const nameOf = ({ topic, partition }: Held) => ({ topic: topic.name, partition });
  return { held: [...believed, ...taken].toSorted((a, b) => byPartition(nameOf(a), nameOf(b))), errors };
}
