import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Api, openApi } from '../support/api.ts';
import type { Reply } from '../support/gateway-call.ts';

const ORIGIN = 'https://app.example';
const headers = { origin: ORIGIN };

describe('a page of a configured origin', () => {
  let api: Api;
  beforeAll(async () => {
    api = await openApi({ corsOrigins: [ORIGIN] });
    await api.put('/v1/topics/orders', { partitions: 1 });
  });
  afterAll(() => api.close());

  const records = '/v1/topics/orders/records';
  const tooMany = { records: Array.from({ length: 1_001 }, () => ({ value: 1 })) };
  const cases: [what: string, status: number, call: () => Promise<Reply>][] = [
    ['an answer', 200, () => api.post(records, { records: [{ value: 1 }] }, headers)],
    ['a path without a route', 404, () => api.get('/v1/nothing', { headers })],
    ['a method without a route', 405, () => api.send('PATCH', records, { headers })],
    ['too large a request', 413, () => api.post(records, tooMany, headers)],
    [
      'throttling',
      429,
      () => {
        api.faults.next('UpdateItem', 'throttle');
        return api.post(records, { records: [{ value: 1 }] }, headers);
      },
    ],
    [
      'a store that does not answer',
      503,
      () => {
        api.faults.next('Query', 'lose-request');
        return api.get('/v1/topics/orders/partitions/0/records?offset=0', { headers });
      },
    ],
  ];
  it.each(cases)('sees %s for what it is: %i', async (_, status, call) => {
    const reply = await call();
    expect(reply).toMatchObject({ status, headers: { 'access-control-allow-origin': ORIGIN } });
    expect(reply.headers['access-control-expose-headers']).toContain('Retry-After');
    if (status === 429 || status === 503) expect(reply.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  });

  it('may ask before it polls, resets or deletes, and sees why it is refused', async () => {
    for (const [method, target] of [
      ['POST', '/v1/groups/billing/poll'],
      ['PUT', '/v1/groups/billing/offsets'],
      ['DELETE', '/v1/groups/billing'],
    ] as const) {
      const asked = { ...headers, 'access-control-request-method': method };
      const preflight = await api.send('OPTIONS', target, { headers: asked });
      expect(preflight).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': ORIGIN } });
      expect(preflight.headers['access-control-allow-methods']).toContain(method);
      const reply = await api.send(method, target, { headers, body: {} });
      expect(reply.status).toBeGreaterThanOrEqual(400);
      expect(reply.headers['access-control-allow-origin']).toBe(ORIGIN);
    }
  });
});
