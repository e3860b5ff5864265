import { InvalidRequest, OffsetOutOfRange, TopicNotFound, Unavailable } from '../domain/errors.ts';
import { type GroupId, nextEpoch } from '../domain/group.ts';
import { GroupActive, GroupNotFound } from '../domain/group-errors.ts';
import { WALK_BUDGET_MS } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import { refuseSubscription } from '../domain/subscription-errors.ts';
import type { Topic } from '../domain/topic.ts';
import { createPositions } from './create-positions.ts';
import type { GroupPorts } from './group-ports.ts';
import { liveMembers } from './live-members.ts';
import { findBounds } from './partition-bounds.ts';
import { findOffsets, type PartitionOffset } from './partitions.ts';
import { storeFailed } from './store-failed.ts';
import type { WalkPorts } from './walk.ts';

export type ResetPorts = WalkPorts &
  Pick<GroupPorts, 'groups' | 'members' | 'groupTopics' | 'positions' | 'topics' | 'clock' | 'sleep' | 'random'>;

export interface Reset {
  readonly group: string;
  readonly topic: string;
  /** Absent: all. */
  readonly partitions?: readonly number[];
  /** An end of the log, the first record appended at or after a time (epoch ms), or an offset. */
  readonly to: 'earliest' | 'latest' | { readonly at: number } | { readonly offset: number };
}

/** Times a change begins anew because the position was changed by others meanwhile. */
const TRIES_MAX = 8;

/**
 * Sets where a group goes on in a topic, while no member lives. It may go back: the one way for a group to read again
 * what it has committed. What cannot be meant changes nothing; a store that fails midway, or a member that joins, leaves
 * some partitions changed, and a repeat changes the rest.
 *
 * @returns by partition
 * @throws {GroupNotFound | GroupIsSubscription | TopicNotFound | GroupActive | InvalidRequest | OffsetOutOfRange |
 *   Throttled | Unavailable}
 */
export async function resetGroup(ports: ResetPorts, reset: Reset): Promise<readonly PartitionOffset[]> {
  const group = await ports.groups.read(reset.group, true);
  if (group === undefined) throw new GroupNotFound(reset.group);
  refuseSubscription(group);
  return resetTopic(ports, group, reset);
}

/**
 * The same of a group that is known, subscriptions' too.
 *
 * @throws {GroupNotFound | TopicNotFound | GroupActive | InvalidRequest | OffsetOutOfRange | Throttled | Unavailable}
 */
export async function resetTopic(
  ports: ResetPorts,
  group: GroupId,
  reset: Omit<Reset, 'group'>,
): Promise<readonly PartitionOffset[]> {
  const topic = await ports.topics.fresh(reset.topic);
  const strange = reset.partitions?.findIndex((partition) => partition >= topic.partitions) ?? -1;
  if (strange >= 0) {
    const field = `partitions[${strange}]`;
    throw new InvalidRequest(
      `'${field}' must be one of the partitions 0 to ${topic.partitions - 1} of '${topic.name}'`,
      {
        field,
        partitions: topic.partitions,
      },
    );
  }
  await refuseWhileActive(ports, group);
  const offsets = await offsetsOf(ports, topic, reset);
  // Whoever purges the group finds the positions by it.
  await ports.groupTopics.note(group, topic).catch(storeFailed);
  await changeAll(ports, group, topic.id, offsets).catch(storeFailed);
  ports.observe({ kind: 'positions_reset', count: offsets.length });
  return offsets;
}

/** @throws {GroupActive | Throttled | Unavailable} */
async function refuseWhileActive(ports: ResetPorts, group: GroupId): Promise<void> {
  const { length } = await liveMembers(ports, group).catch(storeFailed);
  if (length > 0) throw new GroupActive(group.name, length);
}

async function offsetsOf(
  ports: ResetPorts,
  topic: Topic,
  { to, partitions }: Pick<Reset, 'to' | 'partitions'>,
): Promise<PartitionOffset[]> {
  if (typeof to !== 'object' || 'at' in to) {
    return findOffsets(ports, topic.name, typeof to === 'object' ? to.at : to, partitions);
  }
  const { offset } = to;
  const deadline = ports.clock.now() + WALK_BUDGET_MS;
  return actOnAll(sorted(partitions ?? Array.from({ length: topic.partitions }, (_, i) => i)), async (partition) => {
    const bounds = await findBounds(ports, topic, partition, deadline, true);
    if (bounds === undefined) throw new TopicNotFound(topic.name);
    if (offset >= bounds.logStartOffset && offset <= bounds.highWatermark) return { partition, offset };
    throw new OffsetOutOfRange(offset, bounds.logStartOffset, bounds.highWatermark, partition);
  });
}

/**
 * From outside: whoever owned a position is fenced. Members are looked for between the look at the positions and the
 * writes: who joined before is seen, and who takes one after that makes its write fail, and is seen in the next round.
 *
 * @throws {GroupActive} somebody joined meanwhile: some positions may be changed
 */
async function changeAll(
  ports: ResetPorts,
  group: GroupId,
  topicId: string,
  offsets: readonly PartitionOffset[],
): Promise<void> {
  let left = offsets;
  for (let tries = 0; left.length > 0; tries++) {
    if (tries === TRIES_MAX) throw new Unavailable('The positions are being changed by others all the time');
    const idOf = ({ partition }: PartitionOffset) => ({ group, topicId, partition });
    const seen = await actOnAll(left, (one) => ports.positions.read(idOf(one), true));
    await refuseWhileActive(ports, group);
    const now = ports.clock.now();
    const missing = left.filter((_, i) => seen[i] === undefined);
    const starts = missing.map((one) => ({ ...idOf(one), epoch: nextEpoch(0, now), committed: one.offset }));
    const made = await createPositions(ports, group, starts);
    const done = await actOnAll(left, async (one) => {
      const position = seen[left.indexOf(one)];
      if (position === undefined) return made[missing.indexOf(one)];
      const to = { committed: one.offset, epoch: nextEpoch(position.epoch, now) };
      return ports.positions.change(idOf(one), position, to);
    });
    left = left.filter((_, i) => !done[i]);
    if (left.length > 0) await stillThere(ports, group);
  }
}

async function stillThere({ groups }: Pick<ResetPorts, 'groups'>, { name, id }: GroupId): Promise<void> {
  if ((await groups.read(name, true))?.id !== id) throw new GroupNotFound(name);
}

function sorted(partitions: readonly number[]): number[] {
  return [...partitions].sort((a, b) => a - b);
}
