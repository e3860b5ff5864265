import { actOnAll } from '../domain/parallel.ts';
import { commitPositions } from './commit-positions.ts';
import { renewSession, type Session } from './find-member.ts';
import type { GroupPorts } from './group-ports.ts';
import type { HeartbeatRequest, Told } from './group-requests.ts';
import { type Standing, standingOf } from './group-standing.ts';
import { Claims } from './member-claims.ts';
import type { MemberPorts } from './redriven-ports.ts';
import { settleRedriven } from './settle-redriven.ts';
import { storeFailed } from './store-failed.ts';
import type { Held } from './take-positions.ts';

/**
 * A poll that neither takes nor reads: it keeps the session alive, commits, releases, and tells what is to be given
 * back. Who names no positions is told those that are stored as its own, at what is committed: one read unit each.
 *
 * @throws {GroupNotFound | MemberNotFound | InstanceFenced} nothing was done; {Throttled | Unavailable} repeat it
 */
export async function heartbeatGroup(ports: MemberPorts, request: HeartbeatRequest): Promise<Told> {
  const { memberId, deadline } = request;
  try {
    const session = await renewSession(ports, request.group, memberId);
    const known = await ports.plans.of(ports, session.group);
    const commits = await commitPositions(ports, { group: session.group, memberId, known }, request, deadline);
    const redriven = request.redriven && (await settleRedriven(ports, session.group, request.redriven));
    const standing = await standingOf(ports, session, known);
    const claims = new Claims(request, commits);
    const held =
      request.positions.length === 0
        ? await storedAsOwned(ports, session, standing, claims)
        : claims.held(standing.shares);
    return {
      memberId,
      assigned: held.map(({ topic, ...rest }) => ({ ...rest, topic: topic.name })),
      revoked: claims.revoked(held),
      commits,
      errors: standing.errors,
      ...(redriven && { redriven }),
    };
  } catch (error) {
    storeFailed(error);
  }
}

async function storedAsOwned(
  ports: GroupPorts,
  { group, member }: Session,
  { shares }: Standing,
  claims: Claims,
): Promise<Held[]> {
  const wanted = shares.filter((share) => !claims.isReleased(share));
  const positions = await actOnAll(wanted, ({ topicId, partition }) =>
    ports.positions.read({ group, topicId, partition }),
  );
  return wanted.flatMap(({ of: topic, partition, epochFrom }, i) => {
    const position = positions[i];
    if (position?.owner !== member.memberId || position.epoch < epochFrom) return [];
    return [{ topic, partition, epoch: position.epoch, offset: position.committed }];
  });
}
