import { SPILLS_AHEAD_MAX } from '../domain/limits.ts';
import type { Room } from '../domain/room.ts';
import type { BatchSlot, Slot, Spilled } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';
import { hasRoom, storedBytes } from './slots-to-read.ts';

export interface SpillPorts {
  readonly spill: {
    get(p: PartitionId, last: number, expected: Spilled): Promise<Uint8Array | 'payload_missing' | 'payload_corrupt'>;
  };
  readonly log: {
    find(p: PartitionId, last: number): Promise<Slot | undefined>;
  };
}

type SpilledSlot = BatchSlot & { readonly spilled: Spilled };

/**
 * Brings the payloads of one read's spilled batches from S3, a few ahead of the one that is wanted. Ahead come only those
 * that the answer can take besides: they are held no longer than it is, and none is paid for in vain.
 */
export class SpilledBatches {
  readonly #ports: SpillPorts;
  readonly #partition: PartitionId;
  #waiting: readonly BatchSlot[] = [];
  readonly #coming = new Map<number, Promise<BatchSlot | undefined>>();
  #slotsLeft: number;

  /** @param slotsWanted how many the answer takes, if that is known: none is fetched ahead beyond them */
  constructor(ports: SpillPorts, partition: PartitionId, slotsWanted = Number.POSITIVE_INFINITY) {
    this.#ports = ports;
    this.#partition = partition;
    this.#slotsLeft = slotsWanted;
  }

  /** The slots that will be asked for next, in order. Nothing is fetched before the first of them is. */
  expect(slots: readonly Slot[]): void {
    this.#waiting = slots.filter((slot) => slot.kind === 'batch');
  }

  /**
   * @param from the first offset that is wanted of it
   * @param room that the answer has for it and for those behind it
   * @returns the slot with its payload, or saying why it is unreadable; undefined when it has been removed meanwhile
   * @throws {Throttled | Unavailable}
   */
  async load(slot: BatchSlot, from: number, room: Room): Promise<BatchSlot | undefined> {
    this.#slotsLeft -= 1;
    if (!isSpilled(slot)) return slot;
    const loading = this.#coming.get(slot.last) ?? this.#load(slot);
    this.#coming.delete(slot.last);
    this.#waiting = this.#waiting.filter(({ last }) => last > slot.last);
    const left = { records: room.records - (slot.last - from + 1), bytes: room.bytes - slot.spilled.size };
    for (const next of this.#waiting.slice(0, Math.max(0, this.#slotsLeft))) {
      if (this.#coming.size >= SPILLS_AHEAD_MAX || !hasRoom({ ...room, ...left }, next)) break;
      if (isSpilled(next) && !this.#coming.has(next.last)) this.#fetchAhead(next);
      left.records -= next.count;
      left.bytes -= storedBytes(next);
    }
    return loading;
  }

  #fetchAhead(slot: SpilledSlot): void {
    const coming = this.#load(slot);
    coming.catch(() => {}); // told when, and only if, this slot is asked for
    this.#coming.set(slot.last, coming);
  }

  async #load(slot: SpilledSlot): Promise<BatchSlot | undefined> {
    const found = await this.#ports.spill.get(this.#partition, slot.last, slot.spilled);
    if (typeof found !== 'string') return { ...slot, batch: found };
    // An object goes after its slot: if that is gone as well, the record has expired under our eyes.
    if (found === 'payload_missing' && (await this.#ports.log.find(this.#partition, slot.last)) === undefined) {
      return undefined;
    }
    return { ...slot, unreadable: found };
  }
}

function isSpilled(slot: BatchSlot): slot is SpilledSlot {
  return slot.spilled !== undefined;
}
