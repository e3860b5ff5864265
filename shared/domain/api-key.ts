import type { Rights } from './rights.ts';

/** An API key as it is stored: its secret is not. */
export interface ApiKey {
  /** ULID. It stands in the key, in lists and in refusals. */
  readonly id: string;
  /** What its owner calls it; not unique. */
  readonly name: string;
  /** SHA-256 of the secret, in hex. The secret has 32 random bytes, so that nothing slower is needed. */
  readonly hash: string;
  readonly rights: readonly Rights[];
  /** Epoch ms. */
  readonly createdAt: number;
  /** Who made it. */
  readonly createdBy: string;
  /** Epoch ms from which on it is worth nothing; absent: until it is revoked. */
  readonly expiresAt?: number;
}

/** An API key as a caller shows it: to be looked up by its id, and held against what is stored. */
export interface ShownKey {
  readonly id: string;
  /** Whether its secret has this hash. Takes the same time wherever they differ. */
  hasHash(hash: string): boolean;
}

/** Whether a text may be the id of a key. */
export function isKeyId(text: string): boolean {
  return /^[0-9A-HJKMNP-TV-Z]{26}$/.test(text);
}
