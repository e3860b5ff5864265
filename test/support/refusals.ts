import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Api, openApi } from './api.ts';
import { gatewayEvent, type Sent } from './gateway-call.ts';
import { DESCRIBED, undescribed } from './openapi-page.ts';

/** What is sent, and what the problem holds beside its status and code. */
export type Refusal = readonly [sent: Sent, problem?: object];

/** A problem whose detail says all of these, in this order. */
export const says = (...words: string[]) => ({
  detail: expect.stringMatching(new RegExp(words.join('.*'), 's')),
});

/** An API of its own for a file of refusals, with the topic `orders` of three partitions. */
export function refusingApi() {
  let api: Api;
  beforeAll(async () => {
    api = await openApi();
    await api.put('/v1/topics/orders', { partitions: 3 });
  });
  afterAll(() => api.close());

  /** One test per case: it is refused as said, as described in the OpenAPI page, and nothing is stored. */
  return (method: string, target: string, status: number, code: string, cases: Readonly<Record<string, Refusal>>) => {
    it.each(Object.entries(cases))(
      `refuses %s with ${status} ${code}, and stores nothing`,
      async (_, [sent, problem]) => {
        const before = await api.stored();
        const reply = await api.send(method, target, sent);
        expect(reply.json()).toMatchObject({ status, code, ...problem });
        expect(reply).toMatchObject({ status, headers: { 'content-type': 'application/problem+json' } });
        if (isDescribed(method, target)) expect(undescribed(method, target, reply)).toEqual([]);
        expect(await api.stored()).toEqual(before);
      },
    );
  };
}

/** Paths without a route are described nowhere. */
function isDescribed(method: string, target: string): boolean {
  return DESCRIBED.has(gatewayEvent(method, target).event.routeKey);
}
