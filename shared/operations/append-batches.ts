import { BackboneError, OutcomeUnknown, TopicNotFound, Unavailable } from '../domain/errors.ts';
import { settleAll } from '../domain/parallel.ts';
import type { Batch } from '../domain/record.ts';
import type { Reservation } from '../domain/slot.ts';
import type { Topic } from '../domain/topic.ts';
import { type AppendPorts, SlotAppend } from './append-slot.ts';
import type { TopicCache } from './topic-cache.ts';

/** Times a request starts over because the topic it began with was deleted meanwhile. */
const STARTS_MAX = 3;

export interface AppendRequest {
  /** Name of the topic. */
  readonly topic: string;
  /**
   * Splits the request by partition. What it refuses (a partition that the topic does not have) is believed only of a
   * fresh copy of the topic. @throws {BackboneError}
   */
  build(topic: Topic): ReadonlyMap<number, Batch>;
}

/** What became of one partition's batch. */
export type PartitionOutcome =
  | { readonly partition: number; readonly baseOffset: number; readonly appendedAt: number }
  | { readonly partition: number; readonly error: BackboneError };

/**
 * Appends one batch to each partition that the request names: two sequential round trips. Every partition is reserved
 * before the first is filled, so a request that cannot be reserved as a whole stores nothing.
 *
 * @returns one outcome a partition, at least one of them stored
 * @throws {BackboneError} when no partition was stored: `Throttled` and `Unavailable` say so, `OutcomeUnknown` does not
 */
export async function appendBatches(
  ports: AppendPorts & { readonly topics: TopicCache },
  request: AppendRequest,
): Promise<PartitionOutcome[]> {
  for (let starts = 0; starts < STARTS_MAX; starts++) {
    const { topic, batches } = await plan(ports.topics, request);
    const appends = [...batches].map(([partition, batch]) => ({
      partition,
      batch,
      slot: new SlotAppend(ports, topic, partition),
    }));
    const reservations = await reserveAll(appends, topic);
    if (reservations !== undefined) return fillAll(appends, reservations, ports);
    // Every head is closed: this incarnation was deleted. Nothing is reserved, so the request may begin again.
    ports.topics.drop(topic.name);
  }
  throw new Unavailable(`Topic '${request.topic}' is being deleted and made again; nothing was stored`);
}

interface PartitionAppend {
  readonly partition: number;
  readonly batch: Batch;
  readonly slot: SlotAppend;
}

async function plan(topics: TopicCache, request: AppendRequest) {
  const copy = await topics.get(request.topic);
  try {
    return { topic: copy, batches: request.build(copy) };
  } catch (error) {
    if (!(error instanceof BackboneError)) throw error;
    const topic = await topics.fresh(request.topic);
    return { topic, batches: request.build(topic) };
  }
}

/** Reserves all or none. @returns undefined when every head is closed @throws what kept one from being reserved */
async function reserveAll(appends: readonly PartitionAppend[], topic: Topic): Promise<Reservation[] | undefined> {
  const results = await settleAll(appends, ({ slot, batch }) => slot.reserve(batch.count));
  const reserved = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
  if (reserved.every((reservation) => reservation !== undefined)) return reserved;

  const failed = results.find((result) => result.status === 'rejected');
  const standing = appends.flatMap(({ slot }, i) => (reserved[i] === undefined ? [] : [{ slot, held: reserved[i] }]));
  await settleAll(standing, ({ slot, held }) => slot.abandon(held));
  if (failed !== undefined) throw failed.reason;
  if (standing.length > 0) throw new TopicNotFound(topic.name);
  return undefined;
}

async function fillAll(
  appends: readonly PartitionAppend[],
  reservations: readonly Reservation[],
  { observe }: AppendPorts,
): Promise<PartitionOutcome[]> {
  const pairs = appends.map((append, i) => ({ ...append, reservation: reservations[i]! }));
  const results = await settleAll(pairs, ({ slot, reservation, batch }) => slot.fill(reservation, batch));
  const outcomes = results.map((result, i): PartitionOutcome => {
    const { partition, batch, slot } = appends[i]!;
    if (result.status === 'rejected') {
      if (!(result.reason instanceof BackboneError)) throw result.reason;
      return { partition, error: result.reason };
    }
    observe({ kind: 'records_appended', log: slot.log, count: batch.count });
    return { partition, baseOffset: result.value.base, appendedAt: result.value.time };
  });
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []));
  if (errors.length < outcomes.length) return outcomes;
  // Nothing is known to be stored. One partition whose outcome is unknown makes the request's unknown.
  throw errors.find((error) => error instanceof OutcomeUnknown) ?? errors[0]!;
}
