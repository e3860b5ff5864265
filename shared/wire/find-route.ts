import { DEFAULT_ROUTE, ROUTES, type Route } from './routes.ts';

export interface FoundRoute {
  readonly route: Route;
  readonly parameters: Readonly<Record<string, string>>;
}

/**
 * The route of a request, as the gateway chooses it: for whoever is called without one. A path that stands there as it is goes
 * before templates; what no route names goes where everything else does.
 *
 * @param path as sent, escapes and all
 */
export function findRoute(method: string, path: string): FoundRoute {
  const found = ROUTES.flatMap((route) => {
    const [verb, template] = route.key.split(' ') as [string, string];
    const parameters = verb === method ? parametersIn(template, path) : undefined;
    return parameters === undefined ? [] : [{ route, parameters }];
  });
  found.sort((a, b) => Object.keys(a.parameters).length - Object.keys(b.parameters).length);
  return found[0] ?? { route: DEFAULT_ROUTE, parameters: {} };
}

/** @returns undefined when the path is none of the template's */
function parametersIn(template: string, path: string): Record<string, string> | undefined {
  const [wanted, sent] = [template.split('/'), path.split('/')];
  if (wanted.length !== sent.length) return undefined;
  const parameters: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const segment = decoded(sent[i]!);
    if (segment === undefined || segment === '') {
      if (part !== segment) return undefined;
    } else if (part.startsWith('{')) parameters[part.slice(1, -1)] = segment;
    else if (part !== segment) return undefined;
  }
  return parameters;
}

/** @returns undefined when its escapes are malformed */
function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment);
  } catch {
    return undefined;
  }
}
