import { randomBytes } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { GATEWAY_TIMEOUT_MS } from '../shared/domain/limits.ts';
import { type Answer, gatewayMessage } from './gateway-answer.ts';
import { type GatewayRoute, type ReceivedRequest, toEvent } from './gateway-event.ts';
import { leadsHere } from './host-name.ts';
import { invoke, type LambdaHandler, type Outcome } from './invocation.ts';
import { readBody } from './request-body.ts';

/** One request that reached a function, and what came of it. */
export interface Exchange extends Outcome {
  readonly event: APIGatewayProxyEventV2;
}

/** Who a caller is, as an authorizer of this kind puts it into the event. */
export type Authorizer = Readonly<Record<string, object>>;

export interface GatewayOptions {
  /** By the names that routes have for them. */
  readonly handlers: Readonly<Record<string, LambdaHandler>>;
  /** Default: those of the API, and its default route. */
  readonly routes?: readonly GatewayRoute[];
  /** Lets a request in, as who calls, or refuses it. Absent: everybody is let in. */
  readonly admit?: (request: ReceivedRequest, route: GatewayRoute) => Promise<Answer | Authorizer>;
  /** 0: any free one. */
  readonly port: number;
  /** Told of every exchange once its answer is on its way. Must not throw. */
  readonly observe?: (exchange: Exchange) => void;
  readonly integrationTimeoutMs?: number;
}

export interface Gateway {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  /** Takes no more connections, waits at most `drainMs` for what is under way, answers 503 to what is left then. */
  close(drainMs: number): Promise<void>;
}

const HOST = '127.0.0.1';
/** Source: AWS, HTTP API quotas, "Total combined size of request line and header values". */
const HEADER_BYTES_MAX = 10_240;
/** Source: AWS, HTTP API quotas, "Payload size", 10 MB. */
const PAYLOAD_BYTES_MAX = 10 * 1024 * 1024;
/** Node's own limit, for floods: the gateway's is lower and has the gateway's answer. */
const HEADER_BYTES_READ_MAX = 64 * 1024;
/** After the cut at shutdown: for the last answers to leave, and for clients that never finish sending. */
const FAREWELL_MS = 200;

/**
 * Serves the API on loopback as an HTTP API in front of Lambda functions does, limits and refusals included.
 * @throws {NodeJS.ErrnoException} `EADDRINUSE`.
 */
export async function openGateway(options: GatewayOptions): Promise<Gateway> {
  const { handlers, routes, admit, observe = () => {}, integrationTimeoutMs: timeoutMs = GATEWAY_TIMEOUT_MS } = options;
  const underWay = new Set<Promise<void>>();
  const cut = new AbortController();
  setMaxListeners(0, cut.signal); // one for each request under way
  let closing = false;

  const accept = (request: IncomingMessage, response: ServerResponse) => {
    const done: Promise<void> = serve(request, response).finally(() => underWay.delete(done));
    underWay.add(done);
  };
  const server = createServer({ maxHeaderSize: HEADER_BYTES_READ_MAX }, accept);
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (Number(request.headers['content-length'] ?? 0) > PAYLOAD_BYTES_MAX) {
      send(response, gatewayMessage(413, 'Request Entity Too Large'), newRequestId(), true);
      return;
    }
    response.writeContinue();
    accept(request, response);
  });
  server.listen(options.port, HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => {}); // a client that is gone hears no answer; the function's work stands
    const requestId = newRequestId();
    const received = await readRequest(request, requestId, port);
    if (!received) return;
    if ('statusCode' in received) return send(response, received, requestId, true);
    const routed = routes ? toEvent(received, routes) : toEvent(received);
    if (!routed) return send(response, gatewayMessage(400, 'Bad Request'), requestId, true);
    const { route, event } = routed;
    const admitted = (await admit?.(received, route)) ?? {};
    if ('statusCode' in admitted) return send(response, admitted as Answer, requestId, closing);
    if (Object.keys(admitted).length > 0) Object.assign(event.requestContext, { authorizer: admitted });
    const outcome = await invoke(handlers[route.function]!, route.function, event, { timeoutMs, signal: cut.signal });
    send(response, outcome.answer, requestId, closing);
    observe({ event, ...outcome });
  }

  return {
    url: `http://${HOST}:${port}`,
    async close(drainMs) {
      closing = true;
      const closed = once(server, 'close');
      server.close();
      const drained = new AbortController();
      await Promise.race([
        Promise.all(underWay),
        sleep(drainMs, undefined, { signal: drained.signal }).catch(() => {}),
      ]);
      drained.abort();
      cut.abort();
      const farewell = setTimeout(() => server.closeAllConnections(), FAREWELL_MS);
      await closed;
      clearTimeout(farewell);
    },
  };
}

const newRequestId = () => `${randomBytes(11).toString('base64url')}=`;

/** A whole request, the gateway's own refusal, or null when the client went away. */
async function readRequest(
  request: IncomingMessage,
  requestId: string,
  port: number,
): Promise<ReceivedRequest | Answer | null> {
  const receivedAt = Date.now();
  const { method = 'GET', url: target = '/', httpVersion, rawHeaders, socket } = request;
  const headerBytes = rawHeaders.reduce((sum, text, i) => sum + (i % 2 === 1 ? text.length : 0), 0);
  const requestLineBytes = `${method} ${target} HTTP/${httpVersion}`.length;
  const body = await readBody(request, PAYLOAD_BYTES_MAX);
  if (body === 'gone') return null;
  if (headerBytes + requestLineBytes > HEADER_BYTES_MAX) return gatewayMessage(431, 'Request Header Fields Too Large');
  if (body === 'too large') return gatewayMessage(413, 'Request Entity Too Large');
  if (!leadsHere(request.headers.host)) return gatewayMessage(403, 'Forbidden');
  const sourceIp = socket.remoteAddress ?? HOST;
  return { method, target, httpVersion, rawHeaders, body, sourceIp, port, requestId, receivedAt };
}

const WITHOUT_BODY = new Set([204, 304]);

function send(response: ServerResponse, answer: Answer, requestId: string, last: boolean): void {
  if (response.destroyed) return;
  const { statusCode, headers, body } = answer;
  try {
    response.writeHead(statusCode, {
      ...headers,
      ...(!WITHOUT_BODY.has(statusCode) && { 'content-length': body.length }),
      'apigw-requestid': requestId,
      ...(last && { connection: 'close' }),
    });
  } catch {
    // A header that no socket can carry.
    send(response, gatewayMessage(500, 'Internal Server Error'), requestId, last);
    return;
  }
  response.end(body);
}
