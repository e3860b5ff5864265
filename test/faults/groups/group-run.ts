import { BackboneError } from '../../../shared/domain/errors.ts';
import { sharesOf } from '../../../shared/domain/plan.ts';
import { make, recreate } from '../administrators.ts';
import { produce } from '../producers.ts';
import { Run } from '../run.ts';
import type { World } from '../simulator/world.ts';
import { commitFromOutside, grow, regroup, reset } from './administrators.ts';
import { massStart, spares } from './calm.ts';
import { drain } from './drain.ts';
import type { GroupEnvironment } from './environments.ts';
import { forget } from './forget.ts';
import type { GroupViolation } from './history.ts';
import { type Habits, Member, type Memory } from './member.ts';
import { watched } from './ports.ts';
import { GroupRecorder } from './recorder.ts';

const MINUTE = 60_000;
const INSTANCES = 3;

/** Refusals that members and administrators may meet; their callers know what to do. */
const EXPECTED: ReadonlySet<string> = new Set([
  ...['unavailable', 'throttled', 'topic_not_found', 'group_not_found', 'member_not_found', 'instance_fenced'],
]);

/** One history of a group: members that come and go while records are produced, and an end at which all is handled. */
export class GroupRun extends Run {
  declare readonly environment: GroupEnvironment;
  readonly seen: GroupRecorder;
  readonly faults: GroupViolation[] = [];
  members: Member[] = [];
  /** How wrong a clock was: one that SDK and store set right by an answer that had waited for a frozen process, too. */
  skewMs = 0;
  readonly #latest: boolean;
  #members = 0;

  constructor(world: World, environment: GroupEnvironment) {
    super(world, environment);
    this.seen = new GroupRecorder(world);
    this.#latest = world.random.chance(environment.latest);
    const { onChange } = world;
    world.onChange = (change) => {
      onChange(change);
      this.seen.take(change);
    };
  }

  override async play(): Promise<void> {
    const { random, environment, world } = this;
    if (environment.calm !== undefined) world.calm();
    for (let i = random.between(2, 4); i > 0; i--) this.startHost();
    await make(this, 'orders', { partitions: environment.partitions, retentionMs: environment.retentionMs });
    this.topics.push('orders');
    if (environment.calm === 'mass start') return massStart(this);
    if (environment.calm === 'spares') return spares(this);
    for (let phases = random.between(2, 3); phases > 0; phases--) {
      await this.#phase();
      await this.#pause();
    }
    await drain(this);
    await forget(this);
  }

  /** A host tells what its operations met. In the end clocks are right: what they did when they were wrong is over. */
  override startHost() {
    const host = this.world.isCalm ? this.world.start(0) : super.startHost();
    const { coverage, scheduler } = this.world;
    const noteSkew = (ms: number) => {
      this.skewMs = Math.max(this.skewMs, ms);
    };
    watched(host, { coverage, now: () => scheduler.now, noteSkew });
    return host;
  }

  newMember(habits: Partial<Habits> = {}, memory?: Memory): Member {
    const member = new Member(this, `m${++this.#members}`, { ...this.#drawHabits(), ...habits }, memory);
    this.members.push(member);
    return member;
  }

  /** Notes a refusal that nobody should meet. */
  refused(code: string): void {
    const { coverage } = this.world;
    if (code === 'member_not_found') coverage.count('member not found');
    if (code === 'instance_fenced') coverage.count('instance fenced');
    if (code === 'group_not_found') coverage.count('group not found');
    if (!EXPECTED.has(code)) this.faults.push({ kind: 'unexpected error', what: code });
  }

  override unexpected(error: unknown): void {
    if (error instanceof BackboneError && error.code !== 'internal') return;
    super.unexpected(error);
  }

  #drawHabits(): Habits {
    const { random, environment } = this;
    const instance = random.chance(environment.statics)
      ? { instanceId: random.chance(environment.twins) ? 'pod-0' : `pod-${random.between(1, INSTANCES)}` }
      : {};
    return {
      sessionTimeoutMs: random.pick(environment.sessionsMs),
      pollEveryMs: random.pick([300, 1_000, 1_500]),
      autoOffsetReset: this.#latest ? 'latest' : 'earliest',
      stubborn: random.chance(environment.stubborn),
      late: random.chance(environment.late),
      prompt: random.chance(0.3),
      ...instance,
    };
  }

  async #phase(): Promise<void> {
    const { random, environment, world } = this;
    const until = world.now + random.between(...environment.phaseMs);
    const at = <T>(act: () => Promise<T>) => this.sleep(random.between(0, until - world.now)).then(act);
    this.members = this.members.filter(({ isOver }) => !isOver);
    const wanted = random.between(1, environment.members);
    while (this.members.length < wanted) this.newMember();
    const work = this.members.map((member) => this.#keepUp(member, until));
    for (let i = random.between(3, 10); i > 0; i--) void at(() => produce(this));
    if (random.chance(environment.rolling)) work.push(this.#roll(until));
    if (random.chance(environment.reset)) work.push(at(() => reset(this)));
    if (random.chance(environment.outside)) work.push(at(() => commitFromOutside(this)));
    if (random.chance(environment.regroup)) work.push(at(() => regroup(this)));
    if (random.chance(environment.grow)) work.push(at(() => grow(this)));
    if (random.chance(environment.recreate)) work.push(at(() => recreate(this)));
    await Promise.all(work);
  }

  /** A member lives, and whoever ends is followed by another, some time. */
  async #keepUp(first: Member, until: number): Promise<void> {
    const { random, world, environment } = this;
    await this.sleep(random.between(0, 3_000));
    for (let member = first; ; ) {
      await member.live(until);
      await this.sleep(random.pick([0, 500, 4_000]));
      if (world.now >= until) return;
      const back = random.chance(environment.comesBack);
      if (back && member.held.length > 0) world.coverage.count('member came back with old positions');
      member = back ? this.newMember(member.habits, member.memory) : this.newMember();
    }
  }

  /** One after the other is stopped, and followed by another with the same name. */
  async #roll(until: number): Promise<void> {
    const { random } = this;
    await this.sleep(random.between(1_000, 8_000));
    const lives: Promise<void>[] = [];
    for (const member of [...this.members]) {
      if (member.isOver) continue;
      if (random.chance(0.5)) await member.leave();
      else member.die();
      await this.sleep(random.between(100, 3_000));
      lives.push(this.newMember({ ...member.habits }).live(until));
    }
    await Promise.all(lives);
  }

  async #pause(): Promise<void> {
    const { random, environment } = this;
    const ms = random.pick(environment.pausesMs);
    await this.sleep(ms / 2);
    if (random.chance(environment.reset)) await reset(this);
    if (random.chance(environment.outside)) await commitFromOutside(this);
    await this.sleep(ms / 2);
  }
}

/** Until whatever was sent before has landed. */
export const ALL_LANDED_MS = 17 * MINUTE;

/** What the last plan that this run saw gives to everybody: partitions by member key. */
export function sharesByKey(run: GroupRun): ReadonlyMap<string, number> {
  const plan = run.seen.assignments.at(-1)?.after;
  return new Map(plan?.members.map(({ key }) => [key, sharesOf(plan, key).length]) ?? []);
}
