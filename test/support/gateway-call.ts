import { randomUUID } from 'node:crypto';
import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { toEvent } from '../../local/gateway-event.ts';
import { invoke, type LambdaHandler } from '../../local/invocation.ts';
import type { ApiFunction } from '../../shared/wire/routes.ts';

/** What a test sends besides method and path. An object is sent as JSON; a text or bytes as they are. */
export interface Sent {
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | object;
  /** What the gateway is not told by the client, to play another gateway. */
  readonly event?: Partial<APIGatewayProxyEventV2>;
}

/** An answer as a client sees it. */
export class Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly bytes: Buffer;

  constructor(status: number, headers: Readonly<Record<string, string>>, bytes: Buffer) {
    this.status = status;
    this.headers = headers;
    this.bytes = bytes;
  }

  get text(): string {
    return this.bytes.toString();
  }

  json<T = Record<string, unknown>>(): T {
    return JSON.parse(this.text) as T;
  }

  /** The code of a refusal. */
  get code(): unknown {
    return this.json().code;
  }
}

/** The event that the gateway makes of a request, and the function that gets it. */
export function gatewayEvent(method: string, target: string, { headers = {}, body, event }: Sent = {}) {
  const bytes = bytesOf(body);
  const named = typeof body === 'object' && !(body instanceof Uint8Array) && !hasType(headers);
  const routed = toEvent({
    method,
    target,
    httpVersion: '1.1',
    rawHeaders: Object.entries({
      host: 'api.test',
      ...(named && { 'content-type': 'application/json' }),
      ...headers,
    }).flat(),
    body: bytes,
    sourceIp: '127.0.0.1',
    port: 443,
    requestId: randomUUID(),
    receivedAt: Date.now(),
  });
  if (routed === null) throw new Error(`the gateway refuses ${target} itself`);
  return { function: routed.route.function, event: { ...routed.event, ...event } };
}

/** Sends a request through the gateway's eyes to whichever function serves it. */
export async function send(
  handlers: Readonly<Partial<Record<ApiFunction, LambdaHandler>>>,
  method: string,
  target: string,
  sent: Sent = {},
): Promise<Reply> {
  const { function: name, event } = gatewayEvent(method, target, sent);
  const handler = handlers[name];
  if (handler === undefined) throw new Error(`no function serves ${method} ${target}`);
  const { answer, error } = await invoke(handler, name, event, {
    timeoutMs: 30_000,
    signal: new AbortController().signal,
  });
  if (error !== undefined) throw error;
  return new Reply(answer.statusCode, answer.headers as Record<string, string>, answer.body);
}

function bytesOf(body: Sent['body']): Buffer {
  if (body === undefined) return Buffer.alloc(0);
  return Buffer.from(typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body));
}

function hasType(headers: Readonly<Record<string, string>>): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
}
