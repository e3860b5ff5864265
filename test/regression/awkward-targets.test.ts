import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, openApi } from '../support/api.ts';

let api: Api;
beforeAll(async () => {
  api = await openApi();
  await api.put('/v1/topics/orders', { partitions: 1 });
});
afterAll(() => api.close());

const RECORDS = '/v1/topics/orders/partitions/0/records';

// Nothing is tidied up, clamped or guessed: what is not exactly a known path, name or number is refused (F09, F11).
describe.each([
  [
    404,
    'not_found',
    [
      '/',
      '/v1',
      '/V1/topics',
      '/v1/topics/',
      '/v1//topics',
      '//v1/topics',
      '/v1/topics//partitions',
      '/v1/topics/orders/',
      '/v1/topics/orders/../orders',
      '/v1/topics/a%2fb',
      `${RECORDS}/?offset=0`,
    ],
  ],
  [
    400,
    'invalid_request',
    [
      '/v1/topics/%2e',
      '/v1/topics/..',
      '/v1/topics/%2E%2e',
      '/v1/topics/orders%00',
      '/v1/topics/orders%0a',
      '/v1/topics/order%2573',
      '/v1/topics/%C3%A9',
      '/v1/topics/a+b',
      `/v1/topics/${'x'.repeat(250)}`,
      '/v1/topics/orders?deleted=true',
      '/v1/health?verbose',
      ...['-1', '00', '1e0', '0x0', '%20', '99999999999999999999'].map(
        (partition) => `/v1/topics/orders/partitions/${partition}/records?offset=0`,
      ),
      ...['', '+0', '%2B0', '-0', '00', '0.0', '1e1', '0%00', '%EF%BC%90', '9007199254740992', '9007199254740993'].map(
        (offset) => `${RECORDS}?offset=${offset}`,
      ),
      ...['offset=0&offset=0', 'offset=0&%6fffset=0', 'offset=0;maxRecords=1', 'offset=0&=', '?offset=0'].map(
        (query) => `${RECORDS}?${query}`,
      ),
      ...['__proto__=1', 'constructor', '%00=1', 'maxRecords=%ff', 'reset=none', 'values=JSON', 'waitMs=20001'].map(
        (query) => `${RECORDS}?offset=0&${query}`,
      ),
    ],
  ],
  [416, 'offset_out_of_range', ['1', '9007199254740990', '9007199254740991'].map((n) => `${RECORDS}?offset=${n}`)],
  [
    404,
    'partition_not_found',
    ['1', '1024', '9007199254740991'].map((n) => RECORDS.replace('0', n).concat('?offset=0')),
  ],
  [
    404,
    'topic_not_found',
    ['__proto__', 'constructor', '...', '-', 'Orders', 'x'.repeat(249)].map((n) => `/v1/topics/${n}`),
  ],
])('%i %s is the answer to', (status, code, targets) => {
  it.each(targets)('GET %s', async (target) => {
    expect((await api.get(target)).json()).toMatchObject({ status, code });
  });
});

it.each([
  '/v1/topics/order%73',
  `${RECORDS}?offset=0&&maxRecords=1&`,
  `${RECORDS}?%6fffset=%30`,
  `${RECORDS}?offset=0&X-Amz-Date=1&X-Amz-Date=2`,
])('another spelling of the same is taken: GET %s', async (target) => {
  expect((await api.get(target)).status).toBe(200);
});

it.each(['HEAD', 'OPTIONS', 'TRACE', 'PATCH', 'PURGE'])(
  '405 with the methods there are is the answer to %s',
  async (method) => {
    const reply = await api.send(method, '/v1/topics/orders');
    expect(reply).toMatchObject({ status: 405, headers: { allow: 'PUT, GET, DELETE' } });
    expect(reply.code).toBe('method_not_allowed');
  },
);
