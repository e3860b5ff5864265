import { type Claim, claimExpiry, type Pin, type Placement, pinOf } from '../domain/claim.ts';
import type { Clock } from '../domain/clock.ts';
import {
  IdempotencyInProgress,
  IdempotencyKeyReused,
  StrangerInSlot,
  TopicNotFound,
  Unavailable,
} from '../domain/errors.ts';
import { settleAll } from '../domain/parallel.ts';
import type { Batch } from '../domain/record.ts';
import type { Reservation, Slot } from '../domain/slot.ts';
import type { PartitionId, Topic } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import type { AppendPorts } from './append-ports.ts';
import {
  type AppendRequest,
  type AppendResult,
  appendsOf,
  outcomesOf,
  type PartitionAppend,
} from './partition-append.ts';
import {
  ClaimMoved,
  type ClaimStore,
  MOVES_MAX,
  notClaimed,
  outcomeUnknown,
  PinnedClaim,
  toPin,
} from './pinned-claim.ts';

export interface ClaimPorts {
  readonly claims: ClaimStore;
  readonly log: {
    find(p: PartitionId, last: number): Promise<Slot | undefined>;
  };
  readonly clock: Clock;
}

/**
 * An append that happens once, whoever repeats it. The claim pins the slots; nobody fills a slot but the append that
 * reserved it. A second caller voids what the first one left, moves the pin to a reservation of its own, then fills.
 */
export class ClaimedAppend {
  readonly #ports: AppendPorts & ClaimPorts;
  readonly #topic: Topic;
  readonly #once: NonNullable<AppendRequest['once']>;
  readonly #build: (placement: Placement) => ReadonlyMap<number, Batch>;
  /** The claim as this request last knew it. */
  #claim: PinnedClaim | undefined;
  /** Own reservations that no pin points to, by partition. */
  readonly #spare = new Map<number, Reservation>();
  /** Batches that were found in pinned slots: they stay there. By the pin's id. */
  readonly #met = new Map<string, Slot>();
  /** How often each partition's pin was looked at. */
  readonly #looks = new Map<number, number>();

  constructor(
    ports: AppendPorts & ClaimPorts,
    topic: Topic,
    once: NonNullable<AppendRequest['once']>,
    build: (placement: Placement) => ReadonlyMap<number, Batch>,
  ) {
    this.#ports = ports;
    this.#topic = topic;
    this.#once = once;
    this.#build = build;
  }

  /** @throws {Throttled | Unavailable} */
  find(): Promise<Claim | undefined> {
    return this.#ports.claims.read(this.#topic.id, this.#once.key, this.#ports.clock.now());
  }

  /**
   * @param found the claim that was there when the reservations were made
   * @throws {IdempotencyKeyReused | IdempotencyInProgress | Throttled | Unavailable} nothing was stored by this call
   */
  async run(
    appends: readonly PartitionAppend[],
    reservations: readonly Reservation[],
    placement: Placement,
    found: Claim | undefined,
  ): Promise<AppendResult> {
    for (const [i, { partition }] of appends.entries()) this.#spare.set(partition, reservations[i]!);
    try {
      const first = found ?? (await this.#make(appends, reservations, placement));
      if (first !== undefined) return await this.#follow(first);
      this.#spare.clear();
      const outcomes = await outcomesOf(appends, (append, i) => this.#fill(append, reservations[i]!));
      return { placement, outcomes, duplicate: false };
    } finally {
      // Last, before the answer: until the pinned slots were certain, a spare one might have been needed.
      const slots = new Map(appends.map(({ partition, slot }) => [partition, slot]));
      await settleAll([...this.#spare], async ([partition, spare]) => slots.get(partition)?.abandon(spare));
    }
  }

  /** @returns the claim that was there first, undefined when this request's holds */
  async #make(
    appends: readonly PartitionAppend[],
    reservations: readonly Reservation[],
    placement: Placement,
  ): Promise<Claim | undefined> {
    const now = this.#ports.clock.now();
    const claim = {
      fingerprint: this.#once.fingerprint,
      placement,
      pins: appends.map(({ partition }, i) => toPin(partition, reservations[i]!)),
      expiresAt: claimExpiry(this.#topic.retentionMs, now),
    };
    try {
      const there = await this.#ports.claims.make(this.#topic.id, this.#once.key, claim, now);
      if (there === undefined) this.#know(claim);
      return there;
    } catch (error) {
      throw error instanceof WriteFailed ? notClaimed(error) : error;
    }
  }

  /** Answers what the claim stands for, and completes what is missing. */
  async #follow(claim: Claim): Promise<AppendResult> {
    if (claim.fingerprint !== this.#once.fingerprint) throw new IdempotencyKeyReused();
    this.#know(claim);
    const appends = appendsOf(this.#ports, this.#topic, this.#build(claim.placement));
    await this.#refuseInProgress(claim, appends);
    const outcomes = await outcomesOf(appends, (append) => this.#complete(append));
    return { placement: claim.placement, outcomes, duplicate: true };
  }

  async #refuseInProgress(claim: Claim, appends: readonly PartitionAppend[]): Promise<void> {
    const waits = await settleAll(appends, async ({ partition, slot: append, batch }) => {
      const pin = pinOf(claim, partition);
      const remainingMs = append.fillDeadlineMs(batch) - this.#ageOf(pin);
      if (remainingMs < 0) return 0;
      const slot = await this.#find(pin);
      if (slot?.kind === 'batch') this.#met.set(pin.id, slot);
      return slot !== undefined ? 0 : Math.max(1, remainingMs);
    });
    const failed = waits.find((wait) => wait.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const waitMs = Math.max(...waits.map((wait) => (wait.status === 'fulfilled' ? wait.value : 0)));
    if (waitMs > 0) throw new IdempotencyInProgress(waitMs);
  }

  /** Makes sure that one partition's pin is filled. */
  async #complete(append: PartitionAppend): Promise<{ readonly base: number; readonly time: number }> {
    for (;;) {
      const looks = this.#looks.get(append.partition) ?? 0;
      if (looks === MOVES_MAX) break;
      this.#looks.set(append.partition, looks + 1);
      const pin = pinOf(this.#claim!.current, append.partition);
      if (await this.#isStored(pin)) return pin;
      const spare = this.#spare.get(append.partition);
      const own = spare?.count === pin.count ? spare : await append.slot.reserve(append.batch);
      if (own === undefined) throw new TopicNotFound(this.#topic.name);
      if (own === spare) this.#spare.delete(append.partition);
      try {
        await this.#move(append.partition, pin.id, own);
      } catch (error) {
        await append.slot.abandon(own);
        if (error instanceof ClaimMoved) continue;
        throw error;
      }
      return this.#fill(append, own);
    }
    throw new Unavailable('Others with the same Idempotency-Key were faster every time; repeat the request');
  }

  /** Fills a reservation that the claim pins; where it is fenced, the pin moves before the next one is filled. */
  async #fill(append: PartitionAppend, own: Reservation): Promise<{ readonly base: number; readonly time: number }> {
    try {
      return await append.slot.fill(own, append.batch, (from, to) => this.#move(append.partition, from.id, to));
    } catch (error) {
      if (error instanceof ClaimMoved) return this.#complete(append);
      throw error;
    }
  }

  /** Whether the pin's slot holds its batch. If it holds nothing, it does not any more: it is void after this. */
  async #isStored(pin: Pin): Promise<boolean> {
    const slot = this.#met.get(pin.id) ?? (await this.#find(pin)) ?? (await this.#void(pin));
    if (slot?.kind === 'batch') {
      if (slot.append === pin.id) return true;
      throw new StrangerInSlot(`${this.#topic.id}.${pin.partition}`, lastOf(pin), pin.id, slot.append);
    }
    // A slot that is void now may have been filled and deleted before, once the claim is dead. While it lives, its slots
    // are younger than half the retention that they were reserved with, whatever the topic's may be by now.
    if (this.#claim!.current.expiresAt * 1_000 <= this.#ports.clock.now()) throw outcomeUnknown();
    return false;
  }

  async #void(pin: Pin): Promise<Slot | undefined> {
    const order = { last: lastOf(pin), count: pin.count, previous: [], reservedBy: pin.time };
    const now = this.#ports.clock.now();
    try {
      return await this.#ports.log.putVoid(this.#partition(pin), order, now, this.#topic.retentionMs);
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error;
      // Its own write failed; whether the first caller's was carried out, this one does not know.
      throw error.reason === 'throttled' && !error.mayHaveLanded ? notClaimed(error) : outcomeUnknown(error);
    }
  }

  #know(claim: Claim): void {
    const { claims, clock } = this.#ports;
    this.#claim = new PinnedClaim(claims, this.#topic, this.#once.key, claim, () => clock.now());
  }

  #move(partition: number, fromId: string, to: Reservation): Promise<void> {
    return this.#claim!.move(fromId, toPin(partition, to));
  }

  #find(pin: Pin): Promise<Slot | undefined> {
    return this.#ports.log.find(this.#partition(pin), lastOf(pin));
  }

  #partition({ partition }: Pin): PartitionId {
    return { topicId: this.#topic.id, partition };
  }

  #ageOf({ time }: Pin): number {
    return this.#ports.writerClock.now() - time;
  }
}

function lastOf({ base, count }: Pin): number {
  return base + count - 1;
}
