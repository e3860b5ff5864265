import type { Backbone } from '../../functions/backbone.ts';
import type { Slot } from '../../shared/domain/slot.ts';
import { ENVIRONMENTS, type Environment } from './environments.ts';
import type { Host } from './simulator/host.ts';
import type { World } from './simulator/world.ts';

type Sabotage = (host: Host, world: World) => void;

/** Replaces methods of one port of a host; what is not named stays as it is. */
function replace<K extends keyof Backbone>(
  host: Host,
  port: K,
  make: (real: Backbone[K]) => Partial<Backbone[K]>,
): void {
  const real = host.backbone[port];
  const replaced = make(real);
  const proxy = new Proxy(real as object, {
    get(target, name) {
      if (Object.hasOwn(replaced as object, name)) return (replaced as Record<PropertyKey, unknown>)[name];
      const value = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  Object.assign(host.backbone, { [port]: proxy });
}

function like(name: string, changes: Partial<Environment> = {}): Environment {
  const environment = ENVIRONMENTS.find((candidate) => candidate.name === name);
  if (environment === undefined) throw new Error(`there is no environment '${name}'`);
  return { ...environment, ...changes };
}

const UPLOADS = like('uploads');
const RACE = like('key race', { keyed: 1, raced: 1 });

/**
 * Protocols that are broken on purpose, each by one wrong port of every host. The product has no switch for any of them.
 * `seedsMax`: among this many seeds, in an environment where it matters, the checker must have noticed.
 */
export const SABOTAGES: Readonly<
  Record<string, { readonly seedsMax: number; readonly environment: Environment; readonly break: Sabotage }>
> = {
  'a reader that ignores missing slots': {
    seedsMax: 60,
    environment: like('slow'),
    // To it, everything below the head's end is settled.
    break: (host) =>
      replace(host, 'heads', (heads) => ({
        read: async (partition) => {
          const head = await heads.read(partition);
          return head && { ...head, settled: head.next };
        },
      })),
  },
  'a fill without a condition': {
    seedsMax: 60,
    environment: like('slow'),
    break: (host) =>
      host.rewrite((operation, input) => (operation === 'PutItem' && 'append' in input.Item! ? without(input) : input)),
  },
  'a void without a condition': {
    seedsMax: 60,
    environment: like('slow'),
    break: (host) =>
      host.rewrite((operation, input) => (operation === 'PutItem' && 'void' in input.Item! ? without(input) : input)),
  },
  'a claim that is made after the fill': {
    seedsMax: 100,
    environment: RACE,
    break: (host, world) =>
      replace(host, 'claims', (claims) => ({
        make: async (...made) => {
          world.scheduler.after(200, '', () => host.wake(() => void claims.make(...made).catch(() => {})));
          return undefined;
        },
      })),
  },
  'a claim that is not moved before the next fill': {
    seedsMax: 60,
    environment: RACE,
    break: (host) => replace(host, 'claims', () => ({ replace: async () => true })),
  },
  'a claim that does not look who was first': {
    seedsMax: 60,
    environment: RACE,
    break: (host) =>
      host.rewrite((operation, input) => (operation === 'PutItem' && 'claim' in input.Item! ? without(input) : input)),
  },
  'a claim that compares no payloads': {
    seedsMax: 100,
    environment: like('keys', { reused: 0.6 }),
    break: (host) =>
      replace(host, 'claims', (claims) => ({
        read: async () => undefined,
        make: async (topicId, key, claim, now) => {
          const there = await claims.make(topicId, key, claim, now);
          return there?.fingerprint === claim.fingerprint ? there : undefined;
        },
      })),
  },
  'ascending voids': {
    seedsMax: 200,
    environment: like('crowd', { large: 0.05, pausesMs: [2_500] }),
    break: (host) => {
      // Where the walk stands by its last Query, and which offset it would have voided first.
      const from = new Map<string, number>();
      const voided = new Map<string, { readonly highest: number; readonly from: number }>();
      replace(host, 'log', (log) => ({
        read: (partition, offset, options) => {
          from.set(`${partition.topicId}.${partition.partition}`, offset);
          voided.delete(`${partition.topicId}.${partition.partition}`);
          return log.read(partition, offset, options);
        },
        putVoid: (partition, order, now, retentionMs) => {
          const name = `${partition.topicId}.${partition.partition}`;
          if (order.count !== 1 || order.previous.length > 0) return log.putVoid(partition, order, now, retentionMs);
          const range = voided.get(name) ?? { highest: order.last, from: from.get(name) ?? order.last };
          voided.set(name, range);
          const last = range.from + (range.highest - order.last);
          return log.putVoid(partition, { ...order, last: Math.min(last, range.highest) }, now, retentionMs);
        },
      }));
    },
  },
  'no late bound': {
    seedsMax: 200,
    environment: like('frozen', { freeze: 0.4, crash: 0, keyed: 0 }),
    break: (host) => {
      replace(host, 'heads', (heads) => ({ reserve: (p, id, what) => heads.reserve(p, id, what, () => false) }));
      replace(host, 'log', (log) => ({
        fill: (p, r, batch, _, spilled) => log.fill(p, r, batch, () => false, spilled),
      }));
    },
  },
  'heads that are not closed': {
    seedsMax: 100,
    environment: like('topics'),
    break: (host) => replace(host, 'heads', () => ({ close: async () => {} })),
  },
  'reservation ids that are used twice': {
    seedsMax: 60,
    environment: like('plain'),
    break: (host) => {
      const { newReservationId } = host.backbone;
      let id: string | undefined;
      Object.assign(host.backbone, {
        newReservationId: () => {
          const again = id;
          id = again === undefined ? newReservationId() : undefined;
          return again ?? id!;
        },
      });
    },
  },
  'a fenced writer that takes the void for its own batch': {
    seedsMax: 100,
    environment: like('skewed clocks', { skewMs: 30_000, crash: 0, unread: 0 }),
    break: (host) =>
      replace(host, 'log', (log) => ({
        fill: async (...filled): Promise<Slot | undefined> => {
          const found = await log.fill(...filled);
          return found?.kind === 'void' ? undefined : found;
        },
      })),
  },
  'a writer that takes a lost answer for a refusal': {
    seedsMax: 60,
    environment: like('harsh'),
    // The void that it could not put, it takes for put.
    break: (host) =>
      replace(host, 'log', (log) => ({
        putVoid: async (...order) => {
          const found = await log.putVoid(...order);
          return found?.kind === 'batch' ? undefined : found;
        },
      })),
  },
  'a prepared put without a condition': {
    seedsMax: 60,
    environment: like('prepared', { prepared: 1 }),
    break: (host) =>
      replace(host, 'log', (log) => ({
        put: (...what) => without(log.put(...what)) as unknown as ReturnType<typeof log.put>,
      })),
  },
  'prepared puts that are handed out with another reservation': {
    seedsMax: 60,
    environment: like('prepared', { prepared: 1 }),
    break: (host) =>
      replace(host, 'log', (log) => ({
        put: (partition, reservation, batch) => log.put(partition, { ...reservation, id: 'ab'.repeat(12) }, batch),
      })),
  },
  'a payload that nothing announces': {
    seedsMax: 40,
    environment: like('spilled'),
    break: (host) => replace(host, 'log', () => ({ putIntent: async () => {} })),
  },
  'a follower that does not look at the slot': {
    seedsMax: 20,
    environment: like('spilled'),
    break: (host) => replace(host, 'log', () => ({ find: async () => undefined })),
  },
  'a use of an upload that is noted after the fill': {
    seedsMax: 60,
    environment: UPLOADS,
    break: (host, world) =>
      replace(host, 'uploads', (uploads) => ({
        take: async (...taken) => {
          world.scheduler.after(500, '', () => host.wake(() => void uploads.take(...taken).catch(() => {})));
          return undefined;
        },
      })),
  },
  'an upload that is removed whoever has it': {
    seedsMax: 20,
    environment: UPLOADS,
    break: (host) =>
      host.rewrite((operation, input) =>
        operation === 'DeleteItem' && JSON.stringify(input.Key).includes('uploads#') ? without(input) : input,
      ),
  },
  'an upload that is taken unseen': {
    seedsMax: 20,
    environment: UPLOADS,
    break: (host) => replace(host, 'uploadObjects', () => ({ check: async () => 'as_announced' })),
  },
  'an upload that nobody watches': {
    seedsMax: 20,
    environment: UPLOADS,
    break: (host) => replace(host, 'uploads', () => ({ watch: async () => {} })),
  },
  'an upload that is announced whatever is there': {
    seedsMax: 100,
    environment: UPLOADS,
    break: (host) =>
      host.rewrite((operation, input) =>
        operation === 'PutItem' && 'usableUntil' in input.Item! ? without(input) : input,
      ),
  },
  'a sweep that believes every announcement': {
    seedsMax: 100,
    environment: like('slow'),
    break: (host) => replace(host, 'topicItems', () => ({ read: async () => undefined })),
  },
  'a high watermark that ignores missing slots': {
    seedsMax: 200,
    environment: like('slow', { unread: 0 }),
    break: (host) =>
      replace(host, 'log', (log) => ({
        // Outlines are read for bounds alone: each slot is made to look as if it began where the one before it ended.
        read: async (partition, offset, options) => {
          const { slots, more } = await log.read(partition, offset, options);
          if (!options.outline) return { slots, more };
          let from = offset;
          const joined = slots.map((slot) => {
            const count = Math.max(slot.count, slot.last - from + 1);
            from = slot.last + 1;
            return { ...slot, count };
          });
          return { slots: joined, more };
        },
      })),
  },
  'claims that outlive their topic': {
    seedsMax: 100,
    environment: like('topics', { keyed: 1, recreate: 1 }),
    break: (host) =>
      replace(host, 'claims', (claims) => ({
        read: (_, ...rest) => claims.read('topic', ...rest),
        make: (_, ...rest) => claims.make('topic', ...rest),
        replace: (_, ...rest) => claims.replace('topic', ...rest),
      })),
  },
};

function without({
  ConditionExpression: _,
  ReturnValuesOnConditionCheckFailure: __,
  ...input
}: Record<string, unknown>) {
  if (!('ExpressionAttributeValues' in input) && 'ExpressionAttributeNames' in input)
    delete input.ExpressionAttributeNames;
  return input;
}
