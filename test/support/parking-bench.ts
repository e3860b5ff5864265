import { expect } from 'vitest';
import type { Delivered, DeliveryBatch, DeliveryRecord } from '../../shared/domain/delivery.ts';
import type { Lane, LaneId, ParkedAct, ParkedKey } from '../../shared/domain/lane.ts';
import type { Subscription } from '../../shared/domain/subscription.ts';
import type { Subscriber } from '../../shared/domain/wake-up.ts';
import { appendBatches } from '../../shared/operations/append-batches.ts';
import { actOnParked, listParked, type ParkedPorts } from '../../shared/operations/parked-keys.ts';
import type { SubscriptionPorts } from '../../shared/operations/subscription-ports.ts';
import { laneOf } from '../../shared/wire/lane-of.ts';
import { encodeRecordBatch } from '../../shared/wire/record-batch.ts';
import { openPushBench, type PushBench, type PushHost } from './push-bench.ts';

export const error = { name: 'Error', message: 'no' };
export const RETRY = { maxAttempts: 2, minBackoffMs: 10, maxBackoffMs: 20_000 };

type Bytes = string | Uint8Array | null;
type Keyed = readonly [key: Bytes, value: Bytes];

/** A subscription `s` that parks keys, and whose target refuses, by name, the first record that is `bad`. */
export interface ParkingBench extends PushBench {
  /** Values that the target refuses; of a record that has none: `@offset`. */
  readonly bad: Set<string>;
  /** What the target took, in its order, by the same names. */
  readonly given: string[];
  /** Subscribes `s`. */
  park(change?: Partial<Subscription>): Promise<Subscriber>;
  answer(batch: DeliveryBatch): Delivered;
  /** Appends, delivers, and goes on for as long as what fails needs to be parked. */
  deliver(values: readonly string[]): Promise<void>;
  /** One slot of records. @returns its base offset */
  appendSlot(records: readonly Keyed[], of?: { readonly topic?: string; readonly partition?: number }): Promise<number>;
  /** Whom wake-ups of `s` are for. */
  to(topic?: string): Subscriber;
  laneId(key?: Bytes, partition?: number): LaneId;
  laneAt(key?: Bytes, partition?: number): Promise<Lane | undefined>;
  wakeLane(key?: Bytes, by?: PushHost): Promise<void>;
  /** The lane of a key that fails no more has come to where its partition is; nobody has been told. */
  getReady(key?: string): Promise<void>;
  /** The position has passed what lies before an offset, as its owner does it. */
  passTo(committed: number): Promise<void>;
  /** Changes the subscription, whatever it is. */
  turn(change: Partial<Subscription>): Promise<void>;
  /** All that is done to subscriptions by hand. */
  byHand(): SubscriptionPorts & ParkedPorts;
  list(): Promise<readonly ParkedKey[]>;
  act(what: ParkedAct): ReturnType<typeof actOnParked>;
  /** Lanes by whose marks the sweep finds them. */
  marks(): Promise<string[]>;
  /** @throws where anything is left of a parked key */
  expectNoneParked(): Promise<void>;
}

export async function openParkingBench(): Promise<ParkingBench> {
  const bench = await openPushBench();
  const { backbone, ports } = bench.host();
  const bad = new Set<string>();
  const given: string[] = [];
  const nameOf = ({ value, offset }: DeliveryRecord) => (value === null ? `@${offset}` : Buffer.from(value).toString());
  const answer = ({ records }: DeliveryBatch): Delivered => {
    const at = records.findIndex((record) => bad.has(nameOf(record)));
    given.push(...records.slice(0, at < 0 ? records.length : at).map(nameOf));
    return at < 0 ? { kind: 'done' } : { kind: 'failed', at: records[at]!.offset, error };
  };
  const byHand = () => {
    const deliveries = { switch: async () => {} };
    const targets = { check: async () => ({}) };
    return { ...backbone, ...ports, deliveries, targets, newSecret: () => 'secret' } as never;
  };
  const to = (topic = 't') => ({ group: bench.positionId().group, topic, known: 1 });
  const bytesOf = (bytes: Bytes) => (bytes === null ? null : Buffer.from(bytes));
  const laneId = (key: Bytes = 'K', partition = 0) => {
    return { ...bench.positionId(partition), lane: laneOf(bytesOf(key)!) };
  };
  const laneAt = async (key?: Bytes, partition?: number) =>
    (await backbone.positions.read(laneId(key, partition))) as Lane | undefined;
  const wakeLane = (key?: Bytes, by?: PushHost) => bench.wake({ lane: laneId(key).lane, to: to() }, by);
  const marks = async () =>
    (await backbone.pending.lanesOf(bench.positionId().group, 100)).items.map(({ lane }) => lane);
  return {
    ...bench,
    ...{ bad, given, answer, byHand, to, laneId, laneAt, wakeLane, marks },
    park: (change = {}) => {
      bench.scripts.set('s', answer);
      return bench.subscribe('s', { onFailure: 'park', retry: RETRY, ...change });
    },
    async deliver(values) {
      const first = await bench.append(values);
      await bench.wake({ last: first + values.length - 1 });
      await bench.drain(1_000);
    },
    async appendSlot(records, { topic = 't', partition = 0 } = {}) {
      const all = records.map(([key, value]) => ({ key: bytesOf(key), value: bytesOf(value), headers: [] }));
      const batch = { count: all.length, bytes: encodeRecordBatch(all, bench.clock.now()), json: false };
      const { outcomes } = await appendBatches(backbone, { topic, build: () => new Map([[partition, batch]]) });
      const [outcome] = outcomes;
      if (outcome === undefined || 'error' in outcome) throw outcome?.error ?? new Error('no outcome');
      return outcome.baseOffset;
    },
    async getReady(key) {
      bench.clock.pass(RETRY.maxBackoffMs);
      bench.queue.length = 0;
      await wakeLane(key);
      bench.queue.length = 0;
      expect((await laneAt(key))?.push).toMatchObject({ isReady: true });
    },
    async passTo(committed) {
      const seen = await bench.position();
      const passed = { ...seen, committed, epoch: seen.epoch + 1 };
      expect(await backbone.positions.change(bench.positionId(), seen, passed)).toBe(true);
    },
    async turn(change) {
      const seen = await bench.subscription();
      expect(await backbone.subscriptions.change(seen, { ...seen, ...change })).toBeDefined();
    },
    list: async () => (await listParked(byHand(), 's', { limit: 100 })).items,
    act: (act) => actOnParked(byHand(), 's', { act, deadline: bench.clock.now() + 27_000 }),
    marks,
    async expectNoneParked() {
      expect(await marks()).toEqual([]);
      expect((await bench.position()).parked).toBeUndefined();
    },
  };
}

/** A store of which some is done otherwise. */
export function instead<T extends object>(store: T, change: Partial<T>): T {
  return new Proxy(store, {
    get: (target, name) => {
      if (name in change) return Reflect.get(change, name);
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
