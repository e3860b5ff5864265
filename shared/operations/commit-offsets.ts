import { TopicNotFound } from '../domain/errors.ts';
import { type GroupId, isExpiredMember, nextEpoch } from '../domain/group.ts';
import { CommitRegressed, Fenced, GroupNotFound } from '../domain/group-errors.ts';
import { actOnAll, settleAll } from '../domain/parallel.ts';
import type { PositionId } from '../domain/position.ts';
import type { Topic } from '../domain/topic.ts';
import { commitOwned, outcomeOf, topicOf } from './commit-positions.ts';
import { createPositions } from './create-positions.ts';
import type { GroupPorts } from './group-ports.ts';
import type { CommitOutcome, CommitsRequest, OffsetToCommit } from './group-requests.ts';
import { findOrMakeGroup } from './join-group.ts';
import { judgeOffset } from './proven-offsets.ts';
import { storeFailed } from './store-failed.ts';

type Ports = Pick<GroupPorts, 'groups' | 'members' | 'groupTopics' | 'positions' | 'topics' | 'proven'> &
  Pick<GroupPorts, 'heads' | 'log' | 'clock' | 'observe' | 'newGroupId' | 'sleep' | 'random'>;

/** Times that a position is found to have changed between a look and a write. */
const TRIES_MAX = 4;

/**
 * Commits by themselves: with an epoch, by whoever owns the partition; without one, for a group that has no live member,
 * which is made where there is none. Repeating is a success.
 *
 * @param deadline epoch ms
 * @returns how each ended, in the order given
 * @throws {GroupNotFound} no group, and every entry has an epoch; {Throttled | Unavailable} some may be done
 */
export async function commitOffsets(ports: Ports, request: CommitsRequest, deadline: number): Promise<CommitOutcome[]> {
  const { group: name, memberId, offsets } = request;
  const isForeign = offsets.some(({ epoch }) => epoch === undefined);
  if (isForeign) await refuseUnknown(ports, offsets);
  const commitAll = async (group: GroupId) => {
    const made = isForeign ? await makeMissing(ports, group, offsets, deadline) : new Set();
    return actOnAll(offsets, (entry) =>
      outcomeOf(entry, async () => {
        if (made.has(entry)) return;
        const topic = await topicOf(ports.topics, entry);
        const { epoch } = entry;
        if (epoch === undefined) return commitForeign(ports, group, topic, entry, deadline);
        const by = memberId === undefined ? { epoch } : { owner: memberId, epoch };
        return commitOwned(ports, { group, topic, by, entry, deadline });
      }),
    );
  };
  try {
    if (isForeign) return await commitAll(await findOrMakeGroup(ports, name));
    const copy = await ports.groups.read(name, false);
    const outcomes = copy && (await commitAll(copy));
    if (outcomes?.every(({ error }) => error?.code !== 'fenced')) return outcomes;
    // What a copy would refuse is judged by the group itself: it may be another incarnation.
    const group = await ports.groups.read(name, true);
    if (group === undefined) throw new GroupNotFound(name);
    return outcomes !== undefined && group.id === copy?.id ? outcomes : await commitAll(group);
  } catch (error) {
    storeFailed(error);
  }
}

/** No group is made for topics none of which exists. */
async function refuseUnknown({ topics }: Ports, offsets: readonly OffsetToCommit[]): Promise<void> {
  const names = [...new Set(offsets.map(({ topic }) => topic))];
  const outcomes = await actOnAll(names, async (name) => {
    try {
      await topics.get(name);
    } catch (error) {
      if (error instanceof TopicNotFound) return error;
      throw error;
    }
    return undefined;
  });
  const [first] = outcomes;
  if (first !== undefined && outcomes.every((outcome) => outcome !== undefined)) throw first;
}

/**
 * Makes the positions that are missing, together, while no member lives. Whatever stands in the way is left for the
 * entry's own commit to meet.
 *
 * @returns the entries whose offsets are committed by this
 */
async function makeMissing(
  ports: Ports,
  group: GroupId,
  offsets: readonly OffsetToCommit[],
  deadline: number,
): Promise<ReadonlySet<OffsetToCommit>> {
  const looks = await settleAll(offsets, async (entry) => {
    const { epoch, partition, offset } = entry;
    if (epoch !== undefined) return undefined;
    const topic = await topicOf(ports.topics, entry);
    const isThere = (await ports.positions.read({ group, topicId: topic.id, partition })) !== undefined;
    if (!isThere) await judgeOffset(ports, topic, partition, offset, deadline);
    return isThere ? undefined : { entry, topic };
  });
  const missing = looks.flatMap((look) => (look.status === 'fulfilled' && look.value ? [look.value] : []));
  if (missing.length === 0 || (await hasLiveMember(ports, group))) return new Set();
  const topics = new Map(missing.map(({ topic }) => [topic.id, topic]));
  // Before any position of the topic: what is added to it from now on begins at its start (G5).
  await actOnAll([...topics.values()], (topic) => ports.groupTopics.note(group, topic));
  const epoch = nextEpoch(0, ports.clock.now());
  const starts = missing.map(({ entry: { partition, offset, metadata }, topic }) => ({
    ...{ topicId: topic.id, partition, epoch, committed: offset },
    ...(metadata !== undefined && { metadata }),
  }));
  const made = await createPositions(ports, group, starts);
  return new Set(missing.filter((_, i) => made[i]).map(({ entry }) => entry));
}

/**
 * A change by somebody who owns nothing: whoever owns the position is fenced by it. Members are asked for between the
 * look and the write: who joined before the look is seen, who takes after it makes the write fail.
 */
async function commitForeign(
  ports: Ports,
  group: GroupId,
  topic: Topic,
  entry: OffsetToCommit,
  deadline: number,
): Promise<void> {
  const { partition, offset, metadata } = entry;
  const id: PositionId = { group, topicId: topic.id, partition };
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const seen = await ports.positions.read(id);
    if (await hasLiveMember(ports, group)) break;
    await judgeOffset(ports, topic, partition, offset, deadline);
    if (seen === undefined) {
      if ((await makeMissing(ports, group, [entry], deadline)).size > 0) return;
      continue;
    }
    if (seen.committed > offset) throw new CommitRegressed(offset, seen.committed);
    if (seen.committed === offset && (metadata === undefined || metadata === seen.metadata)) return;
    const epoch = nextEpoch(seen.epoch, ports.clock.now());
    const to = { committed: offset, epoch, ...(metadata !== undefined && { metadata }) };
    if (await ports.positions.change(id, seen, to)) return;
  }
  throw new Fenced(topic.name, partition, undefined);
}

async function hasLiveMember({ members, clock }: Ports, group: GroupId): Promise<boolean> {
  const now = clock.now();
  return (await members.all(group)).some((member) => !isExpiredMember(member, now));
}
