import type { Logger } from './connection.ts';
import { Alarm } from './consumer-alarm.ts';
import type { GroupAnswer, GroupCalls } from './consumer-calls.ts';
import type { Emitter } from './consumer-events.ts';
import { GROUP_CALL_TIMEOUT_MS_MIN, HEARTBEATS_PER_SESSION } from './consumer-limits.ts';
import type { Changes, Membership, Sent } from './consumer-membership.ts';
import type { Settings } from './consumer-options.ts';
import { PollPace } from './consumer-pace.ts';
import type { HeldPartition } from './consumer-partition.ts';
import { Aborted, VertebraError } from './errors.ts';
import { pauseOf } from './retry.ts';
import type { Surroundings } from './surroundings.ts';

export interface LoopHost {
  /** Whether there is room for what the next poll may bring. */
  hasRoom(): boolean;
  /** Whether a poll is to bring records of this partition. */
  isFetched(held: HeldPartition): boolean;
  /** An answer came and was taken to account. */
  answered(answer: GroupAnswer, changes: Changes): void;
  /** The membership is over; a new one begins with the next call. */
  expired(error: VertebraError): void;
  crash(error: Error): void;
  /** Looks after handlers. @returns when to look again, epoch ms */
  watch(): number;
}

interface LoopOptions {
  readonly calls: GroupCalls;
  readonly membership: Membership;
  readonly settings: Omit<Settings<unknown>, 'codec'>;
  readonly topics: readonly string[];
  readonly emitter: Emitter;
  readonly surroundings: Surroundings;
  readonly logger: Logger;
  readonly host: LoopHost;
}

/** After these a member joins again: whatever it held, others may have. */
const MEMBERSHIP_OVER = new Set(['member_not_found', 'group_not_found', 'fenced']);

export function isMembershipOver(error: unknown): error is VertebraError {
  return error instanceof VertebraError && MEMBERSHIP_OVER.has(error.code);
}

/**
 * The one line of calls that a member makes: polls while there is room, else heartbeats, each with the commits and
 * releases that are due. No two are under way at once, so that every answer is the whole truth of its moment.
 */
export class GroupLoop {
  readonly #options: LoopOptions;
  readonly #alarm: Alarm;
  #mode: 'polling' | 'draining' | 'ended' = 'polling';
  /** The call under way; one that the backbone holds is broken off when something else is to be said. */
  #call: { readonly stop: AbortController; readonly isHeld: boolean } | null = null;
  #joined = false;
  /** A join whose answer did not come: there may be a member that nobody knows of. */
  #mayBeMember = false;
  /** When the last call began that was answered: the session counts from then. */
  #contactAt = Number.NEGATIVE_INFINITY;
  #pollAt = Number.NEGATIVE_INFINITY;
  #commitAt = Number.NEGATIVE_INFINITY;
  readonly #pace: PollPace;
  #turn: number | undefined;
  #trouble: { readonly since: number; readonly attempts: number; readonly until: number } | null = null;
  /** Memberships that ended within a session of the one before. */
  #rejoins = 0;
  #rejoinedAt = Number.NEGATIVE_INFINITY;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#alarm = new Alarm(options.surroundings);
    const { minPollMs: minMs, maxPollMs, sessionTimeoutMs } = options.settings;
    const maxMs = Math.min(maxPollMs, sessionTimeoutMs / HEARTBEATS_PER_SESSION);
    this.#pace = new PollPace({ minMs, maxMs }, options.surroundings.random);
  }

  get joined(): boolean {
    return this.#joined;
  }

  get mayBeMember(): boolean {
    return this.#joined || this.#mayBeMember;
  }

  /**
   * Whether the session cannot have ended: the backbone notes that it lives once in a third of it, so that much less is
   * left of it after the last contact.
   */
  get fresh(): boolean {
    const { sessionTimeoutMs } = this.#options.settings;
    return this.#now() - this.#contactAt < sessionTimeoutMs - sessionTimeoutMs / HEARTBEATS_PER_SESSION;
  }

  get commitIsDue(): boolean {
    return this.#now() - this.#commitAt >= this.#options.settings.autoCommitIntervalMs;
  }

  /** A commit of all that is processed is made by itself. */
  noteCommit(): void {
    this.#commitAt = this.#now();
  }

  /** Something has changed: look at once what is due. */
  ring(): void {
    if (this.#call?.isHeld) this.#call.stop.abort();
    this.#alarm.ring();
  }

  /** There is room, or a wish, for more: the next poll need not wait. */
  hurry(): void {
    this.#pace.hurry();
    this.ring();
  }

  /** From now on no records: heartbeats alone keep the session. */
  drain(): void {
    if (this.#mode === 'polling') this.#mode = 'draining';
    this.ring();
  }

  end(): void {
    this.#mode = 'ended';
    this.#call?.stop.abort();
    this.ring();
  }

  /** Resolves once it was ended. */
  async run(): Promise<void> {
    while (!this.#isOver()) {
      const wakeAt = Math.min(this.#options.host.watch(), this.#dueAt());
      await this.#alarm.wait(Math.max(0, wakeAt - this.#now()));
      if (!this.#isOver() && this.#now() >= this.#dueAt()) await this.#exchange();
    }
  }

  #isOver(): boolean {
    return this.#mode === 'ended';
  }

  #now(): number {
    return this.#options.surroundings.now();
  }

  #dueAt(): number {
    const { membership, settings } = this.#options;
    if (this.#trouble) return this.#trouble.until;
    if (!this.#joined) return this.#mode === 'polling' ? 0 : Number.POSITIVE_INFINITY;
    const { commit, release, redriven } = membership.commits(settings.commit === 'manual' ? 'none' : 'all');
    return Math.min(
      this.#contactAt + settings.sessionTimeoutMs / HEARTBEATS_PER_SESSION,
      release.length > 0 || redriven.some(({ done }) => done) ? 0 : Number.POSITIVE_INFINITY,
      commit.length > 0 ? this.#commitAt + settings.autoCommitIntervalMs : Number.POSITIVE_INFINITY,
      this.#isPollWanted() ? this.#pollAt + this.#pace.pauseMs : Number.POSITIVE_INFINITY,
    );
  }

  #isPollWanted(): boolean {
    const { membership, host } = this.#options;
    if (this.#mode !== 'polling') return false;
    if (!this.#joined || membership.held.length === 0) return true;
    return host.hasRoom() && membership.held.some((held) => host.isFetched(held));
  }

  async #exchange(): Promise<void> {
    const { membership, settings, host, surroundings } = this.#options;
    const polls = this.#isPollWanted() && (!this.#joined || this.#now() >= this.#pollAt + this.#pace.pauseMs);
    const startedAt = this.#now();
    const looked = membership.held.filter(host.isFetched).length;
    const which = this.commitIsDue ? 'all' : 'drained';
    const commits = membership.commits(settings.commit === 'manual' ? 'none' : which);
    const reset = membership.held.some(({ outOfRange }) => outOfRange !== null) ? settings.onOutOfRange : 'stay';
    const sent: Sent = { ...commits, named: membership.named(), reads: polls, reset: polls && reset !== 'stay' };
    try {
      const waitMs = this.#waitMs();
      const answer = await (polls ? this.#poll(sent, waitMs, reset) : this.#heartbeat(sent));
      this.#contactAt = startedAt;
      if (which === 'all' || !this.#joined) this.#commitAt = startedAt;
      this.#recovered(startedAt);
      const changes = membership.apply(answer, sent);
      if (polls) {
        this.#pollAt = surroundings.now();
        this.#pace.polled(answer, looked, waitMs > 0 && surroundings.now() - startedAt >= waitMs / 2);
      }
      // A call takes 32 partitions at most, and looks at as many: there may be more, and more in them.
      if (changes.assigned.length > 0) this.#pace.hurry();
      host.answered(answer, changes);
      this.#joined = true;
    } catch (error) {
      this.#failed(error);
    } finally {
      this.#call = null;
    }
  }

  async #poll(sent: Sent, waitMs: number, reset: 'stay' | 'earliest' | 'latest'): Promise<GroupAnswer> {
    const { calls, membership, settings, topics, host, emitter } = this.#options;
    const startedAt = this.#now();
    const answer = await calls.poll(
      {
        memberId: membership.memberId,
        ...(settings.instanceId !== undefined && { instanceId: settings.instanceId }),
        topics,
        ...membership.positions(host.isFetched),
        ...{ commit: sent.commit, release: sent.release, redriven: sent.redriven, waitMs },
        ...{ maxRecords: settings.maxRecords, maxBytes: settings.maxBytes },
        ...{ sessionTimeoutMs: settings.sessionTimeoutMs, autoOffsetReset: settings.autoOffsetReset },
        ...(reset !== 'stay' && { reset }),
        ...(this.#turn !== undefined && { turn: this.#turn }),
      },
      this.#callOptions(waitMs),
    );
    const { records, bytes, turn } = answer;
    this.#turn = turn;
    emitter.emit('fetch', { records: records.length, bytes, durationMs: this.#now() - startedAt });
    return answer;
  }

  async #heartbeat(sent: Sent): Promise<GroupAnswer> {
    const { calls, membership, emitter } = this.#options;
    const startedAt = this.#now();
    const { commit, release, redriven } = sent;
    const { positions } = membership.positions(() => false);
    const answer = await calls.heartbeat(
      membership.memberId,
      { positions, commit, release, redriven },
      this.#callOptions(0),
    );
    emitter.emit('heartbeat', { durationMs: this.#now() - startedAt });
    return answer;
  }

  #callOptions(waitMs: number) {
    const third = this.#options.settings.sessionTimeoutMs / HEARTBEATS_PER_SESSION;
    this.#call = { stop: new AbortController(), isHeld: waitMs > 0 };
    return { signal: this.#call.stop.signal, timeoutMs: waitMs + Math.max(GROUP_CALL_TIMEOUT_MS_MIN, third) };
  }

  /** A poll is held only while nothing is in hand: there is nothing else to say meanwhile. */
  #waitMs(): number {
    const { settings, membership } = this.#options;
    if (settings.longPollMs === 0 || !this.#joined || membership.held.some(({ inHand }) => inHand)) return 0;
    const longestMs = Math.min(settings.longPollMs, settings.sessionTimeoutMs / HEARTBEATS_PER_SESSION);
    return Math.floor(longestMs / this.#pace.turns);
  }

  #recovered(now: number): void {
    if (this.#trouble && this.#trouble.attempts > 0) {
      this.#options.emitter.emit('connection.restored', { afterMs: now - this.#trouble.since });
    }
    this.#trouble = null;
  }

  #failed(error: unknown): void {
    const { host } = this.#options;
    if (error instanceof VertebraError && error.effect === 'unknown') this.#mayBeMember = true;
    if (error instanceof Aborted) return; // something else is to be said, or it is over
    if (this.#joined && isMembershipOver(error)) this.#rejoin(error);
    else if (error instanceof VertebraError && error.retryable) this.#backOff(error);
    else host.crash(error instanceof Error ? error : new Error(String(error)));
  }

  #backOff(error: VertebraError): void {
    const { host, settings, emitter, surroundings, logger } = this.#options;
    const now = this.#now();
    const attempts = (this.#trouble?.attempts ?? 0) + 1;
    const since = this.#trouble?.since ?? now;
    const pauseMs = Math.ceil(pauseOf(error, attempts - 1, settings.retry, surroundings.random()));
    this.#trouble = { since, attempts, until: now + pauseMs };
    if (now + pauseMs - since >= settings.retry.withinMs) host.crash(error);
    else {
      logger.warn('The backbone did not answer; it is asked again', { error, attempts, pauseMs });
      emitter.emit('connection.trouble', { error, attempts, pauseMs });
    }
  }

  /** At once the first time; members that are evicted again and again must not keep the group busy. */
  #rejoin(error: VertebraError): void {
    const { host, settings, surroundings } = this.#options;
    this.#recovered(this.#now());
    this.#joined = false;
    host.expired(error);
    const now = this.#now();
    this.#rejoins = now - this.#rejoinedAt < settings.sessionTimeoutMs ? this.#rejoins + 1 : 0;
    this.#rejoinedAt = now;
    if (this.#rejoins === 0) return;
    const pauseMs = Math.ceil(pauseOf(undefined, this.#rejoins, settings.retry, surroundings.random()));
    this.#trouble = { since: now, attempts: 0, until: now + pauseMs };
  }
}
