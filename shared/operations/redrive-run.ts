import { type DeadLetter, landedAgain, type Redrive } from '../domain/dead-letter.ts';
import { type Delivered, type DeliveryRecord, deliveryError } from '../domain/delivery.ts';
import { nextEpoch } from '../domain/group.ts';
import { PUSH_LEASE_MARGIN_MS, REDRIVE_AWAY_MS } from '../domain/limits.ts';
import type { Position, PositionId, PushState } from '../domain/position.ts';
import type { Subscription } from '../domain/subscription.ts';
import type { DeliverPorts } from './deliver-ports.ts';
import { standingOf, stopSubscription } from './stop-subscription.ts';

/** What a run of redrives is about. */
export interface RedriveRunOf {
  readonly subscription: Subscription;
  readonly id: PositionId;
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

/** A lease that was renewed so recently needs no write of its own before a call. */
const LEASE_FRESH_MS = 10_000;
const NAMELESS = { name: 'redrive_failed', message: 'the record was not taken' };

/**
 * Gives the dead letters of one partition back to their subscription, one call each, by offset: so in order for each key.
 * It owns the position meanwhile, as a delivery does, and leaves what is committed where it is. One that fails is a dead
 * letter again at once; one whose target is away waits, and those behind it with it.
 */
export class RedriveRun {
  readonly #ports: DeliverPorts;
  readonly #of: RedriveRunOf;
  readonly #owner: string;
  #epoch: number;
  #push: PushState;
  #until = 0;

  constructor(ports: DeliverPorts, of: RedriveRunOf) {
    this.#ports = ports;
    this.#of = of;
    this.#owner = ports.newRunId();
    this.#epoch = of.position.epoch;
    this.#push = of.position.push ?? {};
  }

  /** @throws {Throttled | Unavailable | WriteFailed} the position is released, if that could be */
  async run(): Promise<RedriveEnd> {
    const first = await this.#first();
    if (first === undefined) return { kind: 'idle' };
    const waitMs = first.at - this.#ports.clock.now();
    if (waitMs > 0) return { kind: 'later', waitMs };
    if (!this.#hasTime()) return { kind: 'later', waitMs: 0 };
    if (!(await this.#take())) return { kind: 'taken' };
    try {
      const end = await this.#giveBackAll(first);
      if (this.#until > 0) await this.#step(false);
      return end;
    } catch (error) {
      if (this.#until > 0) await this.#step(false).catch(() => {}); // then its time ends by itself
      throw error;
    }
  }

  async #giveBackAll(first: Redrive): Promise<RedriveEnd> {
    for (let next: Redrive | undefined = first; next !== undefined; next = await this.#first()) {
      const waitMs = next.at - this.#ports.clock.now();
      if (waitMs > 0) return { kind: 'later', waitMs };
      if (this.#ports.aside !== undefined && this.#push.isSlow) return { kind: 'aside' };
      if (!this.#hasTime()) return { kind: 'later', waitMs: 0 };
      if (!(await this.#renew())) return { kind: 'taken' };
      const standing = await standingOf(this.#ports, this.#of.subscription);
      if (standing !== 'same') return standing === 'over' ? { kind: 'stopped' } : { kind: 'later', waitMs: 0 };
      if ((await this.#giveBack(next)) === 'stopped') return { kind: 'stopped' };
    }
    return { kind: 'idle' };
  }

  async #giveBack(redrive: Redrive): Promise<'on' | 'stopped'> {
    const { id } = this.#of;
    const letter = await this.#ports.deadLetters.read(id.group, redrive);
    if (letter === undefined) {
      await this.#ports.redrives.end(id.group, redrive); // it was deleted meanwhile
      return 'on';
    }
    const record = await this.#record(letter);
    const delivered = typeof record === 'string' ? unreadable(record) : await this.#call(letter, record);
    return this.#follow(letter, delivered);
  }

  async #call(letter: DeadLetter, record: DeliveryRecord): Promise<Delivered> {
    const { subscription, id } = this.#of;
    const records = [{ ...record, redrives: letter.redrives + 1 }];
    const send = this.#ports.callOf(subscription);
    const batch = { ...id, topic: letter.topic, epoch: this.#epoch, records };
    return send(batch, this.#ports.clock.now() + subscription.timeoutMs);
  }

  async #follow(letter: DeadLetter, delivered: Delivered): Promise<'on' | 'stopped'> {
    const { group } = this.#of.id;
    const { clock, redrives } = this.#ports;
    if (delivered.kind === 'done') {
      // The item first: without its object, a run that dies in between would leave a record that looks lost.
      await redrives.end(group, letter);
      if ('object' in letter.payload) await this.#ports.deadLetterObjects.remove(group, letter);
      return 'on';
    }
    this.#push = { ...this.#push, isSlow: true };
    if (delivered.kind === 'away') {
      this.#push = { ...this.#push, lastError: { ...delivered.error, at: clock.now() } };
      await redrives.postpone(group, letter, clock.now() + (delivered.retryAfterMs ?? REDRIVE_AWAY_MS));
      return 'on';
    }
    if (delivered.kind === 'cannot' || delivered.kind === 'gone') {
      const state = delivered.kind === 'gone' ? 'paused' : 'halted';
      const reason = delivered.kind === 'gone' ? 'the target wants no more' : 'the target cannot be delivered to';
      await stopSubscription(this.#ports, group, { state, reason, error: delivered.error });
      this.#ports.observe({ kind: 'subscription_stopped', group: group.name });
      return 'stopped';
    }
    await this.#land(letter, errorOf(delivered));
    return 'on';
  }

  async #land(letter: DeadLetter, error: DeadLetter['error']): Promise<void> {
    const { group } = this.#of.id;
    const landed = landedAgain(letter, error, this.#ports.clock.now());
    // Told first: what has landed is not looked at again.
    await this.#ports.deadLetterQueue.tell(group, landed);
    await this.#ports.redrives.land(group, landed);
    this.#ports.observe({ kind: 'dead_letters', count: 1 });
  }

  /** @returns why there is none, where there is none */
  async #record(letter: DeadLetter): Promise<DeliveryRecord | string> {
    const { payload, topicId } = letter;
    const { deadLetterObjects, uploadUrls, clock, openLetter } = this.#ports;
    const bytes =
      'bytes' in payload ? payload.bytes : await deadLetterObjects.get(this.#of.id.group, letter, payload.object);
    const opened = bytes === undefined ? 'payload_missing' : openLetter(bytes, letter.offset);
    if (typeof opened === 'string') return opened;
    const { record, upload } = opened;
    if (upload === undefined) return record;
    const url = await uploadUrls.get({ topicId, uploadId: upload.uploadId }, clock.now());
    return { ...record, value: null, link: { size: upload.size, sha256: upload.sha256, url } };
  }

  #first(): Promise<Redrive | undefined> {
    return this.#ports.redrives.first(this.#of.id.group, this.#of.id);
  }

  async #take(): Promise<boolean> {
    const now = this.#ports.clock.now();
    const { id, position } = this.#of;
    const by = { owner: this.#owner, epoch: nextEpoch(this.#epoch, now), until: now + this.#leaseMs, now };
    const isTaken = await this.#ports.pushPositions.take(id, position, by);
    if (isTaken) {
      this.#epoch = by.epoch;
      this.#until = by.until;
    }
    return isTaken;
  }

  /**
   * Before each call: no other run may begin while this one may still be calling. A renewal whose answer came late, to a
   * process that stood still, is none.
   */
  async #renew(): Promise<boolean> {
    const isFresh = () => this.#until - this.#ports.clock.now() >= this.#leaseMs - LEASE_FRESH_MS;
    while (!isFresh()) if (!(await this.#step(true))) return false;
    return true;
  }

  /** @returns false when the position is no longer this run's */
  async #step(keep: boolean): Promise<boolean> {
    const until = keep ? this.#ports.clock.now() + this.#leaseMs : 0;
    const is = { owner: this.#owner, epoch: this.#epoch };
    const { committed } = this.#of.position;
    const to = { committed, epoch: this.#epoch, push: this.#push, ...(keep && { until }) };
    const isDone = await this.#ports.pushPositions.step(this.#of.id, is, to);
    this.#until = isDone ? until : 0;
    return isDone;
  }

  get #leaseMs(): number {
    return this.#of.subscription.timeoutMs + PUSH_LEASE_MARGIN_MS;
  }

  #hasTime(): boolean {
    return this.#of.deadline - this.#ports.clock.now() >= this.#leaseMs;
  }
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
