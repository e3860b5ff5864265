import { createHash } from 'node:crypto';

/** The lane of a key: 8 bytes of its SHA-256, in hex. */
export function laneOf(key: Uint8Array): string {
  return createHash('sha256').update(key).digest('hex').slice(0, 16);
}
