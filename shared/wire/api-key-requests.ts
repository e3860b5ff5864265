import { API_KEY_NAME_BYTES_MAX } from '../domain/access-limits.ts';
import type { Rights } from '../domain/rights.ts';
import { type PageRequest, pageOf } from './group-admin-requests.ts';
import { bodyFields, integer, text } from './group-fields.ts';
import type { ApiRequest } from './http-request.ts';
import { parseQuery } from './query.ts';
import { rightsList } from './rights-fields.ts';

/** What is wanted of a new API key. */
export interface ApiKeyRequest {
  readonly name: string;
  readonly rights: readonly Rights[];
  /** Epoch ms. */
  readonly expiresAt?: number;
}

/** @throws {InvalidRequest} naming the field that is missing, unknown, of the wrong type or out of its range */
export function parseApiKeyRequest(request: ApiRequest): ApiKeyRequest {
  const fields = bodyFields(request, ['name', 'rights', 'expiresAt']);
  const expiresAt = fields.optional('expiresAt', integer(0));
  return {
    name: fields.required('name', text(API_KEY_NAME_BYTES_MAX, 1)),
    rights: fields.required('rights', rightsList),
    ...(expiresAt !== undefined && { expiresAt }),
  };
}

/** @throws {InvalidRequest} */
export function parseApiKeyListing(request: ApiRequest): PageRequest {
  return pageOf('apiKeys', parseQuery(request.rawQuery, ['limit', 'nextToken']));
}

/** The key that the path names, whatever is written there. @throws {InvalidRequest} the request says more */
export function onlyApiKeyOf(request: ApiRequest): string {
  parseQuery(request.rawQuery, []);
  return request.parameters.get('id') ?? '';
}
