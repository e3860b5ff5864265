import { BackboneError, PartitionNotFound, TopicNotFound } from '../domain/errors.ts';
import type { Group, GroupId } from '../domain/group.ts';
import { CommitRegressed, Fenced } from '../domain/group-errors.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Holder, PositionId } from '../domain/position.ts';
import type { Topic } from '../domain/topic.ts';
import type { GroupPorts } from './group-ports.ts';
import type { CommitOutcome, NamedPartition, OffsetToCommit, OwnedPartition, Report } from './group-requests.ts';
import type { KnownPlan } from './plan-cache.ts';
import { judgeOffset } from './proven-offsets.ts';
import type { RedrivenPorts } from './redriven-ports.ts';
import { settledByCommit } from './settle-redriven.ts';
import type { TopicCache } from './topic-cache.ts';

type Ports = Pick<GroupPorts, 'positions' | 'topics' | 'proven' | 'heads' | 'log' | 'clock' | 'observe'> &
  RedrivenPorts;

/** As a poll reads it: with what it has to know of redrives. */
type MarkedGroup = GroupId & Pick<Group, 'redrives'>;

/**
 * Commits what a member has done, and releases what it gives back: one write unit for both where they name the same
 * partition. A commit that is refused leaves its partition to be released all the same.
 *
 * @param known the plan by which the member was told what it owns
 * @param deadline epoch ms
 * @returns how each commit ended, in the order given
 * @throws {Throttled | Unavailable | WriteFailed} some may be done; repeating them all is a success
 */
export async function commitPositions(
  ports: Ports,
  { group, memberId, known }: { readonly group: MarkedGroup; readonly memberId: string; readonly known: KnownPlan },
  { commit, release }: Pick<Report, 'commit' | 'release'>,
  deadline: number,
): Promise<CommitOutcome[]> {
  const plannedId = (name: string) => known.plan.topics.find((topic) => topic.name === name)?.id;
  const releasing = new Map(release.map((entry) => [textOf(entry), entry]));
  const outcomes = await actOnAll(commit, async (entry) => {
    const by = { owner: memberId, epoch: entry.epoch };
    const isReleased = releasing.get(textOf(entry))?.epoch === entry.epoch;
    const outcome = await outcomeOf(entry, async () => {
      const topic = await topicOf(ports.topics, entry, plannedId(entry.topic));
      await commitOwned(ports, { group, topic, by, entry, release: isReleased, deadline });
    });
    if (isReleased && outcome.error === undefined) releasing.delete(textOf(entry));
    return outcome;
  });
  await actOnAll([...releasing.values()], async (entry) => {
    await releaseOwned(ports, group, memberId, entry, plannedId(entry.topic));
  });
  return outcomes;
}

async function releaseOwned(
  ports: Ports,
  group: GroupId,
  memberId: string,
  entry: OwnedPartition,
  plannedId: string | undefined,
): Promise<void> {
  try {
    const { id: topicId } = await topicOf(ports.topics, entry, plannedId);
    const by = { owner: memberId, epoch: entry.epoch };
    await ports.positions.release({ group, topicId, partition: entry.partition }, by);
  } catch (error) {
    // What is not there is nobody's.
    if (!(error instanceof TopicNotFound || error instanceof PartitionNotFound)) throw error;
  }
}

/** One commit by whoever says to own the partition, or to know its epoch. */
export interface OwnedCommit {
  readonly group: MarkedGroup;
  readonly topic: Topic;
  readonly by: Holder;
  readonly entry: OffsetToCommit;
  readonly release?: boolean;
  /** Epoch ms. */
  readonly deadline: number;
}

/**
 * One write, refused by its own condition where owner or epoch is another (G1). Repeating it is a success, also after
 * the release that rode on it.
 *
 * @throws {Fenced | CommitRegressed | OffsetOutOfRange | TopicNotFound | Throttled | Unavailable | WriteFailed}
 */
export async function commitOwned(ports: Ports, { group, topic, by, entry, release, deadline }: OwnedCommit) {
  const { partition, offset, metadata } = entry;
  const id: PositionId = { group, topicId: topic.id, partition };
  await judgeOffset(ports, topic, partition, offset, deadline);
  const options = { ...(release && { release }), ...(metadata !== undefined && { metadata }) };
  const found = await ports.positions.commit(id, by, offset, options);
  if (found === 'done') return;
  if (found?.epoch !== by.epoch) throw new Fenced(topic.name, partition, by.epoch);
  if (found.committed === offset) return;
  const isOwn = by.owner === undefined || found.owner === by.owner;
  if (isOwn && found.committed > offset) {
    if (await settledByCommit(ports, group, { topicId: topic.id, partition, offset }, by.epoch)) return;
    throw new CommitRegressed(offset, found.committed);
  }
  throw new Fenced(topic.name, partition, by.epoch);
}

/** A refusal is the entry's own; what goes wrong with the store is the whole call's, which may be repeated. */
export async function outcomeOf(entry: OffsetToCommit, commit: () => Promise<void>): Promise<CommitOutcome> {
  const { topic, partition, offset } = entry;
  try {
    await commit();
    return { topic, partition, offset };
  } catch (error) {
    if (!(error instanceof BackboneError) || error.retryable) throw error;
    return { topic, partition, offset, error };
  }
}

/**
 * The topic that an entry names.
 *
 * @param plannedId its incarnation as the caller knows it, if so: a copy of another is looked at twice
 * @throws {TopicNotFound | PartitionNotFound | Throttled | Unavailable}
 */
export async function topicOf(topics: TopicCache, named: NamedPartition, plannedId?: string): Promise<Topic> {
  const copy = await topics.get(named.topic);
  const isSure = (plannedId === undefined || copy.id === plannedId) && named.partition < copy.partitions;
  const topic = isSure ? copy : await topics.fresh(named.topic);
  if (named.partition < topic.partitions) return topic;
  throw new PartitionNotFound(named.topic, named.partition, topic.partitions);
}

function textOf({ topic, partition }: NamedPartition): string {
  return `${topic}#${partition}`;
}
