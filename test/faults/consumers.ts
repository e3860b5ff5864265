import { OffsetOutOfRange, TopicNotFound } from '../../shared/domain/errors.ts';
import { LATE_MAX_MS } from '../../shared/domain/limits.ts';
import type { BatchSlot } from '../../shared/domain/slot.ts';
import type { UploadId } from '../../shared/domain/upload.ts';
import type { PartitionBounds } from '../../shared/operations/partition-bounds.ts';
import { describePartitions, findOffsets } from '../../shared/operations/partitions.ts';
import { type ReadResult, readBatches } from '../../shared/operations/read-batches.ts';
import { getTopic } from '../../shared/operations/topics.ts';
import type { Situation } from './coverage.ts';
import type { Run } from './run.ts';
import type { Host } from './simulator/host.ts';
import { recordsOf } from './simulator/mirror.ts';
import type { Told } from './simulator/world.ts';

/** Reads one partition from somewhere on, as a consumer that keeps its own position. */
export class Reader {
  readonly #run: Run;
  readonly #name: string;
  readonly #topic: string;
  readonly #partition: number;
  #position: number | undefined;
  #topicId: string | undefined;

  constructor(run: Run, name: string, topic: string, partition: number, from?: number) {
    this.#run = run;
    this.#name = name;
    this.#topic = topic;
    this.#partition = partition;
    this.#position = from;
  }

  get position(): number {
    return this.#position ?? 0;
  }

  async reads(times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      await this.#run.sleep(this.#run.random.pick([0, 10, 300, 1_500, 2_200]));
      await this.read(this.#run.anyHost());
    }
  }

  /** Reads once. @returns whether it got any further */
  async read(host: Host): Promise<boolean> {
    const { random, world, recorder } = this.#run;
    this.#run.harm(host);
    if (this.#position === undefined && !(await this.#join(host))) return false;
    const from = this.#position!;
    const begin = world.now;
    const records: { offset: number; record: string }[] = [];
    const recordsMax = random.pick([1, 3, 100]);
    const values: { offset: number; upload: UploadId }[] = [];
    const take = (slot: BatchSlot, at: number) => {
      const base = slot.last - slot.count + 1;
      const names = slot.unreadable === undefined ? recordsOf(slot.batch) : [];
      const to = Math.min(slot.last + 1, at + recordsMax - records.length);
      for (let offset = at; offset < to; offset++) {
        records.push({ offset, record: names[offset - base] ?? `unreadable (${slot.unreadable})` });
        const upload = slot.uploads?.get(offset - base);
        if (upload !== undefined) values.push({ offset, upload });
      }
      return to;
    };
    const told = await world.call(host, async () => {
      const result = await readBatches(
        host.backbone,
        {
          topic: this.#topic,
          partition: this.#partition,
          offset: from,
          waitMs: random.pick([0, 0, 500, 2_500]),
          slotsMax: random.pick([1, 4, 50]),
          deadline: host.backbone.clock.now() + 20_000,
        },
        { take, isFull: () => records.length >= recordsMax },
      );
      const { uploadUrls, clock } = host.backbone;
      const links = values.map(async (value) => ({ ...value, url: await uploadUrls.get(value.upload, clock.now()) }));
      return { ...result, links: await Promise.all(links) };
    });
    if (told === 'nothing') return false;
    if ('error' in told) return this.#refused(told.error, begin);
    const { topicId, nextOffset } = told.answer;
    recorder.reads.push({
      reader: this.#name,
      topicId,
      partition: this.#partition,
      from,
      to: nextOffset,
      begin,
      end: world.now,
      records,
    });
    this.#count(told.answer, from);
    for (const link of told.answer.links) void this.#fetch(link);
    this.#topicId = topicId;
    this.#position = nextOffset;
    return nextOffset > from;
  }

  /** Fetches an uploaded value, at once or while the URL is still good. */
  async #fetch({ offset, upload, url }: { offset: number; upload: UploadId; url: string }): Promise<void> {
    const { random, world, recorder } = this.#run;
    await this.#run.sleep(random.pick([0, 0, 1_000, 50 * 60_000]));
    const { topicId, uploadId } = upload;
    // The values of a topic that is deleted go with it.
    if (!world.mirror.topics.has(topicId)) return;
    const got = world.get(url);
    world.coverage.count('uploaded value read');
    recorder.payloads.push({
      reader: this.#name,
      topicId,
      partition: this.#partition,
      offset,
      at: world.now,
      uploadId,
      expected: recorder.announced.get(uploadId) ?? '',
      ...(got !== 'missing' && { got: Buffer.from(got).toString() }),
    });
  }

  /** Where a new reader begins: at the end as it is told. */
  async #join(host: Host): Promise<boolean> {
    const find = async (topic: string) => {
      const found = await findOffsets(host.backbone, topic, 'latest');
      return found.map(({ partition, offset }) => {
        return { partition, logStartOffset: 0, highWatermark: offset, logEndOffset: offset };
      });
    };
    const offsets = await this.#run.bounds(this.#topic, host, find, 'latest');
    this.#position = offsets?.[this.#partition]?.highWatermark;
    return this.#position !== undefined;
  }

  /** What was below the log start is passed, as if it had been read. */
  #refused(error: unknown, begin: number): boolean {
    const { world, recorder } = this.#run;
    if (error instanceof OffsetOutOfRange) {
      world.coverage.count('offset out of range');
      const start = Number(error.data.logStartOffset);
      const from = this.#position!;
      const topicId = this.#topicId;
      this.#position = start;
      // After a topic was made anew the position means nothing.
      if (
        topicId === undefined ||
        this.#run.recorder.topics.some(({ topic, deleted }) => deleted && topic === this.#topic)
      )
        return true;
      recorder.reads.push({
        reader: this.#name,
        topicId,
        partition: this.#partition,
        from,
        to: Math.max(from, start),
        begin,
        end: world.now,
        records: [],
      });
      return start > from;
    }
    if (error instanceof TopicNotFound) this.#position = 0;
    else this.#run.unexpected(error);
    return false;
  }

  /** Why offsets without a slot were passed, and why the reader stopped. */
  #count({ topicId, nextOffset }: ReadResult, from: number): void {
    const { mirror, coverage, now } = this.#run.world;
    const held = mirror.held(topicId, this.#partition);
    const settled = mirror.settled.get(`${topicId}.${this.#partition}`) ?? 0;
    const passed = new Set<Situation>();
    for (let offset = from; offset < nextOffset; offset++) {
      if (held.some(({ base, last }) => base <= offset && offset <= last)) continue;
      const ageMs = now - (mirror.reservedAt(topicId, this.#partition, offset) ?? now);
      const retentionMs = this.#run.recorder.shortest.get(topicId) ?? Number.POSITIVE_INFINITY;
      if (ageMs >= retentionMs - 60_000) passed.add('expired gap');
      else if (offset < settled) passed.add('gap passed below settled');
      else if (ageMs > 2 * LATE_MAX_MS) passed.add('gap passed by its age');
    }
    for (const situation of passed) coverage.count(situation);
    const reserved = mirror.reservedAt(topicId, this.#partition, nextOffset);
    const ends = held.reduce((end, { last }) => Math.max(end, last + 1), 0);
    if (
      reserved !== undefined &&
      nextOffset < ends &&
      !held.some(({ base, last }) => base <= nextOffset && nextOffset <= last)
    ) {
      coverage.count('reader stopped before an unsettled offset');
    }
  }
}

/** Asks for the bounds of all partitions, again and again, as a dashboard does. */
export async function askBounds(run: Run): Promise<void> {
  for (let times = run.random.between(1, 5); times > 0; times--) {
    await run.sleep(run.random.between(0, 1_500));
    const host = run.anyHost();
    run.harm(host);
    await run.bounds(run.anyTopic(), host, (topic) => describePartitions(host.backbone, topic));
  }
}

/** Bounds say nothing of the incarnation: they count only when it was the same before and after. */
export async function boundsWithTopic(
  host: Host,
  topic: string,
  ask: (topic: string) => Promise<readonly PartitionBounds[]>,
): Promise<{ readonly topicId: string | undefined; readonly bounds: readonly PartitionBounds[] }> {
  const before = await getTopic(host.backbone, topic);
  const bounds = await ask(topic);
  const after = await getTopic(host.backbone, topic);
  return { topicId: before.id === after.id ? before.id : undefined, bounds };
}

export type ToldBounds = Told<Awaited<ReturnType<typeof boundsWithTopic>>>;
