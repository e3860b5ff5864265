import { Throttled, TopicNotFound, Unavailable } from '../../shared/domain/errors.ts';
import { RETENTION_FOREVER } from '../../shared/domain/limits.ts';
import type { PartitionBounds } from '../../shared/operations/partition-bounds.ts';
import { describePartitions } from '../../shared/operations/partitions.ts';
import { putTopic } from '../../shared/operations/topics.ts';
import { parseHeadKey, parseLogItemKey } from '../../shared/store/keys.ts';
import { make, reconfigure, recreate, throttle } from './administrators.ts';
import { checkHistory } from './check-history.ts';
import { askBounds, boundsWithTopic, Reader } from './consumers.ts';
import type { Situation } from './coverage.ts';
import { type Environment, environmentOf, skewOf } from './environments.ts';
import { Follower } from './follower.ts';
import type { BoundsCall, History, Violation } from './history.ts';
import { prepare } from './preparers.ts';
import { crowd, produce } from './producers.ts';
import { codeOf, Recorder } from './recorder.ts';
import type { Host } from './simulator/host.ts';
import { Model } from './simulator/model.ts';
import type { Random } from './simulator/random.ts';
import { NoEnd } from './simulator/scheduler.ts';
import type { Change, DynamoModel } from './simulator/tables.ts';
import { World, type WorldOptions } from './simulator/world.ts';
import { sweepAll, sweepOnce } from './sweeper.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A run that takes more has lost its way. */
const EVENTS_MAX = 200_000;
/** At the end of a run the same is asked this often at most. */
const READS_MAX = 1_000;

export interface Ran {
  readonly seed: number;
  readonly environment: string;
  readonly violations: readonly Violation[];
  readonly history: History;
  readonly situations: readonly (readonly [Situation, number])[];
  readonly trace: readonly string[];
}

export interface RunOptions extends Pick<WorldOptions, 'traced' | 'sabotage'> {
  /** Instead of the one that the seed stands for. */
  readonly environment?: Environment;
  /** Instead of one of its own. */
  readonly dynamodb?: DynamoModel;
}

/** Runs the history that a seed stands for, and judges it. The same seed gives the same run, whatever ran before it. */
export async function runSeed(seed: number, options: RunOptions = {}): Promise<Ran> {
  const environment = options.environment ?? environmentOf(seed);
  const dynamodb = options.dynamodb ?? new Model();
  await dynamodb.empty();
  const { habits, spillAboveBytes } = environment;
  const world = new World(dynamodb, { habits, spillAboveBytes, ...options, seed });
  const run = new Run(world, environment);
  const violations: Violation[] = [];
  try {
    await world.scheduler.run(run.play(), EVENTS_MAX);
  } catch (error) {
    if (!(error instanceof NoEnd)) throw error;
    violations.push({ kind: 'no end', what: error.message });
  }
  const history = run.recorder.history(2 * environment.skewMs + 2_000);
  violations.push(...run.violations, ...checkHistory(history));
  const situations = [...world.coverage.counts];
  return { seed, environment: environment.name, violations, history, situations, trace: world.scheduler.trace ?? [] };
}

/** One history: phases in which everybody is busy, pauses between them, and an end at which all must be readable. */
export class Run {
  readonly world: World;
  readonly environment: Environment;
  readonly recorder: Recorder;
  readonly random: Random;
  readonly topics: string[] = [];
  readonly violations: Violation[] = [];
  /** Shortest retention that any topic of this run may have, ms. */
  shortestRetentionMs: number;
  readonly #follower: Follower;
  #readers: Reader[] = [];
  #names = 0;

  constructor(world: World, environment: Environment) {
    this.world = world;
    this.environment = environment;
    this.random = world.random;
    this.recorder = new Recorder(world);
    this.#follower = new Follower(this);
    world.onChange = (change) => {
      this.#follower.take(change);
      this.#noticePurge(change);
    };
    const { retentionMs, reconfigure } = environment;
    const shortest = retentionMs === RETENTION_FOREVER ? Number.POSITIVE_INFINITY : retentionMs;
    this.shortestRetentionMs = reconfigure > 0 ? HOUR : shortest;
  }

  async play(): Promise<void> {
    const { random, environment } = this;
    for (let i = random.between(2, 4); i > 0; i--) this.startHost();
    await make(this, 'orders', { partitions: environment.partitions, retentionMs: environment.retentionMs });
    this.topics.push('orders');
    for (const from of [0, undefined, random.between(1, 6)]) this.#addReader(from);
    for (let phases = random.between(2, 3); phases > 0; phases--) {
      await this.#phase();
      await this.#pause(random.pick(environment.pausesMs));
    }
    await this.#end();
  }

  sleep(ms: number): Promise<void> {
    return this.world.scheduler.sleep(ms);
  }

  nextName(): string {
    return `a${++this.#names}`;
  }

  anyTopic(): string {
    return this.random.pick(this.topics);
  }

  startHost(): Host {
    return this.world.start(skewOf(this.environment, this.random));
  }

  /** A host that takes calls: one that stands still takes them, too, now and then. */
  anyHost(): Host {
    while (this.world.hosts.length < 2) this.startHost();
    const host = this.random.pick(this.world.hosts);
    return host.frozen && this.random.chance(0.8) ? this.startHost() : host;
  }

  /** Lets a host die or stand still at some moment of the call that begins now. */
  harm(host: Host): void {
    const { random, world, environment } = this;
    if (world.isCalm) return;
    const moment = random.chance(0.7) ? random.between(0, 60) : random.between(0, 3_000);
    if (random.chance(environment.crash)) {
      world.scheduler.after(moment, '', () => {
        if (host.alive) world.crash(host);
      });
    } else if (random.chance(environment.freeze)) {
      const ms = random.pick([500, 1_200, 2_500, 10_000, 5 * MINUTE, 16 * MINUTE, 40 * MINUTE, 65 * MINUTE, 2 * HOUR]);
      world.scheduler.after(moment, '', () => world.freeze(host, ms));
    }
  }

  /** Asks for bounds and notes them. */
  async bounds(
    topic: string,
    host: Host,
    ask: (topic: string) => Promise<readonly PartitionBounds[]>,
    of: BoundsCall['of'] = 'partitions',
  ): Promise<readonly PartitionBounds[] | undefined> {
    const begin = this.world.now;
    const told = await this.world.call(host, () => boundsWithTopic(host, topic, ask));
    if (told === 'nothing') return undefined;
    if ('error' in told) {
      this.unexpected(told.error);
      return undefined;
    }
    const { topicId, bounds } = told.answer;
    if (topicId === undefined) return undefined;
    for (const { partition, logStartOffset, highWatermark } of bounds) {
      const call = { of, topicId, partition, begin, end: this.world.now };
      this.recorder.bounds.push({ ...call, logStart: logStartOffset, highWatermark });
    }
    return bounds;
  }

  /** Notes an error that a reader, or whoever asks, should not meet. */
  unexpected(error: unknown): void {
    if (error instanceof Throttled || error instanceof Unavailable || error instanceof TopicNotFound) return;
    this.violations.push({ kind: 'unexpected error', what: codeOf(error) });
  }

  #addReader(from?: number): void {
    const partition = this.random.between(0, this.environment.partitions - 1);
    this.#readers.push(new Reader(this, `r${this.#readers.length}`, 'orders', partition, from));
  }

  async #phase(): Promise<void> {
    const { random, environment } = this;
    const work: Promise<unknown>[] = [];
    for (let i = random.between(2, 5); i > 0; i--) {
      const append = environment.prepared > 0 && random.chance(environment.prepared) ? prepare : produce;
      work.push(this.sleep(random.between(0, 2_500)).then(() => append(this)));
    }
    if (random.chance(environment.crowd)) work.push(crowd(this));
    if (!random.chance(environment.unread)) {
      for (const reader of this.#readers) work.push(reader.reads(random.between(1, 5)));
      for (let i = random.between(1, 3); i > 0; i--) work.push(askBounds(this));
    }
    if (random.chance(environment.throttled)) work.push(throttle(this));
    if (random.chance(environment.recreate)) work.push(recreate(this), sweepOnce(this));
    if (random.chance(environment.reconfigure)) work.push(reconfigure(this));
    await Promise.all(work);
    if (random.chance(0.5)) this.#addReader(random.chance(0.5) ? 0 : undefined);
  }

  async #pause(ms: number): Promise<void> {
    if (ms >= 20 * MINUTE) this.world.coverage.count('hours passed');
    const until = this.world.now + ms;
    for (let parts = 3; parts > 0; parts--) {
      await this.sleep(Math.max(0, (until - this.world.now) / parts));
      await this.world.expireSome(this.random.pick([0, 0.3, 1]));
      if (this.random.chance(0.5)) await sweepOnce(this);
    }
  }

  /** All calm: whatever is on its way lands, and then everything that was stored can be read, up to the end. */
  async #end(): Promise<void> {
    const { world, environment } = this;
    await this.sleep(17 * MINUTE);
    world.calm();
    const host = world.start(0);
    const told = await world.call(host, () => putTopic(host.backbone, 'orders', {}));
    if (told === 'nothing' || 'error' in told) throw new Error('the calm world does not answer');
    const { id, partitions } = told.answer.topic;
    this.recorder.retained(id, environment.retentionMs);
    // A reader that comes before anybody has moved `settled` meets the gaps that are left.
    for (let partition = 0; partition < partitions; partition++) {
      const reader = new Reader(this, `first${partition}`, 'orders', partition, 0);
      for (let reads = 0; reads < 3; reads++) await reader.read(host);
    }
    const ask = () => this.bounds('orders', host, (topic) => describePartitions(host.backbone, topic));
    let bounds = await ask();
    // Each call puts 100 voids at most, so it may take several until everything is settled.
    for (let calls = 0; calls < READS_MAX && bounds?.some((b) => b.highWatermark < b.logEndOffset); calls++)
      bounds = await ask();
    for (let partition = 0; partition < partitions; partition++) {
      const { logStartOffset = 0, highWatermark = 0, logEndOffset = 0 } = bounds?.[partition] ?? {};
      if (highWatermark < logEndOffset) {
        this.violations.push({ kind: 'no end', what: `${partition}: ${highWatermark} of ${logEndOffset} settled` });
      }
      const reader = new Reader(this, `last${partition}`, 'orders', partition, logStartOffset);
      for (let reads = 0; reader.position < logEndOffset && reads < READS_MAX; reads++) await reader.read(host);
      if (reader.position < logEndOffset) {
        this.violations.push({ kind: 'no end', what: `${partition}: read to ${reader.position} of ${logEndOffset}` });
      }
    }
    await this.#forget();
  }

  /** Nothing of a topic that is there goes but by its expiry, and none of its heads is closed. */
  #noticePurge({ table, before, after }: Change): void {
    const closed = table === 'state' && before?.closed === undefined && after?.closed !== undefined;
    const removed = table === 'log' && after === undefined && !this.world.isExpiring;
    if (!closed && !removed) return;
    const { topicId } = closed
      ? parseHeadKey({ pk: after.pk!.S!, sk: after.sk!.S! })
      : parseLogItemKey(before!.log!.S!, Number(before!.last!.N));
    if (this.world.mirror.topics.has(topicId)) this.violations.push({ kind: 'live topic purged', what: topicId });
  }

  /** Days later: what has expired is removed, whoever follows removals is done, and no payload is missing or left over. */
  async #forget(): Promise<void> {
    const { world } = this;
    for (const ms of [26 * HOUR, HOUR]) {
      await this.sleep(ms);
      await world.expireSome(1);
      this.violations.push(...(await sweepAll(this)));
      while (this.#follower.pending > 0) await this.sleep(1_000);
    }
    this.violations.push(...(await this.#follower.judge()));
  }
}
