import { createHash, timingSafeEqual } from 'node:crypto';
import type { ShownKey } from '../domain/api-key.ts';

/*
 * An API key as its owner keeps it: vtb_<id>_<secret>
 *
 *   id      ULID, 26 letters and digits: by it the key is looked up
 *   secret  32 random bytes in base64url, 43 characters: only its hash is stored
 */
const KEY = /^vtb_([0-9A-HJKMNP-TV-Z]{26})_([A-Za-z0-9_-]{43})$/;
const SCHEME = /^bearer +(.*)$/i;

/** @param secret in base64url */
export function apiKeyText(id: string, secret: string): string {
  return `vtb_${id}_${secret}`;
}

/** The id of a key. @returns undefined: the text is no key */
export function idOfApiKeyText(text: string): string | undefined {
  return KEY.exec(text)?.[1];
}

/** SHA-256 of a secret, in hex. */
export function hashOfSecret(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}

/** The key that a header `Authorization` shows. @returns undefined: there is no header */
export function shownKey(authorization: string | undefined): ShownKey | 'malformed' | undefined {
  if (authorization === undefined) return undefined;
  const [, id, secret] = KEY.exec(SCHEME.exec(authorization)?.[1] ?? '') ?? [];
  if (id === undefined || secret === undefined) return 'malformed';
  const hash = Buffer.from(hashOfSecret(secret), 'hex');
  return {
    id,
    hasHash: (stored) => {
      const other = Buffer.from(stored, 'hex');
      return other.length === hash.length && timingSafeEqual(other, hash);
    },
  };
}
