import { batchObjectKey, parseLogItemKey, TOPICS } from '../../../shared/store/keys.ts';
import { readSlot } from '../../../shared/store/slot-item.ts';
import type { Item } from './expressions.ts';
import type { Change } from './tables.ts';

/** A slot of the log as the service has held it. */
export interface HeldSlot {
  readonly topicId: string;
  readonly partition: number;
  readonly base: number;
  readonly last: number;
  /** Ids of its records; none: it is a void. */
  readonly records: readonly string[];
  /** Its payload is in the bucket. */
  readonly spilled: boolean;
  /** Ids of uploads that are values, by place in the batch. */
  readonly uploads?: ReadonlyMap<number, string>;
  /** Epoch ms in its reservation. */
  readonly at: number;
  readonly storedAt: number;
  removedAt?: number;
}

/** What the log holds and has held, and when its offsets were reserved: the truth, which no host can see. */
export class Mirror {
  readonly slots: HeldSlot[] = [];
  /** Times of reservations by log: the first offset and the moment. */
  readonly reserved = new Map<string, { readonly base: number; readonly at: number }[]>();
  /** Offset below which the head says that everything is settled, by log. */
  readonly settled = new Map<string, number>();
  /** Ids of topics that are there. */
  readonly topics = new Set<string>();
  /** Payloads in the bucket. */
  payload: (key: string) => Uint8Array | undefined = () => undefined;

  take({ table, before, after }: Change, now: number): void {
    if (table === 'state') this.#takeState(before, after, now);
    else if (table !== 'log') return;
    else if (after !== undefined) this.#put(after, now);
    else this.#removed(before!, now);
  }

  /** Slots of one log that are there. */
  held(topicId: string, partition: number): HeldSlot[] {
    return this.slots.filter(
      (slot) => slot.topicId === topicId && slot.partition === partition && slot.removedAt === undefined,
    );
  }

  /** When an offset was reserved, as the service's clock had it. */
  reservedAt(topicId: string, partition: number, offset: number): number | undefined {
    return this.reserved.get(`${topicId}.${partition}`)?.findLast(({ base }) => base <= offset)?.at;
  }

  #put(item: Item, now: number): void {
    const last = Number(item.last!.N);
    const key = parseLogItemKey(item.log!.S!, last);
    if (key.kind !== 'slot') return;
    const { topicId, partition } = key;
    const count = Number(item.count!.N);
    const spilled = item.spill !== undefined;
    const bytes = item.spill === undefined ? item.batch?.B : this.payload(batchObjectKey(key, last));
    const records = item.void?.BOOL ? [] : recordsOf(bytes);
    const uploads = uploadsOf(item);
    this.slots.push({
      topicId,
      partition,
      base: last - count + 1,
      last,
      records,
      spilled,
      ...(uploads && { uploads }),
      at: Number(item.at!.N),
      storedAt: now,
    });
  }

  #removed(item: Item, now: number): void {
    const last = Number(item.last!.N);
    const key = parseLogItemKey(item.log!.S!, last);
    if (key.kind !== 'slot') return;
    const slot = this.held(key.topicId, key.partition).find((held) => held.last === last);
    if (slot !== undefined) slot.removedAt = now;
  }

  #takeState(before: Item | undefined, after: Item | undefined, now: number): void {
    if ((after ?? before)?.pk?.S === TOPICS) {
      if (before !== undefined) this.topics.delete(before.id!.S!);
      if (after !== undefined) this.topics.add(after.id!.S!);
      return;
    }
    const base = Number(before?.next?.N);
    if (after?.next === undefined) return;
    const log = after.pk!.S!.slice('head#'.length);
    this.settled.set(log, Number(after.settled?.N));
    if (!(Number(after.next.N) > base)) return;
    const known = this.reserved.get(log) ?? [];
    this.reserved.set(log, known);
    known.push({ base, at: now });
  }
}

function uploadsOf(item: Item): Map<number, string> | undefined {
  const slot = item.uploads === undefined ? undefined : readSlot(item);
  if (slot?.kind !== 'batch' || slot.uploads === undefined) return undefined;
  return new Map([...slot.uploads].map(([position, { uploadId }]) => [position, uploadId]));
}

/** A batch's bytes in a simulation: the ids of its records, as JSON. */
export function bytesOf(records: readonly string[]): Uint8Array {
  return Buffer.from(JSON.stringify(records));
}

export function recordsOf(bytes: Uint8Array | undefined): string[] {
  return JSON.parse(Buffer.from(bytes ?? []).toString() || '[]');
}
