import type { Clock } from '../domain/clock.ts';
import { BackboneError, Unavailable, type UploadFault, UploadInvalid } from '../domain/errors.ts';
import type { VoidOrder } from '../domain/gap.ts';
import { RETENTION_FOREVER, SLOW_FILL_DEADLINE_MS } from '../domain/limits.ts';
import { actOnAll } from '../domain/parallel.ts';
import type { Batch, BatchUpload } from '../domain/record.ts';
import type { Reservation, Slot } from '../domain/slot.ts';
import type { AppendTopic, PartitionId } from '../domain/topic.ts';
import {
  FORGOTTEN_PAYLOAD,
  isUploadId,
  type Payload,
  type Upload,
  type UploadId,
  type UploadReference,
  type UploadUse,
} from '../domain/upload.ts';
import { WriteFailed } from '../domain/write-failed.ts';

export interface UploadPorts {
  readonly uploads: {
    find(upload: UploadId): Promise<Upload | undefined>;
    /** @returns the use that it has instead, 'gone' when there is no such upload any more */
    take(
      upload: UploadId,
      use: UploadUse,
      from: UploadUse | undefined,
      isLate: () => boolean,
    ): Promise<UploadUse | 'gone' | undefined>;
  };
  readonly uploadObjects: {
    check(upload: UploadId & Payload): Promise<'as_announced' | UploadFault>;
  };
  readonly log: {
    find(p: PartitionId, last: number): Promise<Slot | undefined>;
    /** @returns who was there first */
    putVoid(p: PartitionId, order: VoidOrder, now: number, retentionMs: number): Promise<Slot | undefined>;
  };
  readonly writerClock: Clock;
}

/** Times that an upload is found to have been taken by somebody else before the append gives up. */
const TAKES_MAX = 8;

interface Judgement {
  readonly index: number;
  readonly upload?: Upload;
  readonly reason?: UploadFault;
  /** ms until it is known whether somebody else's record has it. */
  readonly waitMs?: number;
}

/**
 * Looks at the uploads of a request before anything is reserved.
 *
 * @param isClaimed whether the request was made before, with its `Idempotency-Key`: then they were judged, and may be
 *   taken, or forgotten, already. Asked only when something is wrong with one; refuses when it was another request.
 * @returns the payloads by upload id
 * @throws {UploadInvalid} naming every record at fault; {IdempotencyKeyReused | Throttled | Unavailable}
 */
export async function judgeUploads(
  ports: UploadPorts,
  topic: AppendTopic,
  references: readonly UploadReference[],
  isClaimed: () => Promise<boolean>,
): Promise<ReadonlyMap<string, Payload>> {
  const seen = new Set<string>();
  const twice = references.filter(({ uploadId }) => seen.size === seen.add(uploadId).size);
  if (twice.length > 0) throw new UploadInvalid(twice.map(({ index }) => ({ index, reason: 'used' })));

  const judged = await actOnAll(references, (reference) => judge(ports, topic, reference));
  const faulty = judged.filter(({ reason, waitMs }) => reason !== undefined || waitMs !== undefined);
  if (faulty.length > 0 && !(await isClaimed())) refuse(faulty);
  return new Map(references.map(({ uploadId }, i) => [uploadId, judged[i]!.upload ?? FORGOTTEN_PAYLOAD]));
}

function refuse(faulty: readonly Judgement[]): never {
  const faults = faulty.flatMap(({ index, reason }) => (reason === undefined ? [] : { index, reason }));
  if (faults.length > 0) throw new UploadInvalid(faults);
  throw inUse(Math.max(...faulty.map(({ waitMs = 0 }) => waitMs)));
}

async function judge(ports: UploadPorts, topic: AppendTopic, { index, uploadId }: UploadReference): Promise<Judgement> {
  const upload = isUploadId(uploadId) ? await ports.uploads.find({ topicId: topic.id, uploadId }) : undefined;
  if (upload === undefined) return { index, reason: 'unknown' };
  if (upload.use !== undefined) {
    const standing = await standingOf(ports, topic, upload.use);
    if (standing === 'stored') return { index, upload, reason: 'used' };
    if (standing !== 'void') return { index, upload, waitMs: standing };
  }
  if (upload.expiresAt <= ports.writerClock.now()) return { index, upload, reason: 'expired' };
  const found = await ports.uploadObjects.check(upload);
  return found === 'as_announced' ? { index, upload } : { index, upload, reason: found };
}

/**
 * Takes the uploads of a batch for its slot, before that is filled: no other slot can have them then, and nobody removes
 * them. One that was taken for a slot which proves to be void is free.
 *
 * @returns why the slot must not be filled, if so: `UploadInvalid`, `Throttled` or `Unavailable`
 * @throws {WriteFailed} the slot must not be filled
 */
export async function takeUploads(
  ports: UploadPorts,
  topic: AppendTopic,
  partition: number,
  reservation: Reservation,
  { uploads = [] }: Batch,
  isLate: () => boolean,
): Promise<BackboneError | undefined> {
  const use = { partition, last: reservation.last, count: reservation.count, at: reservation.time };
  try {
    await actOnAll(uploads, (upload) => take(ports, topic, upload, use, isLate));
    return undefined;
  } catch (error) {
    if (error instanceof BackboneError) return error;
    throw error;
  }
}

async function take(
  ports: UploadPorts,
  topic: AppendTopic,
  { index, uploadId }: BatchUpload,
  use: UploadUse,
  isLate: () => boolean,
): Promise<void> {
  let from: UploadUse | undefined;
  for (let takes = 0; takes < TAKES_MAX; takes++) {
    const holder = await ports.uploads.take({ topicId: topic.id, uploadId }, use, from, isLate);
    if (holder === undefined) return;
    if (holder === 'gone') throw new UploadInvalid([{ index, reason: 'expired' }]);
    const standing = await standingOf(ports, topic, holder);
    if (standing === 'stored') throw new UploadInvalid([{ index, reason: 'used' }]);
    if (standing !== 'void') throw inUse(standing);
    from = holder;
  }
  throw inUse(1_000);
}

/**
 * What became of the slot for which an upload was taken. If its writer can write no more it is settled, so that a
 * producer that died keeps nobody from using the upload.
 *
 * @returns `void`: it never held a record, nor will; `stored`: it does, or may have before it expired; a number: ms until
 * this can be known
 */
async function standingOf(ports: UploadPorts, topic: AppendTopic, use: UploadUse): Promise<'stored' | 'void' | number> {
  const partition = { topicId: topic.id, partition: use.partition };
  const { last, count, at } = use;
  const found = await ports.log.find(partition, last);
  if (found?.kind === 'batch') return 'stored';
  const now = ports.writerClock.now();
  // Absent or void, it may have held a record that has expired since.
  if (topic.retentionMs !== RETENTION_FOREVER && now - at > topic.retentionMs / 2) return 'stored';
  if (found !== undefined) return 'void';
  const remainingMs = at + SLOW_FILL_DEADLINE_MS - now;
  if (remainingMs >= 0) return Math.max(1, remainingMs);
  try {
    const order = { last, count, previous: [], reservedBy: at };
    const first = await ports.log.putVoid(partition, order, now, topic.retentionMs);
    return first?.kind === 'batch' ? 'stored' : 'void';
  } catch (error) {
    if (error instanceof WriteFailed) return 1_000;
    throw error;
  }
}

function inUse(waitMs: number): Unavailable {
  return new Unavailable('Another request is about to store one of the uploads; nothing was stored', waitMs);
}
