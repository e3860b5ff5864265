import type { ApiKey } from '../domain/api-key.ts';
import type { Page } from '../domain/topic.ts';
import { type ApiAnswer, jsonAnswer } from './http-answer.ts';
import { toNextToken } from './next-token.ts';

/** The answer that shows a key, for the only time. */
export function newApiKeyAnswer(apiKey: ApiKey, key: string): ApiAnswer {
  return jsonAnswer({ ...apiKeyJson(apiKey), key }, 201);
}

export function apiKeyListAnswer({ items, next }: Page<ApiKey>): ApiAnswer {
  return jsonAnswer({
    apiKeys: items.map(apiKeyJson),
    ...(next !== undefined && { nextToken: toNextToken('apiKeys', next) }),
  });
}

function apiKeyJson({ id, name, rights, createdAt, createdBy, expiresAt }: ApiKey) {
  return { id, name, rights, createdAt, createdBy, ...(expiresAt !== undefined && { expiresAt }) };
}
