import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, openApi } from '../support/api.ts';

const JSON_BODY = { 'content-type': 'application/json' };

let api: Api;
beforeAll(async () => {
  api = await openApi();
  await api.put('/v1/topics/orders', { partitions: 1 });
});
afterAll(() => api.close());

const bodyOf = (key: Uint8Array) =>
  Buffer.concat([Buffer.from('{"records":[{"key":"'), key, Buffer.from('","value":1}]}')]);

// The gateway hands JSON over as text, and by then puts U+FFFD for what is no UTF-8: two keys would become one (F03, F08).
describe('a JSON body that is not UTF-8', () => {
  it.each(['ff', 'fe', 'eda080', 'c080', 'e697', 'ff00fe80', 'c3'])(
    'is refused though the gateway has mended it: %s, and nothing is stored',
    async (hex) => {
      const before = await api.stored();
      const reply = await api.post('/v1/topics/orders/records', bodyOf(Buffer.from(hex, 'hex')), JSON_BODY);
      expect(reply.json()).toMatchObject({
        status: 400,
        code: 'invalid_request',
        detail: expect.stringContaining('UTF-8'),
      });
      expect(await api.stored()).toEqual(before);
    },
  );

  it('is refused when it comes as bytes too', async () => {
    const reply = await api.post('/v1/topics/orders/records', bodyOf(Buffer.from('ff', 'hex')), {
      'content-type': 'application/vnd.orders+json',
    });
    expect(reply.json()).toMatchObject({ status: 400, detail: expect.stringContaining('UTF-8') });
  });
});

it('takes U+FFFD that was sent as such, and any other text, whatever length a proxy announces', async () => {
  for (const [key, length] of [
    ['\ufffd', undefined],
    ['\ufffd', ''],
    ['日本 é e\u0301 🎉', '7'],
  ] as const) {
    const body = bodyOf(Buffer.from(key));
    const announced = { ...JSON_BODY, 'content-length': length ?? String(body.length) };
    const event = length === undefined ? {} : { headers: length === '' ? JSON_BODY : announced };
    const reply = await api.send('POST', '/v1/topics/orders/records', { body, headers: JSON_BODY, event });
    const { offsets } = reply.json<{ offsets: { offset: number }[] }>();
    const page = await api.get(`/v1/topics/orders/partitions/0/records?offset=${offsets[0]!.offset}`);
    expect(page.json<{ records: { key: string }[] }>().records[0]!.key).toBe(key);
  }
});

it.each([
  ['PUT', '/v1/topics/marked', 'application/json', '{"partitions":1}'],
  ['POST', '/v1/topics/orders/records', 'application/json', '{"records":[{"value":1}]}'],
  ['POST', '/v1/topics/orders/records', 'application/x-ndjson', '1\n'],
])('a byte order mark before JSON is refused alike: %s %s, %s', async (method, target, type, text) => {
  const send = (body: string) => api.send(method, target, { body, headers: { 'content-type': type } });
  expect((await send(`\ufeff${text}`)).json()).toMatchObject({ status: 400, code: 'invalid_request' });
  expect((await send(text)).status).toBeLessThan(300);
});
