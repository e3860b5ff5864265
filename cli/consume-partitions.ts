import { bytes, type PartitionOffsets, type Vertebra } from '../client/index.ts';
import { SURROUNDINGS, unlessAborted } from '../client/surroundings.ts';
import { FETCH_BYTES_MAX, FETCH_RECORDS_MAX } from '../shared/domain/limits.ts';
import type { Place } from './arguments.ts';
import type { Context } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import type { RecordSink } from './record-sink.ts';

export interface PartitionsWanted {
  readonly topic: string;
  /** Absent: all. */
  readonly partition: number | undefined;
  readonly from: Place;
  readonly follow: boolean;
}

/** Partitions that are read side by side. */
const READ_TOGETHER = 16;
/** Pauses between two looks at the ends of all partitions: after news, and the longest (they double). */
const LOOK_MS_MIN = 200;
const LOOK_MS_MAX = 2_000;

/** From one offset up to another, which is not part of it. */
interface Stretch {
  readonly partition: number;
  readonly begin: number;
  readonly end: number;
}

/**
 * Writes what is in the partitions, in the order of its arrival, up to where they end now. To follow, it looks again: one
 * call tells where all partitions end, so that those without news cost no call of their own.
 */
export async function consumePartitions(context: Context, wanted: PartitionsWanted, sink: RecordSink): Promise<void> {
  const { vertebra } = context;
  const { topic } = wanted;
  try {
    const { id: topicId } = await unlessAborted(vertebra.admin().describeTopic(topic), sink.ended);
    let bounds = await boundsOf(vertebra, wanted, sink);
    const next = await beginsOf(vertebra, wanted, bounds);
    for (let pauseMs = LOOK_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, LOOK_MS_MAX)) {
      const news = newsIn(bounds, next, topic);
      await readAll(vertebra, { topic, topicId }, news, sink);
      if (!wanted.follow || sink.ended.aborted) return;
      if (news.length > 0) pauseMs = LOOK_MS_MIN;
      for (const { partition, end } of news) next.set(partition, end);
      await SURROUNDINGS.sleep(pauseMs, sink.ended);
      bounds = await boundsOf(vertebra, wanted, sink);
    }
  } catch (error) {
    if (!sink.ended.aborted) throw error;
  }
}

async function boundsOf(vertebra: Vertebra, { topic, partition }: PartitionsWanted, sink: RecordSink) {
  const all = await unlessAborted(vertebra.admin().fetchTopicOffsets(topic), sink.ended);
  const bounds = all.filter((candidate) => partition === undefined || candidate.partition === partition);
  if (bounds.length > 0) return bounds;
  throw new CommandFailure(`topic ${topic} has no partition ${partition}, it has ${all.length}`, EXIT.notFound);
}

/** The first offset that is wanted of each partition that there is now. */
async function beginsOf(
  vertebra: Vertebra,
  { topic, partition, from }: PartitionsWanted,
  bounds: readonly PartitionOffsets[],
): Promise<Map<number, number>> {
  if (typeof from === 'object' && 'at' in from) {
    const found = await vertebra.admin().fetchTopicOffsetsByTimestamp(topic, from.at);
    return new Map(found.map(({ partition, offset }) => [partition, offset]));
  }
  const end = Math.max(...bounds.map(({ high }) => high));
  if (typeof from === 'object' && from.offset > end) {
    const where = partition === undefined ? topic : `${topic}-${partition}`;
    throw new CommandFailure(`--from ${from.offset} lies above the end of ${where}, which is ${end}`, EXIT.usage);
  }
  return new Map(bounds.map((bound) => [bound.partition, beginOf(bound, from)]));
}

/** An offset below the log's beginning means the beginning; one above its end, while others go on there, the end. */
function beginOf({ low, high }: PartitionOffsets, from: 'earliest' | 'latest' | { readonly offset: number }): number {
  if (typeof from === 'object') return Math.min(Math.max(low, from.offset), high);
  return from === 'latest' ? high : low;
}

/** What is there and was not read yet. A partition that was added is read from its beginning. */
function newsIn(bounds: readonly PartitionOffsets[], next: ReadonlyMap<number, number>, topic: string): Stretch[] {
  return bounds.flatMap(({ partition, low, high }) => {
    const begin = next.get(partition) ?? low;
    if (begin > high) throw new CommandFailure(`topic ${topic} was deleted and made again`, EXIT.notFound);
    return begin < high ? { partition, begin: Math.max(begin, low), end: high } : [];
  });
}

/** One incarnation of a topic. */
interface Incarnation {
  readonly topic: string;
  readonly topicId: string;
}

async function readAll(vertebra: Vertebra, of: Incarnation, stretches: readonly Stretch[], sink: RecordSink) {
  const waiting = [...stretches];
  const readNext = async (): Promise<void> => {
    for (let stretch = waiting.shift(); stretch && !sink.ended.aborted; stretch = waiting.shift()) {
      await readStretch(vertebra, of, stretch, sink);
    }
  };
  await Promise.all(Array.from({ length: READ_TOGETHER }, readNext));
}

async function readStretch(vertebra: Vertebra, of: Incarnation, stretch: Stretch, sink: RecordSink): Promise<void> {
  const { partition, begin, end } = stretch;
  const reader = vertebra.reader({
    ...{ ...of, partition, offset: begin, signal: sink.ended },
    ...{ codec: bytes(), maxRecords: Math.min(end - begin, FETCH_RECORDS_MAX), maxBytes: FETCH_BYTES_MAX },
    onOutOfRange: 'earliest', // retention went on meanwhile
    // What is damaged is shown as such, in its place: it is written before this returns.
    onInvalid: (_, { value, ...record }) =>
      void sink.take({ ...record, value: null, ...(value.kind === 'unreadable' && { unreadable: value.code }) }),
  });
  for await (const message of reader) {
    if (message.offset >= end || !(await sink.take(message))) return;
    if (message.offset === end - 1) return;
  }
}
