import { createHash } from 'node:crypto';
import { DeleteObjectCommand } from '@aws-sdk/client-s3';
import type { DeadLetterId } from '../domain/dead-letter.ts';
import type { GroupId } from '../domain/group.ts';
import type { Payload } from '../domain/upload.ts';
import { deadLetterObjectKey } from './dead-letter-keys.ts';
import { WriteAttempts } from './dynamo.ts';
import { getPayload, type ObjectAddress, putPayload, type S3 } from './payload-object.ts';

/** Payloads of dead letters that are too large for their items, in S3, each under its letter's key. */
export class DeadLetterObjects {
  readonly #s3: S3;
  readonly #bucket: string;

  constructor(s3: S3, bucket: string) {
    this.#s3 = s3;
    this.#bucket = bucket;
  }

  /** Stores a payload: one PUT, which may be repeated. @throws {WriteFailed} */
  async put(group: GroupId, letter: DeadLetterId, bytes: Uint8Array): Promise<Payload> {
    return putPayload(this.#s3, { ...this.#address(group, letter), ContentType: 'application/octet-stream' }, bytes);
  }

  /** Stores what a letter was corrected to, under a key of its own: one PUT, which may be repeated. @throws {WriteFailed} */
  async putCorrection(group: GroupId, letter: DeadLetterId, bytes: Uint8Array): Promise<Payload> {
    const address = this.#address(group, letter, createHash('sha256').update(bytes).digest('hex'));
    return putPayload(this.#s3, { ...address, ContentType: 'application/octet-stream' }, bytes);
  }

  /**
   * Reads a payload and checks it against what its item says: one GET.
   *
   * @param isCorrection of what it was corrected to
   * @returns undefined when it is gone, or is not what was stored
   * @throws {Throttled | Unavailable}, and as a bug what S3 refuses otherwise
   */
  async get(
    group: GroupId,
    letter: DeadLetterId,
    expected: Payload,
    isCorrection = false,
  ): Promise<Uint8Array | undefined> {
    const address = this.#address(group, letter, isCorrection ? expected.sha256 : undefined);
    const found = await getPayload(this.#s3, address, expected);
    return typeof found === 'string' ? undefined : found;
  }

  /** Removes a payload, if there is one. @param sha256 of what it was corrected to @throws {WriteFailed} */
  async remove(group: GroupId, letter: DeadLetterId, sha256?: string): Promise<void> {
    const command = new DeleteObjectCommand(this.#address(group, letter, sha256));
    await new WriteAttempts(command).outcome(this.#s3.send(command));
  }

  #address(group: GroupId, letter: DeadLetterId, sha256?: string): ObjectAddress {
    return { Bucket: this.#bucket, Key: deadLetterObjectKey(group, letter, sha256) };
  }
}
