import { TopicNotFound } from '../domain/errors.ts';
import type { GroupId } from '../domain/group.ts';
import { GroupNotFound } from '../domain/group-errors.ts';
import { actOnAll } from '../domain/parallel.ts';
import { refuseSubscription } from '../domain/subscription-errors.ts';
import { commitFromOutside } from './commit-from-outside.ts';
import { commitOwned, outcomeOf, topicOf } from './commit-positions.ts';
import type { GroupPorts } from './group-ports.ts';
import type { CommitOutcome, CommitsRequest, OffsetToCommit } from './group-requests.ts';
import { findOrMakeGroup } from './join-group.ts';
import type { RedrivenPorts } from './redriven-ports.ts';
import { storeFailed } from './store-failed.ts';

type Ports = Pick<GroupPorts, 'groups' | 'members' | 'groupTopics' | 'positions' | 'topics' | 'proven'> &
  Pick<GroupPorts, 'heads' | 'log' | 'clock' | 'observe' | 'newGroupId' | 'sleep' | 'random'> &
  RedrivenPorts;

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
    const foreign = offsets.filter(({ epoch }) => epoch === undefined);
    const outside = foreign.length === 0 ? [] : await commitFromOutside(ports, group, foreign, deadline);
    const ended = new Map(foreign.map((entry, i) => [entry, outside[i]!]));
    return actOnAll(offsets, async (entry) => {
      const { epoch } = entry;
      if (epoch === undefined) return ended.get(entry)!;
      return outcomeOf(entry, async () => {
        const topic = await topicOf(ports.topics, entry);
        const by = memberId === undefined ? { epoch } : { owner: memberId, epoch };
        await commitOwned(ports, { group, topic, by, entry, deadline });
      });
    });
  };
  try {
    if (isForeign) return await commitAll(await findOrMakeGroup(ports, name));
    const copy = await ports.groups.read(name, false);
    if (copy !== undefined) refuseSubscription(copy);
    const outcomes = copy && (await commitAll(copy));
    if (outcomes?.every(({ error }) => error?.code !== 'fenced')) return outcomes;
    // What a copy would refuse is judged by the group itself: it may be another incarnation.
    const group = await ports.groups.read(name, true);
    if (group === undefined) throw new GroupNotFound(name);
    refuseSubscription(group);
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
