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
  /** Slots that went into the last answer to a request of so many at most; `full`: there may be more. */
  answered?: { readonly slotsMax: number; readonly slots: number; readonly full: boolean };
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
    return this.#memories.get(keyOf(partition))?.head?.logStart ?? 0;
  }

  /**
   * How many slots to ask a read's first Query for. A slot holds one record or a thousand, and every KB that a Query reads
   * costs: a little more than what filled the last answer will do, and a few when nothing is known. Too few costs one
   * more Query. All, when the last answer met the end: what came since is little, and wanted.
   */
  slotsToRead(partition: PartitionId, slotsMax: number): number {
    const answered = this.#memories.get(keyOf(partition))?.answered;
    if (answered === undefined) return Math.min(slotsMax, SLOTS_AT_FIRST);
    return answered.full ? Math.min(slotsMax, withMargin(this.slotsWanted(partition, slotsMax))) : slotsMax;
  }

  /** How many slots fill an answer, going by the last one; infinite when that is not known. */
  slotsWanted(partition: PartitionId, slotsMax: number): number {
    const answered = this.#memories.get(keyOf(partition))?.answered;
    if (answered === undefined || !answered.full) return Number.POSITIVE_INFINITY;
    return Math.ceil((answered.slots * slotsMax) / answered.slotsMax);
  }

  /** So many slots went into an answer; `full`: it could take no more. */
  answered(partition: PartitionId, slotsMax: number, slots: number, full: boolean): void {
    const memory = this.#memories.get(keyOf(partition));
    if (memory === undefined || slots === 0) return;
    memory.answered = { slotsMax, slots, full };
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

  #remember(partition: PartitionId): Memory {
    const key = keyOf(partition);
    const known = this.#memories.get(key);
    if (known !== undefined) return known;
    const memory: Memory = { readAt: 0, provenFrom: 0, provenTo: 0 };
    this.#memories.set(key, memory);
    if (this.#memories.size > PARTITIONS_MAX) this.#memories.delete(this.#memories.keys().next().value!);
    return memory;
  }
}

function keyOf({ topicId, partition }: PartitionId): string {
  return `${topicId}.${partition}`;
}
