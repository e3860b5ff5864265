import type { Delivered } from '../../../shared/domain/delivery.ts';
import { BackboneError } from '../../../shared/domain/errors.ts';
import type { SubscriptionWish } from '../../../shared/operations/put-subscription.ts';
import { make, recreate } from '../administrators.ts';
import { produce } from '../producers.ts';
import { Run } from '../run.ts';
import type { Host } from '../simulator/host.ts';
import type { World } from '../simulator/world.ts';
import { actOnKeys, grow, pause, redrive, resubscribe, resume, rethink, seek, subscribe } from './administrators.ts';
import { Background } from './background.ts';
import type { PushSituation } from './coverage.ts';
import { drain } from './drain.ts';
import type { PushEnvironment } from './environments.ts';
import type { PushViolation } from './history.ts';
import { openPush, type PushPorts } from './ports.ts';
import { PushRecorder } from './recorder.ts';
import { SimulatedTarget } from './targets.ts';
import { WakeService } from './wake-service.ts';

/** Refusals that administrators may meet; they know what to do. */
const EXPECTED: ReadonlySet<string> = new Set([
  ...[
    'unavailable',
    'throttled',
    'topic_not_found',
    'subscription_not_found',
    'offset_out_of_range',
    'group_not_found',
  ],
]);
/** Copies of a topic's settings are this old at most: by then everybody knows of the subscription. */
const KNOWN_MS = 12_000;

const SITUATION_OF: Readonly<Record<Delivered['kind'], PushSituation>> = {
  done: 'delivered',
  part: 'target took a part',
  failed: 'failed without a name',
  away: 'target away',
  cannot: 'target without permission',
  gone: 'target gone',
  too_large: 'record too large',
};

/** One history of subscriptions: records are produced and pushed while all goes wrong, and in the end all are there. */
export class PushRun extends Run {
  declare readonly environment: PushEnvironment;
  readonly seen: PushRecorder;
  readonly service: WakeService;
  readonly background: Background;
  readonly faults: PushViolation[] = [];
  /** By name of their subscriptions. */
  readonly targets = new Map<string, SimulatedTarget>();
  readonly wishes = new Map<string, SubscriptionWish>();
  /** Subscriptions that were asked for, and nobody said that they are made. */
  readonly unsubscribed = new Set<string>();
  /** How wrong a clock was. */
  skewMs = 0;
  /** Makes a new host's deliveries wrong on purpose. */
  sabotage: (ports: PushPorts, host: Host) => void = () => {};
  /** Makes a new process of a function wrong on purpose. */
  spoil: (host: Host) => void = () => {};

  constructor(world: World, environment: PushEnvironment) {
    super(world, environment);
    this.seen = new PushRecorder(world);
    const { lost, doubled, late, undone, concurrency } = environment;
    const habits = { lost, doubled, late, undone, concurrency };
    this.service = new WakeService(world.scheduler, this.random, habits, (situation) => this.saw(situation));
    this.background = new Background(this);
    this.service.work = (message) => this.background.deliver(message);
    this.service.onDeadLetter = (body) => this.seen.tell(body);
    const { onChange } = world;
    world.onChange = (change) => {
      onChange(change);
      this.seen.take(change);
      this.background.take(change);
    };
  }

  /** Subscriptions whose targets are in no mood. */
  get prompt(): readonly string[] {
    return this.environment.boundMs === undefined ? [] : ['s0'];
  }

  override async play(): Promise<void> {
    const { random, environment } = this;
    for (let i = random.between(2, 4); i > 0; i--) this.startHost();
    await make(this, 'orders', { partitions: environment.partitions, retentionMs: environment.retentionMs });
    this.topics.push('orders');
    if (random.chance(0.5)) await produce(this);
    for (let i = 0; i < environment.subscriptions; i++) {
      const name = `s${i}`;
      const target = new SimulatedTarget(this, name);
      if (this.prompt.includes(name)) target.mood = environment.mood ?? 'good';
      this.targets.set(name, target);
      const wish = this.#drawWish(name);
      this.wishes.set(name, wish);
      await subscribe(this, name, wish);
    }
    void this.background.sweep();
    if (environment.sources.length === 1) await this.sleep(KNOWN_MS);
    for (let phases = random.between(2, 3); phases > 0; phases--) {
      await this.#phase();
      await this.#pause(random.pick(environment.pausesMs));
    }
    await drain(this);
  }

  override startHost(): Host {
    const host = this.world.isCalm ? this.world.start(0) : super.startHost();
    this.equip(host);
    return host;
  }

  /** Gives a host what deliveries need. */
  equip(host: Host): void {
    const ports = openPush(host, {
      world: this.world,
      service: this.service,
      callOf:
        ({ group, timeoutMs }) =>
        (batch, deadline) =>
          this.targets.get(group.name)!.send(host, batch, timeoutMs, deadline),
      aside: (from, wakeUp) => this.background.aside(from, wakeUp),
      noteSkew: (ms) => {
        this.skewMs = Math.max(this.skewMs, ms);
      },
      ...{ sources: this.environment.sources, keys: this.environment.keys },
    });
    this.sabotage(ports, host);
  }

  saw(situation: PushSituation): void {
    this.world.coverage.count(situation);
  }

  count(told: Delivered): void {
    if (told.kind === 'failed' && told.error.name === 'timeout') this.saw('target hung');
    else this.saw(told.kind === 'failed' && told.at !== undefined ? 'failed at a record' : SITUATION_OF[told.kind]);
  }

  /** Lets a delivery die or stand still while its target works. */
  harmInCall(host: Host): void {
    const { random, world, environment } = this;
    if (world.isCalm) return;
    const moment = random.pick([random.between(0, 60), random.between(0, 4_000)]);
    if (random.chance(environment.dies)) {
      world.scheduler.after(moment, '', () => {
        if (!host.alive) return;
        this.saw('delivery died in a call');
        world.crash(host);
      });
    } else if (random.chance(environment.standsStill)) {
      this.saw('delivery stood still in a call');
      world.scheduler.after(moment, '', () =>
        world.freeze(host, random.pick([2_000, 20_000, 40_000, 80_000, 16 * 60_000])),
      );
    }
  }

  /** Notes a refusal that nobody should meet. */
  refused(code: string): void {
    if (!EXPECTED.has(code)) this.faults.push({ kind: 'unexpected error', what: code });
  }

  override unexpected(error: unknown): void {
    if (error instanceof BackboneError && error.code !== 'internal') return;
    if (error instanceof Error && error.name === 'WriteFailed') return;
    super.unexpected(error);
  }

  #drawWish(name: string): SubscriptionWish {
    const { random, environment } = this;
    const isPrompt = this.prompt.includes(name);
    const [minBackoffMs, maxBackoffMs] = random.pick(environment.backoffsMs);
    const filter = random.chance(environment.filtered)
      ? { filter: JSON.stringify({ every: random.between(2, 4) }) }
      : {};
    return {
      topics: ['orders'],
      target: { lambda: { functionArn: `arn:aws:lambda:eu-west-1:000000000000:function:${name}` } },
      from: random.chance(environment.latest) ? 'latest' : 'earliest',
      batch: { maxRecords: isPrompt ? 100 : random.pick([1, 3, 10, 100]) },
      timeoutMs: random.pick(environment.timeoutsMs),
      retry: { maxAttempts: random.between(1, 3), minBackoffMs, maxBackoffMs },
      onFailure: random.chance(environment.halting) ? 'halt' : this.#parks() ? 'park' : 'deadLetter',
      haltAfterDeadLetters: random.pick(environment.haltsAfter),
      ...filter,
    };
  }

  #parks(): boolean {
    return this.environment.parking > 0 && this.random.chance(this.environment.parking);
  }

  async #phase(): Promise<void> {
    const { random, environment, world } = this;
    const until = world.now + random.between(...environment.phaseMs);
    const at = (act: () => Promise<unknown>) => this.sleep(random.between(0, until - world.now)).then(act);
    const work: Promise<unknown>[] = [];
    const names = [...this.targets.keys()];
    const maybe = (chance: number, act: (name: string) => Promise<unknown>) => {
      const name = random.pick(names);
      if (random.chance(chance)) work.push(at(() => act(name)));
    };
    for (const [name, target] of this.targets) {
      if (!this.prompt.includes(name)) work.push(this.#moods(target, until));
    }
    for (let i = random.between(...environment.appends); i > 0; i--) work.push(at(() => produce(this)));
    maybe(environment.pauses, (name) => pause(this, name));
    maybe(environment.pauses, (name) => resume(this, name));
    maybe(environment.seeks, (name) => seek(this, name));
    maybe(environment.resubscribed, (name) => resubscribe(this, name, this.#drawWish(name)));
    for (let i = environment.redrives > 0 ? 3 : 0; i > 0; i--) {
      maybe(environment.redrives, (name) => redrive(this, name));
    }
    for (let i = environment.acts > 0 ? 3 : 0; i > 0; i--) maybe(environment.acts, (name) => actOnKeys(this, name));
    for (let i = environment.rethought > 0 ? 3 : 0; i > 0; i--)
      maybe(environment.rethought, (name) => rethink(this, name));
    maybe(environment.grow, () => grow(this));
    maybe(environment.recreate, async () => {
      await recreate(this);
      for (const name of names) await subscribe(this, name, { topics: ['orders'] });
    });
    await Promise.all(work);
  }

  async #moods(target: SimulatedTarget, until: number): Promise<void> {
    const { random, environment, world } = this;
    for (let changes = random.between(1, environment.changes); changes > 0; changes--) {
      target.mood = random.pick(environment.moods);
      world.scheduler.note(() => `${target.name} is ${target.mood}`);
      await this.sleep(random.between(0, (until - world.now) / changes));
    }
    await this.sleep(until - world.now);
  }

  async #pause(ms: number): Promise<void> {
    for (let parts = 3; parts > 0; parts--) {
      await this.sleep(ms / 3);
      await this.world.expireSome(this.random.pick([0, 0.3, 1]));
    }
  }
}
