import { describe, expect, it } from 'vitest';
import { apiKeyText, hashOfSecret } from '../../../shared/wire/api-key-text.ts';
import { identityOf } from '../../../shared/wire/identity.ts';
import { gatewayEvent } from '../../support/gateway-call.ts';

const SECRET = 'A'.repeat(43);
const KEY = apiKeyText('0'.repeat(26), SECRET);

function identity(authorizer: unknown, headers: Record<string, string> = {}) {
  const { event } = gatewayEvent('GET', '/v1/topics', { headers });
  return identityOf({ ...event, requestContext: { ...event.requestContext, authorizer } } as never);
}

describe('who sends a request', () => {
  it('is told by the gateway’s authorizers, and by nothing else', () => {
    expect(identity(undefined)).toEqual({});
    expect(identity({ iam: { userArn: 'arn', accountId: '1', userId: 'x' } })).toEqual({ userArn: 'arn' });
    expect(identity({ jwt: { claims: { sub: 's', iss: 'i' }, scopes: ['a'] } })).toEqual({ subject: 's' });
    expect(identity({ jwt: { claims: {} } })).toEqual({});
    expect(identity({ jwt: { claims: { sub: ['s'] } }, iam: { userArn: 7 } })).toEqual({});
    expect(identity(undefined, { authorizer: '{"iam":{"userArn":"arn"}}', userarn: 'arn', sub: 's' })).toEqual({});
  });

  it('is shown by a key, which holds against the hash of its secret alone', () => {
    const { shown } = identity(undefined, { Authorization: `Bearer ${KEY}` });
    if (shown === undefined || shown === 'malformed') expect.fail('it is a key');
    expect(shown.id).toBe('0'.repeat(26));
    expect(shown.hasHash(hashOfSecret(SECRET))).toBe(true);
    for (const other of [hashOfSecret(`${SECRET.slice(1)}B`), hashOfSecret(KEY), SECRET, '', 'zz']) {
      expect(shown.hasHash(other)).toBe(false);
    }
  });
});
