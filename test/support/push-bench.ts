import type { DeadLetter } from '../../shared/domain/dead-letter.ts';
import type { Delivered, DeliveryBatch } from '../../shared/domain/delivery.ts';
import { compileFilter } from '../../shared/domain/filter.ts';
import type { Position, PositionId } from '../../shared/domain/position.ts';
import type { Subscription } from '../../shared/domain/subscription.ts';
import type { Subscriber, WakeUp } from '../../shared/domain/wake-up.ts';
import { appendBatches } from '../../shared/operations/append-batches.ts';
import type { DeliverPorts } from '../../shared/operations/deliver-ports.ts';
import { deliverWakeUp } from '../../shared/operations/deliver-wake-up.ts';
import type { Doorbell } from '../../shared/operations/doorbell.ts';
import { PlanCache } from '../../shared/operations/plan-cache.ts';
import { ProvenOffsets } from '../../shared/operations/proven-offsets.ts';
import { CaughtUp, sweepWakeUps } from '../../shared/operations/sweep-wake-ups.ts';
import { DeadLetterObjects } from '../../shared/store/dead-letter-objects.ts';
import { openKeptRecord } from '../../shared/wire/dead-letter-delivery.ts';
import { DeliveryPart } from '../../shared/wire/delivery-part.ts';
import { encodeRecordBatch } from '../../shared/wire/record-batch.ts';
import { type Host, type LogBench, makeTopic, openLogBench } from './log-bench.ts';

/** What a target says to a batch. */
export type Script = (batch: DeliveryBatch, deadline: number) => Delivered | Promise<Delivered>;

/** A wake-up that was sent, and when it arrives, on the bench's clock. */
export interface Sent {
  readonly wakeUp: WakeUp;
  readonly at: number;
}

/** One process that delivers. */
export interface PushHost extends Host {
  readonly ports: DeliverPorts;
  /** The same, where those are served that may take long. */
  readonly aside: DeliverPorts;
}

export interface PushBench extends Omit<LogBench, 'host'> {
  host(): PushHost;
  /** Subscribes to topic `t`, which is made with so many partitions, from its first record on. */
  subscribe(name?: string, change?: Partial<Subscription>): Promise<Subscriber>;
  subscription(name?: string): Promise<Subscription>;
  position(partition?: number, name?: string): Promise<Position>;
  positionId(partition?: number, name?: string): PositionId;
  /** Appends one record each, of no key, or as `key=value`. @returns the offset of the first */
  append(values: readonly string[], partition?: number, doorbell?: Doorbell): Promise<number>;
  /** Appends so many records of one key, a thousand at a time. */
  appendMany(key: string, count: number): Promise<void>;
  /** What targets say, by subscription; absent: `done`. */
  readonly scripts: Map<string, Script>;
  /** Each call, as `name:partition first..last`, or `name:partition offset`. */
  readonly calls: string[];
  /** Offsets in the order in which each subscription was given them. */
  delivered(name?: string, partition?: number): number[];
  readonly queue: Sent[];
  readonly letters: DeadLetter[];
  /** Hands a wake-up to a delivery. */
  wake(wakeUp?: Partial<WakeUp>, by?: PushHost, isReturned?: boolean): Promise<void>;
  /** What the sweep does for lost wake-ups, by a process that knows nothing yet. @returns what went wrong */
  sweep(): Promise<unknown[]>;
  /** Works the queue off until nothing is left that is due within so long; the clock moves on to each. */
  drain(forMs?: number): Promise<void>;
}

/** Time that a delivery is given. */
const RUN_MS = 120_000;

export async function openPushBench({ partitions = 1 } = {}): Promise<PushBench> {
  const bench = await openLogBench();
  const first = bench.host();
  await makeTopic(first, 't', { partitions });
  const topic = await first.backbone.topics.fresh('t');
  const subscribers = new Map<string, Subscriber>();
  const scripts = new Map<string, Script>();
  const [calls, queue, letters]: [string[], Sent[], DeadLetter[]] = [[], [], []];
  const given = new Map<string, number[]>();
  let runs = 0;
  const send = async (batch: DeliveryBatch, deadline: number): Promise<Delivered> => {
    const { name } = batch.group;
    const offsets = batch.records.map(({ offset }) => offset);
    const [low, high] = [offsets[0]!, offsets.at(-1)!];
    calls.push(`${name}:${batch.partition} ${low}${high > low ? `..${high}` : ''}`);
    const key = `${name}:${batch.partition}`;
    given.set(key, [...(given.get(key) ?? []), ...offsets]);
    return (await scripts.get(name)?.(batch, deadline)) ?? { kind: 'done' };
  };
  const host = (): PushHost => {
    const opened = bench.host();
    const aside: DeliverPorts = {
      ...opened.backbone,
      plans: new PlanCache(),
      proven: new ProvenOffsets(),
      sleep: async (ms) => bench.clock.pass(Math.ceil(ms)),
      random: () => 0.5,
      deadLetterObjects: new DeadLetterObjects(bench.tables.s3, bench.tables.bucket),
      deadLetterQueue: { tell: async (_, letter) => void letters.push(letter) },
      wakeQueue: {
        wake: async (wakeUps, delayMs = 0) => {
          for (const wakeUp of wakeUps) queue.push({ wakeUp, at: bench.clock.now() + delayMs });
        },
      },
      callOf: () => send,
      openCall: (room, { filter }) =>
        new DeliveryPart(room, filter === undefined ? undefined : compileFilter(JSON.parse(filter))),
      openLetter: openKeptRecord,
      newRunId: () => `run${++runs}`,
    };
    const handOn = async (wakeUp: WakeUp) =>
      deliverWakeUp(aside, wakeUp, { isReturned: false, deadline: bench.clock.now() + RUN_MS });
    return { ...opened, ports: { ...aside, aside: handOn }, aside };
  };
  const usual = host();
  const positionId = (partition = 0, name = 's') => ({
    group: subscribers.get(name)!.group,
    topicId: topic.id,
    partition,
  });
  const wake: PushBench['wake'] = async (wakeUp = {}, by = usual, isReturned = false) => {
    const whole = { topicId: topic.id, partition: 0, hop: 0, ...wakeUp };
    await deliverWakeUp(by.ports, whole, { isReturned, deadline: bench.clock.now() + RUN_MS });
  };
  const appendBatch = async (
    records: readonly { readonly key: string | null; readonly value: string }[],
    partition = 0,
    doorbell?: Doorbell,
  ) => {
    const encoded = records.map(({ key, value }) => {
      return { key: key === null ? null : Buffer.from(key), value: Buffer.from(value), headers: [] };
    });
    const batch = { count: records.length, bytes: encodeRecordBatch(encoded, bench.clock.now()), json: false };
    const ports = { ...first.backbone, ...(doorbell && { doorbell }) };
    const { outcomes } = await appendBatches(ports, { topic: 't', build: () => new Map([[partition, batch]]) });
    const [outcome] = outcomes;
    if (outcome === undefined || 'error' in outcome) throw outcome?.error ?? new Error('no outcome');
    return outcome.baseOffset;
  };
  return {
    ...bench,
    host,
    ...{ scripts, calls, queue, letters, positionId, wake },
    delivered: (name = 's', partition = 0) => given.get(`${name}:${partition}`) ?? [],
    async subscribe(name = 's', change = {}) {
      const now = bench.clock.now();
      const group = { name, id: first.backbone.newGroupId() };
      await first.backbone.subscriptions.create({
        ...{ group, topics: ['t'], target: { lambda: { functionArn: 'f' } }, from: 'earliest', timeoutMs: 15_000 },
        batch: { maxRecords: 100, maxBytes: 1_048_576 },
        retry: { maxAttempts: 3, minBackoffMs: 500, maxBackoffMs: 60_000 },
        ...{ onFailure: 'deadLetter', haltAfterDeadLetters: 10, state: 'active' },
        ...{ createdAt: now, updatedAt: now, revision: 1 },
        ...change,
      });
      const to = { group, topic: 't', known: partitions };
      subscribers.set(name, to);
      for (let partition = 0; partition < partitions; partition++) {
        await first.backbone.positions.create({ group, topicId: topic.id, partition }, { epoch: now, committed: 0 });
      }
      await first.backbone.topicItems.markSubscribed(topic);
      first.backbone.topics.drop('t');
      await first.backbone.subscribers.put(topic.id, to);
      await first.backbone.groupTopics.note(group, topic);
      return to;
    },
    subscription: async (name = 's') => (await first.backbone.subscriptions.read(name))!,
    position: async (partition = 0, name = 's') => (await first.backbone.positions.read(positionId(partition, name)))!,
    async append(values, partition = 0, doorbell) {
      let base: number | undefined;
      for (const value of values) {
        const [, key, rest = value] = /^(\w+)=(.*)$/.exec(value) ?? [];
        const offset = await appendBatch([{ key: key ?? null, value: rest }], partition, doorbell);
        base ??= offset;
      }
      return base!;
    },
    async appendMany(key, count) {
      for (let left = count; left > 0; left -= 1_000)
        await appendBatch(Array.from({ length: Math.min(left, 1_000) }, (_, i) => ({ key, value: `${i}` })));
    },
    sweep: () => {
      const { touched, pending, heads, lags } = first.backbone;
      const ports = { ...host().ports, touched, pending, heads, lags, caughtUp: new CaughtUp() };
      return sweepWakeUps(ports, bench.clock.now() + RUN_MS);
    },
    async drain(forMs = 10_000) {
      const end = bench.clock.now() + forMs;
      for (let rounds = 0; rounds < 10_000; rounds++) {
        queue.sort((a, b) => a.at - b.at);
        const next = queue[0];
        if (next === undefined || next.at > end) return;
        queue.shift();
        bench.clock.pass(Math.max(0, next.at - bench.clock.now()));
        await wake(next.wakeUp);
      }
      throw new Error('the queue does not become empty');
    },
  };
}
