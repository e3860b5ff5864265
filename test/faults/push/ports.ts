import type { WakeUp } from '../../../shared/domain/wake-up.ts';
import type { DeliverPorts } from '../../../shared/operations/deliver-ports.ts';
import { Doorbell } from '../../../shared/operations/doorbell.ts';
import type { Lags } from '../../../shared/operations/measure-lag.ts';
import { PlanCache } from '../../../shared/operations/plan-cache.ts';
import { ProvenOffsets } from '../../../shared/operations/proven-offsets.ts';
import type { SubscriptionPorts } from '../../../shared/operations/subscription-ports.ts';
import type { CaughtUp } from '../../../shared/operations/sweep-wake-ups.ts';
import type { SubscribedTopics } from '../../../shared/operations/wake-subscribers.ts';
import { DeadLetterObjects } from '../../../shared/store/dead-letter-objects.ts';
import { DeadLetterQueue } from '../../../shared/store/dead-letter-queue.ts';
import { WakeQueue } from '../../../shared/store/wake-queue.ts';
import type { Host } from '../simulator/host.ts';
import { SimulatedClient } from '../simulator/sdk.ts';
import type { World } from '../simulator/world.ts';
import type { Source } from './environments.ts';
import { CallSink, openLetter } from './record-sink.ts';
import type { WakeService } from './wake-service.ts';

const ULID_LETTERS = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** Of a message that was taken: that its sender is not told. */
const ANSWERS_LOST = 0.01;

/** What a host's process has for deliveries: like its clients, once for its whole life. */
export interface PushPorts extends Omit<DeliverPorts, 'wakeQueue'>, Omit<SubscriptionPorts, keyof DeliverPorts> {
  readonly subscriptions: DeliverPorts['subscriptions'] & SubscriptionPorts['subscriptions'];
  readonly pending: Host['backbone']['pending'];
  readonly lanes: Host['backbone']['lanes'];
  readonly heads: Host['backbone']['heads'];
  readonly touched: Host['backbone']['touched'];
  readonly subscribers: Host['backbone']['subscribers'];
  readonly wakeQueue: WakeQueue;
  readonly caughtUp: CaughtUp;
  readonly lags: Lags;
  readonly subscribed: SubscribedTopics;
}

const known = new WeakMap<Host, PushPorts>();

/** @throws {Error} when the host has none */
export function portsOf(host: Host): PushPorts {
  const there = known.get(host);
  if (there === undefined) throw new Error(`${host.name} does not deliver`);
  return there;
}

export interface Opened {
  readonly world: World;
  readonly service: WakeService;
  readonly callOf: DeliverPorts['callOf'];
  readonly aside: (host: Host, wakeUp: WakeUp) => Promise<void>;
  readonly noteSkew: (ms: number) => void;
  readonly sources: readonly Source[];
  /** How many keys records have. */
  readonly keys: number;
}

/** Gives a host what deliveries need, over its own network. */
export function openPush(host: Host, { world, service, callOf, aside, noteSkew, sources, keys }: Opened): PushPorts {
  const sqs = new SimulatedClient(host, world.scheduler, {
    // Messages that are sent again are many enough: each of them may be sent on.
    fate: (...attempt) => ({ ...world.fate(...attempt), answerLost: world.chance() < ANSWERS_LOST && !world.isCalm }),
    arrive: (_, operation, input) => service.run(operation, input),
    chance: () => world.chance(),
    observed: () => {},
  }) as unknown as ConstructorParameters<typeof WakeQueue>[0];
  const newUlid = () =>
    Array.from({ length: 26 }, () => ULID_LETTERS[Math.floor(world.chance() * ULID_LETTERS.length)]).join('');
  const now = () => {
    const time = host.backbone.clock.now();
    noteSkew(Math.abs(time - world.now));
    return time;
  };
  const ports: PushPorts = {
    ...host.backbone,
    ...{ plans: new PlanCache(), proven: new ProvenOffsets() },
    ...{ newGroupId: newUlid, newMemberUlid: newUlid, newRunId: newUlid, newSecret: () => 'secret' },
    clock: { now },
    deadLetterObjects: new DeadLetterObjects(new SimulatedClient(host, world.scheduler, world) as never, 'bucket'),
    deadLetterQueue: new DeadLetterQueue(sqs, 'dead-letters'),
    wakeQueue: new WakeQueue(sqs, 'wake'),
    targets: { check: async () => ({}) },
    deliveries: { switch: async () => {} },
    callOf,
    openLetter: (value, offset) => openLetter(value, offset, keys),
    openCall: (room, { filter }) => new CallSink(room, filter, keys),
    aside: (wakeUp) => aside(host, wakeUp),
  };
  known.set(host, ports);
  // The sweep lives on what the doorbell notes, and must do without what it sends.
  const silent: PushPorts = Object.assign(Object.create(ports), { wakeQueue: { wake: async () => {} } });
  if (sources.includes('doorbell')) Object.assign(host.backbone, { doorbell: new Doorbell(ports) });
  else if (sources.includes('sweep')) Object.assign(host.backbone, { doorbell: new Doorbell(silent) });
  return ports;
}
