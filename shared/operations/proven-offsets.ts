import { OffsetOutOfRange, TopicNotFound } from '../domain/errors.ts';
import type { PartitionId, Topic } from '../domain/topic.ts';
import type { GroupPorts } from './group-ports.ts';
import { findBounds } from './partition-bounds.ts';
import { type HeadView, SLOTS_PER_QUERY_MAX, Walk } from './walk.ts';

/** Partitions that one container remembers at most. */
const PARTITIONS_MAX = 10_000;

interface Proof {
  /** Every offset below it is settled. */
  to: number;
  /** Nothing below it is left. */
  logStart: number;
}

/**
 * Up to where one container has seen each log settled, so that a commit of what it has read itself reads nothing.
 * Nothing rests on it: it may be empty, or lost, at any time.
 */
export class ProvenOffsets {
  readonly #proofs = new Map<string, Proof>();

  of(partition: PartitionId): Readonly<Proof> {
    return this.#proofs.get(keyOf(partition)) ?? { to: 0, logStart: 0 };
  }

  /** Every offset below `to` is settled: the log's own word, or that of a position, which never passes it (G3). */
  note(partition: PartitionId, to: number, logStart = 0): void {
    const proof = this.#remember(partition);
    proof.to = Math.max(proof.to, to);
    proof.logStart = Math.max(proof.logStart, logStart);
  }

  noteHead(partition: PartitionId, { settled, logStart }: Pick<HeadView, 'settled' | 'logStart'>): void {
    this.note(partition, Math.max(settled, logStart), logStart);
  }

  /** A walk found every offset from `from` to `to` settled, which says something where it began on proven ground. */
  noteWalk(partition: PartitionId, from: number, to: number): void {
    if (from <= this.of(partition).to) this.note(partition, to);
  }

  #remember(partition: PartitionId): Proof {
    const key = keyOf(partition);
    const known = this.#proofs.get(key);
    if (known !== undefined) return known;
    const proof: Proof = { to: 0, logStart: 0 };
    this.#proofs.set(key, proof);
    if (this.#proofs.size > PARTITIONS_MAX) this.#proofs.delete(this.#proofs.keys().next().value!);
    return proof;
  }
}

/**
 * Judges whether an offset may be committed: from the log start up to the high watermark (G3). Free where this container
 * has read so far itself; else half a read unit, where the offset is not past `settled`, which only grows, so that an old
 * copy proves as much; else a walk, which moves `settled`.
 *
 * @param deadline epoch ms
 * @throws {OffsetOutOfRange | TopicNotFound | Throttled | Unavailable}
 */
export async function judgeOffset(
  ports: Pick<GroupPorts, 'heads' | 'log' | 'clock' | 'observe' | 'proven'>,
  topic: Topic,
  partition: number,
  offset: number,
  deadline: number,
): Promise<void> {
  const id = { topicId: topic.id, partition };
  if (isProven(ports.proven.of(id), offset)) return;
  const copy = await ports.heads.read(id, false);
  if (copy !== undefined) ports.proven.noteHead(id, copy);
  if (isProven(ports.proven.of(id), offset)) return;
  const head = await ports.heads.read(id);
  if (head === undefined) throw new TopicNotFound(topic.name);
  ports.proven.noteHead(id, head);
  if (offset >= head.logStart && offset <= head.next) {
    const walk = new Walk(ports, topic, partition, { from: head.settled, head });
    const options = { limit: SLOTS_PER_QUERY_MAX, outline: true, deadline, isFull: () => walk.position >= offset };
    await walk.run(options, (slot) => slot.last + 1);
    await walk.advance(1);
    ports.proven.note(id, walk.position);
    if (walk.position >= offset) return;
  }
  const bounds = await findBounds(ports, topic, partition, deadline);
  if (bounds === undefined) throw new TopicNotFound(topic.name);
  ports.proven.note(id, bounds.highWatermark, bounds.logStartOffset);
  if (isProven(ports.proven.of(id), offset)) return;
  throw new OffsetOutOfRange(offset, bounds.logStartOffset, bounds.highWatermark);
}

function isProven({ to, logStart }: Readonly<Proof>, offset: number): boolean {
  return offset >= logStart && offset <= to;
}

function keyOf({ topicId, partition }: PartitionId): string {
  return `${topicId}.${partition}`;
}
