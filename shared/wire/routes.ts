/** The functions behind the API. */
export type ApiFunction = 'produce' | 'fetch' | 'topics' | 'groups' | 'subscriptions';

export interface Route {
  /** As API Gateway names it: method, space, path with `{parameters}`. */
  readonly key: string;
  readonly function: ApiFunction;
  /**
   * The gateway asks for a signature (IAM) here, however callers are known otherwise: who hands out API keys needs none. Where
   * there is no gateway, a key that may administer everything will do.
   */
  readonly signed?: true;
}

const route = <Key extends string>(key: Key, fn: ApiFunction) => ({ key, function: fn });
const signed = <Key extends string>(key: Key, fn: ApiFunction) => ({ key, function: fn, signed: true }) as const;

/**
 * Every route of the API and the function that serves it: the gateway, the local server and the OpenAPI page read it. What
 * each needs of its caller stands in `route-rights.ts`.
 */
export const ROUTES = [
  route('POST /v1/topics/{topic}/records', 'produce'),
  route('POST /v1/topics/{topic}/partitions/{partition}/records', 'produce'),
  route('POST /v1/topics/{topic}/events', 'produce'),
  route('POST /v1/topics/{topic}/prepare', 'produce'),
  route('POST /v1/topics/{topic}/settle', 'produce'),
  route('POST /v1/topics/{topic}/uploads', 'produce'),
  route('GET /v1/topics/{topic}/partitions/{partition}/records', 'fetch'),
  route('GET /v1/topics', 'topics'),
  route('PUT /v1/topics/{topic}', 'topics'),
  route('GET /v1/topics/{topic}', 'topics'),
  route('DELETE /v1/topics/{topic}', 'topics'),
  route('GET /v1/topics/{topic}/partitions', 'topics'),
  route('GET /v1/topics/{topic}/offsets', 'topics'),
  route('POST /v1/groups/{group}/poll', 'groups'),
  route('POST /v1/groups/{group}/heartbeat', 'groups'),
  route('POST /v1/groups/{group}/leave', 'groups'),
  route('POST /v1/groups/{group}/commits', 'groups'),
  route('POST /v1/groups/{group}/dead-letters', 'groups'),
  route('GET /v1/groups/{group}/dead-letters', 'groups'),
  route('GET /v1/groups/{group}/dead-letters/{id}', 'groups'),
  route('DELETE /v1/groups/{group}/dead-letters/{id}', 'groups'),
  route('POST /v1/groups/{group}/dead-letters/redrive', 'groups'),
  route('GET /v1/groups', 'groups'),
  route('GET /v1/groups/{group}', 'groups'),
  route('DELETE /v1/groups/{group}', 'groups'),
  route('PUT /v1/groups/{group}/offsets', 'groups'),
  route('GET /v1/subscriptions', 'subscriptions'),
  route('PUT /v1/subscriptions/{name}', 'subscriptions'),
  route('GET /v1/subscriptions/{name}', 'subscriptions'),
  route('DELETE /v1/subscriptions/{name}', 'subscriptions'),
  route('POST /v1/subscriptions/{name}/pause', 'subscriptions'),
  route('POST /v1/subscriptions/{name}/resume', 'subscriptions'),
  route('POST /v1/subscriptions/{name}/seek', 'subscriptions'),
  route('POST /v1/subscriptions/{name}/rotate-secret', 'subscriptions'),
  route('GET /v1/subscriptions/{name}/parked', 'subscriptions'),
  route('POST /v1/subscriptions/{name}/parked/resume', 'subscriptions'),
  route('POST /v1/subscriptions/{name}/parked/dead-letter', 'subscriptions'),
  route('GET /v1/subscriptions/{name}/dead-letters', 'groups'),
  route('GET /v1/subscriptions/{name}/dead-letters/{id}', 'groups'),
  route('DELETE /v1/subscriptions/{name}/dead-letters/{id}', 'groups'),
  route('POST /v1/subscriptions/{name}/dead-letters/redrive', 'groups'),
  signed('POST /v1/api-keys', 'topics'),
  signed('GET /v1/api-keys', 'topics'),
  signed('DELETE /v1/api-keys/{id}', 'topics'),
  route('GET /v1/health', 'topics'),
  route('GET /v1/openapi.json', 'topics'),
] as const satisfies readonly Route[];

/** Where everything goes that no route names: answered with 404 or 405 in the API's own words. */
export const DEFAULT_ROUTE: Route = { key: '$default', function: 'topics' };

/** The methods that a path has, empty when no route has this path. Parameters match one non-empty segment. */
export function methodsOf(path: string): string[] {
  const found = ROUTES.map(({ key }) => key.split(' ') as [string, string]).filter(([, template]) =>
    matches(template, path),
  );
  // As OpenAPI has it: a path that stands there as it is, is not meant by a template.
  const fewest = Math.min(...found.map(([, template]) => parametersOf(template)));
  return found.filter(([, template]) => parametersOf(template) === fewest).map(([method]) => method);
}

function parametersOf(template: string): number {
  return template.split('{').length - 1;
}

function matches(template: string, path: string): boolean {
  const wanted = template.split('/');
  const got = path.split('/');
  return (
    wanted.length === got.length &&
    wanted.every((part, i) => (part.startsWith('{') ? got[i]!.length > 0 : part === got[i]))
  );
}
