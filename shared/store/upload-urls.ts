import { GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { PRESIGNED_LIFE_MS } from '../domain/limits.ts';
import type { Payload, UploadId } from '../domain/upload.ts';
import { uploadObjectKey } from './keys.ts';

/** What a producer sends its payload with. */
export interface PresignedPut {
  readonly url: string;
  /** To be sent exactly so: they are signed. */
  readonly headers: Readonly<Record<string, string>>;
}

const CHECKSUM_HEADER = 'x-amz-checksum-sha256';

/**
 * Presigned URLs by which payloads go from producers to S3 and from there to readers, past every function. They are made
 * without a call, and are good for `PRESIGNED_LIFE_MS`, unless the credentials of the function that signed end before.
 */
export class UploadUrls {
  readonly #s3: S3Client;
  readonly #bucket: string;

  constructor(s3: S3Client, bucket: string) {
    this.#s3 = s3;
    this.#bucket = bucket;
  }

  /**
   * A PUT of exactly this payload. Size and SHA-256 are signed, so S3 takes no other: the URL may be used again when an
   * answer was lost, and cannot change what is there.
   *
   * @param now epoch ms
   */
  async put(upload: UploadId & Payload, now: number): Promise<PresignedPut> {
    const checksum = Buffer.from(upload.sha256, 'hex').toString('base64');
    const command = new PutObjectCommand({
      ...this.#address(upload),
      ContentLength: upload.size,
      ChecksumSHA256: checksum,
    });
    const url = await getSignedUrl(this.#s3, command, {
      ...signedAt(now),
      unhoistableHeaders: new Set([CHECKSUM_HEADER]), // stays a header: only as one S3 keeps it with the object
    });
    return { url, headers: { 'content-length': String(upload.size), [CHECKSUM_HEADER]: checksum } };
  }

  /**
   * A GET of the payload's bytes. Whoever has the PUT's URL says with what type and encoding S3 keeps them, also later:
   * a reader's client must not inflate them for that, nor a browser run them as a page of the bucket.
   *
   * @param now epoch ms
   */
  get(upload: UploadId, now: number): Promise<string> {
    const command = new GetObjectCommand({
      ...this.#address(upload),
      ResponseContentType: 'application/octet-stream',
      ResponseContentEncoding: 'identity',
    });
    return getSignedUrl(this.#s3, command, signedAt(now));
  }

  #address(upload: UploadId): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: uploadObjectKey(upload) };
  }
}

function signedAt(now: number): { expiresIn: number; signingDate: Date } {
  return { expiresIn: PRESIGNED_LIFE_MS / 1_000, signingDate: new Date(now) };
}
