import type { Clock } from '../domain/clock.ts';
import { Throttled, Unavailable } from '../domain/errors.ts';
import type { GroupId } from '../domain/group.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Position, PositionId } from '../domain/position.ts';
import type { MaxLag } from '../domain/quota.ts';
import { ConsumersBehind } from '../domain/quota-errors.ts';
import { LAG_LOOK_AGAIN_MS, LAG_MEASURE_MS, LAG_READS_PER_SECOND_MAX, LAG_TOPICS_MAX } from '../domain/quota-limits.ts';
import type { PartitionId, Topic } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';

/** Offsets by group name; `at`: epoch ms at which they were measured. */
interface Measured {
  readonly at: number;
  readonly groups: ReadonlyMap<string, number>;
}

export interface TopicLagPorts {
  readonly topicLags: {
    read(topicId: string): Promise<Measured | undefined>;
    begin(topicId: string, now: number, unlessSince: number): Promise<boolean>;
    put(topicId: string, lag: Measured): Promise<void>;
  };
  readonly groups: { read(name: string, strong: boolean): Promise<GroupId | undefined> };
  readonly positions: { read(p: PositionId, strong: boolean): Promise<Pick<Position, 'committed'> | undefined> };
  readonly heads: {
    read(p: PartitionId, strong: boolean): Promise<{ readonly next: number; readonly logStart: number } | undefined>;
  };
  readonly clock: Clock;
}

type LimitedTopic = Pick<Topic, 'id' | 'name' | 'partitions'>;

/** What this container knows of one topic. */
interface Known {
  measured: Measured;
  /** Epoch ms up to which nothing better is asked for. */
  goodUntil: number;
  asking?: Promise<void>;
}

const NOTHING: Measured = { at: 0, groups: new Map() };

/**
 * How far groups are behind whose lag appends wait for. It is measured while somebody appends, by one container for all,
 * and costs nothing otherwise; the others read what it found.
 */
export class GroupLags {
  readonly #ports: TopicLagPorts;
  readonly #known = new Map<string, Known>();

  constructor(ports: TopicLagPorts) {
    this.#ports = ports;
  }

  /** @throws {ConsumersBehind} What cannot be found out holds nobody up. */
  async refuseBehind(topic: LimitedTopic, maxLag: MaxLag): Promise<void> {
    const { clock } = this.#ports;
    const known = this.#of(topic);
    if (clock.now() >= known.goodUntil) {
      known.asking ??= this.#ask(topic, maxLag, known).finally(() => {
        delete known.asking;
      });
      await known.asking;
    }
    const { at, groups } = known.measured;
    // What is older is somebody else about to measure anew, or cannot be measured: it tells nothing any more.
    if (clock.now() - at >= 2 * intervalOf(topic, maxLag)) return;
    for (const group of maxLag.groups) {
      const lag = groups.get(group) ?? 0;
      if (lag <= maxLag.records) continue;
      const retryAfterMs = Math.max(LAG_LOOK_AGAIN_MS, Math.ceil(known.goodUntil - clock.now()));
      throw new ConsumersBehind(topic.name, group, lag, maxLag.records, retryAfterMs);
    }
  }

  async #ask(topic: LimitedTopic, maxLag: MaxLag, known: Known): Promise<void> {
    const { topicLags, clock } = this.#ports;
    const everyMs = intervalOf(topic, maxLag);
    const now = clock.now();
    known.goodUntil = now + LAG_LOOK_AGAIN_MS; // until something better is known
    try {
      const found = await topicLags.read(topic.id);
      if (found !== undefined) known.measured = found;
      const isWhole = found !== undefined && maxLag.groups.every((group) => found.groups.has(group));
      if (isWhole && now < found.at + everyMs) known.goodUntil = found.at + everyMs;
      else if (await topicLags.begin(topic.id, now, now - everyMs)) {
        known.measured = { at: now, groups: await this.#measure(topic, maxLag) };
        known.goodUntil = now + everyMs;
        await topicLags.put(topic.id, known.measured);
      }
    } catch (error) {
      const isPassing = error instanceof WriteFailed || error instanceof Throttled || error instanceof Unavailable;
      if (!isPassing) throw error;
    }
  }

  /** Half a read unit for each partition, and for each position. */
  async #measure(topic: LimitedTopic, { groups }: MaxLag): Promise<Map<string, number>> {
    const { heads, positions } = this.#ports;
    const found = await actOnAll(groups, (name) => this.#ports.groups.read(name, false));
    const partitions = Array.from({ length: topic.partitions }, (_, partition) => ({ topicId: topic.id, partition }));
    const lags = await actOnAll(partitions, async (partition) => {
      const [head, ...held] = await Promise.all([
        heads.read(partition, false),
        ...found.map((group) => group && positions.read({ group, ...partition }, false)),
      ]);
      return held.map((position) => lagOf(position, head));
    });
    return new Map(groups.map((name, i) => [name, lags.reduce((sum, each) => sum + each[i]!, 0)]));
  }

  #of({ id }: LimitedTopic): Known {
    const known = this.#known.get(id) ?? { measured: NOTHING, goodUntil: 0 };
    this.#known.set(id, known);
    if (this.#known.size > LAG_TOPICS_MAX) this.#known.delete(this.#known.keys().next().value!);
    return known;
  }
}

/** Offsets that are reserved, still kept, and not passed. A partition that the group has never had counts nothing. */
function lagOf(
  position: Pick<Position, 'committed'> | undefined,
  head: { readonly next: number; readonly logStart: number } | undefined,
): number {
  if (position === undefined || head === undefined) return 0;
  return Math.max(0, head.next - Math.max(position.committed, head.logStart));
}

/** Time between two measurements. */
function intervalOf({ partitions }: Pick<Topic, 'partitions'>, { groups }: MaxLag): number {
  const reads = partitions * (1 + groups.length) + groups.length;
  return Math.max(LAG_MEASURE_MS, (reads * 1_000) / LAG_READS_PER_SECOND_MAX);
}
