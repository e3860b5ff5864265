import type { StateKey } from './keys.ts';

/*
 * Keys of what callers may do, in the State table.
 *
 * item      key                               one per    mutable  attributes
 * --------  --------------------------------  ---------  -------  ---------------------------------------------------------
 * API key   pk=api-keys, sk=<key id>          API key    never    v name hash rights createdAt createdBy until? expiresAt?
 * grants    pk=grants#<principal, escaped>,   principal  yes      v grant:<grant id>…
 *           sk=grants
 */

/** Partition key of all API keys, sorted by id. */
export const API_KEYS = 'api-keys';

/** @param id a ULID: no user text enters a key */
export function apiKeyKey(id: string): StateKey {
  return { pk: API_KEYS, sk: id };
}

/** Key of all that a principal was granted. Escaped: subjects of tokens are anybody's text. */
export function grantsKey(principal: string): StateKey {
  return { pk: `grants#${encodeURIComponent(principal).replaceAll('%3A', ':')}`, sk: 'grants' };
}
