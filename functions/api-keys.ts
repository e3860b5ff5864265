import { createApiKey, listApiKeys, revokeApiKey } from '../shared/operations/api-keys.ts';
import { apiKeyListAnswer, newApiKeyAnswer } from '../shared/wire/api-key-answers.ts';
import { onlyApiKeyOf, parseApiKeyListing, parseApiKeyRequest } from '../shared/wire/api-key-requests.ts';
import { apiKeyText, hashOfSecret } from '../shared/wire/api-key-text.ts';
import type { ApiRoutes } from './api-handler.ts';
import type { Tables } from './tables.ts';

/** The routes of whoever hands out API keys. */
export function apiKeyRoutes(backbone: Tables): ApiRoutes {
  return {
    'POST /v1/api-keys': async (request, _, { principal }) => {
      const wish = parseApiKeyRequest(request);
      const [id, secret] = [backbone.newKeyId(), backbone.newKeySecret()];
      const made = await createApiKey(backbone, wish, { id, hash: hashOfSecret(secret) }, principal);
      return newApiKeyAnswer(made, apiKeyText(id, secret));
    },
    'GET /v1/api-keys': async (request) => apiKeyListAnswer(await listApiKeys(backbone, parseApiKeyListing(request))),
    'DELETE /v1/api-keys/{id}': async (request) => {
      await revokeApiKey(backbone, onlyApiKeyOf(request));
      return { status: 204 };
    },
  };
}
