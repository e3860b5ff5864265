import { bytes, type PartitionOffsets, type Vertebra } from '../client/index.ts';
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

/** Partitions that are read side by side when each of them has an end. */
const READ_TOGETHER = 16;

interface Stretch {
  readonly partition: number;
  readonly begin: number;
  /** Where it ends; absent: nowhere. */
  readonly end: number | undefined;
}

/** Writes what is in the partitions, in the order of its arrival; without `follow`, up to where they end now. */
export async function consumePartitions(context: Context, wanted: PartitionsWanted, sink: RecordSink): Promise<void> {
  const stretches = await stretchesOf(context.vertebra, wanted);
  const waiting = stretches.filter(({ begin, end }) => end === undefined || begin < end);
  const readNext = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined && !sink.ended.aborted; next = waiting.shift()) {
      await readStretch(context.vertebra, wanted.topic, next, sink);
    }
  };
  const together = wanted.follow ? waiting.length : Math.min(READ_TOGETHER, waiting.length);
  await Promise.all(Array.from({ length: together }, readNext));
}

async function readStretch(vertebra: Vertebra, topic: string, stretch: Stretch, sink: RecordSink): Promise<void> {
  const { partition, begin, end } = stretch;
  const reader = vertebra.reader({
    ...{ topic, partition, offset: begin, follow: end === undefined, signal: sink.ended },
    codec: bytes(),
    // What is damaged is shown as such, in its place: it is written before this returns.
    onInvalid: (_, { value, ...record }) =>
      void sink.take({ ...record, value: null, ...(value.kind === 'unreadable' && { unreadable: value.code }) }),
  });
  try {
    for await (const message of reader) {
      if (end !== undefined && message.offset >= end) return;
      if (!(await sink.take(message))) return;
      if (end !== undefined && message.offset === end - 1) return;
    }
  } catch (error) {
    if (!sink.ended.aborted) throw error;
  }
}

async function stretchesOf(vertebra: Vertebra, { topic, partition, from, follow }: PartitionsWanted) {
  const admin = vertebra.admin();
  const all = await admin.fetchTopicOffsets(topic);
  const bounds = all.filter((candidate) => partition === undefined || candidate.partition === partition);
  if (bounds.length === 0) {
    throw new CommandFailure(`topic ${topic} has no partition ${partition}, it has ${all.length}`, EXIT.notFound);
  }
  const begins =
    typeof from === 'object' && 'at' in from ? await admin.fetchTopicOffsetsByTimestamp(topic, from.at) : [];
  return bounds.map((found): Stretch => {
    const begin = begins.find((candidate) => candidate.partition === found.partition)?.offset ?? beginOf(found, from);
    return { partition: found.partition, begin, end: follow ? undefined : found.high };
  });
}

/** An offset below the log's beginning means the beginning; one above its end brings nothing until it is there. */
function beginOf({ low, high }: PartitionOffsets, from: Place): number {
  if (from === 'latest') return high;
  return typeof from === 'object' && 'offset' in from ? Math.min(Math.max(low, from.offset), high) : low;
}
