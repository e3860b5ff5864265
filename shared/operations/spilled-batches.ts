import { SPILLS_AHEAD_MAX } from '../domain/limits.ts';
import type { BatchSlot, Slot, Spilled } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';

export interface SpillPorts {
  readonly spill: {
    get(p: PartitionId, last: number, expected: Spilled): Promise<Uint8Array | 'payload_missing' | 'payload_corrupt'>;
  };
  readonly log: {
    find(p: PartitionId, last: number): Promise<Slot | undefined>;
  };
}

/** Brings the payloads of one read's spilled batches from S3, a few ahead of the one that is wanted. */
export class SpilledBatches {
  readonly #ports: SpillPorts;
  readonly #partition: PartitionId;
  #waiting: (BatchSlot & { readonly spilled: Spilled })[] = [];
  readonly #coming = new Map<number, Promise<BatchSlot | undefined>>();

  constructor(ports: SpillPorts, partition: PartitionId) {
    this.#ports = ports;
    this.#partition = partition;
  }

  /** The slots that will be asked for next, in order. Nothing is fetched before the first of them is. */
  expect(slots: readonly Slot[]): void {
    this.#waiting = slots.filter((slot) => slot.kind === 'batch').filter(isSpilled);
  }

  /**
   * @returns the slot with its payload, or saying why it is unreadable; undefined when it has been removed meanwhile
   * @throws {Throttled | Unavailable}
   */
  async load(slot: BatchSlot): Promise<BatchSlot | undefined> {
    if (!isSpilled(slot)) return slot;
    this.#waiting = this.#waiting.filter(({ last }) => last > slot.last);
    const loading = this.#coming.get(slot.last) ?? this.#load(slot);
    this.#coming.delete(slot.last);
    while (this.#coming.size < SPILLS_AHEAD_MAX && this.#waiting.length > 0) {
      const next = this.#waiting.shift()!;
      const coming = this.#load(next);
      coming.catch(() => {}); // told when, and only if, this slot is asked for
      this.#coming.set(next.last, coming);
    }
    return loading;
  }

  async #load(slot: BatchSlot & { readonly spilled: Spilled }): Promise<BatchSlot | undefined> {
    const found = await this.#ports.spill.get(this.#partition, slot.last, slot.spilled);
    if (typeof found !== 'string') return { ...slot, batch: found };
    // An object goes after its slot: if that is gone as well, the record has expired under our eyes.
    if (found === 'payload_missing' && (await this.#ports.log.find(this.#partition, slot.last)) === undefined) {
      return undefined;
    }
    return { ...slot, unreadable: found };
  }
}

function isSpilled(slot: BatchSlot): slot is BatchSlot & { readonly spilled: Spilled } {
  return slot.spilled !== undefined;
}
