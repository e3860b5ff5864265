import type { Placement } from '../domain/claim.ts';
import { BackboneError, IdempotencyKeyReused, TopicNotFound, Unavailable } from '../domain/errors.ts';
import { settleAll } from '../domain/parallel.ts';
import type { Batch } from '../domain/record.ts';
import type { Reservation } from '../domain/slot.ts';
import type { Topic } from '../domain/topic.ts';
import type { Payload } from '../domain/upload.ts';
import type { Admission } from './admit-append.ts';
import type { AppendPorts } from './append-ports.ts';
import type { ClaimPorts } from './claimed-append.ts';
import type { Doorbell } from './doorbell.ts';
import type { AppendRequest, PartitionAppend } from './partition-append.ts';
import type { TopicCache } from './topic-cache.ts';
import { judgeUploads } from './use-uploads.ts';

/** Times a request starts over because the topic it began with was deleted meanwhile. */
const STARTS_MAX = 3;
const NO_PAYLOADS: ReadonlyMap<string, Payload> = new Map();

export type RequestPorts = AppendPorts &
  ClaimPorts & {
    readonly topics: TopicCache;
    /** Absent: nothing is held back. */
    readonly admission?: Pick<Admission, 'admit'>;
    /** Absent: nobody is told. */
    readonly doorbell?: Doorbell;
    /** 0 ≤ n < 1. */
    random(): number;
  };

/** How a request is laid out over its topic. */
export interface Plan {
  readonly topic: Topic;
  readonly placement: Placement;
  build(placement: Placement): ReadonlyMap<number, Batch>;
}

/**
 * Makes an attempt with the topic as it is, and another when that incarnation takes no more appends.
 *
 * @param attempt @returns undefined when every head is closed: nothing was reserved
 * @throws {Unavailable} nothing was stored. Else what `attempt` throws
 */
export async function startingOver<T>(
  ports: RequestPorts,
  request: AppendRequest,
  attempt: (plan: Plan) => Promise<T | undefined>,
): Promise<T> {
  for (let starts = 0; starts < STARTS_MAX; starts++) {
    const laidOut = await plan(ports, request);
    const result = await attempt(laidOut);
    if (result !== undefined) return result;
    ports.topics.drop(laidOut.topic.name);
  }
  throw new Unavailable(`Topic '${request.topic}' is being deleted and made again; nothing was stored`);
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
export async function reserveAll(
  appends: readonly PartitionAppend[],
  topic: Topic,
): Promise<Reservation[] | undefined> {
  const results = await settleAll(appends, ({ slot, batch }) => slot.reserve(batch));
  const reserved = results.map((result) => (result.status === 'fulfilled' ? result.value : undefined));
  if (reserved.every((reservation) => reservation !== undefined)) return reserved;

  await abandonAll(appends, reserved);
  const failed = results.find((result) => result.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  if (reserved.some((reservation) => reservation !== undefined)) throw new TopicNotFound(topic.name);
  return undefined;
}

export async function abandonAll(
  appends: readonly PartitionAppend[],
  reserved: readonly (Reservation | undefined)[],
): Promise<void> {
  await settleAll([...appends.entries()], async ([i, { slot }]) => {
    const reservation = reserved[i];
    if (reservation !== undefined) await slot.abandon(reservation);
  });
}
