import { createHash } from 'node:crypto';
import { DeleteObjectCommand, GetObjectCommand, NoSuchKey, PutObjectCommand } from '@aws-sdk/client-s3';
import type { DeadLetterId } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import { readOutcome, WriteAttempts } from './dynamo.ts';
import { deadLetterObjectKey } from './keys.ts';
import type { S3 } from './spill.ts';

/** What a dead letter's item says of its object. */
export interface KeptObject {
  /** Bytes. */
  readonly size: number;
  /** In hex. */
  readonly sha256: string;
}

/** Payloads of dead letters that are too large for their items, in S3, each under its letter's key. */
export class DeadLetterObjects {
  readonly #s3: S3;
  readonly #bucket: string;

  constructor(s3: S3, bucket: string) {
    this.#s3 = s3;
    this.#bucket = bucket;
  }

  /** Stores a payload: one PUT, which may be repeated. @throws {WriteFailed} */
  async put(group: GroupId, letter: DeadLetterId, bytes: Uint8Array): Promise<KeptObject> {
    const digest = createHash('sha256').update(bytes).digest();
    const command = new PutObjectCommand({
      ...this.#address(group, letter),
      Body: bytes,
      ContentType: 'application/octet-stream',
      ChecksumSHA256: digest.toString('base64'),
    });
    await new WriteAttempts(command).outcome(this.#s3.send(command));
    return { size: bytes.length, sha256: digest.toString('hex') };
  }

  /**
   * Reads a payload and checks it against what its item says: one GET.
   *
   * @returns undefined when it is gone, or is not what was stored
   * @throws {Throttled | Unavailable}, and as a bug what S3 refuses otherwise
   */
  async get(group: GroupId, letter: DeadLetterId, expected: KeptObject): Promise<Uint8Array | undefined> {
    const command = new GetObjectCommand(this.#address(group, letter));
    try {
      const { Body } = await readOutcome(this.#s3.send(command));
      const bytes = await readOutcome(Body!.transformToByteArray());
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return bytes.length === expected.size && sha256 === expected.sha256 ? bytes : undefined;
    } catch (error) {
      if (error instanceof NoSuchKey) return undefined;
      throw error;
    }
  }

  /** Removes a payload, if there is one. @throws {WriteFailed} */
  async remove(group: GroupId, letter: DeadLetterId): Promise<void> {
    const command = new DeleteObjectCommand(this.#address(group, letter));
    await new WriteAttempts(command).outcome(this.#s3.send(command));
  }

  #address(group: GroupId, letter: DeadLetterId): { Bucket: string; Key: string } {
    return { Bucket: this.#bucket, Key: deadLetterObjectKey(group, letter) };
  }
}
