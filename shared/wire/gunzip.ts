import { gunzipSync } from 'node:zlib';

/** Deflate never gets more out of a byte. Source: zlib, "Technical Details", maximum compression factor. */
export const DEFLATE_FACTOR_MAX = 1_032;
const CHUNK_BYTES_MIN = 16 * 1024;

/**
 * Inflates gzip into one buffer, so that no parts are joined: by the size that gzip's last four bytes claim, as far as
 * that is possible at all.
 * @throws {Error} with code `ERR_BUFFER_TOO_LARGE` when there are more than `maxBytes`; another when it is no gzip
 */
export function gunzipWithin(packed: Uint8Array, maxBytes: number): Buffer {
  const possible = Math.min(maxBytes, packed.length * DEFLATE_FACTOR_MAX);
  const chunkSize = Math.max(CHUNK_BYTES_MIN, Math.min(claimedBytes(packed) + 1, possible));
  return gunzipSync(packed, { maxOutputLength: maxBytes, chunkSize });
}

function claimedBytes({ buffer, byteOffset, length }: Uint8Array): number {
  return length < 4 ? 0 : new DataView(buffer, byteOffset, length).getUint32(length - 4, true);
}
