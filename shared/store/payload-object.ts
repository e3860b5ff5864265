import { createHash } from 'node:crypto';
import { GetObjectCommand, NoSuchKey, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3';
import type { Payload } from '../domain/upload.ts';
import { readOutcome, WriteAttempts } from './dynamo.ts';

/** What is used of an S3 client. */
export type S3 = Pick<S3Client, 'send'>;

/** Where an object is. */
export interface ObjectAddress {
  readonly Bucket: string;
  readonly Key: string;
}

/**
 * Stores a payload: one PUT, its SHA-256 signed into the request.
 *
 * @param isLate asked before every attempt; once true, no more is sent
 * @throws {WriteFailed}
 */
export async function putPayload(
  s3: S3,
  address: ObjectAddress & { readonly ContentType: string },
  bytes: Uint8Array,
  isLate?: () => boolean,
): Promise<Payload> {
  const digest = createHash('sha256').update(bytes).digest();
  const command = new PutObjectCommand({ ...address, Body: bytes, ChecksumSHA256: digest.toString('base64') });
  await new WriteAttempts(command, isLate).outcome(s3.send(command));
  return { size: bytes.length, sha256: digest.toString('hex') };
}

/**
 * Reads a payload and checks it against what its item says: one GET.
 *
 * @returns why it cannot be read, if so
 * @throws {Throttled | Unavailable}, and as a bug what S3 refuses otherwise: "access denied" is not "gone"
 */
export async function getPayload(
  s3: S3,
  address: ObjectAddress,
  expected: Payload,
): Promise<Uint8Array | 'payload_missing' | 'payload_corrupt'> {
  const command = new GetObjectCommand({ ...address });
  // Else the SDK compares the body with the checksum that S3 keeps, and throws a bare `Error`, which would fail the
  // whole read. Here it is compared with what the item says, and the payload at fault is told.
  command.middlewareStack.add(
    (next) => (args) => {
      delete (args.request as { headers?: Record<string, string> }).headers?.['x-amz-checksum-mode'];
      return next(args);
    },
    { step: 'build' },
  );
  try {
    const { Body, ContentLength = expected.size } = await readOutcome(s3.send(command));
    // No room is made because an item says so: one that is damaged could ask for any amount of memory.
    const size = ContentLength === expected.size ? expected.size : 0;
    const bytes = await readOutcome(collect(Body as unknown as AsyncIterable<Uint8Array>, size));
    if (bytes?.length !== expected.size) return 'payload_corrupt';
    return createHash('sha256').update(bytes).digest('hex') === expected.sha256 ? bytes : 'payload_corrupt';
  } catch (error) {
    if (error instanceof NoSuchKey) return 'payload_missing';
    throw error;
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
