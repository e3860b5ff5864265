import type { WriterClock } from '../domain/clock.ts';
import { OutcomeUnknown, StrangerInSlot, Throttled, TopicNotFound, Unavailable } from '../domain/errors.ts';
import type { VoidOrder } from '../domain/gap.ts';
import { FENCES_MAX, FILL_DEADLINE_MS, LATE_TRIES_MAX, RETENTION_FOREVER, SETTLE_AFTER_MS } from '../domain/limits.ts';
import type { Observe } from '../domain/observation.ts';
import type { Batch } from '../domain/record.ts';
import type { Reservation, Reserved, Slot } from '../domain/slot.ts';
import { expiryOf, type PartitionId, type Topic } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';

export interface AppendPorts {
  readonly heads: {
    /** @returns undefined when the head is closed or missing */
    reserve(p: PartitionId, id: string, what: Reserved, isLate: () => boolean): Promise<Reservation | undefined>;
  };
  readonly log: {
    /** @returns who holds the slot, undefined for this very batch */
    fill(p: PartitionId, reservation: Reservation, batch: Batch, isLate: () => boolean): Promise<Slot | undefined>;
    /** @returns who was there first */
    putVoid(p: PartitionId, order: VoidOrder, now: number, retentionMs: number): Promise<Slot | undefined>;
  };
  readonly writerClock: WriterClock;
  /** A new reservation id each time, 12 random bytes in hex. */
  newReservationId(): string;
  readonly observe: Observe;
}

/** What was found out about one try to fill a slot. */
type FillOutcome = 'stored' | 'fenced' | 'late';

/** Appends to one partition of one incarnation: reserve, then fill. */
export class SlotAppend {
  readonly #ports: AppendPorts;
  readonly #topic: Topic;
  readonly #partition: PartitionId;
  /** Names the partition's log in observations. */
  readonly log: string;

  constructor(ports: AppendPorts, topic: Topic, partition: number) {
    this.#ports = ports;
    this.#topic = topic;
    this.#partition = { topicId: topic.id, partition };
    this.log = `${topic.id}.${partition}`;
  }

  /**
   * Takes the next `count` offsets. @returns undefined when this incarnation takes no more appends.
   * @throws {Throttled | Unavailable} nothing will be stored
   */
  async reserve(count: number): Promise<Reservation | undefined> {
    const time = this.#ports.writerClock.now();
    const reserved = {
      count,
      time,
      expiresAt: expiryOf(this.#topic.retentionMs, time),
      settleMs: SETTLE_AFTER_MS,
    };
    try {
      const id = this.#ports.newReservationId();
      return await this.#ports.heads.reserve(this.#partition, id, reserved, () => this.#isLate(reserved));
    } catch (error) {
      throw error instanceof WriteFailed ? notStored(error) : error;
    }
  }

  /**
   * Stores the batch at `reservation`, or, where that proves impossible, at a later one.
   *
   * @param beforeMove called with every later reservation before it is filled; what it throws ends the append, after
   *   that reservation was abandoned
   * @returns the reservation that holds it
   * @throws {Throttled | Unavailable | TopicNotFound} nothing is stored; {OutcomeUnknown}; {StrangerInSlot}
   */
  async fill(
    reservation: Reservation,
    batch: Batch,
    beforeMove: (from: Reservation, to: Reservation) => Promise<void> = async () => {},
  ): Promise<Reservation> {
    let current = reservation;
    let fences = 0;
    let late = 0;
    for (;;) {
      const outcome = await this.#fillOnce(current, batch);
      if (outcome === 'stored') {
        this.#ports.observe({ kind: 'records_appended', log: this.log, count: batch.count });
        return current;
      }
      if (outcome === 'fenced' && ++fences === FENCES_MAX) {
        throw new Unavailable(`The append was overtaken ${FENCES_MAX} times; nothing was stored`);
      }
      if (outcome === 'late' && ++late === LATE_TRIES_MAX) {
        throw new Unavailable('The store answered too slowly; nothing was stored');
      }
      const next = await this.reserve(batch.count);
      if (next === undefined) throw new TopicNotFound(this.#topic.name);
      try {
        await beforeMove(current, next);
      } catch (error) {
        await this.abandon(next);
        throw error;
      }
      current = next;
    }
  }

  /** Voids a reservation that will not be filled, so that no reader waits for it. Best effort. */
  async abandon(reservation: Reservation): Promise<void> {
    try {
      await this.#putVoid(reservation);
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error;
    }
  }

  async #fillOnce(reservation: Reservation, batch: Batch): Promise<FillOutcome> {
    let found: Slot | undefined;
    try {
      found = await this.#ports.log.fill(this.#partition, reservation, batch, () => this.#isLate(reservation));
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error;
      return this.#giveUp(reservation, error);
    }
    if (found !== undefined) return this.#judge(reservation, found);
    this.#refuseProofWhenOld(reservation);
    return 'stored';
  }

  /** The fill was not confirmed: the slot is voided, and whoever is found there tells what happened. */
  async #giveUp(reservation: Reservation, failure: WriteFailed): Promise<FillOutcome> {
    this.#observe('append_late');
    let found: Slot | undefined;
    try {
      found = await this.#putVoid(reservation);
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error;
      if (failure.mayHaveLanded) throw unknown(failure);
      throw notStored(failure);
    }
    if (found !== undefined) return this.#judge(reservation, found);
    this.#refuseProofWhenOld(reservation);
    if (failure.reason === 'throttled') throw notStored(failure);
    return 'late';
  }

  /** Who holds the slot decides (A4). */
  #judge(reservation: Reservation, found: Slot): FillOutcome {
    if (found.kind === 'batch') {
      if (found.append === reservation.id) return 'stored';
      this.#observe('stranger_in_slot');
      throw new StrangerInSlot(this.log, reservation.last, reservation.id, found.append);
    }
    this.#observe('append_fenced');
    this.#ports.writerClock.learn(found.at);
    this.#refuseProofWhenOld(reservation);
    return 'fenced';
  }

  /**
   * Once half its retention has passed, a slot may have been filled, read and deleted: a void then proves nothing
   * about the past, and a fill that was confirmed may be gone again before anybody reads it.
   */
  #refuseProofWhenOld(reservation: Reservation): void {
    const { retentionMs } = this.#topic;
    if (retentionMs === RETENTION_FOREVER) return;
    if (this.#ports.writerClock.now() - reservation.time > retentionMs / 2) throw unknown();
  }

  async #putVoid({ last, count, previous, time }: Reservation): Promise<Slot | undefined> {
    const order = { last, count, previous, reservedBy: time };
    const now = this.#ports.writerClock.now();
    return this.#ports.log.putVoid(this.#partition, order, now, this.#topic.retentionMs);
  }

  #isLate({ time }: Reserved): boolean {
    return this.#ports.writerClock.now() - time > FILL_DEADLINE_MS;
  }

  #observe(kind: 'append_fenced' | 'append_late' | 'stranger_in_slot'): void {
    this.#ports.observe({ kind, log: this.log });
  }
}

function notStored(failure: WriteFailed): Throttled | Unavailable {
  return failure.reason === 'throttled'
    ? new Throttled('The partition takes no more writes for now; nothing was stored', 1_000, { cause: failure })
    : new Unavailable('The store did not answer in time; nothing was stored', 1_000, { cause: failure });
}

function unknown(cause?: Error): OutcomeUnknown {
  return new OutcomeUnknown('Whether the records were stored could not be found out', { cause });
}
