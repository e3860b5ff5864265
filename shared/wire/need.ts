import type { Demand, Need } from '../domain/access.ts';
import { InvalidRequest } from '../domain/errors.ts';
import { EVERYTHING } from '../domain/rights.ts';
import type { ApiRequest } from './http-request.ts';
import { jsonObjectOf } from './json-body.ts';
import { type NamedRight, ROUTE_RIGHTS, type RouteRight } from './route-rights.ts';
import { ROUTES, type Route } from './routes.ts';

const SIGNED: ReadonlySet<string> = new Set(ROUTES.filter((route: Route) => route.signed).map(({ key }: Route) => key));

/** What a request needs by its route. One that no route names needs a caller who is known. */
export function needOf(request: ApiRequest): Need {
  const rights: Readonly<Record<string, RouteRight>> = ROUTE_RIGHTS;
  const right = Object.hasOwn(rights, request.route) ? rights[request.route]! : 'list';
  return {
    isOpen: right === 'open',
    isSigned: SIGNED.has(request.route),
    demands: () => {
      if (right === 'everything') return [{ right: 'admin', used: EVERYTHING }];
      return typeof right === 'string' ? [] : demandsOf(right, request);
    },
  };
}

function demandsOf({ right, path, query, body = [] }: NamedRight, request: ApiRequest): Demand[] {
  const { parameters } = request;
  if (path === 'topic') return [{ right, used: { topic: parameters.get('topic') ?? '' } }];
  const group = parameters.get('group') ?? parameters.get('name') ?? '';
  const topics = new Set([
    ...(query === undefined ? [] : new URLSearchParams(request.rawQuery).getAll(query)),
    ...(body.length === 0 ? [] : topicsIn(request, body)),
  ]);
  if (topics.size === 0) return [{ right, used: { group } }];
  return [...topics].map((topic) => ({ right, used: { topic, group } }));
}

/** Topics that a body names. What is no name, in what is no JSON, is refused by whoever takes the body apart, all of it. */
function topicsIn(request: ApiRequest, places: readonly string[]): string[] {
  const bytes = request.readBody();
  let fields: Record<string, unknown>;
  try {
    fields = jsonObjectOf(bytes);
  } catch (error) {
    if (error instanceof InvalidRequest) return [];
    throw error;
  }
  return places.flatMap((place) => valuesAt(fields, place.split('.'))).filter((value) => typeof value === 'string');
}

function valuesAt(value: unknown, [step, ...rest]: readonly string[]): unknown[] {
  if (step === undefined) return [value];
  if (typeof value !== 'object' || value === null) return [];
  const field = step.replace('[]', '');
  const found: unknown = Object.hasOwn(value, field) ? (value as Record<string, unknown>)[field] : undefined;
  if (!step.endsWith('[]')) return valuesAt(found, rest);
  return Array.isArray(found) ? found.flatMap((entry) => valuesAt(entry, rest)) : [];
}
