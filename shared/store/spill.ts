import { createHash } from 'node:crypto';
import { DeleteObjectsCommand, GetObjectCommand, NoSuchKey, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { Spilled } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';
import { readOutcome, WriteAttempts } from './dynamo.ts';
import { batchObjectKey } from './keys.ts';

/** What is used of an S3 client. */
export type S3 = Pick<S3Client, 'send'>;

/** Payloads of batches that are too large for their slots, in S3, each under its slot's key. */
export class Spill {
  readonly #s3: S3;
  readonly #bucket: string;

  constructor(s3: S3, bucket: string) {
    this.#s3 = s3;
    this.#bucket = bucket;
  }

  /**
   * Stores a batch's bytes: one PUT. Only the append that reserved the slot may do this.
   *
   * @param isLate asked before every attempt; once true, no more is sent
   * @throws {WriteFailed}
   */
  async put(partition: PartitionId, last: number, bytes: Uint8Array, isLate: () => boolean): Promise<Spilled> {
    const digest = createHash('sha256').update(bytes).digest();
    const command = new PutObjectCommand({
      Bucket: this.#bucket,
      Key: batchObjectKey(partition, last),
      Body: bytes,
      ContentType: 'application/vnd.kafka.recordbatch',
      ChecksumSHA256: digest.toString('base64'),
    });
    await new WriteAttempts(command, isLate).outcome(this.#s3.send(command));
    return { size: bytes.length, sha256: digest.toString('hex') };
  }

  /**
   * Reads a batch's bytes and checks them against what its slot says: one GET.
   *
   * @returns why they cannot be read, if so
   * @throws {Throttled | Unavailable}, and as a bug what S3 refuses otherwise: "access denied" is not "gone"
   */
  async get(
    partition: PartitionId,
    last: number,
    expected: Spilled,
  ): Promise<Uint8Array | 'payload_missing' | 'payload_corrupt'> {
    const command = new GetObjectCommand({ Bucket: this.#bucket, Key: batchObjectKey(partition, last) });
    // Else the SDK compares the body with the checksum that S3 keeps, and throws a bare `Error`, which would fail the
    // whole read. Here it is compared with what the slot says, and the batch at fault is told.
    command.middlewareStack.add(
      (next) => (args) => {
        delete (args.request as { headers?: Record<string, string> }).headers?.['x-amz-checksum-mode'];
        return next(args);
      },
      { step: 'build' },
    );
    try {
      const { Body } = await readOutcome(this.#s3.send(command));
      const bytes = await readOutcome(collect(Body as unknown as AsyncIterable<Uint8Array>, expected.size));
      if (bytes === undefined) return 'payload_corrupt';
      const sha256 = createHash('sha256').update(bytes).digest('hex');
      return sha256 === expected.sha256 ? bytes : 'payload_corrupt';
    } catch (error) {
      if (error instanceof NoSuchKey) return 'payload_missing';
      throw error;
    }
  }

  /**
   * Removes the payloads of up to 1,000 slots; those that have none are no trouble.
   *
   * @returns those that S3 did not remove: to be tried again
   * @throws {WriteFailed}
   */
  async remove<T extends PartitionId & { readonly last: number }>(slots: readonly T[]): Promise<T[]> {
    if (slots.length === 0) return [];
    const keys = slots.map((slot) => batchObjectKey(slot, slot.last));
    const command = new DeleteObjectsCommand({
      Bucket: this.#bucket,
      Delete: { Objects: keys.map((Key) => ({ Key })), Quiet: true },
    });
    const { Errors } = await new WriteAttempts(command).outcome(this.#s3.send(command));
    const failed = new Set((Errors ?? []).map(({ Key }) => Key));
    return slots.filter((_, i) => failed.has(keys[i]));
  }
}

/**
 * All bytes of an object that should have so many. The SDK's own collector copies them twice, and they are held until the
 * connection has another answer.
 * @returns undefined when there are more or fewer
 */
async function collect(body: AsyncIterable<Uint8Array>, size: number): Promise<Uint8Array | undefined> {
  const bytes = Buffer.allocUnsafe(size);
  let at = 0;
  for await (const chunk of body) {
    if (at + chunk.length > size) return undefined;
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return at === size ? bytes : undefined;
}
