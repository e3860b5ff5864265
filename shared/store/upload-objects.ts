import { DeleteObjectCommand, HeadObjectCommand } from '@aws-sdk/client-s3';
import type { Payload, UploadId } from '../domain/upload.ts';
import { readOutcome, WriteAttempts } from './dynamo.ts';
import { uploadObjectKey } from './keys.ts';
import type { S3 } from './payload-object.ts';

/** Uploaded payloads in S3. They go from producers to readers by presigned URLs; no function ever has them in hand. */
export class UploadObjects {
  readonly #s3: S3;
  readonly #bucket: string;

  constructor(s3: S3, bucket: string) {
    this.#s3 = s3;
    this.#bucket = bucket;
  }

  /**
   * Compares what lies there with what was announced, by the size and the checksum that S3 itself took: one HEAD.
   *
   * @throws {Throttled | Unavailable}, and as a bug what S3 refuses otherwise: "access denied" is not "not there"
   */
  async check(upload: UploadId & Payload): Promise<'as_announced' | 'not_uploaded' | 'wrong_size' | 'wrong_checksum'> {
    const command = new HeadObjectCommand({ ...this.#address(upload), ChecksumMode: 'ENABLED' });
    try {
      const { ContentLength, ChecksumSHA256 = '' } = await readOutcome(this.#s3.send(command));
      if (ContentLength !== upload.size) return 'wrong_size';
      // Of a multipart upload it is a checksum of checksums: not this one.
      return ChecksumSHA256 === Buffer.from(upload.sha256, 'hex').toString('base64')
        ? 'as_announced'
        : 'wrong_checksum';
    } catch (error) {
      if (error instanceof Error && error.name === 'NotFound') return 'not_uploaded';
      throw error;
    }
  }

  /** Removes a payload, if there is one. @throws {WriteFailed} */
  async remove(upload: UploadId): Promise<void> {
    const command = new DeleteObjectCommand(this.#address(upload));
    await new WriteAttempts(command).outcome(this.#s3.send(command));
  }

  #address(upload: UploadId): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: uploadObjectKey(upload) };
  }
}
