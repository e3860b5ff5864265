import type { Clock } from '../domain/clock.ts';
import { InvalidRequest, OffsetOutOfRange, TopicNotFound, Unavailable } from '../domain/errors.ts';
import { type GroupId, isExpiredMember, nextEpoch } from '../domain/group.ts';
import { GroupActive, GroupNotFound } from '../domain/group-errors.ts';
import { WALK_BUDGET_MS } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Position, PositionId } from '../domain/position.ts';
import { refuseSubscription } from '../domain/subscription-errors.ts';
import type { Topic } from '../domain/topic.ts';
import type { GroupStores } from './group-ports.ts';
import { findBounds } from './partition-bounds.ts';
import { findOffsets, type PartitionOffset } from './partitions.ts';
import { storeFailed } from './store-failed.ts';
import type { TopicCache } from './topic-cache.ts';
import type { WalkPorts } from './walk.ts';

export interface ResetPorts extends WalkPorts {
  readonly groups: Pick<GroupStores['groups'], 'read'>;
  readonly members: Pick<GroupStores['members'], 'all' | 'expire'>;
  readonly groupTopics: Pick<GroupStores['groupTopics'], 'note'>;
  readonly positions: Pick<GroupStores['positions'], 'read' | 'create' | 'change'>;
  readonly topics: TopicCache;
  readonly clock: Clock;
}

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

/** A session that has ended is put out for good: of its heartbeat and this, one wins. @throws {GroupActive} */
async function refuseWhileActive({ members, clock }: ResetPorts, group: GroupId): Promise<void> {
  const now = clock.now();
  const live = await actOnAll(
    await members.all(group),
    async (member) => !isExpiredMember(member, now) || !(await members.expire(group, member).catch(storeFailed)),
  );
  const count = live.filter((lives) => lives).length;
  if (count > 0) throw new GroupActive(group.name, count);
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
  let left = offsets.map(({ partition, offset }) => ({ id: { group, topicId, partition }, offset }));
  for (let tries = 0; left.length > 0; tries++) {
    if (tries === TRIES_MAX) throw new Unavailable('The positions are being changed by others all the time');
    const seen = await actOnAll(left, async (one) => ({ ...one, seen: await ports.positions.read(one.id, true) }));
    await refuseWhileActive(ports, group);
    const done = await actOnAll(seen, (one) => change(ports, one.id, one.seen, one.offset));
    left = left.filter((_, i) => !done[i]);
    if (left.length > 0) await stillThere(ports, group);
  }
}

/** @returns false: it is no longer as it was seen, or the group is gone */
function change(ports: ResetPorts, id: PositionId, seen: Position | undefined, committed: number): Promise<boolean> {
  const to = { committed, epoch: nextEpoch(seen?.epoch ?? 0, ports.clock.now()) };
  return seen === undefined ? ports.positions.create(id, to) : ports.positions.change(id, seen, to);
}

async function stillThere({ groups }: Pick<ResetPorts, 'groups'>, { name, id }: GroupId): Promise<void> {
  if ((await groups.read(name, true))?.id !== id) throw new GroupNotFound(name);
}

function sorted(partitions: readonly number[]): number[] {
  return [...partitions].sort((a, b) => a - b);
}
