import type { Clock } from '../domain/clock.ts';
import { LATE_MAX_MS, PRESIGNED_LIFE_MS } from '../domain/limits.ts';
import type { Slot } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';
import type { UploadId, UploadUse } from '../domain/upload.ts';

export interface FollowUploadPorts {
  readonly uploads: {
    /** @returns the use that it has instead; undefined when it is forgotten, now or before */
    forget(upload: UploadId, use: UploadUse | undefined): Promise<UploadUse | undefined>;
    /** @param expiresAt epoch s; 0: never */
    watch(upload: UploadId, expiresAt: number): Promise<void>;
  };
  readonly uploadObjects: {
    remove(upload: UploadId): Promise<void>;
  };
  readonly log: {
    find(p: PartitionId, last: number): Promise<Slot | undefined>;
  };
  readonly clock: Clock;
}

/** Times that an upload is found to have been taken by somebody else. Each needs a void slot: there are never as many. */
const LOOKS_MAX = 16;

/**
 * Looks after an upload whose watch is gone. Its payload is removed unless a record has it, or may get it; then it is
 * watched on, for as long as that record lives. It is forgotten before its payload is removed, and only while its use is
 * still the one that was judged: so no record can come to name a payload that is gone.
 *
 * @throws {WriteFailed | Throttled | Unavailable} to be followed again: doing so twice does no harm
 */
export async function followUpload(ports: FollowUploadPorts, upload: UploadId): Promise<void> {
  let judged: UploadUse | undefined;
  for (let looks = 0; looks < LOOKS_MAX; looks++) {
    const use = await ports.uploads.forget(upload, judged);
    if (use === undefined) return ports.uploadObjects.remove(upload);
    const lookAgainAt = await neededUntil(ports, upload, use);
    if (lookAgainAt !== undefined) return watchOn(ports, upload, use, lookAgainAt);
    judged = use;
  }
  throw new Error(`upload ${upload.uploadId} changes hands all the time`);
}

/** A watch that ends with its topic is of no use to a topic whose purge has passed meanwhile: its slots are gone then. */
async function watchOn(
  { uploads, log, clock }: FollowUploadPorts,
  upload: UploadId,
  { partition, last }: UploadUse,
  expiresAt: number,
): Promise<void> {
  await uploads.watch(upload, expiresAt);
  if (expiresAt !== 0) return;
  if ((await log.find({ topicId: upload.topicId, partition }, last)) !== undefined) return;
  await uploads.watch(upload, secondsAfter(clock.now(), LATE_MAX_MS));
}

/** When to look again, epoch s, 0: when the topic is deleted; undefined: no record has it, nor ever will. */
async function neededUntil(
  { log, clock }: FollowUploadPorts,
  { topicId }: UploadId,
  { partition, last, at }: UploadUse,
): Promise<number | undefined> {
  const now = clock.now();
  const slot = await log.find({ topicId, partition }, last);
  // Until then the slot may still be filled. Later it never was, or the record has expired.
  if (slot === undefined) return at + LATE_MAX_MS >= now ? secondsAfter(now, LATE_MAX_MS) : undefined;
  if (slot.kind === 'void') return undefined;
  if (slot.expiresAt === 0) return 0;
  // Whoever was given a URL in the last moment can still use it.
  const until = slot.expiresAt * 1_000 + PRESIGNED_LIFE_MS;
  return until > now ? secondsAfter(until, 0) : undefined;
}

function secondsAfter(time: number, ms: number): number {
  return Math.ceil((time + ms) / 1_000);
}
