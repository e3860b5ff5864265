import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { JwtAuthorizer } from '../../../local/assembly/jwt-authorizer.ts';

const NOW_S = 1_800_000_000;
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const other = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
const KEYS = [{ ...publicKey.export({ format: 'jwk' }), kid: 'one' }];
const authorizer = new JwtAuthorizer(
  { Issuer: 'https://issuer.test', Audience: ['shop'] },
  async () => KEYS,
  () => NOW_S * 1_000,
);

const CLAIMS = { iss: 'https://issuer.test', aud: ['shop', 'else'], exp: NOW_S + 60, iat: NOW_S - 60, sub: 'alice' };

function tokenOf(claims: object, head: object = {}, key = privateKey): string {
  const parts = [{ alg: 'RS256', kid: 'one', ...head }, claims];
  const signed = parts.map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  return `${signed}.${sign('sha256', Buffer.from(signed), key).toString('base64url')}`;
}

async function admitted(authorization: string): Promise<unknown> {
  const answer = await authorizer.admit({
    ...{ method: 'GET', target: '/', httpVersion: '1.1', body: Buffer.alloc(0), sourceIp: '::1', port: 1 },
    ...{ requestId: 'one', receivedAt: 0, rawHeaders: ['Host', 'a.test', 'Authorization', authorization] },
  });
  return 'statusCode' in answer ? answer.statusCode : answer;
}

describe('whoever shows a token', () => {
  it('is let in as its subject, with its claims as texts', async () => {
    const claims = { iss: 'https://issuer.test', aud: '[shop else]', exp: String(NOW_S + 60), sub: 'alice' };
    expect(await admitted(`Bearer ${tokenOf(CLAIMS)}`)).toMatchObject({ jwt: { claims, scopes: null } });
    const { aud: _, ...ofClient } = CLAIMS;
    expect(await admitted(tokenOf({ ...ofClient, client_id: 'shop' }))).toMatchObject({ jwt: {} });
  });

  it.each([
    ['is of another issuer', tokenOf({ ...CLAIMS, iss: 'https://else.test' })],
    ['is for somebody else', tokenOf({ ...CLAIMS, aud: 'else' })],
    ['has expired', tokenOf({ ...CLAIMS, exp: NOW_S - 1 })],
    ['never expires', tokenOf({ ...CLAIMS, exp: undefined })],
    ['is not good yet', tokenOf({ ...CLAIMS, nbf: NOW_S + 1 })],
    ['was signed by somebody else', tokenOf(CLAIMS, {}, other)],
    ['was signed with a key that is not known', tokenOf(CLAIMS, { kid: 'two' })],
    ['says that it is not signed', tokenOf(CLAIMS, { alg: 'none' })],
    ['is no token', 'abc'],
  ])('is refused when it %s', async (_, token) => {
    expect(await admitted(`Bearer ${token}`)).toBe(401);
  });
});
