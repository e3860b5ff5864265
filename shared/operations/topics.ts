import type { Clock } from '../domain/clock.ts';
import { PartitionsCannotShrink, TopicNotFound, Unavailable } from '../domain/errors.ts';
import { HEAD_DEADLINE_MS, PARTITIONS_DEFAULT, RETENTION_FOREVER, RETENTION_MS_DEFAULT } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import { isSameMaxLag, isSameQuota, type MaxLag, type Quota } from '../domain/quota.ts';
import { type DeletedTopic, headsOf, type Page, type PartitionId, type Topic } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import type { TopicCache } from './topic-cache.ts';
import type { HeadView } from './walk.ts';

/** Times a change begins anew because somebody else changed the topic meanwhile. */
const TRIES_MAX = 8;

export interface TopicPorts {
  readonly topics: TopicCache;
  readonly topicItems: {
    announce(topic: Topic, isLate: () => boolean): Promise<void>;
    create(topic: Topic): Promise<boolean>;
    update(before: Topic, after: Topic): Promise<boolean>;
    markDeleted(topic: Topic, deletedAt: number): Promise<boolean>;
    list(limit: number, after?: string): Promise<Page<Topic>>;
    listDeleted(limit: number, after?: string): Promise<Page<DeletedTopic>>;
  };
  readonly leftovers: {
    markClosed(topicId: string, closedAt: number): Promise<void>;
  };
  readonly heads: {
    create(p: PartitionId, isLate: () => boolean): Promise<void>;
    close(p: PartitionId): Promise<void>;
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
  /** null: none any more. */
  readonly quota?: Quota | null;
  readonly maxLag?: MaxLag | null;
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
    const heads = await actOnAll(partitionIds(topic.id, 0, topic.partitions), (partition) =>
      ports.heads.read(partition),
    );
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
    const heads = partitionIds(topic.id, 0, headsOf(topic));
    await actOnAll(heads, (partition) => ports.heads.close(partition)).catch(storeFailed);
    await ports.leftovers.markClosed(topic.id, ports.clock.now()).catch(leftToThePurge);
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
    ...limitsOf(settings),
  };
  // The last attempt lands before anybody can take it for abandoned.
  const isLate = () => ports.clock.now() - topic.createdAt > HEAD_DEADLINE_MS;
  await ports.topicItems.announce(topic, isLate).catch(storeFailed);
  await createHeads(ports, partitionIds(topic.id, 0, topic.partitions), topic.createdAt);
  const made =
    (await ports.topicItems.create(topic).catch(storeFailed)) ||
    // Refused perhaps because it had been made already, by an attempt whose answer was lost.
    (await find(ports.topics, name))?.id === topic.id;
  // Otherwise nobody ever knew this incarnation: its announcement stays for the sweep, which removes its heads.
  return made ? { topic, created: true, keysMoved: false, retentionLengthened: false } : undefined;
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
  const { quota: _, maxLag: __, ...others } = before;
  const topic = { ...others, partitions, retentionMs, hiddenUntil, ...limitsOf(settings, before) };
  const change = { topic, created: false, keysMoved, retentionLengthened };
  const isLimitedAnew = !isSameQuota(topic.quota, before.quota) || !isSameMaxLag(topic.maxLag, before.maxLag);
  if (!keysMoved && retentionMs === before.retentionMs && !isLimitedAnew) return change;
  const current = keysMoved ? await makeRoom(ports, before, partitions) : before;
  if (current === undefined) return undefined;
  const { growingTo, ...grown } = { ...topic, growingTo: headsOf(current) };
  const after = growingTo > partitions ? { ...grown, growingTo } : grown;
  return (await ports.topicItems.update(current, after).catch(storeFailed)) ? { ...change, topic: after } : undefined;
}

/**
 * Makes the heads of partitions that are to be added. Their number is noted in the topic before: whoever deletes it
 * meanwhile, or after this has died, closes and removes those heads, too.
 *
 * @returns the topic with that note, undefined when it is no longer `before`
 */
async function makeRoom(ports: TopicPorts, before: Topic, partitions: number): Promise<Topic | undefined> {
  const notedAt = ports.clock.now();
  const noted = partitions > headsOf(before) ? { ...before, growingTo: partitions } : before;
  if (noted !== before && !(await ports.topicItems.update(before, noted).catch(storeFailed))) return undefined;
  await createHeads(ports, partitionIds(before.id, before.partitions, partitions), notedAt);
  return noted;
}

/** @param notedAt epoch ms at which it was noted that these heads may exist: the purge that removes them counts on it */
async function createHeads(ports: TopicPorts, heads: readonly PartitionId[], notedAt: number): Promise<void> {
  const isLate = () => ports.clock.now() - notedAt > HEAD_DEADLINE_MS;
  await actOnAll(heads, (partition) => ports.heads.create(partition, isLate)).catch(storeFailed);
}

/** What holds appends back: as it is given, and else as it was. */
function limitsOf(
  given: Pick<TopicSettings, 'quota' | 'maxLag'>,
  before: Pick<Topic, 'quota' | 'maxLag'> = {},
): Pick<Topic, 'quota' | 'maxLag'> {
  const { quota = before.quota, maxLag = before.maxLag } = given;
  return { ...(quota && { quota }), ...(maxLag && { maxLag }) };
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

function partitionIds(topicId: string, from: number, to: number): PartitionId[] {
  return Array.from({ length: to - from }, (_, i) => ({ topicId, partition: from + i }));
}

/** The purge closes every head again unless it is told that they are closed. */
function leftToThePurge(error: unknown): void {
  if (!(error instanceof WriteFailed)) throw error;
}

/** Every step of a change can be repeated, so a failure need not be looked into: the caller repeats the whole. */
function storeFailed(error: unknown): never {
  if (!(error instanceof WriteFailed)) throw error;
  throw new Unavailable('The store did not take every step of the change; send it again', 1_000, { cause: error });
}
