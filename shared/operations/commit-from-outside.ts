import { type GroupId, nextEpoch } from '../domain/group.ts';
import { CommitRegressed, Fenced } from '../domain/group-errors.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Position } from '../domain/position.ts';
import type { Topic } from '../domain/topic.ts';
import { outcomeOf, topicOf } from './commit-positions.ts';
import { createPositions } from './create-positions.ts';
import type { GroupPorts } from './group-ports.ts';
import type { CommitOutcome, OffsetToCommit } from './group-requests.ts';
import { liveMembers } from './live-members.ts';
import { judgeOffset } from './proven-offsets.ts';

type Ports = Pick<GroupPorts, 'groups' | 'members' | 'groupTopics' | 'positions' | 'topics' | 'proven'> &
  Pick<GroupPorts, 'heads' | 'log' | 'clock' | 'observe' | 'sleep' | 'random'>;

/** Rounds in which some positions are found to have changed between a look and a write. */
const ROUNDS_MAX = 4;

interface Look {
  readonly entry: OffsetToCommit;
  readonly topic: Topic;
  readonly seen: Position | undefined;
}

/**
 * Commits by somebody who owns nothing, while the group has no live member: whoever owned a position is fenced by it.
 * Members are asked for between the look at the positions and the writes: who joined before is seen, and who takes a
 * position after that makes its write fail.
 *
 * @param deadline epoch ms
 * @returns how each ended, in the order given
 * @throws {GroupNotFound | Throttled | Unavailable | WriteFailed} some may be done; repeating them all is a success
 */
export async function commitFromOutside(
  ports: Ports,
  group: GroupId,
  entries: readonly OffsetToCommit[],
  deadline: number,
): Promise<CommitOutcome[]> {
  const outcomes = new Map<OffsetToCommit, CommitOutcome>();
  let left = entries;
  for (let round = 0; round < ROUNDS_MAX && left.length > 0; round++) {
    const seen = await lookAt(ports, group, left, outcomes);
    if (seen.length === 0 || (await liveMembers(ports, group)).length > 0) break;
    const looks = await judge(ports, seen, deadline, outcomes);
    const missing = looks.filter(({ seen }) => seen === undefined);
    const made = await create(ports, group, missing);
    const moved = await actOnAll(looks, async ({ entry, topic, seen }) => {
      if (seen === undefined) return false;
      const id = { group, topicId: topic.id, partition: entry.partition };
      return ports.positions.change(id, seen, { ...stateOf(entry), epoch: nextEpoch(seen.epoch, ports.clock.now()) });
    });
    const isDone = new Set(missing.filter((_, i) => made[i]).concat(looks.filter((_, i) => moved[i])));
    for (const look of isDone) outcomes.set(look.entry, told(look.entry));
    left = looks.filter((look) => !isDone.has(look)).map(({ entry }) => entry);
  }
  return entries.map((entry) => {
    const { topic, partition } = entry;
    return outcomes.get(entry) ?? { ...told(entry), error: new Fenced(topic, partition, undefined) };
  });
}

type Outcomes = Map<OffsetToCommit, CommitOutcome>;

/** @returns the positions of topics that exist; how the other entries ended goes into `outcomes` */
async function lookAt(
  ports: Ports,
  group: GroupId,
  entries: readonly OffsetToCommit[],
  outcomes: Outcomes,
): Promise<Look[]> {
  const looks = await actOnAll(entries, async (entry) => {
    let look: Look | undefined;
    const outcome = await outcomeOf(entry, async () => {
      const topic = await topicOf(ports.topics, entry);
      const id = { group, topicId: topic.id, partition: entry.partition };
      look = { entry, topic, seen: await ports.positions.read(id) };
    });
    if (look === undefined) outcomes.set(entry, outcome);
    return look;
  });
  return looks.filter((look) => look !== undefined);
}

/** @returns what is to be written; how the other entries ended goes into `outcomes` */
async function judge(ports: Ports, looks: readonly Look[], deadline: number, outcomes: Outcomes): Promise<Look[]> {
  const isLeft = await actOnAll(looks, async ({ entry, topic, seen }) => {
    const { partition, offset, metadata } = entry;
    let isNew = false;
    const outcome = await outcomeOf(entry, async () => {
      await judgeOffset(ports, topic, partition, offset, deadline);
      if (seen !== undefined && seen.committed > offset) throw new CommitRegressed(offset, seen.committed);
      isNew = seen?.committed !== offset || (metadata !== undefined && metadata !== seen.metadata);
    });
    if (!isNew) outcomes.set(entry, outcome);
    return isNew;
  });
  return looks.filter((_, i) => isLeft[i]);
}

async function create(ports: Ports, group: GroupId, looks: readonly Look[]): Promise<boolean[]> {
  const topics = new Map(looks.map(({ topic }) => [topic.id, topic]));
  // Before any position of the topic: what is added to it from now on begins at its start (G5).
  await actOnAll([...topics.values()], (topic) => ports.groupTopics.note(group, topic));
  const epoch = nextEpoch(0, ports.clock.now());
  const starts = looks.map(({ entry, topic }) => ({
    ...{ topicId: topic.id, partition: entry.partition, epoch },
    ...stateOf(entry),
  }));
  return createPositions(ports, group, starts);
}

function stateOf({ offset, metadata }: OffsetToCommit) {
  return { committed: offset, ...(metadata !== undefined && { metadata }) };
}

function told({ topic, partition, offset }: OffsetToCommit): CommitOutcome {
  return { topic, partition, offset };
}
