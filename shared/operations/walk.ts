import type { Clock } from '../domain/clock.ts';
import { type Gap, judgeGap, type VoidOrder } from '../domain/gap.ts';
import { SETTLED_AFTER_WALK_OFFSETS, VOID_PUTS_MAX } from '../domain/limits.ts';
import type { Observe } from '../domain/observation.ts';
import { type BatchSlot, baseOf, type Reserved, reservedBy, type Slot } from '../domain/slot.ts';
import { isExpired, type PartitionId, type Topic } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';

/** Queries that one walk makes at most. Each moves the position, or has spent one of the walk's voids. */
const ROUNDS_MAX = 10_000;

/** Slots that one Query is asked for at most; its 1 MB page may end it earlier. */
export const SLOTS_PER_QUERY_MAX = 1_000;

export interface HeadView {
  readonly next: number;
  readonly register: readonly Reserved[];
  readonly logStart: number;
  readonly settled: number;
}

export interface WalkPorts {
  readonly heads: {
    read(p: PartitionId): Promise<HeadView | undefined>;
    advance(p: PartitionId, proven: { from: number; to: number; logStart?: number }): Promise<boolean>;
  };
  readonly log: {
    read(
      p: PartitionId,
      offset: number,
      options: { limit: number; outline: boolean },
    ): Promise<{ slots: readonly Slot[]; more: boolean }>;
    putVoid(p: PartitionId, order: VoidOrder, now: number, retentionMs: number): Promise<Slot | undefined>;
  };
  readonly clock: Clock;
  readonly observe: Observe;
}

export interface WalkOptions {
  /** Slots in the first Query. */
  readonly limit: number;
  /** Leave the batches' bytes behind. */
  readonly outline: boolean;
  /** Epoch ms after which no further round begins. */
  readonly deadline: number;
  /** Ends the walk where it meets something expired before any record: it began below the log start. */
  readonly stopAtExpired?: boolean;
  /** Told of the slots that a Query found, before the first of them is visited. */
  onPage?(slots: readonly Slot[]): void;
  /** How many slots the next Query is asked for after one that brought these; absent or undefined: twice as many. */
  limitAfter?(slots: readonly Slot[]): number | undefined;
  /** Whether the head is read, and the tail settled by it, where no slot follows: when this says so. */
  needsTail?(): boolean;
  /** Whether the visitor takes no more: then no Query is made to find more. */
  isFull?(): boolean;
}

/** Takes the records of a slot from offset `from` on. @returns the next offset wanted; within the slot: no more */
export type Visit = (slot: BatchSlot, from: number) => number | Promise<number>;

/**
 * Steps through a partition's log from an offset on, over everything that is settled, and settles what was abandoned.
 * It never passes an offset that could still be filled (A3).
 */
export class Walk {
  /** Every offset from the start of the walk up to here is settled, and was visited if it holds a record. */
  position: number;
  /** Nothing below is left, as far as this walk saw or the head says; 0 when it saw nothing of the kind. */
  logStart: number;
  /** The head as this walk last read it. */
  head: HeadView | undefined;
  /** The walk looked for the head and there is none: the topic is gone. */
  headMissing = false;
  /** It met something expired before any record. Whether the log starts behind it is another question. */
  metExpired = false;

  readonly #ports: WalkPorts;
  readonly #topic: Topic;
  readonly #partition: PartitionId;
  readonly #from: number;
  readonly #provenFrom: number;
  #live = false;
  #voidsLeft = VOID_PUTS_MAX;

  /**
   * @param start `from`: the first offset; `head`: read before the walk begins, if it was, so that the tail is judged
   * without a second read; `provenFrom`: from here up to `from` everything is known to be settled; `logStart`: below it
   * nothing is left, as was found out already; `isInside`: it is known that something below `from` is left
   */
  constructor(
    ports: WalkPorts,
    topic: Topic,
    partition: number,
    start: {
      readonly from: number;
      readonly head?: HeadView;
      readonly provenFrom?: number;
      readonly logStart?: number;
      readonly isInside?: boolean;
    },
  ) {
    this.#ports = ports;
    this.#topic = topic;
    this.#partition = { topicId: topic.id, partition };
    this.#from = start.from;
    this.#provenFrom = start.provenFrom ?? start.from;
    this.position = start.from;
    this.logStart = start.logStart ?? 0;
    this.#live = start.isInside ?? false;
    if (start.head !== undefined) this.#know(start.head);
  }

  /** @throws {Throttled | Unavailable} */
  async run(options: WalkOptions, visit: Visit): Promise<void> {
    let { limit } = options;
    for (let round = 0; round < ROUNDS_MAX; round++) {
      if (round > 0 && this.#ports.clock.now() >= options.deadline) return;
      const headIsOlder = this.head !== undefined;
      const page = await this.#ports.log.read(this.#partition, this.position, { ...options, limit });
      options.onPage?.(page.slots);
      const step = await this.#takePage(page.slots, options, visit);
      if (step === 'stop' || options.isFull?.()) return;
      // It brought less than was expected of it: the more such pages, the larger the next, whatever is expected of that.
      if (page.more) {
        const wanted = options.limitAfter?.(page.slots) ?? limit * 2;
        limit = Math.min(Math.max(wanted, 2 ** (round + 1)), SLOTS_PER_QUERY_MAX);
      }
      if (step === 'again' || page.more) continue;
      // Nothing more is stored. Whether something is reserved only the head tells.
      if (options.needsTail?.() === false) return;
      if (!headIsOlder) {
        // What was filled between that Query and this read is seen by another Query.
        if ((await this.#readHead()) && this.head!.next > this.position) continue;
        return;
      }
      if (this.head!.next <= this.position) return;
      const { next, register } = this.head!;
      if ((await this.#passGap(next, { previous: register }, options)) === 'stop') return;
    }
  }

  /**
   * Moves the head's `settled` and log start to what this walk has proven, when that gains enough to be worth a write.
   *
   * @returns whether it is stored. Never mind, unless it was told to somebody
   */
  async advance(gainMin = SETTLED_AFTER_WALK_OFFSETS): Promise<boolean> {
    const { head, position, logStart } = this;
    if (head === undefined || this.#provenFrom > head.settled || position < head.settled) return false;
    const gained = Math.max(position - head.settled, logStart - head.logStart);
    if (gained < gainMin) return gained <= 0;
    const proven = { from: this.#provenFrom, to: position, ...(logStart > head.logStart ? { logStart } : {}) };
    try {
      return await this.#ports.heads.advance(this.#partition, proven);
    } catch (error) {
      if (!(error instanceof WriteFailed)) throw error;
      return false;
    }
  }

  async #takePage(slots: readonly Slot[], options: WalkOptions, visit: Visit): Promise<'next' | 'again' | 'stop'> {
    for (const slot of slots) {
      const base = baseOf(slot);
      const step = await this.#passGap(base, { previous: slot.previous, followerTime: reservedBy(slot) }, options);
      if (step !== 'passed') return step;
      if (slot.kind === 'batch') {
        const expired = isExpired(this.#topic, { time: slot.at, expiresAt: slot.expiresAt }, this.#ports.clock.now());
        if (expired) {
          if (this.#startsAt(slot.last + 1, options)) return 'stop';
        } else {
          this.#live = true;
          const next = await visit(slot, Math.max(this.position, base));
          if (next <= slot.last) {
            this.position = Math.max(this.position, next);
            return 'stop';
          }
        }
      }
      this.position = Math.max(this.position, slot.last + 1);
    }
    return 'next';
  }

  /** Passes the offsets up to `to`, part by part. @returns 'again': look anew, something was voided or met */
  async #passGap(
    to: number,
    follower: Pick<Gap, 'previous' | 'followerTime'>,
    options: WalkOptions,
  ): Promise<'passed' | 'again' | 'stop'> {
    while (to > this.position) {
      const step = await this.#settle({ from: this.position, to, ...follower }, options);
      if (step !== 'passed') return step;
    }
    return 'passed';
  }

  async #settle(gap: Gap, options: WalkOptions): Promise<'passed' | 'again' | 'stop'> {
    // A missing slot below `settled` is passed without a void, so the head is read before the first gap is judged, and
    // then the gap is looked at again: what was missing before the head was read may have been filled and settled since.
    if (this.head === undefined) return (await this.#readHead()) ? 'again' : 'stop';
    const now = this.#ports.clock.now();
    const verdict = judgeGap(gap, this.head!, this.#topic, now, this.#voidsLeft);
    if (verdict.act === 'wait') return 'stop';
    if (verdict.act === 'void') return this.#putVoids(verdict.orders);
    if (verdict.expired && this.#startsAt(verdict.to, options)) return 'stop';
    this.position = verdict.to;
    return 'passed';
  }

  async #putVoids(orders: readonly VoidOrder[]): Promise<'again' | 'stop'> {
    let count = 0;
    let met: Slot | undefined;
    try {
      for (const order of orders) {
        // Somebody else's void that was met may cover the next offsets as well.
        if (met !== undefined && order.last >= baseOf(met) && order.last <= met.last) continue;
        const now = this.#ports.clock.now();
        const found = await this.#ports.log.putVoid(this.#partition, order, now, this.#topic.retentionMs);
        this.#voidsLeft -= 1;
        if (found?.kind === 'batch') return 'again';
        if (found === undefined) count += 1;
        else met = found;
      }
      return 'again';
    } catch (error) {
      // A void that may or may not stand proves nothing: the walk answers what it has, a later one looks again.
      if (error instanceof WriteFailed) return 'stop';
      throw error;
    } finally {
      if (count > 0) this.#ports.observe({ kind: 'slots_voided', log: this.log, count });
    }
  }

  get log(): string {
    return `${this.#partition.topicId}.${this.#partition.partition}`;
  }

  async #readHead(): Promise<boolean> {
    const head = await this.#ports.heads.read(this.#partition);
    this.headMissing = head === undefined;
    if (head !== undefined) this.#know(head);
    return head !== undefined;
  }

  /**
   * The log starts behind what is expired; what expires behind a record that is still there only leaves a hole. A walk
   * that began above the log start cannot tell: such a record may lie below it.
   * @returns whether the walk ends here
   */
  #startsAt(offset: number, { stopAtExpired = false }: WalkOptions): boolean {
    if (this.#live) return false;
    this.metExpired = true;
    if (this.#from <= this.logStart) this.logStart = Math.max(this.logStart, offset);
    return stopAtExpired;
  }

  #know(head: HeadView): void {
    this.head = head;
    this.logStart = Math.max(this.logStart, head.logStart);
  }
}
