import { createHash } from 'node:crypto';
import { NoSuchKey } from '@aws-sdk/client-s3';
import { PRESIGNED_LIFE_MS } from '../../../shared/domain/limits.ts';
import type { Payload, UploadId } from '../../../shared/domain/upload.ts';
import { uploadObjectKey } from '../../../shared/store/keys.ts';
import type { Outcome } from './tables.ts';

/** What a presigned URL of the model says, as JSON. */
interface Grant extends Partial<Payload> {
  readonly method: 'PUT' | 'GET';
  readonly key: string;
  /** Epoch ms by the clock of whoever signed. */
  readonly signedAt: number;
}

/** What of S3 the stores use, and what callers do with presigned URLs. What it does not know it refuses by throwing. */
export class Bucket {
  readonly #objects = new Map<string, Uint8Array>();

  /** Keys of everything in the bucket. */
  get objects(): ReadonlySet<string> {
    return new Set(this.#objects.keys());
  }

  /** What the bucket holds under a key. */
  object(key: string): Uint8Array | undefined {
    return this.#objects.get(key);
  }

  run(operation: string, input: { Key: string; Body?: Uint8Array; Delete?: { Objects: { Key: string }[] } }): Outcome {
    const bytes = this.#objects.get(input.Key);
    switch (operation) {
      case 'PutObject':
        this.#objects.set(input.Key, Uint8Array.from(input.Body!));
        return { output: {} };
      case 'GetObject':
        if (bytes !== undefined) return { output: { Body: [bytes], ContentLength: bytes.length } };
        return { error: new NoSuchKey({ message: 'no such key', $metadata: { httpStatusCode: 404 } }) };
      case 'HeadObject':
        // An answer without a body names no code.
        if (bytes === undefined) {
          const notFound = { name: 'NotFound', $metadata: { httpStatusCode: 404 } };
          return { error: Object.assign(new Error('not found'), notFound) };
        }
        return { output: { ContentLength: bytes.length, ChecksumSHA256: sha256(bytes).toString('base64') } };
      case 'DeleteObject':
        this.#objects.delete(input.Key);
        return { output: {} };
      case 'DeleteObjects':
        for (const { Key } of input.Delete!.Objects) this.#objects.delete(Key);
        return { output: {} };
      default:
        throw new Error(`the model of S3 has no ${operation}`);
    }
  }

  /** A PUT by a presigned URL, at `now`: of the bytes that were signed, and in time. */
  put(url: string, bytes: Uint8Array, now: number): 'stored' | 'refused' {
    const { method, key, size, sha256: signed, signedAt }: Grant = JSON.parse(url);
    const isAsSigned = bytes.length === size && sha256(bytes).toString('hex') === signed;
    if (method !== 'PUT' || now > signedAt + PRESIGNED_LIFE_MS || !isAsSigned) return 'refused';
    this.#objects.set(key, Uint8Array.from(bytes));
    return 'stored';
  }

  /** A GET by a presigned URL, at `now`. */
  get(url: string, now: number): Uint8Array | 'refused' | 'missing' {
    const { method, key, signedAt }: Grant = JSON.parse(url);
    if (method !== 'GET' || now > signedAt + PRESIGNED_LIFE_MS) return 'refused';
    return this.#objects.get(key) ?? 'missing';
  }
}

/** Makes URLs that the model understands, in the place of `UploadUrls`. */
export const SIMULATED_URLS = {
  put: async ({ size, sha256, ...upload }: UploadId & Payload, signedAt: number) => {
    const grant: Grant = { method: 'PUT', key: uploadObjectKey(upload), size, sha256, signedAt };
    return { url: JSON.stringify(grant), headers: {} };
  },
  get: async (upload: UploadId, signedAt: number) => {
    const grant: Grant = { method: 'GET', key: uploadObjectKey(upload), signedAt };
    return JSON.stringify(grant);
  },
};

function sha256(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest();
}
