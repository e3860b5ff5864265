import { describe, expect, it } from 'vitest';
import { findRoute } from '../../../shared/wire/find-route.ts';
import { ROUTES } from '../../../shared/wire/routes.ts';

describe('a route', () => {
  it('of the table is found by its method and path, with what stands for its parameters', () => {
    for (const { key } of ROUTES) {
      const [method, template] = key.split(' ') as [string, string];
      const names = [...template.matchAll(/\{(\w+)\}/g)].map((match) => match[1]!);
      const path = template.replaceAll(/\{(\w+)\}/g, 'its-$1');
      expect(findRoute(method, path)).toMatchObject({
        route: { key },
        parameters: Object.fromEntries(names.map((name) => [name, `its-${name}`])),
      });
    }
  });

  it('has parameters without their escapes, decoded once', () => {
    expect(findRoute('GET', '/v1/topics/a%2Fb%2520c').parameters).toEqual({ topic: 'a/b%20c' });
  });

  it.each([
    ['GET', '/v1/topics/'],
    ['GET', '/v1/topics//partitions'],
    ['GET', '/v1/topics/orders/'],
    ['PATCH', '/v1/topics/orders'],
    ['get', '/v1/topics'],
    ['GET', '/v1/topics/%E0%A4%A'],
    ['GET', 'v1/topics'],
    ['GET', '/'],
    ['GET', ''],
  ])('is none for %s %s', (method, path) => {
    expect(findRoute(method, path)).toEqual({ route: { key: '$default', function: 'topics' }, parameters: {} });
  });
});
