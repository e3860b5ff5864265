import { newMemberId } from '../../../shared/domain/group.ts';
import { CLOCK_MARGIN_MS } from '../../../shared/domain/limits.ts';
import { commitOffsets } from '../../../shared/operations/commit-offsets.ts';
import type { PollRequest, Told as ToldMember } from '../../../shared/operations/group-requests.ts';
import { heartbeatGroup } from '../../../shared/operations/heartbeat-group.ts';
import { leaveGroup } from '../../../shared/operations/leave-group.ts';
import { pollGroup } from '../../../shared/operations/poll-group.ts';
import { codeOf } from '../recorder.ts';
import type { Told } from '../simulator/world.ts';
import type { GroupRun } from './group-run.ts';
import { type MemberAnswer, type MemberCall, textOf } from './history.ts';
import { portsOf, ulidFrom } from './ports.ts';
import { RecordSink } from './record-sink.ts';
import type { Writable } from './recorder.ts';

export const GROUP = 'billing';
const CALL_MS = 20_000;

/** How somebody behaves. Whoever has none of the habits keeps to the contract. */
export interface Habits {
  readonly sessionTimeoutMs: number;
  readonly pollEveryMs: number;
  readonly autoOffsetReset: 'earliest' | 'latest';
  readonly instanceId?: string;
  /** Never gives back what it is told to. */
  readonly stubborn: boolean;
  /** Commits by itself, some time later, whatever has become of its session. */
  readonly late: boolean;
  /** Gives back at once, by a heartbeat, instead of with its next poll. */
  readonly prompt: boolean;
}

interface Held {
  readonly topic: string;
  readonly partition: number;
  readonly epoch: number;
  readonly offset: number;
  /** What comes before is handled; absent: nothing was since it has it. */
  done?: number;
}

type Asked = Omit<PollRequest, 'deadline'> & { readonly records: number };

/** What a member knows when it is not there any more. */
export type Memory = Pick<Member, 'memberId' | 'held' | 'revoked'>;

/** A consumer. It goes on where it was told, handles what it is given, and then says so. */
export class Member {
  readonly name: string;
  readonly habits: Habits;
  memberId: string | undefined;
  held: readonly Held[] = [];
  revoked: readonly Held[] = [];
  isOver = false;
  polls = 0;
  /** Refused commits of its last answer. */
  fenced = 0;
  readonly #run: GroupRun;
  /** What was asked and not answered: asked again as it was. */
  #pending: Asked | undefined;

  constructor(run: GroupRun, name: string, habits: Habits, memory?: Memory) {
    this.#run = run;
    this.name = name;
    this.habits = habits;
    if (memory !== undefined) Object.assign(this, { ...memory });
  }

  /** Of what was not handled it knows nothing. */
  get memory(): Memory {
    const handled = (list: readonly Held[]) =>
      list.flatMap((one) => (one.done === undefined ? [] : [{ ...one, offset: one.done }]));
    return { memberId: this.memberId, held: handled(this.held), revoked: handled(this.revoked) };
  }

  async live(until: number): Promise<void> {
    const { random, environment, world } = this.#run;
    while (!this.isOver && world.now < until) {
      await this.step();
      await this.#run.sleep(random.between(this.habits.pollEveryMs / 2, this.habits.pollEveryMs));
      if (random.chance(environment.standsStill)) {
        world.coverage.count('member stood still');
        const { sessionTimeoutMs: session } = this.habits;
        const expiry = session + CLOCK_MARGIN_MS + random.between(-600, 600);
        await this.#run.sleep(random.pick([session / 2, session, expiry, expiry, 2 * session, 3 * session]));
      }
      if (random.chance(environment.dies)) this.die();
      else if (random.chance(environment.leaves)) await this.leave();
    }
  }

  /** One poll, and what it brings is handled. */
  async step(records = this.#run.random.between(1, 6)): Promise<void> {
    const answer = await this.#poll(records);
    if (answer !== undefined) await this.#handle(answer);
  }

  die(): void {
    this.isOver = true;
    this.#run.world.coverage.count('member died');
  }

  async leave(): Promise<void> {
    this.isOver = true;
    const { memberId } = this;
    if (memberId === undefined) return;
    this.#run.world.coverage.count('member left');
    const noted = this.#note({ kind: 'leave', positions: [], commit: [], release: [] });
    const host = this.#run.anyHost();
    this.#run.harm(host);
    const told = await this.#run.world.call(host, () => leaveGroup(portsOf(host), GROUP, memberId));
    if (told !== 'nothing') this.#ended(noted, told);
  }

  async #poll(records: number): Promise<MemberAnswer | undefined> {
    const { world, random, environment } = this.#run;
    if (this.#pending !== undefined) world.coverage.count('poll repeated');
    const { records: room, ...request } = this.#pending ?? this.#request(records);
    this.#pending = { ...request, records: room };
    this.polls += 1;
    const { positions, commit, release } = request;
    const memberId = request.memberId ?? newMemberId(request.proposed!, request.instanceId);
    const noted = this.#note({ kind: 'poll', positions, commit, release }, memberId);
    const host = this.#run.anyHost();
    this.#run.harm(host);
    const sink = new RecordSink(room);
    const told = await world.call(host, () => {
      const ports = portsOf(host);
      return pollGroup(ports, { ...request, deadline: ports.clock.now() + CALL_MS }, sink);
    });
    if (told === 'nothing') return undefined;
    if ('error' in told) {
      this.#ended(noted, told);
      this.#refused(codeOf(told.error));
      return undefined;
    }
    noted.answer = { ...answerOf(told.answer), records: sink.records };
    if (!world.isCalm && random.chance(environment.lostAnswers)) {
      world.coverage.count('answer of a member lost');
      noted.lost = true;
      return undefined;
    }
    noted.end = world.now;
    this.#pending = undefined;
    this.#take(noted.answer, request);
    return noted.answer;
  }

  #request(records: number): Asked {
    const { random, world } = this.#run;
    const { stubborn, late, instanceId, sessionTimeoutMs, autoOffsetReset } = this.habits;
    if (this.revoked.length > 0 && stubborn) world.coverage.count('revoked and not released');
    const released = stubborn ? [] : this.revoked;
    const kept = stubborn ? [...this.held, ...this.revoked] : this.held;
    const done = [...this.held, ...released].filter(({ done }) => done !== undefined);
    if (late && done.length > 0) void this.#commitAside(done);
    return {
      group: GROUP,
      ...(this.memberId === undefined
        ? { proposed: ulidFrom(() => random.next()), topics: this.#run.topics, sessionTimeoutMs }
        : { memberId: this.memberId }),
      ...(this.memberId === undefined && instanceId !== undefined && { instanceId }),
      positions: kept.map(({ topic, partition, epoch, offset }) => ({ topic, partition, epoch, offset })),
      commit: late
        ? []
        : done.map(({ topic, partition, epoch, done = 0 }) => ({ topic, partition, epoch, offset: done })),
      release: released.map(({ topic, partition, epoch }) => ({ topic, partition, epoch })),
      paused: [],
      autoOffsetReset,
      waitMs: world.isCalm ? 0 : random.pick([0, 0, 0, 400, 2_000]),
      records,
    };
  }

  #take(
    { memberId, assigned, revoked, commits }: MemberAnswer,
    { positions, release }: Asked | Omit<Asked, 'records'>,
  ) {
    const { coverage } = this.#run.world;
    const before = new Map([...this.held, ...this.revoked].map((one) => [`${textOf(one)}@${one.epoch}`, one]));
    const echoed = new Map(positions.map((one) => [`${textOf(one)}@${one.epoch}`, one.offset]));
    if (release.length > 0) this.revoked = [];
    this.memberId = memberId;
    const hold = (one: { topic: string; partition: number; epoch: number; offset: number }): Held => {
      const done = before.get(`${textOf(one)}@${one.epoch}`)?.done;
      return { ...one, ...(done !== undefined && { done }) };
    };
    this.held = assigned.map(({ topic, partition, epoch, offset }) => hold({ topic, partition, epoch, offset }));
    this.revoked = revoked.map((one) => hold({ ...one, offset: echoed.get(`${textOf(one)}@${one.epoch}`) ?? 0 }));
    if (revoked.length > 0) coverage.count('told to give back');
    this.fenced = 0;
    for (const { error } of commits) this.#commitTold(error);
  }

  #commitTold(error: string | undefined): void {
    if (error === 'commit_regressed') this.#run.world.coverage.count('commit regressed');
    if (error !== 'fenced') return;
    this.fenced += 1;
    this.#run.world.coverage.count('commit fenced');
  }

  async #handle({ memberId, records, assigned }: MemberAnswer): Promise<void> {
    const { random, world, environment } = this.#run;
    const slow = !world.isCalm && random.chance(environment.slow);
    if (slow) {
      world.coverage.count('handler slower than the session');
      await this.#handleSlowly(random.chance(0.5));
    } else await this.#run.sleep(random.between(0, 300));
    if (this.isOver) return;
    const epochs = new Map(assigned.map((one) => [textOf(one), one.epoch]));
    for (const { topic, partition, record } of records) {
      const epoch = epochs.get(textOf({ topic, partition }));
      if (epoch === undefined) continue;
      this.#run.seen.handled.push({ memberId, topic, partition, epoch, record, at: world.now });
    }
    this.held = this.held.map((one) => ({ ...one, done: one.offset }));
    if (this.habits.prompt && !this.habits.stubborn && this.revoked.length > 0) await this.#beat(this.revoked);
  }

  /** @param beats its session goes on meanwhile */
  async #handleSlowly(beats: boolean): Promise<void> {
    const { sessionTimeoutMs } = this.habits;
    const until = this.#run.world.now + sessionTimeoutMs + this.#run.random.between(-1_000, 6_000);
    while (this.#run.world.now < until && !this.isOver) {
      await this.#run.sleep(sessionTimeoutMs / 3);
      if (beats) await this.#beat();
    }
  }

  async #beat(released: readonly Held[] = []): Promise<void> {
    const { memberId } = this;
    if (memberId === undefined) return;
    const positions = this.held.map(({ topic, partition, epoch, offset }) => ({ topic, partition, epoch, offset }));
    const done = this.habits.late ? [] : released.filter(({ done }) => done !== undefined);
    const commit = done.map(({ topic, partition, epoch, done = 0 }) => ({ topic, partition, epoch, offset: done }));
    const release = released.map(({ topic, partition, epoch }) => ({ topic, partition, epoch }));
    const report = { positions, commit, release };
    const noted = this.#note({ kind: 'heartbeat', ...report });
    const host = this.#run.anyHost();
    this.#run.harm(host);
    const told = await this.#run.world.call(host, () => {
      const ports = portsOf(host);
      const deadline = ports.clock.now() + CALL_MS;
      return heartbeatGroup(ports, { group: GROUP, memberId, deadline, ...report });
    });
    if (told === 'nothing') return;
    this.#ended(noted, told);
    if ('error' in told) return;
    noted.answer = { ...answerOf(told.answer), records: [] };
    if (released.length > 0) this.revoked = [];
    for (const { error } of noted.answer.commits) this.#commitTold(error);
  }

  async #commitAside(done: readonly Held[]): Promise<void> {
    const { random, world } = this.#run;
    const { memberId } = this;
    const offsets = done.map(({ topic, partition, epoch, done = 0 }) => ({ topic, partition, epoch, offset: done }));
    await this.#run.sleep(random.pick([0, 200, random.between(0, 3_000), random.between(0, 25_000)]));
    if (memberId === undefined || world.isCalm) return;
    world.coverage.count('commit sent late');
    const noted = this.#note({ kind: 'commits', positions: [], commit: offsets, release: [] }, memberId);
    const host = this.#run.anyHost();
    this.#run.harm(host);
    const named = random.chance(0.7) ? { memberId } : {};
    const told = await world.call(host, () => {
      const ports = portsOf(host);
      return commitOffsets(ports, { group: GROUP, ...named, offsets }, ports.clock.now() + CALL_MS);
    });
    if (told === 'nothing') return;
    this.#ended(noted, told);
    if ('error' in told) return;
    const commits = told.answer.map(outcomeOf);
    noted.answer = { memberId, assigned: [], revoked: [], commits, records: [] };
    for (const { error } of commits) this.#commitTold(error);
  }

  #note(call: Omit<MemberCall, 'begin' | 'caller' | 'memberId'>, memberId = this.memberId): Writable<MemberCall> {
    return this.#run.seen.call({ ...call, caller: this.name, ...(memberId !== undefined && { memberId }) });
  }

  #ended(noted: Writable<MemberCall>, told: Exclude<Told<unknown>, 'nothing'>): void {
    noted.end = this.#run.world.now;
    if (!('error' in told)) return;
    const error = codeOf(told.error);
    noted.answer = { error };
    this.#run.refused(error);
  }

  #refused(code: string): void {
    if (code === 'unavailable' || code === 'throttled') return;
    this.#pending = undefined;
    if (code === 'instance_fenced') this.isOver = true;
    if (code !== 'member_not_found' && code !== 'group_not_found') return;
    if (code === 'group_not_found' && this.memberId !== undefined) {
      this.#run.world.coverage.count('group deleted during a poll');
    }
    this.memberId = undefined;
    this.revoked = [];
    if (this.#run.random.chance(this.#run.environment.comesBack)) {
      if (this.held.length > 0) this.#run.world.coverage.count('member came back with old positions');
    } else this.held = [];
    // What it handled under the session before it says again only where it is told to own it still.
    this.held = this.held.map(({ done: _, ...rest }) => rest);
  }
}

function outcomeOf({ topic, partition, offset, error }: ToldMember['commits'][number]) {
  return { topic, partition, offset, ...(error && { error: error.code }) };
}

function answerOf({ memberId, assigned, revoked, commits }: ToldMember): Omit<MemberAnswer, 'records'> {
  return {
    memberId,
    assigned: assigned.map(({ error, ...rest }) => ({ ...rest, ...(error && { error: error.code }) })),
    revoked,
    commits: commits.map(outcomeOf),
  };
}
