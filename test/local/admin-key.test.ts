import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { renewAdminKey } from '../../local/admin-key.ts';
import { type Api, openApi } from '../support/api.ts';
import { callerWith, keyWith } from '../support/callers.ts';
import { startBackbone } from '../support/process.ts';

describe('the key of a start', () => {
  let api: Api;
  beforeAll(async () => {
    api = await openApi({ access: { auth: 'apiKey', storedGrants: false } });
  });
  afterAll(() => api.close());

  it('may do everything, and hands out other keys, which outlive it', async () => {
    const first = callerWith(api, await renewAdminKey(api.backbone));
    const other = await keyWith(api, [{ topics: '*', allow: ['admin'] }]);
    expect((await first('PUT', '/v1/topics/orders')).status).toBe(201);
    const body = { name: 'shop', rights: [{ topics: 'orders', allow: ['produce'] }] };
    expect((await first('POST', '/v1/api-keys', { body })).status).toBe(201);
    const second = await renewAdminKey(api.backbone);
    const { items } = await api.backbone.apiKeys.list();
    expect(items.map(({ name }) => name).sort()).toEqual(['shop', 'start', 'test']);
    expect((await callerWith(api, second)('GET', '/v1/api-keys')).status).toBe(200);
    expect((await callerWith(api, other)('GET', '/v1/topics/orders')).status).toBe(200);
  });
});

it('npm start prints it, asks for keys from then on, and takes no other', async () => {
  const backbone = await startBackbone('--port', '0', '--memory', '--auth', 'apiKey');
  await expect.poll(backbone.output).toContain('Ctrl-C stops it.');
  const key = /export VERTEBRA_API_KEY=(\S+)/.exec(backbone.output())![1]!;
  const list = async (headers: Record<string, string>) =>
    (await fetch(`${backbone.url}/v1/topics`, { headers })).status;
  expect(await list({ authorization: `Bearer ${key}` })).toBe(200);
  expect(await list({})).toBe(401);
  expect(await list({ authorization: `Bearer ${key.slice(0, -1)}-` })).toBe(401);
  expect(backbone.output().match(/curl -H "Authorization: Bearer \$VERTEBRA_API_KEY"/g)).toHaveLength(3);
});
