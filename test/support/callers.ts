import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Rights } from '../../shared/domain/rights.ts';
import { apiKeyText, hashOfSecret } from '../../shared/wire/api-key-text.ts';
import type { Api } from './api.ts';
import { gatewayEvent, type Reply, type Sent } from './gateway-call.ts';

/** Makes a key behind the API. @returns it, as its owner has it */
export async function keyWith({ backbone }: Api, rights: readonly Rights[], expiresAt?: number): Promise<string> {
  const [id, secret] = [backbone.newKeyId(), backbone.newKeySecret()];
  const facts = { name: 'test', createdAt: backbone.clock.now(), createdBy: 'test' };
  await backbone.apiKeys.create({ id, hash: hashOfSecret(secret), rights, ...facts, ...(expiresAt && { expiresAt }) });
  return apiKeyText(id, secret);
}

/** Calls with an API key. */
export function callerWith(api: Api, key: string) {
  return (method: string, target: string, sent: Sent = {}): Promise<Reply> =>
    api.send(method, target, { ...sent, headers: { authorization: `Bearer ${key}`, ...sent.headers } });
}

/** Calls as the gateway passes on what it has checked: a signature, or a token. */
export function callerKnownAs(api: Api, authorizer: object) {
  return (method: string, target: string, sent: Sent = {}): Promise<Reply> => {
    const { requestContext } = gatewayEvent(method, target, sent).event;
    const event = { requestContext: { ...requestContext, authorizer } as APIGatewayProxyEventV2['requestContext'] };
    return api.send(method, target, { ...sent, event });
  };
}
