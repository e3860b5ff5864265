import { Throttled, Unavailable } from '../domain/errors.ts';
import { SETTLED_EVERY_OFFSETS, SLOTS_AT_FIRST } from '../domain/limits.ts';
import type { PartitionId } from '../domain/topic.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import { withMargin } from './slots-to-read.ts';
import type { HeadView, WalkPorts } from './walk.ts';

/** Partitions that one container remembers at most. */
const PARTITIONS_MAX = 10_000;
/** How long a remembered head will do for the log start that answers tell. */
const HEAD_MEMORY_MS = 60_000;

interface Memory {
  head?: HeadView;
  readAt: number;
  /** Offsets that consecutive reads of this container have proven to be settled. */
  provenFrom: number;
  provenTo: number;
  /** Slots that went into the last answer that was full, which could have had so many. */
  full?: { readonly slotsMax: number; readonly slots: number };
  /** Where the last answer ended that took all there was. */
  endedAt: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const NOTHING: Readonly<Memory> = { readAt: 0, provenFrom: 0, provenTo: 0, endedAt: NEVER };

/** What an answer took. */
export interface Answered {
  /** Slots that it could have at most. */
  readonly slotsMax: number;
  /** The first offset asked for, and where the answer ended. */
  readonly from: number;
  readonly to: number;
  readonly slots: number;
  /** It could take no more: there may be more. */
  readonly isFull: boolean;
}

/**
 * What one container remembers of the partitions that it reads, so that a read that finds data costs one round trip:
 * the head is looked at once a minute, and `settled` is moved every `SETTLED_EVERY_OFFSETS`, both beside a later
 * Query. Nothing rests on it: it may be empty, or lost, at any time.
 */
export class ReaderMemory {
  readonly #memories = new Map<string, Memory>();

  /** The log start as the head last told it, 0 when it was never read here. */
  logStart(partition: PartitionId): number {
    return this.#of(partition).head?.logStart ?? 0;
  }

  /**
   * How many slots to ask a first Query for that reads from an offset on. A slot holds one record or a thousand, and every
   * KB that a Query reads costs: a little more than what filled the last answer will do, and a few when nothing is known. Too
   * few costs one more Query. All, behind what an answer took to the end: what came since is little, and wanted.
   */
  slotsToRead(partition: PartitionId, from: number, slotsMax: number): number {
    const wanted = this.slotsWanted(partition, from, slotsMax);
    if (wanted !== undefined) return Math.min(slotsMax, withMargin(wanted));
    return this.#of(partition).endedAt === NEVER ? Math.min(slotsMax, SLOTS_AT_FIRST) : slotsMax;
  }

  /** How many slots fill an answer, going by the last full one; undefined when none is known, or none expected. */
  slotsWanted(partition: PartitionId, from: number, slotsMax: number): number | undefined {
    const { full, endedAt } = this.#of(partition);
    if (full === undefined || from >= endedAt) return undefined;
    return Math.ceil((full.slots * slotsMax) / full.slotsMax);
  }

  /** An answer was given. */
  answered(partition: PartitionId, { slotsMax, from, to, slots, isFull }: Answered): void {
    const memory = this.#memories.get(keyOf(partition));
    if (memory === undefined || slots === 0) return;
    if (!isFull) memory.endedAt = to;
    else if (slotsMax > 1) memory.full = { slotsMax, slots }; // of one slot at most nothing can be learned
    if (isFull && from >= memory.endedAt) memory.endedAt = NEVER; // more had come than one answer takes
  }

  /** A read has found every offset from `from` to `to` settled. */
  proven(partition: PartitionId, from: number, to: number): void {
    const memory = this.#memories.get(keyOf(partition));
    if (memory === undefined) return;
    if (from >= memory.provenFrom && from <= memory.provenTo) memory.provenTo = Math.max(memory.provenTo, to);
    else Object.assign(memory, { provenFrom: from, provenTo: to });
  }

  /** Does what is due for the partition; meant to run beside a Query. Failures of the store are ignored. */
  async refresh({ heads, clock }: Pick<WalkPorts, 'heads' | 'clock'>, partition: PartitionId): Promise<void> {
    const memory = this.#remember(partition);
    const now = clock.now();
    const { head, provenFrom, provenTo } = memory;
    try {
      if (head === undefined || now - memory.readAt > HEAD_MEMORY_MS) {
        memory.readAt = now;
        const read = await heads.read(partition);
        if (read === undefined) this.#memories.delete(keyOf(partition));
        else memory.head = read;
      } else if (
        provenTo - provenFrom >= SETTLED_EVERY_OFFSETS &&
        head.settled >= provenFrom &&
        head.settled < provenTo
      ) {
        memory.head = { ...head, settled: provenTo };
        await heads.advance(partition, { from: provenFrom, to: provenTo });
        memory.provenFrom = provenTo;
      }
    } catch (error) {
      const passing = error instanceof Throttled || error instanceof Unavailable || error instanceof WriteFailed;
      if (!passing) throw error;
    }
  }

  #of(partition: PartitionId): Readonly<Memory> {
    return this.#memories.get(keyOf(partition)) ?? NOTHING;
  }

  #remember(partition: PartitionId): Memory {
    const key = keyOf(partition);
    const known = this.#memories.get(key);
    if (known !== undefined) return known;
    const memory: Memory = { ...NOTHING };
    this.#memories.set(key, memory);
    if (this.#memories.size > PARTITIONS_MAX) this.#memories.delete(this.#memories.keys().next().value!);
    return memory;
  }
}

function keyOf({ topicId, partition }: PartitionId): string {
  return `${topicId}.${partition}`;
}
