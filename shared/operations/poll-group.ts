import { NoCommittedOffset } from '../domain/group-errors.ts';
import { commitPositions } from './commit-positions.ts';
import { renewSession, type Session } from './find-member.ts';
import { giveRedriven } from './give-redriven.ts';
import { markDue } from './group-check.ts';
import type { GroupSink, PartSink, PollRequest, PollResult, PollSink } from './group-requests.ts';
import { byPartition, standingOf } from './group-standing.ts';
import { joinGroup } from './join-group.ts';
import { Claims } from './member-claims.ts';
import { ownPartitions } from './own-partitions.ts';
import { readGroup } from './read-group.ts';
import type { MemberPorts } from './redriven-ports.ts';
import { settleRedriven } from './settle-redriven.ts';
import { storeFailed } from './store-failed.ts';

/** Pauses between looks while waiting, as a fetch makes them: each look costs half a unit a partition. */
const PAUSE_MS_MIN = 50;
const PAUSE_MS_MAX = 500;
/** Longest wait of a poll that has partitions to give back to tell of. */
const REVOKED_WAIT_MS_MAX = 1_000;

/**
 * One poll of a member: commits, releases, takes what it is to have and is free, and reads what it holds. Who has no
 * member id joins first. The poll is the heartbeat.
 *
 * @throws {GroupNotFound | MemberNotFound | InstanceFenced} nothing was done; {TopicNotFound | GroupFull |
 *   NoCommittedOffset} of a joiner, who is no member then; {Throttled | Unavailable} repeat it as it is: what was done
 *   is found done, and nothing is skipped
 */
export async function pollGroup(ports: MemberPorts, request: PollRequest, sink: PollSink): Promise<PollResult> {
  try {
    return await poll(ports, request, new ReopenedSink(sink));
  } catch (error) {
    storeFailed(error);
  }
}

async function poll(ports: MemberPorts, request: PollRequest, sink: ReopenedSink): Promise<PollResult> {
  const begunAt = ports.clock.now();
  const waitUntil = Math.min(begunAt + request.waitMs, request.deadline);
  const { memberId: givenId } = request;
  const joined = givenId === undefined ? await joinGroup(ports, request) : undefined;
  let session: Session = joined ?? (await renewSession(ports, request.group, givenId!, request));
  let known = joined?.known ?? (await ports.plans.of(ports, session.group));
  const { memberId } = session.member;
  const takes = { autoOffsetReset: request.autoOffsetReset, deadline: request.deadline };
  const commits = await commitPositions(ports, { group: session.group, memberId, known }, request, request.deadline);
  const redriven = request.redriven && (await settleRedriven(ports, session.group, request.redriven));
  // No session begins with something that it owns: who joins, and tells of positions, tells of those of a session before.
  const claims = new Claims(joined === undefined ? request : { ...request, positions: [] }, commits);
  let isFresh = joined !== undefined;
  let revokedAtFirst: number | undefined;
  for (let pauseMs = PAUSE_MS_MIN; ; pauseMs = Math.min(pauseMs * 1.5, PAUSE_MS_MAX)) {
    const standing = await standingOf(ports, session, known);
    const owned = await ownPartitions(ports, session, standing, claims, takes, isFresh).catch((error: unknown) =>
      joined === undefined ? Promise.reject(error) : undoJoin(ports, session, error),
    );
    const given = await giveRedriven(ports, session, owned.held, request, sink);
    const reading = { ...request, isBegun: given > 0 };
    const { assigned, errors, turn, count } = await readGroup(ports, owned.held, reading, sink);
    const revoked = claims.revoked(assigned);
    const told = {
      memberId,
      assigned: assigned.map(({ topic, ...rest }) => ({ ...rest, topic: topic.name })),
      revoked,
      commits,
      errors: [...standing.errors, ...owned.errors, ...errors].toSorted(byPartition),
      ...(turn === undefined ? {} : { turn }),
      ...(redriven && { redriven }),
    };
    // What is wrong with a topic or a partition may stay so, and what is revoked may have been told before: neither is
    // hurried, or who polls again at once polls for ever.
    revokedAtFirst ??= revoked.length;
    const isNews =
      count + given > 0 ||
      revoked.length > revokedAtFirst ||
      [...commits, ...(redriven ?? [])].some(({ error }) => error);
    const until = revoked.length > 0 ? Math.min(waitUntil, begunAt + REVOKED_WAIT_MS_MAX) : waitUntil;
    const remainingMs = until - ports.clock.now();
    if (isNews || remainingMs <= 0) return told;
    claims.hold(assigned);
    isFresh = false;
    await ports.sleep(Math.min(pauseMs, remainingMs));
    session = await renewSession(ports, request.group, memberId);
    known = await ports.plans.of(ports, session.group);
  }
}

/** Who joined with a call that is refused is no member. */
async function undoJoin(ports: MemberPorts, { group, member }: Session, error: unknown): Promise<never> {
  if (error instanceof NoCommittedOffset) {
    await ports.members.leave(group, member.key, member.memberId);
    await markDue(ports, group);
  }
  throw error;
}

/** A poll that waits looks again at partitions whose parts it has opened already, and that are still empty. */
class ReopenedSink implements PollSink {
  readonly #sink: PollSink;
  readonly #parts = new Map<string, PartSink>();

  constructor(sink: PollSink) {
    this.#sink = sink;
  }

  get room() {
    return this.#sink.room;
  }

  open(...[partition, room]: Parameters<GroupSink['open']>): PartSink {
    const key = `${partition.topic}#${partition.partition}`;
    const part = this.#parts.get(key) ?? this.#sink.open(partition, room);
    this.#parts.set(key, part);
    return part;
  }

  takeRedriven(...[of, payload, link]: Parameters<PollSink['takeRedriven']>) {
    return this.#sink.takeRedriven(of, payload, link);
  }
}
