import { PREPARED_BYTES_MAX, PREPARED_PARTITIONS_MAX } from '../domain/append-limits.ts';
import { OutcomeUnknown, RequestTooLarge } from '../domain/errors.ts';
import { INLINE_BATCH_BYTES_MAX, LATE_MAX_MS } from '../domain/limits.ts';
import { settleAll } from '../domain/parallel.ts';
import type { PreparedAppend, PreparedSlots } from '../domain/prepared.ts';
import type { Batch } from '../domain/record.ts';
import { fillDeadlineOf } from '../domain/slot.ts';
import type { AppendPorts } from './append-ports.ts';
import { SlotAppend } from './append-slot.ts';
import { findTopic } from './group-topics.ts';
import { type AppendRequest, appendsOf } from './partition-append.ts';
import { type RequestPorts, reserveAll, startingOver } from './reserve-append.ts';

/**
 * Reserves a slot for each partition that the request names, to be filled by somebody else within a transaction. What is
 * never filled is settled in time, as any reservation is: readers wait 10 s for it.
 *
 * @throws {RequestTooLarge} it does not go into a transaction. Else as an append that cannot be reserved
 */
export async function prepareAppend(ports: RequestPorts, request: AppendRequest): Promise<PreparedAppend> {
  return startingOver(ports, request, async ({ topic, placement, build }) => {
    const batches = build(placement);
    refuseTooLarge(batches);
    await ports.admission?.admit(topic, batches, request);
    const appends = appendsOf(ports, topic, batches, true);
    const reservations = await reserveAll(appends, topic);
    if (reservations === undefined) return undefined;
    // When they are filled, nobody is there to ring: the log's stream tells it, and this the sweep.
    if (topic.subscribed)
      await ports.doorbell?.note(appends.map(({ partition }) => ({ topicId: topic.id, partition })));
    const now = ports.writerClock.now();
    const lives = reservations.map((reservation) => reservation.time + fillDeadlineOf(reservation) - now);
    return {
      topic,
      placement,
      slots: appends.map(({ partition, batch }, i) => ({ partition, batch, reservation: reservations[i]! })),
      lifeMs: Math.max(0, Math.min(...lives)),
    };
  });
}

/**
 * Finds out whether the transaction that was to fill the slots has been carried out; if not, it cannot be any more.
 * It fills all of them or none, so one of them tells.
 *
 * @returns whether they are filled
 * @throws {Throttled | Unavailable} nothing is decided; {OutcomeUnknown} it is too long ago, or was purged with its topic
 */
export async function settlePrepared(
  ports: AppendPorts & Pick<RequestPorts, 'topics'>,
  { topic, slots }: PreparedSlots,
): Promise<boolean> {
  const [first, ...others] = slots.map(({ partition, reservation }) => ({
    reservation,
    slot: new SlotAppend(ports, topic, partition),
  }));
  if (first === undefined) throw new Error('a prepared append has no slots');
  if (await first.slot.settle(first.reservation)) return true;
  const isOld = ports.writerClock.now() - first.reservation.time > LATE_MAX_MS;
  if (isOld && (await findTopic(ports.topics, topic.name, true))?.id !== topic.id) {
    throw new OutcomeUnknown('The topic is deleted: whether the records were stored before could not be found out');
  }
  // So that no reader waits for them.
  await settleAll(others, ({ slot, reservation }) => slot.abandon(reservation));
  return false;
}

function refuseTooLarge(batches: ReadonlyMap<number, Batch>): void {
  if (batches.size > PREPARED_PARTITIONS_MAX) {
    throw new RequestTooLarge(
      `The records go to ${batches.size} partitions; a transaction has room for ${PREPARED_PARTITIONS_MAX} besides one write of yours`,
      { partitions: batches.size, maxPartitions: PREPARED_PARTITIONS_MAX },
    );
  }
  let bytes = 0;
  for (const [partition, batch] of batches) {
    bytes += batch.bytes.length;
    if (batch.bytes.length <= INLINE_BATCH_BYTES_MAX) continue;
    throw new RequestTooLarge(
      `The records for partition ${partition} have ${batch.bytes.length} bytes compressed; an item has room for ${INLINE_BATCH_BYTES_MAX}`,
      { partition, bytes: batch.bytes.length, maxBytes: INLINE_BATCH_BYTES_MAX },
    );
  }
  if (bytes <= PREPARED_BYTES_MAX) return;
  throw new RequestTooLarge(
    `The records have ${bytes} bytes compressed; a transaction has room for ${PREPARED_BYTES_MAX}`,
    {
      bytes,
      maxBytes: PREPARED_BYTES_MAX,
    },
  );
}
