import { API_KEY_NAME_BYTES_MAX, RIGHTS_MAX } from '../domain/access-limits.ts';
import { RIGHTS } from '../domain/rights.ts';
import { answer, BODY, json, type Operation, STORE } from './openapi-operation.ts';
import { integer, type Json, list, MS, object, ref, TEXT, words } from './openapi-schemas.ts';
import type { ROUTES } from './routes.ts';

type ApiKeyRoute = Extract<(typeof ROUTES)[number]['key'], `${string} /v1/api-keys${string}`>;

const PATTERN = { type: 'string', minLength: 1 };
const EXACT = { additionalProperties: false };
const NAME = { type: 'string', minLength: 1, maxLength: API_KEY_NAME_BYTES_MAX };
const KEYS_RIGHTS = { type: 'array', items: ref('schemas', 'Rights'), minItems: 1, maxItems: RIGHTS_MAX };
const KEY = {
  ...{ id: TEXT, name: NAME, rights: KEYS_RIGHTS, createdAt: MS },
  createdBy: { type: 'string', description: 'Who made it' },
  expiresAt: MS,
};
const KNOWN = ['id', 'name', 'rights', 'createdAt', 'createdBy'];

export const API_KEY_SCHEMAS: { readonly [name: string]: Json } = {
  Rights: object(
    {
      topics: { ...PATTERN, description: 'Names in which * stands for any characters' },
      groups: { ...PATTERN, description: 'Of groups and subscriptions' },
      targets: { ...PATTERN, description: 'Kind, colon, address: lambda:*, http:https://example.com/*' },
      allow: { type: 'array', items: words(...RIGHTS), minItems: 1 },
    },
    ['allow'],
    { ...EXACT, description: 'What may be done with what these name together. What is absent is not meant' },
  ),
  NewApiKey: object({ name: NAME, rights: KEYS_RIGHTS, expiresAt: integer(0) }, ['name', 'rights'], EXACT),
  ApiKey: object(KEY, KNOWN),
  MadeApiKey: object({ ...KEY, key: { type: 'string', description: 'Shown here and never again' } }, [...KNOWN, 'key']),
  ApiKeys: object({ apiKeys: list(ref('schemas', 'ApiKey')), nextToken: TEXT }, ['apiKeys']),
};

export const API_KEY_PARAMETERS: { readonly [name: string]: Json } = {
  apiKey: { name: 'id', in: 'path', required: true, schema: TEXT },
};

const EXAMPLE = { name: 'shop', rights: [{ topics: 'orders-*', allow: ['produce'] }] };

/** The calls of whoever hands out API keys. */
export const API_KEY_OPERATIONS: { readonly [route in ApiKeyRoute]: Operation } = {
  'POST /v1/api-keys': {
    summary: 'Make an API key. It is shown in the answer alone: only a hash of it is stored',
    body: { required: true, content: json('NewApiKey', EXAMPLE) },
    answers: { 201: answer('The key', json('MadeApiKey')) },
    refuses: [...BODY, ...STORE, 'outcome_unknown'],
  },
  'GET /v1/api-keys': {
    summary: 'List API keys by age',
    takes: ['limit', 'nextToken'],
    answers: { 200: answer('A page', json('ApiKeys')) },
    refuses: STORE,
  },
  'DELETE /v1/api-keys/{id}': {
    summary: 'Revoke an API key. Within a minute it is worth nothing',
    takes: ['apiKey'],
    answers: { 204: { description: 'It is revoked' } },
    refuses: ['api_key_not_found', ...STORE, 'outcome_unknown'],
  },
};
