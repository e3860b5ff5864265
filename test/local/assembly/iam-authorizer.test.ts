import { describe, expect, it } from 'vitest';
import { openAuth } from '../../../client/auth.ts';
import { Access } from '../../../local/assembly/access.ts';
import { IamAuthorizer } from '../../../local/assembly/iam-authorizer.ts';
import { Identities } from '../../../local/assembly/identities.ts';

const ROLE = 'arn:aws:iam::000000000000:role/producer';
const access = new Access();
access.addPolicy(ROLE, [{ Effect: 'Allow', Action: 'execute-api:Invoke', Resource: '*/POST/v1/topics/*' }]);
const identities = new Identities(access);
const keys = identities.issue({ role: ROLE, function: 'shop' });
const NOW = Date.parse('2026-01-31T12:00:00Z');

/** Whether a request gets through that was signed as given, and may have been changed on its way. */
async function admitted(
  sent: { method?: string; path?: string; body?: string; signedAt?: number; secretAccessKey?: string } = {},
  changed: { path?: string; body?: string } = {},
): Promise<unknown> {
  const { method = 'POST', path = '/v1/topics/a/records', body = '{}', signedAt = NOW, ...over } = sent;
  const url = new URL(`http://127.0.0.1:4100${path}`);
  const credentials = { ...keys, ...over };
  const sign = openAuth({ iam: { region: 'us-east-1', credentials } }, url, () => signedAt);
  const headers = await sign({ method, url, headers: { 'content-type': 'a/b' }, body: Buffer.from(body) });
  const answer = await new IamAuthorizer(identities, access, () => NOW, 'local').admit({
    ...{ method, target: changed.path ?? url.pathname + url.search, httpVersion: '1.1', port: 4100, sourceIp: '::1' },
    ...{ requestId: 'one', receivedAt: NOW, body: Buffer.from(changed.body ?? body) },
    rawHeaders: Object.entries({ Host: url.host, ...headers }).flat(),
  });
  return 'statusCode' in answer ? answer.statusCode : answer;
}

describe('a signed request', () => {
  it('is let in, as who signed it', async () => {
    expect(await admitted()).toMatchObject({
      iam: { userArn: 'arn:aws:sts::000000000000:assumed-role/producer/shop', accountId: '000000000000' },
    });
  });

  it('may have escapes in its path, and a query in any order', async () => {
    expect(await admitted({ path: '/v1/topics/a%20b/records?z=1&a=%2F' })).toMatchObject({ iam: {} });
  });

  it.each([
    ['was signed with another secret', { secretAccessKey: 'wrong' }, {}],
    ['was signed a while ago', { signedAt: NOW - 16 * 60_000 }, {}],
    ['has another body than was signed', {}, { body: '{"records":[]}' }],
    ['has another path than was signed', {}, { path: '/v1/topics/b/records' }],
    ['is for what the caller may not do', { method: 'GET' }, {}],
  ])('is refused when it %s', async (_, sent, changed) => {
    expect(await admitted(sent, changed)).toBe(403);
  });
});
