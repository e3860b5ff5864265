import { type Admin, bytes, type PartitionOffsets } from '../client/index.ts';
import { FETCH_RECORDS_MAX } from '../shared/domain/limits.ts';
import type { Context } from './context.ts';
import { CommandFailure, EXIT } from './exit-codes.ts';
import type { RecordSink } from './record-sink.ts';
import { plain } from './terminal.ts';

export interface GroupWanted {
  readonly topic: string;
  readonly group: string;
  /** Where the group begins in partitions that it never had. */
  readonly from: 'earliest' | 'latest';
  readonly follow: boolean;
}

/**
 * Writes what the group has not had yet, as one of its members. What was written is committed, and the group left,
 * however it ends; without `follow` that is once the whole group has passed what was there when it began.
 */
export async function consumeInGroup(context: Context, wanted: GroupWanted, sink: RecordSink): Promise<void> {
  const { topic, group, from, follow } = wanted;
  const admin = context.vertebra.admin();
  const there = await admin.fetchTopicOffsets(topic); // it may not be there
  const consumer = context.vertebra.consumer({
    groupId: group,
    codec: bytes(),
    autoOffsetReset: from,
    handlerRetry: { maxAttempts: 1 },
    maxRecords: FETCH_RECORDS_MAX,
    onFailure: 'halt', // what cannot be shown is not to be passed over
  });
  await consumer.subscribe({ topics: [topic] });
  consumer.on('topic.error', ({ error }) => context.tell(plain(error.message)));
  let stuck: CommandFailure | undefined;
  consumer.on('offset.out_of_range', ({ partition, position, logStartOffset }) => {
    const what = `${topic}-${partition} stands still: ${position} is gone, the log begins at ${logStartOffset}`;
    if (follow) context.tell(what);
    else stuck ??= new CommandFailure(`${what}; "vertebra groups reset" says where to go on`, EXIT.conflict);
    if (!follow) sink.end(); // what was there when it began will never be passed
  });
  if (!follow) consumer.on('fetch', ({ records }) => void (records === 0 && endOncePassed(admin, wanted, there, sink)));
  const stopped = new Promise<Error | undefined>((resolve) => {
    consumer.on('stop', ({ error }) => resolve(error));
  });
  const stop = () => consumer.stop();
  sink.ended.addEventListener('abort', stop, { once: true });
  if (sink.ended.aborted) return;
  await consumer.run({
    eachBatchAutoResolve: false,
    async eachBatch({ batch, resolveOffset, isStale }) {
      let last: number | undefined;
      for (const message of batch.messages) {
        if (isStale() || !(await sink.take(message))) break;
        last = message.offset;
      }
      if (last !== undefined && (await sink.flushed())) resolveOffset(last);
    },
  });
  const error = await stopped;
  if (error ?? stuck) throw error ?? stuck;
}

/** What was processed is committed with each poll: one that brought nothing is the time to look. */
async function endOncePassed(
  admin: Admin,
  { group, topic }: GroupWanted,
  there: readonly PartitionOffsets[],
  sink: RecordSink,
): Promise<void> {
  const { offsets } = await admin.describeGroup(group).catch(() => ({ offsets: [] })); // the next poll is another chance
  const passed = (partition: number, high: number) =>
    offsets.some(
      (offset) => offset.topic === topic && offset.partition === partition && (offset.committed ?? 0) >= high,
    );
  if (there.every(({ partition, low, high }) => low === high || passed(partition, high))) sink.end();
}
