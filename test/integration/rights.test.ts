import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RIGHTS, type Right, type Rights } from '../../shared/domain/rights.ts';
import { type NamedRight, ROUTE_RIGHTS, type RouteRight } from '../../shared/wire/route-rights.ts';
import { ROUTES } from '../../shared/wire/routes.ts';
import { type Api, openApi } from '../support/api.ts';
import { callerWith, keyWith } from '../support/callers.ts';
import type { Schema } from '../support/json-schema.ts';
import { DESCRIBED, resolve, undescribed } from '../support/openapi-page.ts';

type RouteKey = (typeof ROUTES)[number]['key'];
const ALL = Object.entries(ROUTE_RIGHTS) as [RouteKey, RouteRight][];
const NAMED = ALL.filter((entry): entry is [RouteKey, NamedRight] => typeof entry[1] === 'object');
const ORIGIN = 'https://app.example';
const OTHERS: readonly Rights[] = [{ topics: 'others*', groups: 'others*', targets: '*', allow: RIGHTS }];

let api: Api;
beforeAll(async () => {
  api = await openApi({ access: { auth: 'apiKey', storedGrants: false }, corsOrigins: [ORIGIN] });
});
afterAll(() => api.close());

const callerOf = async (rights: readonly Rights[]) => callerWith(api, await keyWith(api, rights));

function requestOf(route: RouteKey): [method: string, target: string] {
  const [method, template] = route.split(' ') as [string, string];
  return [
    method,
    template
      .replace('{topic}', 'orders')
      .replace(/\{(group|name)\}/, 'billing')
      .replace(/\{\w+\}/, '0'),
  ];
}

/** A body that names a topic at one place, such as `positions[].topic`, and says nothing else. */
function bodyNaming(place: string, topic: string): object {
  return place.split('.').reduceRight<unknown>((value, step) => {
    return step.endsWith('[]') ? { [step.slice(0, -2)]: [value] } : { [step]: value };
  }, topic) as object;
}

/** Where a body of this schema names topics. */
function placesIn(schema: Schema, path = ''): string[] {
  if (typeof schema.$ref === 'string') return placesIn(resolve(schema.$ref), path);
  const { properties = {}, items, oneOf = [], allOf = [] } = schema as Readonly<Record<string, never>>;
  const isTopic = (name: string) => name === 'topic' || name === 'topics[]';
  const at = path.split('.').at(-1)!;
  const nested = [
    ...Object.entries<Schema>(properties).flatMap(([name, of]) => placesIn(of, path === '' ? name : `${path}.${name}`)),
    ...(items === undefined ? [] : placesIn(items, `${path}[]`)),
    ...[...(oneOf as Schema[]), ...(allOf as Schema[])].flatMap((of) => placesIn(of, path)),
  ];
  return isTopic(at) ? [path] : nested;
}

describe('the table of rights', () => {
  it('has an entry for every route, and for no other', () => {
    expect(ALL.map(([route]) => route).sort()).toEqual(ROUTES.map(({ key }) => key).sort());
  });

  it('knows every place where a body names a topic', () => {
    let places = 0;
    for (const [route, { path, body = [] }] of NAMED) {
      const schema = DESCRIBED.get(route)?.requestBody?.content['application/json']?.schema;
      const described = schema === undefined || path === 'topic' ? [] : [...new Set(placesIn(schema))];
      expect([route, ...body.toSorted()]).toEqual([route, ...described.sort()]);
      places += described.length;
    }
    expect(places).toBeGreaterThan(10);
  });
});

describe('every route', () => {
  it.each(ALL.filter(([, right]) => right !== 'open'))('%s is refused to whom nobody knows', async (route) => {
    const [method, target] = requestOf(route);
    const headers = { origin: ORIGIN, 'x-user': 'admin', 'x-amzn-iam-user-arn': 'root' };
    const reply = await api.send(method, target, { headers });
    const seen = { 'www-authenticate': 'Bearer', 'access-control-allow-origin': ORIGIN };
    expect(reply).toMatchObject({ status: 401, code: 'unauthenticated', headers: seen });
    expect(undescribed(method, target, reply)).toEqual([]);
  });

  it.each(NAMED)('%s is refused without its right, and nothing is stored', async (route, { right, path }) => {
    const [method, target] = requestOf(route);
    const named = path === 'topic' ? { topics: 'orders' } : { groups: 'billing' };
    const wrong = right === 'any' ? OTHERS : [...OTHERS, { ...named, allow: RIGHTS.filter((one) => one !== right) }];
    const call = await callerOf(wrong);
    const before = await api.stored();
    const reply = await call(method, target);
    expect(reply).toMatchObject({ status: 403, code: 'forbidden' });
    const name = path === 'topic' ? { topic: 'orders' } : { group: 'billing' };
    expect(reply.json()).toMatchObject({ right, ...name, principal: expect.stringMatching(/^key:[0-9A-Z]{26}$/) });
    expect(undescribed(method, target, reply)).toEqual([]);
    expect(await api.stored()).toEqual(before);
  });

  it.each(NAMED)('%s is open to whom has its right', async (route, { right, path }) => {
    const allow = right === 'any' ? (['produce'] as const) : [right];
    const call = await callerOf([path === 'topic' ? { topics: 'ord*', allow } : { groups: 'bill*', allow }]);
    expect([400, 404, 200, 201, 204, 415]).toContain((await call(...requestOf(route))).status);
  });

  const places = NAMED.flatMap(([route, { right, body = [] }]) =>
    body.map((place) => [route, place, right as Right] as const),
  );
  it.each(places)(
    '%s is refused where %s of its body names a topic that is not allowed',
    async (route, place, right) => {
      const call = await callerOf([{ topics: 'orders', groups: 'billing', allow: [right] }]);
      const [method, target] = requestOf(route);
      const refused = await call(method, target, { body: bodyNaming(place, 'secret') });
      expect(refused).toMatchObject({ status: 403, code: 'forbidden' });
      expect(refused.json()).toMatchObject({ right, topic: 'secret', group: 'billing' });
      expect((await call(method, target, { body: bodyNaming(place, 'orders') })).status).not.toBe(403);
    },
  );

  it('asks for both together: what one entry says of a topic and another of a group is not added up', async () => {
    const call = await callerOf([
      { topics: 'orders', groups: 'a', allow: ['consume'] },
      { topics: 'secret', groups: 'billing', allow: ['consume'] },
    ]);
    const poll = (group: string, topic: string) =>
      call('POST', `/v1/groups/${group}/poll`, { body: { topics: [topic] } });
    expect((await poll('billing', 'orders')).status).toBe(403);
    expect((await poll('a', 'secret')).status).toBe(403);
    expect((await poll('a', 'orders')).status).toBe(404);
  });

  it.each(['POST /v1/api-keys', 'GET /v1/api-keys', 'DELETE /v1/api-keys/{id}'] as const)(
    '%s is for those alone who may administer everything',
    async (route) => {
      const [method, target] = requestOf(route);
      for (const rights of [
        [{ topics: '*', groups: '*', allow: RIGHTS }],
        [{ topics: '*', groups: '*', targets: 'lambda:*', allow: RIGHTS }],
        [{ topics: '*', groups: '*', targets: '*', allow: ['produce', 'consume', 'subscribe'] as const }],
      ]) {
        const reply = await (await callerOf(rights))(method, target);
        expect(reply).toMatchObject({ status: 403, code: 'forbidden' });
        expect(undescribed(method, target, reply)).toEqual([]);
      }
      const admin = await callerOf([{ topics: '*', groups: '**', targets: '*', allow: ['admin'] }]);
      expect([200, 400, 404]).toContain((await admin(method, target)).status);
    },
  );

  it('may be asked for by pages before they show a key', async () => {
    const headers = {
      origin: ORIGIN,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    };
    const reply = await api.send('OPTIONS', '/v1/topics/orders/records', { headers });
    expect(reply).toMatchObject({ status: 204, headers: { 'access-control-allow-origin': ORIGIN } });
  });

  it('that is open to all asks nobody, and no key that is shown spoils it', async () => {
    for (const target of ['/v1/health', '/v1/openapi.json']) {
      expect((await api.get(target)).status).toBe(200);
      expect((await api.get(target, { headers: { authorization: 'Bearer nonsense' } })).status).toBe(200);
    }
  });

  it('that there is not is not found by whom is known, and told to nobody else', async () => {
    expect(await api.get('/v1/nothing')).toMatchObject({ status: 401 });
    const call = await callerOf(OTHERS);
    expect(await call('GET', '/v1/nothing')).toMatchObject({ status: 404 });
    expect(await call('PATCH', '/v1/topics/orders')).toMatchObject({ status: 405 });
  });
});
