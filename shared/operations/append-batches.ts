import type { Claim, Placement } from '../domain/claim.ts';
import { BackboneError, IdempotencyKeyReused, OutcomeUnknown, TopicNotFound, Unavailable } from '../domain/errors.ts';
import { settleAll } from '../domain/parallel.ts';
import type { Batch } from '../domain/record.ts';
import type { Reservation } from '../domain/slot.ts';
import type { Topic } from '../domain/topic.ts';
import type { Payload } from '../domain/upload.ts';
import type { WakeUp } from '../domain/wake-up.ts';
import type { AppendPorts } from './append-slot.ts';
import { ClaimedAppend, type ClaimPorts } from './claimed-append.ts';
import type { Doorbell } from './doorbell.ts';
import {
  type AppendRequest,
  type AppendResult,
  appendsOf,
  outcomesOf,
  type PartitionAppend,
  type PartitionOutcome,
} from './partition-append.ts';
import type { TopicCache } from './topic-cache.ts';
import { judgeUploads } from './use-uploads.ts';

/** Times a request starts over because the topic it began with was deleted meanwhile. */
const STARTS_MAX = 3;
const NO_PAYLOADS: ReadonlyMap<string, Payload> = new Map();

export type RequestPorts = AppendPorts &
  ClaimPorts & {
    readonly topics: TopicCache;
    /** Absent: nobody is told. */
    readonly doorbell?: Doorbell;
    /** 0 ≤ n < 1. */
    random(): number;
  };

/**
 * Appends one batch to each partition that the request names. Every partition is reserved before the first is filled,
 * so a request that cannot be reserved as a whole stores nothing. Two sequential round trips, three with a key.
 *
 * @throws {BackboneError} when no partition was stored: `Throttled` and `Unavailable` say so, `OutcomeUnknown` does not
 */
export async function appendBatches(ports: RequestPorts, request: AppendRequest): Promise<AppendResult> {
  for (let starts = 0; starts < STARTS_MAX; starts++) {
    const { topic, placement, build } = await plan(ports, request);
    const appends = appendsOf(ports, topic, build(placement));
    const claimed = request.once && new ClaimedAppend(ports, topic, request.once, build);
    const { found, reservations } = await findBeside(
      claimed?.find() ?? Promise.resolve(undefined),
      reserveAll(appends, topic),
      appends,
    );
    if (reservations === undefined) {
      // Every head is closed: this incarnation was deleted. Nothing is reserved, so the request may begin again.
      ports.topics.drop(topic.name);
      continue;
    }
    const doorbell = topic.subscribed ? ports.doorbell : undefined;
    const noted = doorbell?.note(appends.map(({ partition }) => ({ topicId: topic.id, partition })));
    try {
      const result =
        claimed === undefined
          ? await fillAll(appends, reservations, placement)
          : await claimed.run(appends, reservations, placement, found);
      refuseWhenNothingIsStored(result.outcomes);
      await doorbell?.ring(wakeUpsOf(topic, appends, result));
      return result;
    } finally {
      await noted;
    }
  }
  throw new Unavailable(`Topic '${request.topic}' is being deleted and made again; nothing was stored`);
}

/** One for each partition in which something was stored. */
function wakeUpsOf(topic: Topic, appends: readonly PartitionAppend[], { outcomes }: AppendResult): WakeUp[] {
  const counts = new Map(appends.map(({ partition, batch }) => [partition, batch.count]));
  return outcomes.flatMap((outcome) => {
    if ('error' in outcome) return [];
    const { partition, baseOffset } = outcome;
    return [{ topicId: topic.id, partition, last: baseOffset + (counts.get(partition) ?? 1) - 1, hop: 0 }];
  });
}

async function fillAll(
  appends: readonly PartitionAppend[],
  reservations: readonly Reservation[],
  placement: Placement,
): Promise<AppendResult> {
  const outcomes = await outcomesOf(appends, ({ slot, batch }, i) => slot.fill(reservations[i]!, batch));
  return { placement, outcomes, duplicate: false };
}

/** How the request is laid out over the topic: what it refuses is believed only of a fresh copy. */
async function plan(ports: RequestPorts, request: AppendRequest): Promise<Plan> {
  const { topics, random, writerClock } = ports;
  const chance = random();
  const takenAt = writerClock.now();
  const layOut = async (topic: Topic): Promise<Plan> => {
    const { partitions } = topic;
    const placement = { partitions, keyless: Math.floor(chance * partitions), takenAt };
    const payloads = await payloadsOf(ports, topic, request);
    const batches = request.build(placement, payloads);
    const build = (other: Placement) => (other === placement ? batches : request.build(other, payloads));
    return { topic, placement, build };
  };
  const copy = await topics.get(request.topic);
  try {
    return await layOut(copy);
  } catch (error) {
    if (!(error instanceof BackboneError)) throw error;
    return layOut(await topics.fresh(request.topic));
  }
}

interface Plan {
  readonly topic: Topic;
  readonly placement: Placement;
  build(placement: Placement): ReadonlyMap<number, Batch>;
}

async function payloadsOf(
  ports: RequestPorts,
  topic: Topic,
  { uploads, once }: AppendRequest,
): Promise<ReadonlyMap<string, Payload>> {
  if (uploads === undefined) return NO_PAYLOADS;
  const isClaimed = async () => {
    const claim = once && (await ports.claims.read(topic.id, once.key, ports.clock.now()));
    if (claim !== undefined && claim.fingerprint !== once?.fingerprint) throw new IdempotencyKeyReused();
    return claim !== undefined;
  };
  return judgeUploads(ports, topic, uploads, isClaimed);
}

/** Reserves all or none. @returns undefined when every head is closed @throws what kept one from being reserved */
async function reserveAll(appends: readonly PartitionAppend[], topic: Topic): Promise<Reservation[] | undefined> {
  const results = await settleAll(appends, ({ slot, batch }) => slot.reserve(batch));
  const reserved = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
  if (reserved.every((reservation) => reservation !== undefined)) return reserved;

  await abandonAll(appends, reserved);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  if (reserved.some((reservation) => reservation !== undefined)) throw new TopicNotFound(topic.name);
  return undefined;
}

async function abandonAll(
  appends: readonly PartitionAppend[],
  reserved: readonly (Reservation | undefined)[],
): Promise<void> {
  await settleAll([...appends.entries()], async ([i, { slot }]) => {
    const reservation = reserved[i];
    if (reservation !== undefined) await slot.abandon(reservation);
  });
}

/** Finds the claim while the reservations are made. If it cannot be read, they are given up. */
async function findBeside(
  finding: Promise<Claim | undefined>,
  reserving: Promise<Reservation[] | undefined>,
  appends: readonly PartitionAppend[],
): Promise<{ readonly found: Claim | undefined; readonly reservations: Reservation[] | undefined }> {
  const [claim, reserved] = await Promise.allSettled([finding, reserving]);
  if (reserved.status === 'rejected') throw reserved.reason;
  if (claim.status === 'fulfilled') return { found: claim.value, reservations: reserved.value };
  await abandonAll(appends, reserved.value ?? []);
  throw claim.reason;
}

/** Nothing known to be stored is a refusal of the whole; one unknown outcome makes the whole unknown. */
function refuseWhenNothingIsStored(outcomes: readonly PartitionOutcome[]): void {
  const errors = outcomes.flatMap((outcome) => ('error' in outcome ? [outcome.error] : []));
  if (errors.length < outcomes.length) return;
  throw errors.find((error) => error instanceof OutcomeUnknown) ?? errors[0]!;
}
