import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AccessSettings } from '../../shared/domain/access.ts';
import { type Api, openApi } from '../support/api.ts';
import { callerKnownAs } from '../support/callers.ts';

const ACCOUNT = '111122223333';
const record = { body: { records: [{ value: 1 }] } };
const signedBy = (api: Api, rest: string) => callerKnownAs(api, { iam: { userArn: `arn:aws:${rest}` } });

async function opened(access: AccessSettings): Promise<Api> {
  const api = await openApi({ access });
  await api.backbone.grants.put(`role:${ACCOUNT}:Shop`, 'grant', [{ topics: 'orders', allow: ['produce', 'admin'] }]);
  await api.backbone.grants.put(`user:${ACCOUNT}:alice`, 'grant', [{ topics: '*', allow: ['admin'] }]);
  await api.backbone.grants.put('sub:auth0|7', 'grant', [{ topics: 'orders', allow: ['produce'] }]);
  await signedBy(api, `iam::${ACCOUNT}:user/alice`)('PUT', '/v1/topics/orders');
  return api;
}

describe('callers that IAM knows, with grants', () => {
  let api: Api;
  beforeAll(async () => {
    api = await opened({ auth: 'iam', storedGrants: true });
  });
  afterAll(() => api.close());
  const statusOf = async (rest: string) =>
    (await signedBy(api, rest)('POST', '/v1/topics/orders/records', record)).status;

  it('are their role, whatever the session is called, and whatever path the role has', async () => {
    for (const session of ['i-0123', 'alice@example.com', 'Admin']) {
      expect(await statusOf(`sts::${ACCOUNT}:assumed-role/Shop/${session}`)).toBe(200);
    }
  });

  it('are nobody else: no other account, role, user, federated session, or root', async () => {
    for (const rest of [
      'sts::999988887777:assumed-role/Shop/x',
      `sts::${ACCOUNT}:assumed-role/shop/x`,
      `sts::${ACCOUNT}:assumed-role/Shop2/Shop`,
      `sts::${ACCOUNT}:federated-user/Shop`,
      `iam::${ACCOUNT}:user/Shop`,
      `iam::${ACCOUNT}:user/Shop/mallory`,
      `iam::${ACCOUNT}:root`,
    ]) {
      expect([rest, await statusOf(rest)]).toEqual([rest, 403]);
    }
  });

  it('are told what is missing', async () => {
    const reply = await signedBy(api, `sts::${ACCOUNT}:assumed-role/Shop/x`)('DELETE', '/v1/topics/payments');
    expect(reply.json()).toMatchObject({
      ...{ status: 403, code: 'forbidden', right: 'admin', topic: 'payments' },
      ...{
        principal: `role:${ACCOUNT}:Shop`,
        detail: `role:${ACCOUNT}:Shop has no right 'admin' over topic 'payments'`,
      },
    });
  });

  it('are nobody when the gateway names none, or none with a name', async () => {
    for (const authorizer of [undefined, {}, { iam: {} }, { iam: { userArn: 'arn:aws:s3:::bucket' } }]) {
      const reply = await callerKnownAs(api, authorizer as object)('GET', '/v1/topics');
      expect(reply).toMatchObject({ status: 401, code: 'unauthenticated' });
    }
  });

  it('cannot be somebody by what they write', async () => {
    const mallory = signedBy(api, `sts::${ACCOUNT}:assumed-role/Mallory/${'Shop'}`);
    const headers = {
      'x-principal': `role:${ACCOUNT}:Shop`,
      'x-amzn-requestcontext-authorizer': `role:${ACCOUNT}:Shop`,
    };
    const reply = await mallory('POST', '/v1/topics/orders/records', { ...record, headers });
    expect(reply).toMatchObject({ status: 403, code: 'forbidden' });
  });

  it('lose a right that is taken back, as soon as it is looked at anew', async () => {
    const principal = `role:${ACCOUNT}:Temp`;
    await api.backbone.grants.put(principal, 'grant', [{ topics: 'orders', allow: ['produce'] }]);
    const temp = signedBy(api, `sts::${ACCOUNT}:assumed-role/Temp/x`);
    expect((await temp('POST', '/v1/topics/orders/records', record)).status).toBe(200);
    await api.backbone.grants.delete(principal, 'grant');
    // A right that another needs is looked for: what is found then counts for all.
    expect((await temp('DELETE', '/v1/topics/orders')).status).toBe(403);
    expect((await temp('POST', '/v1/topics/orders/records', record)).status).toBe(403);
  });

  it('have a right that is given as soon as it is needed', async () => {
    const late = signedBy(api, `sts::${ACCOUNT}:assumed-role/Late/x`);
    expect((await late('GET', '/v1/topics/orders')).status).toBe(403);
    await api.backbone.grants.put(`role:${ACCOUNT}:Late`, 'a', [{ groups: 'g', allow: ['consume'] }]);
    await api.backbone.grants.put(`role:${ACCOUNT}:Late`, 'b', [{ topics: 'orders', allow: ['consume'] }]);
    await expect.poll(async () => (await late('GET', '/v1/topics/orders')).status, { timeout: 5_000 }).toBe(200);
  });
});

describe('callers that IAM knows, without grants', () => {
  it('may do everything, for the gateway let them in', async () => {
    const api = await openApi({ access: { auth: 'iam', storedGrants: false } });
    const anybody = signedBy(api, `iam::${ACCOUNT}:user/anybody`);
    expect((await anybody('PUT', '/v1/topics/orders')).status).toBe(201);
    await api.close();
  });
});

describe('callers with a token', () => {
  let api: Api;
  beforeAll(async () => {
    api = await opened({ auth: 'jwt', storedGrants: false });
    await api.backbone.grants.put('sub:root', 'grant', [{ topics: '*', allow: ['admin'] }]);
    await callerKnownAs(api, { jwt: { claims: { sub: 'root' } } })('PUT', '/v1/topics/orders');
  });
  afterAll(() => api.close());
  const subject = (sub: unknown) =>
    callerKnownAs(api, { jwt: { claims: { sub, scope: 'admin' } } })('POST', '/v1/topics/orders/records', record);

  it('may do what their subject was granted', async () => {
    expect((await subject('auth0|7')).status).toBe(200);
    expect(await subject('auth0|8')).toMatchObject({ status: 403, code: 'forbidden' });
    expect((await subject(`role:${ACCOUNT}:Shop`)).json()).toMatchObject({ principal: `sub:role:${ACCOUNT}:Shop` });
  });

  it('are nobody without a subject that can be granted anything', async () => {
    for (const sub of [undefined, '', 7, 'x'.repeat(256), 'é', 'a\nb']) {
      expect(await subject(sub)).toMatchObject({ status: 401, code: 'unauthenticated' });
    }
  });
});
