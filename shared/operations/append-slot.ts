import {
  type BackboneError,
  OutcomeUnknown,
  StrangerInSlot,
  Throttled,
  TopicNotFound,
  Unavailable,
} from '../domain/errors.ts';
import {
  FENCES_MAX,
  INTENT_LIFE_MS,
  LATE_TRIES_MAX,
  RETENTION_FOREVER,
  SETTLE_AFTER_MS,
  SLOW_SETTLE_AFTER_MS,
} from '../domain/limits.ts';
import type { Batch } from '../domain/record.ts';
import { fillDeadlineOf, type Reservation, type Reserved, type Slot, type Spilled } from '../domain/slot.ts';
import { type AppendTopic, expiryOf, type PartitionId } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import type { AppendPorts } from './append-ports.ts';
import { takeUploads } from './use-uploads.ts';

/** What was found out about one try to fill a slot. */
type FillOutcome = 'stored' | 'fenced' | 'late';

/** Appends to one partition of one incarnation: reserve, then fill. */
export class SlotAppend {
  readonly #ports: AppendPorts;
  readonly #topic: AppendTopic;
  readonly #partition: PartitionId;
  readonly #isSlow: boolean;
  /** Names the partition's log in observations. */
  readonly log: string;

  /** @param isSlow it is known that the fill takes its time: it is reserved for longer */
  constructor(ports: AppendPorts, topic: AppendTopic, partition: number, isSlow = false) {
    this.#ports = ports;
    this.#topic = topic;
    this.#isSlow = isSlow;
    this.#partition = { topicId: topic.id, partition };
    this.log = `${topic.id}.${partition}`;
  }

  /**
   * Takes the next offsets for a batch. @returns undefined when this incarnation takes no more appends.
   * @throws {Throttled | Unavailable} nothing will be stored
   */
  async reserve(batch: Batch): Promise<Reservation | undefined> {
    const time = this.#ports.writerClock.now();
    const reserved = {
      count: batch.count,
      time,
      expiresAt: expiryOf(this.#topic.retentionMs, time),
      settleMs: this.#settleMsOf(batch),
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
   * @throws {Throttled | Unavailable | TopicNotFound | UploadInvalid} nothing is stored; {OutcomeUnknown};
   *   {StrangerInSlot}
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
      const next = await this.reserve(batch);
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

  /**
   * Decides a reservation that somebody else was to fill: who is in its slot tells, and if nobody is, nobody will be.
   *
   * @returns whether it was filled
   * @throws {Throttled | Unavailable} nothing is decided; {OutcomeUnknown} it is too long ago; {StrangerInSlot}
   */
  async settle(reservation: Reservation): Promise<boolean> {
    let found: Slot | undefined;
    try {
      found = await this.#putVoid(reservation);
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error;
      throw error.reason === 'throttled'
        ? new Throttled('The slot is being written at this moment; nothing is decided', 1_000, { cause: error })
        : new Unavailable('The store did not answer in time; nothing is decided', 1_000, { cause: error });
    }
    if (found !== undefined) return this.#judge(reservation, found) === 'stored';
    this.#refuseProofWhenOld(reservation);
    return false;
  }

  async #fillOnce(reservation: Reservation, batch: Batch): Promise<FillOutcome> {
    let found: Slot | undefined;
    try {
      const spilled = this.#isSpilled(batch) ? await this.#spill(reservation, batch) : undefined;
      const refusal = batch.uploads && (await this.#takeUploads(reservation, batch));
      if (refusal !== undefined) return await this.#withdraw(reservation, refusal);
      const isLate = () => this.#isLate(reservation);
      found = await this.#ports.log.fill(this.#partition, reservation, batch, isLate, spilled);
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error;
      return this.#giveUp(reservation, error);
    }
    if (found !== undefined) return this.#judge(reservation, found);
    this.#refuseProofWhenOld(reservation);
    return 'stored';
  }

  /**
   * Puts the batch into S3, under its slot's key. The intent goes first: whatever becomes of this append, somebody will
   * look at the slot when the intent expires, and remove an object that no slot names.
   */
  async #spill(reservation: Reservation, batch: Batch): Promise<Spilled> {
    const { log, spill, writerClock } = this.#ports;
    const isLate = () => this.#isLate(reservation);
    const now = writerClock.now();
    const expiresAt = Math.ceil((now + INTENT_LIFE_MS) / 1_000);
    try {
      await log.putIntent(this.#partition, reservation.last, now, expiresAt, isLate);
      return await spill.put(this.#partition, reservation.last, batch.bytes, isLate);
    } catch (error) {
      throw notFilled(error);
    }
  }

  async #takeUploads(reservation: Reservation, batch: Batch): Promise<BackboneError | undefined> {
    const isLate = () => this.#isLate(reservation);
    try {
      return await takeUploads(this.#ports, this.#topic, this.#partition.partition, reservation, batch, isLate);
    } catch (error) {
      throw notFilled(error);
    }
  }

  /** Gives a slot back that must not be filled. Who settled it first may have taken the uploads for this very request. */
  async #withdraw(reservation: Reservation, refusal: BackboneError): Promise<FillOutcome> {
    let found: Slot | undefined;
    try {
      found = await this.#putVoid(reservation);
    } catch (error) {
      throw error instanceof WriteFailed ? refusal : error;
    }
    if (found === undefined) throw refusal;
    return this.#judge(reservation, found);
  }

  /** ms after its reservation in which a batch may still be stored. */
  fillDeadlineMs(batch: Batch): number {
    return fillDeadlineOf({ settleMs: this.#settleMsOf(batch) });
  }

  /** What must be done between reservation and fill takes time. */
  #settleMsOf(batch: Batch): number {
    const isSlow = this.#isSlow || this.#isSpilled(batch) || batch.uploads !== undefined;
    return isSlow ? SLOW_SETTLE_AFTER_MS : SETTLE_AFTER_MS;
  }

  #isSpilled({ bytes }: Batch): boolean {
    return bytes.length > this.#ports.spillAboveBytes;
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

  #isLate(reserved: Reserved): boolean {
    return this.#ports.writerClock.now() - reserved.time > fillDeadlineOf(reserved);
  }

  #observe(kind: 'append_fenced' | 'append_late' | 'stranger_in_slot'): void {
    this.#ports.observe({ kind, log: this.log });
  }
}

/** Whatever was written before the fill, the slot was not. */
function notFilled(error: unknown): unknown {
  return error instanceof WriteFailed ? new WriteFailed(error.reason, false, error) : error;
}

function notStored(failure: WriteFailed): Throttled | Unavailable {
  return failure.reason === 'throttled'
    ? new Throttled('The partition takes no more writes for now; nothing was stored', 1_000, { cause: failure })
    : new Unavailable('The store did not answer in time; nothing was stored', 1_000, { cause: failure });
}

function unknown(cause?: Error): OutcomeUnknown {
  return new OutcomeUnknown('Whether the records were stored could not be found out', { cause });
}
