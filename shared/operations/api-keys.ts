import { ApiKeyNotFound } from '../domain/access-errors.ts';
import { type ApiKey, isKeyId } from '../domain/api-key.ts';
import type { Clock } from '../domain/clock.ts';
import { InvalidRequest } from '../domain/errors.ts';
import type { Rights } from '../domain/rights.ts';
import type { Page } from '../domain/topic.ts';
import type { Access } from './authorise.ts';
import { storeFailed } from './store-failed.ts';

export interface ApiKeyPorts {
  readonly clock: Clock;
  readonly access: Pick<Access, 'forget'>;
  readonly apiKeys: {
    create(key: ApiKey): Promise<void>;
    list(limit: number, after?: string): Promise<Page<ApiKey>>;
    delete(id: string): Promise<boolean>;
  };
}

/** What is wanted of a new key. */
export interface ApiKeyWish {
  readonly name: string;
  readonly rights: readonly Rights[];
  /** Epoch ms. */
  readonly expiresAt?: number;
}

/**
 * Makes an API key.
 *
 * @param secret what it is known by from now on: its id, and the hash of what nobody stores
 * @param createdBy who wants it
 * @throws {InvalidRequest | Throttled | Unavailable} nobody can use it, or nobody knows it
 */
export async function createApiKey(
  { apiKeys, clock }: Pick<ApiKeyPorts, 'apiKeys' | 'clock'>,
  wish: ApiKeyWish,
  secret: Pick<ApiKey, 'id' | 'hash'>,
  createdBy: string,
): Promise<ApiKey> {
  const now = clock.now();
  if (wish.expiresAt !== undefined && wish.expiresAt <= now) {
    throw new InvalidRequest(`'expiresAt' must be later than now, which is ${now}`, { field: 'expiresAt' });
  }
  const key = { ...wish, ...secret, createdAt: now, createdBy };
  await apiKeys.create(key).catch(storeFailed);
  return key;
}

/** API keys by id, which is by age. @throws {Throttled | Unavailable} */
export async function listApiKeys(
  { apiKeys }: Pick<ApiKeyPorts, 'apiKeys'>,
  { limit, after }: { readonly limit: number; readonly after?: string },
): Promise<Page<ApiKey>> {
  return apiKeys.list(limit, after);
}

/** Ends a key: here at once, elsewhere within `ACCESS_COPY_MS`. @throws {ApiKeyNotFound | Throttled | Unavailable} */
export async function revokeApiKey({ apiKeys, access }: ApiKeyPorts, id: string): Promise<void> {
  const isFound = isKeyId(id) && (await apiKeys.delete(id).catch(storeFailed));
  access.forget(id);
  if (!isFound) throw new ApiKeyNotFound(id);
}
