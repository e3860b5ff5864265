import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { DEFAULT_ROUTE, ROUTES, type Route } from '../shared/wire/routes.ts';

/** A route of an HTTP API: `GET /v1/topics/{topic}`, `GET /{proxy+}` or `$default`, and the name of what serves it. */
export interface GatewayRoute {
  readonly key: string;
  readonly function: string;
}

/** A request as it came off the socket. */
export interface ReceivedRequest {
  readonly method: string;
  /** Path and query as sent, escapes and all. */
  readonly target: string;
  /** `1.1` */
  readonly httpVersion: string;
  /** Names and values in turn, in the order and case they were sent. */
  readonly rawHeaders: readonly string[];
  readonly body: Buffer;
  readonly sourceIp: string;
  readonly port: number;
  readonly requestId: string;
  /** Epoch ms. */
  readonly receivedAt: number;
}

export interface RoutedEvent<R extends GatewayRoute = Route> {
  readonly route: R;
  readonly event: APIGatewayProxyEventV2;
}

/** Those of the backbone's API. */
const API_ROUTES: readonly Route[] = [...ROUTES, DEFAULT_ROUTE];

/** Headers between the client and the gateway, which the function never sees; cookies arrive in a list of their own. */
const NOT_PASSED_ON = new Set(['connection', 'cookie', 'expect', 'keep-alive', 'te', 'transfer-encoding', 'upgrade']);

/**
 * The event that an HTTP API with payload format 2.0 makes of a request. Source: AWS, "Lambda proxy integrations for HTTP
 * APIs"; where that page is silent, what users captured from deployed APIs.
 * @param routes one of them is `$default`
 * @returns null when the path's escapes are malformed: the gateway refuses those itself.
 */
export function toEvent(request: ReceivedRequest): RoutedEvent | null;
export function toEvent<R extends GatewayRoute>(request: ReceivedRequest, routes: readonly R[]): RoutedEvent<R> | null;
export function toEvent(
  request: ReceivedRequest,
  routes: readonly GatewayRoute[] = API_ROUTES,
): RoutedEvent<GatewayRoute> | null {
  const question = request.target.indexOf('?');
  const rawQueryString = question < 0 ? '' : request.target.slice(question + 1);
  const path = decodePath(question < 0 ? request.target : request.target.slice(0, question));
  if (path === null) return null;
  const { route, parameters } = findRoute(request.method, path, routes);
  const headers = joinHeaders(request);
  const cookies = valuesOf(request.rawHeaders, 'cookie').flatMap((line) => line.split(/; */));
  const query = joinQuery(rawQueryString);
  const domainName = (headers.host ?? '').replace(/:\d+$/, '');
  const event: APIGatewayProxyEventV2 = {
    version: '2.0',
    routeKey: route.key,
    rawPath: path,
    rawQueryString,
    ...(cookies.length > 0 && { cookies }),
    headers,
    ...(query && { queryStringParameters: query }),
    requestContext: {
      accountId: '000000000000',
      apiId: 'local',
      domainName,
      domainPrefix: domainName.split('.')[0]!,
      http: {
        method: request.method,
        path,
        protocol: `HTTP/${request.httpVersion}`,
        sourceIp: request.sourceIp,
        userAgent: headers['user-agent'] ?? '',
      },
      requestId: request.requestId,
      routeKey: route.key,
      stage: '$default',
      time: gatewayTime(request.receivedAt),
      timeEpoch: request.receivedAt,
    },
    ...(Object.keys(parameters).length > 0 && { pathParameters: parameters }),
    ...bodyOf(request.body, headers),
  };
  return { route, event };
}

/**
 * HTTP APIs decode the path once before anything looks at it (unlike REST APIs and function URLs): `rawPath` is the decoded
 * one, and an escaped slash separates segments like any other. Source: captures of deployed APIs (honojs/hono #2156,
 * middleapi/standard-server #93).
 */
function decodePath(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

type Found = { readonly route: GatewayRoute; readonly parameters: Record<string, string> };

/** Those without a greedy parameter come before those with one, and `$default` comes last. */
function findRoute(method: string, path: string, routes: readonly GatewayRoute[]): Found {
  const found = routes.flatMap((route): Found[] => {
    const [wantedMethod, template] = route.key.split(' ') as [string, string | undefined];
    if (template === undefined || (wantedMethod !== method && wantedMethod !== 'ANY')) return [];
    const parameters = matchPath(template, path);
    return parameters ? [{ route, parameters }] : [];
  });
  const byDefault = { route: routes.find(({ key }) => key === DEFAULT_ROUTE.key)!, parameters: {} };
  return found.find(({ route }) => !route.key.endsWith('+}')) ?? found[0] ?? byDefault;
}

function matchPath(template: string, path: string): Record<string, string> | null {
  const wanted = template.split('/');
  const got = path.split('/');
  const greedy = /^\{(.*)\+\}$/.exec(wanted.at(-1)!)?.[1];
  if (greedy !== undefined) {
    wanted[wanted.length - 1] = `{${greedy}}`;
    got.splice(wanted.length - 1, got.length, got.slice(wanted.length - 1).join('/'));
  }
  if (wanted.length !== got.length) return null;
  const parameters: Record<string, string> = {};
  for (const [i, part] of wanted.entries()) {
    const segment = got[i]!;
    if (!part.startsWith('{')) {
      if (part !== segment) return null;
    } else if (segment === '') return null;
    else parameters[part.slice(1, -1)] = segment;
  }
  return parameters;
}

function valuesOf(rawHeaders: readonly string[], name: string): string[] {
  return rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]!.toLowerCase() === name);
}

/** Names in lower case; repeated ones joined by a comma, in the order sent. */
function joinHeaders(request: ReceivedRequest): Record<string, string> {
  const joined = new Map<string, string>();
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    const name = request.rawHeaders[i]!.toLowerCase();
    const value = request.rawHeaders[i + 1]!;
    if (NOT_PASSED_ON.has(name)) continue;
    const before = joined.get(name);
    joined.set(name, before === undefined ? value : `${before},${value}`);
  }
  const forwardedFor = joined.get('x-forwarded-for');
  joined.set('x-forwarded-for', forwardedFor ? `${forwardedFor}, ${request.sourceIp}` : request.sourceIp);
  joined.set('x-forwarded-port', String(request.port));
  joined.set('x-forwarded-proto', 'http');
  joined.set('content-length', String(request.body.length));
  return Object.fromEntries(joined);
}

/** Decoded; repeated names joined by a comma. Absent when there is no parameter. */
function joinQuery(rawQueryString: string): Record<string, string> | null {
  const joined = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(rawQueryString)) {
    const before = joined.get(name);
    joined.set(name, before === undefined ? value : `${before},${value}`);
  }
  return joined.size > 0 ? Object.fromEntries(joined) : null;
}

/**
 * Only text types and plain JSON, XML and JavaScript arrive as text; everything else arrives in base64, a missing type, form
 * posts and `+json` types included. Source: a check against deployed HTTP APIs (ministackorg/ministack #766). What AWS does
 * with a compressed body of a text type is not documented; text could not carry it, so base64 is assumed here.
 */
const TEXT_TYPE = /^\s*(?:text\/[^;\s]+|application\/(?:json|xml|javascript))\s*(?:;|$)/i;

function bodyOf(body: Buffer, headers: Record<string, string>): { body?: string; isBase64Encoded: boolean } {
  if (body.length === 0) return { isBase64Encoded: false };
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  const text = TEXT_TYPE.test(headers['content-type'] ?? '') && (encoding === '' || encoding === 'identity');
  return text
    ? { body: body.toString('utf8'), isBase64Encoded: false }
    : { body: body.toString('base64'), isBase64Encoded: true };
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** `12/Mar/2020:19:03:58 +0000` */
function gatewayTime(epochMs: number): string {
  const [date, time] = new Date(epochMs).toISOString().split('T') as [string, string];
  const [year, month, day] = date.split('-') as [string, string, string];
  return `${day}/${MONTHS[Number(month) - 1]}/${year}:${time.slice(0, 8)} +0000`;
}
