import { list, rfc3339, targetOf } from './admin-arguments.ts';
import { AdminCalls } from './admin-calls.ts';
import type {
  AdminOptions,
  ApiKeyDescription,
  CommittedOffsets,
  DeadLetter,
  DeadLetterQuery,
  GroupDescription,
  GroupSummary,
  NewApiKey,
  NewTopic,
  OffsetTarget,
  OffsetTime,
  PartitionOffsets,
  Redrive,
  TopicChange,
  TopicDescription,
  TopicSettings,
} from './admin-words.ts';
import { ApiError } from './api-error.ts';
import type { Connection } from './connection.ts';
import { known } from './option-checks.ts';
import { SubscriptionAdmin } from './subscription-admin.ts';
import { pathOf } from './transport.ts';

const TOPIC_SETTINGS = ['topic', 'numPartitions', 'retentionMs', 'quota', 'maxLag'];

/**
 * Topics, offsets, groups, subscriptions and API keys. Every call is repeated while it fails in a way that may pass, but
 * `rotateSecret`, `redriveDeadLetters`, `deadLetterParkedKeys` and `createApiKey`: no other does more when it is made twice. Each throws `ApiError`, `ConnectionError` or `RequestTimeout`.
 */
export class Admin extends SubscriptionAdmin {
  readonly #calls: AdminCalls;

  constructor(connection: Connection, { signal }: AdminOptions = {}) {
    const calls = new AdminCalls(connection, signal);
    super(calls);
    this.#calls = calls;
  }

  /** Finds out whether the endpoint answers. Not needed before other calls. */
  async connect(): Promise<void> {
    await this.#calls.get(pathOf('health'));
  }

  /** Nothing is open: here for those whose code says it. */
  async disconnect(): Promise<void> {}

  /**
   * Makes topics. One that exists stays as it is, whatever its settings are.
   * @returns whether all of them are new
   */
  async createTopics(wanted: { topics: readonly NewTopic[] }): Promise<boolean> {
    known("'createTopics'", wanted, ['topics']);
    const topics = list('topics', wanted.topics);
    for (const topic of topics) known('A new topic', topic, TOPIC_SETTINGS);
    let allNew = true;
    for (const { topic, numPartitions, ...settings } of topics) {
      if ((await this.#find(topic)) !== undefined) allNew = false;
      else await this.#put(topic, { partitions: numPartitions, ...settings });
    }
    return allNew;
  }

  /** Names of all topics, sorted. */
  async listTopics(): Promise<string[]> {
    return (await this.describeTopics()).map(({ name }) => name);
  }

  async describeTopics(): Promise<TopicDescription[]> {
    return this.#calls.list<TopicDescription>(pathOf('topics'), 'topics');
  }

  async describeTopic(topic: string): Promise<TopicDescription> {
    return this.#calls.get(pathOf('topics', topic));
  }

  /** Adds partitions. Keyed records go elsewhere from then on. @param count how many there are to be in all */
  async createPartitions({
    topicPartitions,
  }: {
    topicPartitions: readonly { readonly topic: string; readonly count: number }[];
  }): Promise<TopicChange[]> {
    const changes: TopicChange[] = [];
    for (const { topic, count } of list('topicPartitions', topicPartitions)) {
      await this.describeTopic(topic); // a PUT would make one that does not exist
      changes.push(await this.#put(topic, { partitions: count }));
    }
    return changes;
  }

  /** @param retentionMs at least an hour; −1: for ever */
  async setRetention({ topic, retentionMs }: { topic: string; retentionMs: number }): Promise<TopicChange> {
    await this.describeTopic(topic);
    return this.#put(topic, { retentionMs });
  }

  /** Changes what is given; null takes a quota or a bound on lag away. */
  async alterTopic(wanted: TopicSettings): Promise<TopicChange> {
    known("'alterTopic'", wanted, TOPIC_SETTINGS);
    const { topic, numPartitions, ...settings } = wanted;
    await this.describeTopic(topic);
    return this.#put(topic, { partitions: numPartitions, ...settings });
  }

  async deleteTopics({ topics }: { topics: readonly string[] }): Promise<void> {
    for (const topic of list('topics', topics)) await this.#calls.delete(pathOf('topics', topic), 'topic_not_found');
  }

  /** Of all partitions, exactly. */
  async fetchTopicOffsets(topic: string): Promise<PartitionOffsets[]> {
    const { partitions } = await this.#calls.get<{
      partitions: { partition: number; logStartOffset: number; highWatermark: number; logEndOffset: number }[];
    }>(pathOf('topics', topic, 'partitions'));
    return partitions.map(({ partition, logStartOffset, highWatermark, logEndOffset }) => ({
      ...{ partition, offset: highWatermark, high: highWatermark, low: logStartOffset, logEndOffset },
    }));
  }

  /** Of all partitions, the first record appended at or after that time. */
  async fetchTopicOffsetsByTimestamp(
    topic: string,
    at: OffsetTime = 'latest',
  ): Promise<{ readonly partition: number; readonly offset: number }[]> {
    const query = { at: typeof at === 'string' ? at : rfc3339(at) };
    const path = pathOf('topics', topic, 'offsets');
    return (await this.#calls.get<{ offsets: { partition: number; offset: number }[] }>(path, query)).offsets;
  }

  async listGroups(): Promise<GroupSummary[]> {
    return this.#calls.list(pathOf('groups'), 'groups');
  }

  async describeGroup(groupId: string): Promise<GroupDescription> {
    return this.#calls.get(pathOf('groups', groupId));
  }

  /** What a group has committed. Partitions without a committed offset are not among them. */
  async fetchOffsets({
    groupId,
    topics,
  }: {
    groupId: string;
    topics?: readonly string[];
  }): Promise<CommittedOffsets[]> {
    const { offsets } = await this.describeGroup(groupId);
    const byTopic = new Map<string, CommittedOffsets['partitions'][number][]>();
    for (const { topic, partition, committed, metadata } of offsets) {
      if (typeof committed !== 'number' || topics?.includes(topic) === false) continue;
      const partitions = byTopic.get(topic) ?? [];
      byTopic.set(topic, partitions);
      partitions.push({ partition, offset: committed, ...(metadata !== undefined && { metadata }) });
    }
    return [...byTopic].map(([topic, partitions]) => ({ topic, partitions }));
  }

  /** Sets where a group goes on. @throws {ApiError} `group_active` while it has live members */
  async setOffsets(set: {
    groupId: string;
    topic: string;
    partitions: readonly { readonly partition: number; readonly offset: number }[];
  }): Promise<void> {
    const byOffset = new Map<number, number[]>();
    for (const { partition, offset } of list('partitions', set.partitions)) {
      byOffset.set(offset, [...(byOffset.get(offset) ?? []), partition]);
    }
    for (const [offset, partitions] of byOffset) {
      await this.resetOffsets({ groupId: set.groupId, topic: set.topic, partitions, to: { offset } });
    }
  }

  /**
   * Sets where a group goes on, by position or time. @throws {ApiError} `group_active` while it has live members
   * @param partitions default: all
   */
  async resetOffsets(reset: {
    groupId: string;
    topic: string;
    partitions?: readonly number[];
    to: OffsetTarget;
  }): Promise<{ readonly topic: string; readonly partition: number; readonly offset: number }[]> {
    const { groupId, topic, partitions, to } = reset;
    const path = pathOf('groups', groupId, 'offsets');
    return (await this.#calls.send<{ offsets: [] }>('PUT', path, { topic, partitions, to: targetOf(to) })).offsets;
  }

  async deleteGroups(groupIds: readonly string[]): Promise<void> {
    for (const groupId of list('groupIds', groupIds))
      await this.#calls.delete(pathOf('groups', groupId), 'group_not_found');
  }

  /** One page; go on with `nextToken`. */
  async listDeadLetters({ groupId, since, ...query }: DeadLetterQuery): Promise<{
    readonly deadLetters: readonly DeadLetter[];
    readonly nextToken?: string;
  }> {
    const path = pathOf('groups', groupId, 'dead-letters');
    return this.#calls.get(path, { ...query, since: since === undefined ? undefined : rfc3339(since) });
  }

  /** @throws {ApiError} `dead_letter_not_found` */
  async getDeadLetter({ groupId, id }: { groupId: string; id: string }): Promise<DeadLetter> {
    return this.#calls.get(pathOf('groups', groupId, 'dead-letters', id), {});
  }

  /** @param groupId of a group, or a subscription: its name is its group's */
  async deleteDeadLetter({ groupId, id }: { groupId: string; id: string }): Promise<void> {
    await this.#calls.delete(pathOf('groups', groupId, 'dead-letters', id), 'dead_letter_not_found');
  }

  /**
   * Gives dead letters back: to the target, or in the polls of the group's members. One attempt: a second one would give back once more what has failed again meanwhile.
   *
   * @returns how many; `more`: the filter may find others, call again
   */
  async redriveDeadLetters({ groupId, filter, ...wish }: Redrive): Promise<{
    readonly redriving: number;
    readonly more: boolean;
  }> {
    const { since, ...rest } = filter ?? {};
    const found = filter && { ...rest, since: since === undefined ? undefined : rfc3339(since) };
    return this.#calls.once('POST', pathOf('groups', groupId, 'dead-letters', 'redrive'), { ...wish, filter: found });
  }

  /** Makes an API key: `key` is shown here and never again. Tried once: a second time would make another. */
  async createApiKey({ expiresAt, ...wish }: NewApiKey): Promise<ApiKeyDescription & { readonly key: string }> {
    const until = expiresAt === undefined ? undefined : new Date(rfc3339(expiresAt)).getTime();
    return this.#calls.once('POST', pathOf('api-keys'), { ...wish, expiresAt: until });
  }

  /** By age. */
  async listApiKeys(): Promise<ApiKeyDescription[]> {
    return this.#calls.list(pathOf('api-keys'), 'apiKeys');
  }

  /** Within a minute the key is worth nothing. */
  async revokeApiKey(id: string): Promise<void> {
    await this.#calls.delete(pathOf('api-keys', id), 'api_key_not_found');
  }

  async #find(topic: string): Promise<TopicDescription | undefined> {
    try {
      return await this.describeTopic(topic);
    } catch (error) {
      if (error instanceof ApiError && error.code === 'topic_not_found') return undefined;
      throw error;
    }
  }

  #put(topic: string, settings: { partitions?: number | undefined } & Omit<TopicSettings, 'topic' | 'numPartitions'>) {
    return this.#calls.send<TopicChange>('PUT', pathOf('topics', topic), settings);
  }
}
