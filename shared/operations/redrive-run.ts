import { type DeadLetter, landedAgain, type OpenedLetter, type Redrive } from '../domain/dead-letter.ts';
import { type Delivered, type DeliveryRecord, deliveryError } from '../domain/delivery.ts';
import { TopicNotFound } from '../domain/errors.ts';
import { REDRIVE_AWAY_MS, RETENTION_MS_DEFAULT } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Position, PositionId, PushState } from '../domain/position.ts';
import { REDRIVE_AWAY_MS_MIN, REDRIVES_RECALLED_MAX } from '../domain/redrive-limits.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { Subscriber } from '../domain/wake-up.ts';
import type { DeliverPorts } from './deliver-ports.ts';
import { redrivenOf, removeObjects } from './letter-payload.ts';
import { PositionLease, type Progress } from './position-lease.ts';
import { standingOf, stopSubscription } from './stop-subscription.ts';
import { wakeLane } from './wake-lane.ts';

/** What a run of redrives is about. */
export interface RedriveRunOf {
  readonly subscription: Subscription;
  readonly id: PositionId;
  readonly to: Subscriber;
  /** As it was read, strongly: nobody owns it. */
  readonly position: Position;
  /** Epoch ms at which whoever runs this is ended. */
  readonly deadline: number;
}

/**
 * How it ended. `taken`: somebody else is faster. `later`: the next one is due then. `aside`: where it holds up nobody.
 * `stopped`: nothing more is to be delivered. `idle`: none is left.
 */
export type RedriveEnd =
  | { readonly kind: 'idle' | 'taken' | 'aside' | 'stopped' }
  | { readonly kind: 'later'; readonly waitMs: number };

/** What a position shows of redrives that were stopped. */
const REDRIVE_STOPPED = 'redrive_stopped';
const NAMELESS = { name: 'redrive_failed', message: 'the record was not taken' };

/**
 * Gives the dead letters of one partition back to their subscription, one call each, by offset: so in order for each key.
 * It owns the position meanwhile, as a delivery does, and leaves what is committed where it is. One that fails is a dead
 * letter again at once; one whose target is away waits, and those behind it with it.
 */
export class RedriveRun {
  readonly #ports: DeliverPorts;
  readonly #of: RedriveRunOf;
  readonly #lease: PositionLease;
  #push: PushState;
  /** Lanes that it had, and when they are due: epoch ms. */
  readonly #lanes = new Map<string, number>();

  constructor(ports: DeliverPorts, of: RedriveRunOf) {
    this.#ports = ports;
    this.#of = of;
    const { subscription, id, position, deadline } = of;
    this.#lease = new PositionLease(ports, id, position.epoch, subscription.timeoutMs, deadline);
    this.#push = position.push ?? {};
  }

  /** @throws {Throttled | Unavailable | WriteFailed} the position is released, if that could be */
  async run(): Promise<RedriveEnd> {
    const first = await this.#first();
    if (first === undefined) return { kind: 'idle' };
    const waitMs = first.at - this.#ports.clock.now();
    if (waitMs > 0) return { kind: 'later', waitMs };
    if (!this.#lease.hasTime()) return { kind: 'later', waitMs: 0 };
    if (!(await this.#lease.take(this.#of.position.committed))) return { kind: 'taken' };
    try {
      const end = await this.#giveBackAll(first);
      if (this.#lease.isHeld) await this.#lease.step(this.#progress, false);
      return end;
    } catch (error) {
      if (this.#lease.isHeld) await this.#lease.step(this.#progress, false).catch(() => {}); // then its time ends by itself
      throw error;
    } finally {
      await this.#wakeLanes();
    }
  }

  async #giveBackAll(first: Redrive): Promise<RedriveEnd> {
    for (let next: Redrive | undefined = first; next !== undefined; next = await this.#first()) {
      const waitMs = next.at - this.#ports.clock.now();
      if (waitMs > 0) return { kind: 'later', waitMs };
      if (this.#hasFailed) return this.#recallAll();
      if (this.#ports.aside !== undefined && this.#push.isSlow) return { kind: 'aside' };
      if (!this.#lease.hasTime()) return { kind: 'later', waitMs: 0 };
      if (!(await this.#lease.renew(this.#progress))) return { kind: 'taken' };
      const standing = await standingOf(this.#ports, this.#of.subscription);
      if (standing !== 'same') return standing === 'over' ? { kind: 'stopped' } : { kind: 'later', waitMs: 0 };
      if ((await this.#giveBack(next)) === 'stopped') return { kind: 'stopped' };
    }
    return this.#hasFailed ? this.#recallAll() : { kind: 'idle' };
  }

  get #hasFailed(): boolean {
    return (this.#push.redrivesFailed ?? 0) >= this.#of.subscription.haltAfterDeadLetters;
  }

  /** So many have failed in a row that the others would: they lie as before, until somebody asks for them again. */
  async #recallAll(): Promise<RedriveEnd> {
    const { group } = this.#of.id;
    const { redrives, clock } = this.#ports;
    for (;;) {
      if (!this.#lease.hasTime()) return { kind: 'later', waitMs: 0 };
      const some = await redrives.list(group, REDRIVES_RECALLED_MAX, this.#of.id);
      if (some.length === 0) break;
      if (!(await this.#lease.renew(this.#progress))) return { kind: 'taken' };
      await actOnAll(some, (redrive) => redrives.recall(group, redrive));
    }
    const { redrivesFailed: count, ...push } = this.#push;
    const message = `${count} redriven dead letters in a row failed: the others lie as before`;
    this.#push = { ...push, lastError: { name: REDRIVE_STOPPED, message, at: clock.now() } };
    return { kind: 'idle' };
  }

  async #giveBack(redrive: Redrive): Promise<'on' | 'stopped'> {
    const { id } = this.#of;
    const letter = await this.#ports.deadLetters.read(id.group, redrive);
    if (letter === undefined) {
      await this.#ports.redrives.end(id.group, redrive, {}); // it was deleted meanwhile
      return 'on';
    }
    const opened = await this.#open(letter);
    if (typeof opened === 'string') return this.#follow(letter, unreadable(opened));
    const { record, lane } = opened;
    const isParked = lane !== undefined && this.#of.position.parked?.has(lane);
    const delivered = await (isParked ? this.#callBeside(lane, letter, record) : this.#call(letter, record));
    if (delivered !== undefined) return this.#follow(letter, delivered);
    await this.#ports.redrives.postpone(id.group, redrive, this.#ports.clock.now() + REDRIVE_AWAY_MS_MIN);
    return 'on';
  }

  /** A key is not delivered twice at a time: its lane is this run's, too, meanwhile. @returns undefined: somebody else has it */
  async #callBeside(lane: string, letter: DeadLetter, record: DeliveryRecord): Promise<Delivered | undefined> {
    const { subscription, deadline } = this.#of;
    const id = { ...this.#of.id, lane };
    const { epoch, committed, push = {} } = (await this.#ports.positions.read(id)) ?? { epoch: 0, committed: 0 };
    const lease = new PositionLease(this.#ports, id, epoch, subscription.timeoutMs, deadline);
    if (!(await lease.take(committed))) return undefined;
    this.#lanes.set(lane, push.failure?.retryAt ?? 0);
    const { pushPositions } = this.#ports;
    try {
      // A target may keep the highest epoch that a key has come with.
      const isRaised = await this.#lease.stepBy(
        this.#progress,
        async (by, step) => (await pushPositions.step(this.#of.id, by, step)) === true,
        lease.epoch,
      );
      if (!isRaised) return undefined;
      const delivered = await this.#call(letter, record);
      // What is still under way of this call is fenced before another one may begin.
      if (delivered.kind !== 'done') await this.#lease.step(this.#progress, true, true);
      return delivered;
    } finally {
      await lease.step({ committed, push }, false).catch(() => {}); // then its time ends by itself
    }
  }

  /** Who came for them meanwhile was sent away. */
  async #wakeLanes(): Promise<void> {
    const { to, id } = this.#of;
    const now = this.#ports.clock.now();
    for (const [lane, dueAt] of this.#lanes) await wakeLane(this.#ports, to, { ...id, lane }, dueAt - now);
  }

  /** The topic may be gone, and its letters with their group still there. */
  async #retentionMsOf(topic: string): Promise<number> {
    try {
      return (await this.#ports.topics.get(topic)).retentionMs;
    } catch (error) {
      if (error instanceof TopicNotFound) return RETENTION_MS_DEFAULT;
      throw error;
    }
  }

  async #call(letter: DeadLetter, record: DeliveryRecord): Promise<Delivered> {
    const { subscription, id } = this.#of;
    const records = [{ ...record, redrives: letter.redrives + 1 }];
    const send = this.#ports.callOf(subscription);
    const retentionMs = await this.#retentionMsOf(letter.topic);
    const batch = { ...id, topic: letter.topic, epoch: this.#lease.epoch, retentionMs, records };
    return send(batch, this.#ports.clock.now() + subscription.timeoutMs);
  }

  async #follow(letter: DeadLetter, delivered: Delivered): Promise<'on' | 'stopped'> {
    const { group } = this.#of.id;
    const { clock, redrives } = this.#ports;
    if (delivered.kind === 'done') {
      // The item first: without its object, a run that dies in between would leave a record that looks lost.
      // Marked anew meanwhile, corrected perhaps, it is to be given back once more.
      const { redrivesFailed: _, ...push } = this.#push;
      this.#push = push;
      if (!(await redrives.end(group, letter, seenOf(letter)))) return 'on';
      await removeObjects(this.#ports.deadLetterObjects, group, letter);
      return 'on';
    }
    this.#push = { ...this.#push, isSlow: true };
    if (delivered.kind === 'away') {
      this.#push = { ...this.#push, lastError: { ...delivered.error, at: clock.now() } };
      const awayMs = Math.max(delivered.retryAfterMs ?? REDRIVE_AWAY_MS, REDRIVE_AWAY_MS_MIN);
      await redrives.postpone(group, letter, clock.now() + awayMs);
      return 'on';
    }
    if (delivered.kind === 'cannot' || delivered.kind === 'gone') {
      const state = delivered.kind === 'gone' ? 'paused' : 'halted';
      const reason = delivered.kind === 'gone' ? 'the target wants no more' : 'the target cannot be delivered to';
      await stopSubscription(this.#ports, group, { state, reason, error: delivered.error });
      this.#ports.observe({ kind: 'subscription_stopped', group: group.name });
      return 'stopped';
    }
    // Fenced before it lies again: what is still under way of this call must not settle what somebody corrects then.
    if (await this.#lease.step(this.#progress, true, true)) await this.#land(letter, errorOf(delivered));
    return 'on';
  }

  async #land(letter: DeadLetter, error: DeadLetter['error']): Promise<void> {
    const { group } = this.#of.id;
    const landed = landedAgain(letter, error, this.#ports.clock.now());
    // Told first: what has landed is not looked at again.
    await this.#ports.deadLetterQueue.tell(group, landed);
    if (await this.#ports.redrives.land(group, landed, seenOf(letter))) {
      this.#ports.observe({ kind: 'dead_letters', count: 1 });
      this.#push = { ...this.#push, redrivesFailed: (this.#push.redrivesFailed ?? 0) + 1 };
    }
  }

  /** @returns why there is none, where there is none */
  async #open(letter: DeadLetter): Promise<OpenedLetter | string> {
    const { topicId } = letter;
    const { deadLetterObjects, uploadUrls, clock, openLetter } = this.#ports;
    const bytes = await redrivenOf(deadLetterObjects, this.#of.id.group, letter);
    const opened = bytes === undefined ? 'payload_missing' : openLetter(bytes, letter.offset);
    if (typeof opened === 'string') return opened;
    const { record, upload } = opened;
    if (upload === undefined) return opened;
    const url = await uploadUrls.get({ topicId, uploadId: upload.uploadId }, clock.now());
    return { ...opened, record: { ...record, value: null, link: { size: upload.size, sha256: upload.sha256, url } } };
  }

  #first(): Promise<Redrive | undefined> {
    return this.#ports.redrives.first(this.#of.id.group, this.#of.id);
  }

  /** What was committed stays. */
  get #progress(): Progress {
    return { committed: this.#of.position.committed, push: this.#push };
  }
}

function seenOf({ redriveAt }: DeadLetter): { readonly redriveAt?: number } {
  return redriveAt === undefined ? {} : { redriveAt };
}

function unreadable(reason: string): Delivered {
  return { kind: 'failed', error: deliveryError(reason, 'the record cannot be read') };
}

function errorOf(delivered: Delivered): DeadLetter['error'] {
  if (delivered.kind === 'too_large') {
    return { name: 'target_too_large', message: 'the record is too large for its target' };
  }
  return 'error' in delivered ? delivered.error : NAMELESS;
}
