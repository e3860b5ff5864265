import type { Clock } from '../domain/clock.ts';
import { Throttled, Unavailable } from '../domain/errors.ts';
import { PRESIGNED_LIFE_MS, UPLOAD_LIFE_MS } from '../domain/limits.ts';
import type { Payload, Upload, UploadId } from '../domain/upload.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import type { TopicCache } from './topic-cache.ts';

export interface CreateUploadPorts {
  readonly topics: TopicCache;
  readonly uploads: {
    /** @param expiresAt epoch s */
    watch(upload: UploadId, expiresAt: number): Promise<void>;
    create(upload: Upload): Promise<void>;
  };
  readonly uploadUrls: {
    /** Without a call. */
    put(
      upload: UploadId & Payload,
      now: number,
    ): Promise<{ readonly url: string; readonly headers: Readonly<Record<string, string>> }>;
  };
  readonly clock: Clock;
  /** A new ULID each time. */
  newUploadId(): string;
}

export interface AnnouncedUpload {
  readonly uploadId: string;
  readonly url: string;
  /** To be sent exactly so. */
  readonly headers: Readonly<Record<string, string>>;
  /** Epoch ms by which a record must have named it. */
  readonly expiresAt: number;
  /** Epoch ms by which the transfer must have begun. */
  readonly urlExpiresAt: number;
}

/**
 * Announces a payload for a topic. Nothing can be uploaded before somebody is bound to look after it: its watch comes
 * first, and one without an upload does no harm.
 *
 * @throws {TopicNotFound | Throttled | Unavailable} nothing can have been uploaded
 */
export async function createUpload(
  ports: CreateUploadPorts,
  topic: string,
  payload: Payload,
): Promise<AnnouncedUpload> {
  // Not from the cache: an upload of an earlier incarnation would be none.
  const { id: topicId } = await ports.topics.fresh(topic);
  const now = ports.clock.now();
  const upload = { topicId, uploadId: ports.newUploadId(), ...payload, expiresAt: now + UPLOAD_LIFE_MS };
  try {
    await ports.uploads.watch(upload, Math.ceil(upload.expiresAt / 1_000));
    await ports.uploads.create(upload);
  } catch (error) {
    if (!(error instanceof WriteFailed)) throw error;
    const Refusal = error.reason === 'throttled' ? Throttled : Unavailable;
    throw new Refusal('The upload could not be announced', 1_000, { cause: error });
  }
  const { url, headers } = await ports.uploadUrls.put(upload, now);
  const { uploadId, expiresAt } = upload;
  return { uploadId, url, headers, expiresAt, urlExpiresAt: now + PRESIGNED_LIFE_MS };
}
