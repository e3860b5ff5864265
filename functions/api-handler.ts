import middy, { type MiddlewareObj } from '@middy/core';
import type { APIGatewayProxyEventV2, APIGatewayProxyStructuredResultV2, Context } from 'aws-lambda';
import type { AccessSettings } from '../shared/domain/access.ts';
import { Forbidden } from '../shared/domain/access-errors.ts';
import type { Clock } from '../shared/domain/clock.ts';
import { MethodNotAllowed, OutcomeUnknown, RouteNotFound, Unavailable } from '../shared/domain/errors.ts';
import { API_FUNCTION_TIMEOUT_MS, GATEWAY_TIMEOUT_MS } from '../shared/domain/limits.ts';
import { ANYBODY, type Caller } from '../shared/domain/rights.ts';
import { readAccess, readCorsOrigins } from '../shared/env.ts';
import type { Access } from '../shared/operations/authorise.ts';
import { allowOrigin, isPreflight, preflightAnswer } from '../shared/wire/cross-origin.ts';
import { type ApiAnswer, toGatewayResult } from '../shared/wire/http-answer.ts';
import { type ApiRequest, headerOf, parseApiRequest } from '../shared/wire/http-request.ts';
import { identityOf } from '../shared/wire/identity.ts';
import { needOf } from '../shared/wire/need.ts';
import { codeOf, problemAnswer, STATUS } from '../shared/wire/problem.ts';
import { methodsOf } from '../shared/wire/routes.ts';
import { logFailure, logger, recordRequest } from './observability.ts';

/**
 * Handles one route. `answerBy` (epoch ms) is when the answer must be on its way. `caller` has what the route needs; whoever
 * finds names that the request does not say asks it again.
 */
export type ApiRoute = (request: ApiRequest, answerBy: number, caller: Caller) => ApiAnswer | Promise<ApiAnswer>;

/** A function's routes by the gateway's key, such as `GET /v1/topics`. */
export type ApiRoutes = Readonly<Record<string, ApiRoute>>;

export type GatewayHandler = (
  event: APIGatewayProxyEventV2,
  context: Context,
) => Promise<APIGatewayProxyStructuredResultV2>;

/** What every function behind the API has. */
export interface ApiPorts {
  readonly clock: Clock;
  readonly access: Pick<Access, 'authorise'>;
}

/** What the environment of a deployed function says of its callers. */
export interface ApiSettings {
  readonly corsOrigins?: readonly string[] | undefined;
  readonly access?: AccessSettings | undefined;
}

/** Time before the end of the function, or of the gateway's patience, in which an answer is still built and carried. */
const ANSWER_MARGIN_MS = 1_500;
/** When a request is cut off and answered as such, so that the function is not ended without an answer. */
const CUT_OFF_MS = 500;

/** The request took all the time there was. */
class TimeIsUp extends Error {}

/**
 * Wraps a function's routes into its Lambda handler: request parsed, let in, routed, answered; whatever is thrown becomes a
 * problem. What the routes need is opened at the first call: opening that fails is answered with 500, and tried again.
 *
 * @param settings what is absent is read from the environment
 */
export function apiHandler<Ports extends ApiPorts>(
  open: () => Ports,
  routesOf: (ports: Ports) => ApiRoutes,
  { corsOrigins = readCorsOrigins(), access }: ApiSettings = {},
): GatewayHandler {
  let opened: { readonly ports: Ports; readonly routes: ApiRoutes; readonly settings: AccessSettings } | undefined;
  const principals = new WeakMap<object, string>();
  const openAll = () => {
    const [settings, ports] = [access ?? readAccess(), open()];
    return { ports, routes: routesOf(ports), settings };
  };
  const handler = async (event: APIGatewayProxyEventV2, context: Context): Promise<ApiAnswer> => {
    const request = parseApiRequest(event);
    if (isPreflight(request.method, request.headers, corsOrigins)) return preflightAnswer();
    opened ??= openAll();
    const { ports, routes, settings } = opened;
    const caller = await ports.access.authorise(settings, identityOf(event), needOf(request));
    if (caller.principal !== ANYBODY.principal) principals.set(event, caller.principal);
    const route = Object.hasOwn(routes, request.route) ? routes[request.route]! : refuseUnrouted;
    return route(request, answerBy(request, context, ports.clock.now()), caller);
  };
  return middy<APIGatewayProxyEventV2, ApiAnswer>(handler, { timeoutEarlyInMillis: CUT_OFF_MS, timeoutEarlyResponse })
    .use(requestRecord(principals))
    .use(gatewayResult())
    .use(crossOrigin(corsOrigins))
    .use(problemForError()) as unknown as GatewayHandler; // gatewayResult() turned the answer into the gateway's form
}

/** What no route names: the path is unknown, or has other methods. */
const refuseUnrouted: ApiRoute = ({ method, path }) => {
  const allowed = methodsOf(path);
  throw allowed.length > 0 ? new MethodNotAllowed(method, path, allowed) : new RouteNotFound(path);
};

/** The earlier of the function's end and the gateway's: a cold start spends the gateway's time, not the function's. */
function answerBy(request: ApiRequest, context: Context, now: number): number {
  const functionEnd = now + (context.getRemainingTimeInMillis?.() ?? API_FUNCTION_TIMEOUT_MS);
  const gatewayEnd = request.receivedAt + GATEWAY_TIMEOUT_MS;
  // A gateway that gave up already would not have called: then its clock says nothing.
  const end = gatewayEnd > now ? Math.min(functionEnd, gatewayEnd) : functionEnd;
  return end - ANSWER_MARGIN_MS;
}

function timeoutEarlyResponse(): never {
  throw new TimeIsUp();
}

// The steps around every route. What is used first here is done last on the way out.
type Step = MiddlewareObj<APIGatewayProxyEventV2>;

function requestRecord(principals: WeakMap<object, string>): Step {
  const startedAt = new WeakMap<object, number>();
  const record: Step['after'] = ({ event, response, error }) => {
    recordRequest({
      requestId: event.requestContext.requestId,
      route: event.routeKey,
      status: response.statusCode,
      durationMs: Math.round(performance.now() - startedAt.get(event)!),
      principal: error instanceof Forbidden ? error.principal : principals.get(event),
      ...(error && { code: codeOf(error) }),
    });
  };
  return { before: ({ event }) => void startedAt.set(event, performance.now()), after: record, onError: record };
}

function gatewayResult(): Step {
  const convert: Step['after'] = (request) => {
    request.response = toGatewayResult(request.response, headerOf(request.event, 'accept-encoding'));
  };
  return { after: convert, onError: convert };
}

function crossOrigin(origins: readonly string[]): Step {
  const allow: Step['after'] = (request) => {
    request.response = allowOrigin(request.response, headerOf(request.event, 'origin'), origins);
  };
  return { after: allow, onError: allow };
}

function problemForError(): Step {
  return {
    onError: (request) => {
      const { requestId, http } = request.event.requestContext;
      if (request.error instanceof TimeIsUp) request.error = timeIsUp(http.method);
      const code = codeOf(request.error);
      const fields = { requestId, route: request.event.routeKey, code };
      if (code === 'internal') logFailure('request failed', request.error, fields);
      else if (STATUS[code] >= 500) logger.warn('request not answered as asked', fields);
      request.response = problemAnswer(request.error, requestId);
    },
  };
}

function timeIsUp(method: string): Error {
  if (method === 'GET') return new Unavailable('The answer was not ready in time');
  return new OutcomeUnknown('The answer was not ready in time; whether anything was stored is unknown');
}
