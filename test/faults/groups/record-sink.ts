import { type BatchSlot, baseOf } from '../../../shared/domain/slot.ts';
import type { NamedPartition, PartSink, PollSink, Room } from '../../../shared/operations/group-requests.ts';
import { recordsOf } from '../simulator/mirror.ts';
import type { MemberAnswer } from './history.ts';

const BYTES_MAX = 1_000_000;

/** Takes the ids of records. Each counts as one byte. */
export class RecordSink implements PollSink {
  readonly records: MemberAnswer['records'][number][] = [];
  readonly room: Room;

  constructor(records: number) {
    this.room = { records, bytes: BYTES_MAX };
  }

  open(named: NamedPartition, room: Room): PartSink {
    return new RecordPart(this.records, named, room);
  }

  /** No history of groups has dead letters. */
  async takeRedriven(): Promise<undefined> {}
}

class RecordPart implements PartSink {
  count = 0;
  readonly #records: MemberAnswer['records'][number][];
  readonly #named: NamedPartition;
  #room: Room;

  constructor(records: MemberAnswer['records'][number][], named: NamedPartition, room: Room) {
    this.#records = records;
    this.#named = named;
    this.#room = room;
  }

  get bytes(): number {
    return this.count;
  }

  widen(room: Room): void {
    this.#room = room;
  }

  isFull(): boolean {
    return this.count >= this.#room.records;
  }

  room() {
    return { records: this.#room.records - this.count, bytes: this.#room.bytes, partly: true };
  }

  uploadsToLink(): [] {
    return [];
  }

  take(slot: BatchSlot, from: number): number {
    const base = baseOf(slot);
    const ids = recordsOf(slot.batch);
    const { topic, partition } = this.#named;
    let offset = Math.max(from, base);
    for (; offset <= slot.last && !this.isFull(); offset++) {
      this.count += 1;
      this.#records.push({ topic, partition, offset, record: ids[offset - base]! });
    }
    return offset;
  }
}
