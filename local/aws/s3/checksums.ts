import { createHash, type Hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { badDigest, notImplemented } from './s3-error.ts';

/** Checksums that S3 knows and this store computes; others are refused rather than believed. */
const ALGORITHMS = ['sha256', 'sha1', 'crc32'] as const;
export type Algorithm = (typeof ALGORITHMS)[number];
const UNSUPPORTED = ['crc32c', 'crc64nvme', 'md5', 'sha512', 'xxhash3', 'xxhash64', 'xxhash128'];

/** What the sender said about the body: base64, by header name without `x-amz-checksum-`. */
export type Expected = Partial<Record<Algorithm, string>>;

/** Checksums named in headers or trailers. @throws {S3Error} for those that cannot be verified here */
export function expectedChecksums(headers: Readonly<Record<string, string>>): Expected {
  for (const name of UNSUPPORTED) {
    if (headers[`x-amz-checksum-${name}`] !== undefined) throw notImplemented(`checksum ${name}`);
  }
  return Object.fromEntries(
    ALGORITHMS.flatMap((name) => {
      const value = headers[`x-amz-checksum-${name}`];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/** Computes everything that may be asked of a body, while it passes. */
export class Digests {
  readonly #hashes: Record<'md5' | 'sha256' | 'sha1', Hash> = {
    md5: createHash('md5'),
    sha256: createHash('sha256'),
    sha1: createHash('sha1'),
  };
  #crc = 0;
  size = 0;

  async *through(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      for (const hash of Object.values(this.#hashes)) hash.update(chunk);
      this.#crc = crc32(chunk, this.#crc);
      this.size += chunk.length;
      yield chunk;
    }
  }

  /** All digests of the whole body. May be called once. */
  end(): { md5: Buffer; checksums: Record<Algorithm, string> } {
    const crc = Buffer.alloc(4);
    crc.writeUInt32BE(this.#crc);
    return {
      md5: this.#hashes.md5.digest(),
      checksums: {
        sha256: this.#hashes.sha256.digest('base64'),
        sha1: this.#hashes.sha1.digest('base64'),
        crc32: crc.toString('base64'),
      },
    };
  }
}

/** @throws {S3Error} BadDigest when the body is not what its sender said */
export function verify(expected: Expected, found: Record<Algorithm, string>): void {
  for (const [name, value] of Object.entries(expected)) {
    if (found[name as Algorithm] !== value) throw badDigest(name.toUpperCase());
  }
}
