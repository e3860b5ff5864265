import { DeleteObjectsCommand } from '@aws-sdk/client-s3';
import type { Spilled } from '../domain/slot.ts';
import type { PartitionId } from '../domain/topic.ts';
import { WriteAttempts } from './dynamo.ts';
import { batchObjectKey } from './keys.ts';
import { getPayload, type ObjectAddress, putPayload, type S3 } from './payload-object.ts';

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
    const address = { ...this.#address(partition, last), ContentType: 'application/vnd.kafka.recordbatch' };
    return putPayload(this.#s3, address, bytes, isLate);
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
    return getPayload(this.#s3, this.#address(partition, last), expected);
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

  #address(partition: PartitionId, last: number): ObjectAddress {
    return { Bucket: this.#bucket, Key: batchObjectKey(partition, last) };
  }
}
