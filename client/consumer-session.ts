import type { Connection } from './connection.ts';
import { type GroupAnswer, GroupCalls } from './consumer-calls.ts';
import { type CommitsHost, GroupCommits } from './consumer-commits.ts';
import { Dispatcher } from './consumer-dispatcher.ts';
import { HandlerFailed, ProcessingTimeout, type TopicPartitionOffset } from './consumer-errors.ts';
import type { Emitter } from './consumer-events.ts';
import { type HandlerHost, handlerCallOf, type RunOptions } from './consumer-handlers.ts';
import { Handling, type HandlingHost } from './consumer-handling.ts';
import { FAREWELL_MS, STOP_TIMEOUT_MS_DEFAULT } from './consumer-limits.ts';
import { GroupLoop, type LoopHost } from './consumer-loop.ts';
import { proposedMemberId } from './consumer-member-id.ts';
import { type Changes, Membership } from './consumer-membership.ts';
import { placeOf, tellChanges } from './consumer-news.ts';
import type { Settings } from './consumer-options.ts';
import { type HeldPartition, keyOf } from './consumer-partition.ts';
import type { PauseList } from './consumer-pauses.ts';
import { Revocations } from './consumer-revocations.ts';
import { Closed, VertebraError } from './errors.ts';
import type { FetchedRecord } from './messages.ts';
import { LATE, within } from './surroundings.ts';

export interface SessionOptions<T> {
  readonly connection: Connection;
  readonly settings: Settings<T>;
  readonly topics: readonly string[];
  readonly run: RunOptions<T>;
  readonly emitter: Emitter;
  readonly pauses: PauseList;
  /** Where partitions are to go on once they are assigned, by `keyOf`: what `seek` was told before that. */
  readonly seeks: Map<string, number>;
  /** Called when it is over, before that is told: then a new one may begin. */
  readonly onEnd: () => void;
}

export interface StopOptions {
  /** How long handlers that have something in hand are waited for. */
  readonly timeoutMs: number;
  /** Whether the group is left; a static member's place is kept for its next session otherwise. */
  readonly leave: boolean;
}

/** One run of a consumer, from its join to its leave. */
export class ConsumerSession<T> implements LoopHost, HandlingHost, HandlerHost, CommitsHost {
  readonly #options: SessionOptions<T>;
  readonly #concurrency: number;
  readonly #membership: Membership;
  readonly #calls: GroupCalls;
  readonly #loop: GroupLoop;
  readonly #dispatcher: Dispatcher;
  readonly #commits: GroupCommits;
  readonly #revocations: Revocations;
  readonly #impatience = new AbortController();
  #settleJoin: (error?: Error) => void = () => {};
  #looping: Promise<void> = Promise.resolve();
  #stopping: Promise<void> | undefined;
  #error: Error | undefined;

  constructor(options: SessionOptions<T>) {
    const { connection, settings, topics, run, emitter } = options;
    const { surroundings, logger } = connection;
    this.#options = options;
    this.#concurrency = run.partitionsConsumedConcurrently ?? 1;
    const membership = new Membership(proposedMemberId(surroundings.now()));
    const calls = new GroupCalls(connection, settings.groupId, settings.retry);
    const shared = { settings, emitter, surroundings, logger, host: this };
    this.#membership = membership;
    this.#calls = calls;
    this.#commits = new GroupCommits(calls, membership, this);
    this.#revocations = new Revocations(settings.onRevoked, logger);
    this.#loop = new GroupLoop({ ...shared, calls, membership, topics });
    const handling = new Handling<T>({ ...shared, ...handlerCallOf(run, this), connection });
    this.#dispatcher = new Dispatcher({
      ...{ concurrency: this.#concurrency, surroundings },
      candidates: () => this.#membership.held.filter((held) => this.mayGoOn(held)),
      turn: (held) => handling.turn(held),
    });
  }

  get memberId(): string | undefined {
    return this.#loop.joined ? this.#membership.memberId : undefined;
  }
  get held(): readonly HeldPartition[] {
    return this.#membership.held;
  }
  /** What ended it, unless somebody stopped it. */
  get error(): Error | undefined {
    return this.#error;
  }

  /** Resolves once it is a member. @throws what keeps it from being one; then it has stopped */
  async start(): Promise<void> {
    const joined = new Promise<void>((resolve, reject) => {
      this.#settleJoin = (error) => (error ? reject(error) : resolve());
    });
    this.#looping = this.#loop.run().catch((error: Error) => this.crash(error));
    await joined.catch(async (error: unknown) => {
      await this.#stopping;
      throw error;
    });
  }

  /** Ends what is in hand, commits, releases, leaves. Called again it may only become shorter. */
  stop({ timeoutMs, leave }: StopOptions): Promise<void> {
    if (this.#stopping) {
      const { surroundings } = this.#options.connection;
      surroundings.sleep(timeoutMs, this.#impatience.signal).then(
        () => this.#impatience.abort(),
        () => {}, // it is over already
      );
    }
    this.#stopping ??= this.#shutDown({ timeoutMs, leave });
    return this.#stopping;
  }

  hasRoom(): boolean {
    const { maxRecords, maxBytes } = this.#options.settings;
    let records = 0;
    let bytes = 0;
    for (const held of this.held) {
      records += held.queue.length;
      bytes += held.bytes;
    }
    const polls = this.#concurrency + 1; // one in each hand, and one more to go on with
    return records < polls * maxRecords && bytes < polls * maxBytes;
  }

  isFetched = (held: HeldPartition): boolean => !held.inHand && !held.revoked && !held.lost && !this.isPaused(held);

  answered(answer: GroupAnswer, changes: Changes): void {
    const { emitter, settings, seeks } = this.#options;
    for (const held of changes.assigned) {
      const wished = seeks.get(keyOf(held));
      if (wished !== undefined) held.jump(wished);
      seeks.delete(keyOf(held));
    }
    if (!this.#loop.joined) {
      const assigned = changes.assigned.map(({ topic, partition }) => ({ topic, partition }));
      emitter.emit('group.join', { groupId: settings.groupId, memberId: answer.memberId, assigned });
      this.#settleJoin();
    }
    for (const problem of answer.errors) emitter.emit('topic.error', problem);
    this.noticed(changes);
    this.#dispatcher.kick();
  }

  expired(error: VertebraError): void {
    const { connection, emitter } = this.#options;
    const { surroundings, logger } = connection;
    logger.warn('The membership has ended; joining again', { error });
    const next = proposedMemberId(surroundings.now());
    const lost = this.#membership.startOver(next, 'the membership has ended');
    if (lost.length > 0) emitter.emit('rebalance', { assigned: [], revoked: [], lost: lost.map(placeOf) });
  }

  crash(error: Error): void {
    this.#options.connection.logger.error('The consumer cannot go on', { error });
    if (this.#stopping) return;
    this.#error = error;
    this.#options.emitter.emit('crash', { error });
    // A failed record is no reason to interrupt what others have in hand.
    void this.stop({ timeoutMs: error instanceof HandlerFailed ? STOP_TIMEOUT_MS_DEFAULT : FAREWELL_MS, leave: true });
    if (isInstanceFenced(error)) this.#membership.startOver('', error.message);
    this.#settleJoin(error);
  }

  watch(): number {
    const { settings, connection } = this.#options;
    const { late, nextAt } = this.#dispatcher.overdue(settings.processingTimeoutMs, connection.surroundings.now());
    for (const held of late) {
      held.lose('its handler does not end');
      const { topic, partition, processed: offset } = held;
      this.crash(new ProcessingTimeout({ topic, partition, offset }, settings.processingTimeoutMs));
    }
    return nextAt;
  }

  isRunning(): boolean {
    return this.#stopping === undefined;
  }

  isPaused(held: HeldPartition): boolean {
    return this.#options.pauses.has(held);
  }

  pause({ topic, partition }: HeldPartition): () => void {
    const place = [{ topic, partitions: [partition] }];
    this.#options.pauses.pause(place);
    this.pausesChanged();
    return () => {
      this.#options.pauses.resume(place);
      this.pausesChanged();
    };
  }

  /** Takes pauses and resumptions to account. */
  pausesChanged(): void {
    for (const held of this.held) if (this.isPaused(held)) held.giveBack();
    this.#loop.hurry();
  }

  mayGoOn(held: HeldPartition): boolean {
    const wanted = held.hasWork && !held.revoked && !held.lost && !this.isPaused(held);
    return wanted && this.isRunning() && this.#loop.fresh;
  }

  changed(held: HeldPartition): void {
    void this.#tellRevoked();
    if (held.inHand) this.#loop.ring();
    else this.#loop.hurry();
  }

  uncommitted(): TopicPartitionOffset[] {
    return this.held.flatMap(({ topic, partition, uncommitted }) =>
      uncommitted === undefined ? [] : [{ topic, partition, offset: uncommitted }],
    );
  }

  async commitIfDue(): Promise<void> {
    const offsets = this.uncommitted();
    if (offsets.length === 0 || !this.#loop.commitIsDue) return;
    this.#loop.noteCommit();
    await this.commit(offsets);
  }

  commitBefore(held: HeldPartition, offset: number): Promise<boolean> {
    return this.#commits.before(held, offset);
  }

  deadLetter(held: HeldPartition, record: FetchedRecord, error: unknown, attempts: number) {
    return this.#commits.deadLetter(held, record, error, attempts);
  }

  /** @throws {PartitionNotHeld} before anything is sent; else what the first refusal says, the others are committed */
  commit(offsets: readonly (TopicPartitionOffset & { readonly metadata?: string })[], signal?: AbortSignal) {
    return this.#commits.commit(offsets, signal);
  }

  /** @returns false when the partition is not held */
  seek({ topic, partition, offset }: TopicPartitionOffset): boolean {
    const held = this.#membership.find({ topic, partition });
    held?.jump(offset);
    this.#loop.hurry();
    return held !== undefined;
  }

  noticed(changes: Changes): void {
    tellChanges(this.#options.emitter, this.#options.connection.logger, changes);
    void this.#tellRevoked();
  }

  lost(held: HeldPartition): void {
    this.#options.emitter.emit('rebalance', { assigned: [], revoked: [], lost: [placeOf(held)] });
    this.#loop.hurry();
  }

  async #tellRevoked(): Promise<void> {
    if (await this.#revocations.tell(this.held.filter(({ revoked }) => revoked))) this.#loop.ring();
  }

  async #shutDown({ timeoutMs, leave }: StopOptions): Promise<void> {
    const { connection, emitter } = this.#options;
    await Promise.resolve(); // so that everybody sees that it is stopping
    this.#dispatcher.close();
    this.#loop.drain();
    const { surroundings } = connection;
    const settled = within(this.#dispatcher.settled(), timeoutMs, surroundings, this.#impatience.signal);
    if ((await settled.catch(() => LATE)) === LATE) {
      for (const held of this.#dispatcher.running) held.lose('the consumer stops');
    }
    this.#impatience.abort();
    this.#loop.end();
    await this.#looping;
    if (this.#loop.mayBeMember && !isInstanceFenced(this.#error)) await this.#sayFarewell(leave);
    this.#settleJoin(this.#error ?? new Closed('consumer')); // of no effect once it has joined
    this.#options.onEnd();
    emitter.emit('stop', { error: this.#error });
  }

  async #sayFarewell(leave: boolean): Promise<void> {
    const { connection, settings } = this.#options;
    const { surroundings, logger } = connection;
    if (leave) await within(this.#revocations.tell(this.held), FAREWELL_MS, surroundings);
    if (leave) for (const held of this.held) held.releasing = true;
    const commits = this.#membership.commits(settings.commit === 'manual' ? 'none' : 'all');
    try {
      const options = { leave, withinMs: FAREWELL_MS };
      const outcomes = await this.#calls.farewell(this.#membership.memberId.replace(/^new:/, ''), commits, options);
      this.noticed(this.#membership.settle(outcomes, commits.commit));
    } catch (error) {
      logger.warn('The group could not be told of the stop; it notices by itself', { error });
    }
  }
}

/** Another session has this one's place: there is nothing left to say. */
function isInstanceFenced(error: unknown): boolean {
  return error instanceof VertebraError && error.code === 'instance_fenced';
}
