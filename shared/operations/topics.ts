import type { Clock } from '../domain/clock.ts';
import { PartitionsCannotShrink, TopicNotFound, Unavailable } from '../domain/errors.ts';
import { PARTITIONS_DEFAULT, RETENTION_FOREVER, RETENTION_MS_DEFAULT } from '../domain/limits.ts';
import { actOnAll, settleAll } from '../domain/parallel.ts';
import type { DeletedTopic, Page, PartitionId, Topic } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import type { TopicCache } from './topic-cache.ts';
import type { HeadView } from './walk.ts';

/** Times a change begins anew because somebody else changed the topic meanwhile. */
const TRIES_MAX = 8;

export interface TopicPorts {
  readonly topics: TopicCache;
  readonly topicItems: {
    announce(topic: Topic): Promise<void>;
    create(topic: Topic): Promise<boolean>;
    forget(topicId: string): Promise<void>;
    update(before: Topic, after: Topic): Promise<boolean>;
    markDeleted(topic: Topic, deletedAt: number): Promise<boolean>;
    list(limit: number, after?: string): Promise<Page<Topic>>;
    listDeleted(limit: number, after?: string): Promise<Page<DeletedTopic>>;
  };
  readonly heads: {
    create(p: PartitionId): Promise<void>;
    close(p: PartitionId): Promise<void>;
    remove(p: PartitionId): Promise<void>;
    read(p: PartitionId): Promise<HeadView | undefined>;
  };
  readonly clock: Clock;
  /** A new ULID each time. */
  newTopicId(): string;
}

export interface TopicSettings {
  readonly partitions?: number;
  /** ms, or −1: for ever. */
  readonly retentionMs?: number;
}

export interface TopicChange {
  readonly topic: Topic;
  readonly created: boolean;
  /** Partitions were added, so keys may map to others than before. */
  readonly keysMoved: boolean;
  /** What is stored keeps the expiry it was written with; only later appends are kept longer. */
  readonly retentionLengthened: boolean;
}

/**
 * Makes a topic, or changes the settings that are given.
 *
 * @throws {PartitionsCannotShrink} nothing was changed; {Throttled | Unavailable} repeat it: it goes on where it was
 */
export async function putTopic(ports: TopicPorts, name: string, settings: TopicSettings): Promise<TopicChange> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const before = await find(ports.topics, name);
    const change = before === undefined ? await create(ports, name, settings) : await update(ports, before, settings);
    ports.topics.drop(name);
    if (change !== undefined) return change;
  }
  throw new Unavailable(`Topic '${name}' is being changed by others all the time`);
}

/** @throws {TopicNotFound | Throttled | Unavailable} */
export async function getTopic(ports: Pick<TopicPorts, 'topics'>, name: string): Promise<Topic> {
  return ports.topics.fresh(name);
}

/** @throws {Throttled | Unavailable} */
export async function listTopics(
  ports: Pick<TopicPorts, 'topicItems'>,
  page: { readonly limit: number; readonly after?: string },
): Promise<Page<Topic>> {
  return ports.topicItems.list(page.limit, page.after);
}

/** Incarnations whose data is still there. `slotsLeft`: offsets that were reserved and not yet removed, at most. */
export async function listDeletedTopics(
  ports: Pick<TopicPorts, 'topicItems' | 'heads'>,
  page: { readonly limit: number; readonly after?: string },
): Promise<Page<DeletedTopic & { readonly slotsLeft: number }>> {
  const { items, ...rest } = await ports.topicItems.listDeleted(page.limit, page.after);
  const counted = [];
  for (const topic of items) {
    const heads = await actOnAll(partitionIds(topic), (partition) => ports.heads.read(partition));
    const slotsLeft = heads.reduce((sum, head) => sum + (head === undefined ? 0 : head.next - head.logStart), 0);
    counted.push({ ...topic, slotsLeft });
  }
  return { items: counted, ...rest };
}

/**
 * Takes a topic's name away and closes every head: no append that begins later is acknowledged (A6).
 *
 * @throws {TopicNotFound}; {Throttled | Unavailable} the topic may be gone already: what is left is removed later
 */
export async function deleteTopic(ports: TopicPorts, name: string): Promise<void> {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    const topic = await ports.topics.fresh(name);
    const marked = await ports.topicItems.markDeleted(topic, ports.clock.now()).catch(storeFailed);
    ports.topics.drop(name);
    if (!marked) continue;
    await actOnAll(partitionIds(topic), (partition) => ports.heads.close(partition)).catch(storeFailed);
    return;
  }
  throw new Unavailable(`Topic '${name}' is being changed by others all the time`);
}

/** Heads first, then the topic: a topic is what its item says. @returns undefined when somebody else made it */
async function create(ports: TopicPorts, name: string, settings: TopicSettings): Promise<TopicChange | undefined> {
  const topic = {
    name,
    id: ports.newTopicId(),
    partitions: settings.partitions ?? PARTITIONS_DEFAULT,
    retentionMs: settings.retentionMs ?? RETENTION_MS_DEFAULT,
    createdAt: ports.clock.now(),
    hiddenUntil: 0,
  };
  await ports.topicItems.announce(topic).catch(storeFailed);
  await actOnAll(partitionIds(topic), (partition) => ports.heads.create(partition)).catch(storeFailed);
  if (await ports.topicItems.create(topic).catch(storeFailed)) {
    return { topic, created: true, keysMoved: false, retentionLengthened: false };
  }
  // Nobody knows this incarnation. What cannot be removed now is found by its announcement.
  const removed = await settleAll(partitionIds(topic), (partition) => ports.heads.remove(partition));
  if (removed.every(({ status }) => status === 'fulfilled')) await ports.topicItems.forget(topic.id).catch(storeFailed);
  return undefined;
}

/** @returns undefined when the topic is no longer `before` */
async function update(ports: TopicPorts, before: Topic, settings: TopicSettings): Promise<TopicChange | undefined> {
  const partitions = settings.partitions ?? before.partitions;
  const retentionMs = settings.retentionMs ?? before.retentionMs;
  if (partitions < before.partitions) throw new PartitionsCannotShrink(before.name, before.partitions, partitions);
  const keysMoved = partitions > before.partitions;
  const retentionLengthened = lastsLonger(retentionMs, before.retentionMs);
  const hiddenUntil = retentionLengthened
    ? Math.max(before.hiddenUntil, ports.clock.now() - before.retentionMs)
    : before.hiddenUntil;
  const topic = { ...before, partitions, retentionMs, hiddenUntil };
  const change = { topic, created: false, keysMoved, retentionLengthened };
  if (!keysMoved && retentionMs === before.retentionMs) return change;
  const added = partitionIds(topic).slice(before.partitions);
  await actOnAll(added, (partition) => ports.heads.create(partition)).catch(storeFailed);
  return (await ports.topicItems.update(before, topic).catch(storeFailed)) ? change : undefined;
}

function lastsLonger(retentionMs: number, than: number): boolean {
  if (than === RETENTION_FOREVER) return false;
  return retentionMs === RETENTION_FOREVER || retentionMs > than;
}

async function find(topics: TopicCache, name: string): Promise<Topic | undefined> {
  try {
    return await topics.fresh(name);
  } catch (error) {
    if (error instanceof TopicNotFound) return undefined;
    throw error;
  }
}

function partitionIds({ id, partitions }: Pick<Topic, 'id' | 'partitions'>): PartitionId[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topicId: id, partition }));
}

/** Every step of a change can be repeated, so a failure need not be looked into: the caller repeats the whole. */
function storeFailed(error: unknown): never {
  if (!(error instanceof WriteFailed)) throw error;
  throw new Unavailable('The store did not take every step of the change; send it again', 1_000, { cause: error });
}
