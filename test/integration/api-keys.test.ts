import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { API_KEY_EXPIRED_SHOWN_MS } from '../../shared/domain/access-limits.ts';
import { RIGHTS } from '../../shared/domain/rights.ts';
import { type Api, openApi } from '../support/api.ts';
import { callerKnownAs, callerWith, keyWith } from '../support/callers.ts';
import { undescribed } from '../support/openapi-page.ts';

const KEYS = '/v1/api-keys';
const RECORDS = '/v1/topics/orders-eu/records';
const EVERYTHING = [{ topics: '*', groups: '*', targets: '*', allow: RIGHTS }];
const WISH = { name: 'shop', rights: [{ topics: 'orders-*', allow: ['produce'] }] };
const record = { body: { records: [{ value: 1 }] } };

let api: Api;
let admin: ReturnType<typeof callerWith>;
beforeAll(async () => {
  api = await openApi({ access: { auth: 'apiKey', storedGrants: false } });
  admin = callerWith(api, await keyWith(api, EVERYTHING));
  for (const topic of ['orders-eu', 'Orders-eu', 'payments']) await admin('PUT', `/v1/topics/${topic}`);
});
afterAll(() => api.close());

const made = async (wish: object = WISH) =>
  (await admin('POST', KEYS, { body: wish })).json<{ id: string; key: string }>();

describe('an API key', () => {
  it('is shown once, is worth what was said, and nothing as soon as it is revoked', async () => {
    const reply = await admin('POST', KEYS, { body: WISH });
    const { id, key, ...rest } = reply.json<{ id: string; key: string }>();
    expect(reply.status).toBe(201);
    expect(rest).toEqual({ ...WISH, createdAt: expect.any(Number), createdBy: expect.stringMatching(/^key:/) });
    const shop = callerWith(api, key);
    expect((await shop('POST', RECORDS, record)).status).toBe(200);
    expect((await shop('POST', '/v1/topics/payments/records', record)).json()).toMatchObject({
      ...{ status: 403, code: 'forbidden', right: 'produce', topic: 'payments', principal: `key:${id}` },
      detail: `key:${id} has no right 'produce' over topic 'payments'`,
    });
    const listed = await admin('GET', KEYS);
    expect(listed.json<{ apiKeys: object[] }>().apiKeys).toContainEqual({ id, ...rest });
    expect((await admin('DELETE', `${KEYS}/${id}`)).status).toBe(204);
    expect(await shop('POST', RECORDS, record)).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect((await admin('GET', KEYS)).text).not.toContain(id);
    expect(await admin('DELETE', `${KEYS}/${id}`)).toMatchObject({ status: 404, code: 'api_key_not_found' });
  });

  it('is stored as a hash, and nothing that is stored or listed holds its secret', async () => {
    const { id, key } = await made();
    const secret = key.split('_').slice(2).join('_');
    expect(secret.length).toBeGreaterThanOrEqual(43);
    const items = (await api.stored()).filter((item) => item.includes(id));
    expect(items).toHaveLength(1);
    const listed = await admin('GET', KEYS);
    const { hash } = JSON.parse(items[0]!) as { hash: { S: string } };
    for (const text of [...items, listed.text]) expect(text).not.toContain(secret);
    expect(listed.text).not.toContain(hash.S);
  });

  it('is worth nothing from its end on', async () => {
    const now = api.backbone.clock.now();
    expect((await callerWith(api, await keyWith(api, EVERYTHING, now + 60_000))('GET', '/v1/topics')).status).toBe(200);
    const reply = await callerWith(api, await keyWith(api, EVERYTHING, now))('GET', '/v1/topics');
    expect(reply).toMatchObject({ status: 401, code: 'unauthenticated' });
    expect(reply.json().detail).toContain('expired');
    const { id } = await made({ ...WISH, expiresAt: now + 60_000 });
    const item = (await api.stored()).find((one) => one.includes(id))!;
    const { expiresAt } = JSON.parse(item) as { expiresAt: { N: string } };
    expect(Number(expiresAt.N) * 1_000).toBeGreaterThanOrEqual(now + 60_000 + API_KEY_EXPIRED_SHOWN_MS);
  });

  it('may be listed page by page', async () => {
    await made();
    const first = (await admin('GET', `${KEYS}?limit=1`)).json<{ apiKeys: { id: string }[]; nextToken: string }>();
    expect(first.apiKeys).toHaveLength(1);
    const next = await admin('GET', `${KEYS}?limit=1&nextToken=${first.nextToken}`);
    expect(next.json<{ apiKeys: { id: string }[] }>().apiKeys[0]!.id > first.apiKeys[0]!.id).toBe(true);
    expect(undescribed('GET', KEYS, next)).toEqual([]);
  });

  it.each<[string, object, string]>([
    ['no name', { rights: WISH.rights }, 'name'],
    ['a name that is too long', { ...WISH, name: 'x'.repeat(257) }, 'name'],
    ['no rights', { name: 'a' }, 'rights'],
    ['an empty list of rights', { name: 'a', rights: [] }, 'rights'],
    [
      'a right that there is not',
      { name: 'a', rights: [{ topics: '*', allow: ['everything'] }] },
      'rights[0].allow[0]',
    ],
    ['rights over nothing', { name: 'a', rights: [{ allow: ['produce'] }] }, 'rights[0]'],
    ['rights to nothing', { name: 'a', rights: [{ topics: 'a', allow: [] }] }, 'rights[0].allow'],
    ['a pattern that no name fits', { name: 'a', rights: [{ topics: 'a b', allow: ['produce'] }] }, 'rights[0].topics'],
    ['an empty pattern', { name: 'a', rights: [{ topics: '', allow: ['produce'] }] }, 'rights[0].topics'],
    [
      'a target of no kind',
      { name: 'a', rights: [{ topics: 'a', targets: 'https://*', allow: ['subscribe'] }] },
      'rights[0].targets',
    ],
    ['an unknown field', { name: 'a', rights: [{ topic: 'a', allow: ['produce'] }] }, 'rights[0].topic'],
    ['too many rights', { name: 'a', rights: Array.from({ length: 101 }, (_, i) => entry(i)) }, 'rights'],
    ['an end that is over', { ...WISH, expiresAt: 1 }, 'expiresAt'],
    ['an end that is no number', { ...WISH, expiresAt: '2030-01-01T00:00:00Z' }, 'expiresAt'],
  ])('is not made with %s', async (_, wish, field) => {
    const before = await api.stored();
    const reply = await admin('POST', KEYS, { body: wish });
    expect(reply).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(reply.json()).toMatchObject({ field });
    expect(await api.stored()).toEqual(before);
  });

  it('is not found under a text that is no id, whatever it is', async () => {
    for (const id of ['nobody', 'orders-eu', 'x'.repeat(2_000), '%2A']) {
      expect(await admin('DELETE', `${KEYS}/${id}`)).toMatchObject({ status: 404, code: 'api_key_not_found' });
    }
  });
});

const entry = (i: number) => ({ topics: `t${i}`, allow: ['produce'] });

describe('what is shown as an API key', () => {
  it('and is none, or another’s, lets nobody in', async () => {
    const { key } = await made();
    const [other, alien] = [(await made()).key, await openApi({ access: { auth: 'apiKey', storedGrants: false } })];
    const foreign = await keyWith(alien, EVERYTHING);
    await alien.close();
    const [, id, secret] = /^vtb_([^_]+)_(.*)$/.exec(key)!;
    const fakes = [
      ...['', 'Bearer', 'Bearer ', `Basic ${key}`, key, `Bearer ${key} `, `Bearer ${key},Bearer ${key}`],
      ...[`Bearer vtb_${id}_`, `Bearer ${key}x`, `Bearer vtb_${id}_${secret!.toLowerCase()}`, `Bearer vtb_${id}`],
      ...[
        `Bearer vtb_${id}_${other.split('_').slice(2).join('_')}`,
        `Bearer ${key.toLowerCase()}`,
        `Bearer ${foreign}`,
      ],
      ...['Bearer vtb_*_*', `Bearer ${'x'.repeat(8_000)}`, `Bearer vtb_${'0'.repeat(26)}_${'A'.repeat(43)}`],
    ];
    for (const authorization of fakes) {
      const reply = await api.send('POST', RECORDS, { ...record, headers: { authorization } });
      expect([authorization, reply.status, reply.code]).toEqual([authorization, 401, 'unauthenticated']);
      expect(reply.text).not.toContain(secret);
    }
    for (const authorization of [`bearer ${key}`, `BEARER   ${key}`]) {
      expect((await api.send('POST', RECORDS, { ...record, headers: { authorization } })).status).toBe(200);
    }
  });

  it('counts letter by letter: neither case nor a name that looks like a pattern widens it', async () => {
    const shop = callerWith(api, (await made()).key);
    for (const topic of ['Orders-eu', 'ORDERS-EU', 'orders', 'xorders-eu', '*', 'orders*', '%2A', '..']) {
      expect(await shop('POST', `/v1/topics/${topic}/records`, record)).toMatchObject({ status: 403 });
    }
    // It is allowed, and no name.
    expect(await shop('POST', '/v1/topics/orders-*/records', record)).toMatchObject({ status: 400 });
  });

  it('is not asked for where the gateway has seen a signature: who may sign for keys makes the first', async () => {
    const arn = 'arn:aws:sts::111122223333:assumed-role/Operators/alice';
    const operator = callerKnownAs(api, { iam: { userArn: arn } });
    const reply = await operator('POST', KEYS, { body: WISH });
    expect(reply.status).toBe(201);
    expect(reply.json()).toMatchObject({ createdBy: 'role:111122223333:Operators' });
    expect(await operator('GET', '/v1/topics')).toMatchObject({ status: 401, code: 'unauthenticated' });
    // A header says nothing of the kind.
    const claimed = { 'x-amzn-iam-user-arn': arn, 'x-amz-security-token': arn };
    expect(await api.send('POST', KEYS, { body: WISH, headers: claimed })).toMatchObject({ status: 401 });
  });
});
