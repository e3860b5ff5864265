import { type BackboneError, OffsetOutOfRange } from '../domain/errors.ts';
import { POLL_PARTITIONS_MAX } from '../domain/limits.ts';
import { settleAll } from '../domain/parallel.ts';
import type { GroupPorts } from './group-ports.ts';
import type { Assigned, GroupSink, PartSink, Reading, Room, TopicError } from './group-requests.ts';
import { lookAtPartition, mayHaveMore } from './partition-look.ts';
import { passingError } from './store-failed.ts';
import type { Held } from './take-positions.ts';
import { mixed, TURN_MS } from './turns.ts';

export interface GroupRead {
  /** Every partition held, where it goes on now, by topic and partition. */
  readonly assigned: readonly (Held & Pick<Assigned, 'error'>)[];
  readonly errors: readonly TopicError[];
  /** Of the next poll; absent while every partition is looked at. */
  readonly turn?: number;
  /** Records that were read. */
  readonly count: number;
}

type Request = Pick<Reading, 'paused' | 'reset' | 'turn'> & {
  readonly deadline: number;
  /** The answer has records of other kinds already: none needs to come that does not fit. */
  readonly isBegun?: boolean;
};

/** One partition while it is read. */
interface Reader {
  readonly held: Held;
  part?: PartSink;
  position: number;
  /** There is, or may be, more than was taken. */
  hasMore: boolean;
  error?: BackboneError;
}

/**
 * Reads what a member holds and has not paused, at most `POLL_PARTITIONS_MAX` partitions side by side: those in turn,
 * where it holds more. Of what an answer has room for each gets an equal share; what others leave goes to those that
 * have more, in an order that follows from the offsets alone: a poll that is repeated gives the same records.
 *
 * @param held by topic and partition
 * @throws {Throttled | Unavailable} no partition could be read
 */
export async function readGroup(
  ports: GroupPorts,
  held: readonly Held[],
  request: Request,
  sink: GroupSink,
): Promise<GroupRead> {
  const paused = new Set(request.paused.map(({ topic, partition }) => `${topic}#${partition}`));
  const { records, bytes } = sink.room;
  const hasRoom = !request.isBegun || (records > 0 && bytes > 0);
  const awake = held.filter(({ topic, partition }) => hasRoom && !paused.has(`${topic.name}#${partition}`));
  const { chosen, turn } = inTurn(awake, request.turn ?? turnAt(ports.clock.now()));
  const readers = chosen.map((one): Reader => ({ held: one, position: one.offset, hasMore: true }));
  await readShares(ports, readers, request, sink);
  const errors = readers.filter(({ error }) => error !== undefined && !(error instanceof OffsetOutOfRange));
  if (errors.length > 0 && errors.length === readers.length) throw errors[0]!.error!;
  const read = new Map(readers.map((reader) => [reader.held, reader]));
  return {
    assigned: held.map((one) => assignedOf(one, read.get(one))),
    errors: errors.map(({ held: { topic, partition }, error }) => ({ topic: topic.name, partition, error: error! })),
    ...(turn === undefined ? {} : { turn }),
    count: tell(ports, readers),
  };
}

function assignedOf(one: Held, reader: Reader | undefined): Held & Pick<Assigned, 'error'> {
  const offset = reader?.position ?? one.offset;
  return reader?.error instanceof OffsetOutOfRange ? { ...one, offset, error: reader.error } : { ...one, offset };
}

/** Of a call that tells none. */
export function turnAt(now: number): number {
  return mixed(Math.floor(now / TURN_MS));
}

/** Those that one call looks at, where there are more than it may. @param turn as the last call told it */
export function inTurn(
  held: readonly Held[],
  turn: number,
): { readonly chosen: readonly Held[]; readonly turn?: number } {
  const turns = Math.ceil(held.length / POLL_PARTITIONS_MAX);
  if (turns <= 1) return { chosen: rotated(held) };
  const from = (turn % turns) * POLL_PARTITIONS_MAX;
  return { chosen: rotated(held.slice(from, from + POLL_PARTITIONS_MAX)), turn: (turn + 1) % turns };
}

function rotated(held: readonly Held[]): readonly Held[] {
  const first = held.reduce((sum, { offset }) => (sum + offset) % held.length, 0);
  return [...held.slice(first), ...held.slice(0, first)];
}

async function readShares(ports: GroupPorts, readers: readonly Reader[], request: Request, sink: GroupSink) {
  await attempt(readers, async (reader) => {
    const { topic, partition } = reader.held;
    reader.hasMore = await mayHaveMore(ports, topic, partition, reader.position);
  });
  const filled = readers.filter(({ hasMore }) => hasMore);
  const read = (reader: Reader, room: Room, orFirst = false) => readInto(ports, reader, request, sink, room, orFirst);
  const { records, bytes } = sink.room;
  const share = {
    records: Math.max(1, Math.floor(records / filled.length)),
    bytes: Math.floor(bytes / filled.length),
  };
  await attempt(filled.slice(0, records), (reader) => read(reader, share));
  for (const reader of filled) {
    const left = roomLeft(sink, readers);
    if (left.records <= 0 || left.bytes <= 0) break;
    if (reader.hasMore) await attempt([reader], () => read(reader, left));
  }
  for (const reader of request.isBegun ? [] : filled) {
    if (filled.some(({ part }) => part !== undefined && part.count > 0)) break;
    if (reader.hasMore) await attempt([reader], () => read(reader, { records: 1, bytes }, true));
  }
}

/** What goes wrong with one partition spoils no other. */
async function attempt(readers: readonly Reader[], act: (reader: Reader) => Promise<void>): Promise<void> {
  const outcomes = await settleAll(readers, act);
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') continue;
    const { reason } = outcome;
    const reader = readers[i]!;
    reader.error = reason instanceof OffsetOutOfRange ? reason : passingError(reason);
    reader.hasMore = false;
  }
}

/** @param room beside what the part has already */
async function readInto(
  ports: GroupPorts,
  reader: Reader,
  { reset, deadline }: Request,
  sink: GroupSink,
  room: Room,
  orFirst: boolean,
): Promise<void> {
  const { topic, partition } = reader.held;
  const { count = 0, bytes = 0 } = reader.part ?? {};
  const widened = { records: count + room.records, bytes: bytes + room.bytes };
  reader.part ??= sink.open({ topic: topic.name, partition }, widened);
  reader.part.widen(widened, orFirst);
  const options = { ...room, ...(reset && { reset }), deadline };
  const look = await lookAtPartition(ports, topic, partition, reader.position, reader.part, options);
  reader.position = look.position;
  reader.hasMore = look.isFull;
}

function roomLeft({ room }: GroupSink, readers: readonly Reader[]): Room {
  let { records, bytes } = room;
  for (const { part } of readers) {
    records -= part?.count ?? 0;
    bytes -= part?.bytes ?? 0;
  }
  return { records, bytes };
}

function tell(ports: GroupPorts, readers: readonly Reader[]): number {
  let sum = 0;
  for (const { held, part } of readers) {
    const count = part?.count ?? 0;
    if (count > 0) ports.observe({ kind: 'records_read', log: `${held.topic.id}.${held.partition}`, count });
    sum += count;
  }
  return sum;
}
