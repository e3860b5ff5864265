import type { Readable } from 'node:stream';
import type { AwsRequest, Service } from './service.ts';

/** What the SDK's clients hand to their request handler. */
interface SdkRequest {
  method: string;
  path: string;
  query?: Record<string, string | string[] | null>;
  headers: Record<string, string>;
  body?: unknown;
}

interface SdkResponse {
  statusCode: number;
  headers: Record<string, string>;
  body: Readable | Uint8Array;
}

interface SdkOptions {
  abortSignal?: unknown;
  /** ms */
  requestTimeout?: number;
}

/** What the SDK's clients take, and nothing else needs: the declarations of `vertebra/local` show it. */
export interface EmbeddedClientConfig {
  region: string;
  credentials: { accessKeyId: string; secretAccessKey: string };
  endpoint: string;
  requestHandler: InProcessHandler;
}

/** Serves the SDK's clients by a call instead of a socket. A request given up on may still take effect, as on a network. */
export class InProcessHandler {
  readonly metadata = { handlerProtocol: 'http/1.1' };
  readonly #serve: Service;

  constructor(serve: Service) {
    this.#serve = serve;
  }

  async handle(request: SdkRequest, options: SdkOptions = {}): Promise<{ response: SdkResponse }> {
    const signal = options.abortSignal as AbortSignal | undefined;
    if (signal?.aborted) throw named('AbortError', 'Request aborted');
    const served = this.#serve(fromSdk(request, signal)).then(({ status, headers, body }) => ({
      response: { statusCode: status, headers, body: typeof body === 'string' ? Buffer.from(body) : body },
    }));
    return signal || options.requestTimeout ? unlessGivenUp(served, signal, options.requestTimeout) : served;
  }

  updateHttpClientConfig(): void {}

  httpHandlerConfigs(): Record<string, never> {
    return {};
  }
}

function fromSdk(request: SdkRequest, signal: AbortSignal | undefined): AwsRequest {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) headers[name.toLowerCase()] = value;
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.query ?? {})) {
    query[name] = (Array.isArray(value) ? value.at(-1) : value) ?? '';
  }
  return { method: request.method, path: request.path, query, headers, body: bodyOf(request.body), signal };
}

function bodyOf(body: unknown): AwsRequest['body'] {
  if (body == null) return '';
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body instanceof ArrayBuffer) return new Uint8Array(body);
  return body as AsyncIterable<Uint8Array>;
}

function unlessGivenUp<T>(
  work: Promise<T>,
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(named('AbortError', 'Request aborted'));
    const timer = timeoutMs
      ? setTimeout(() => reject(named('TimeoutError', `no answer within ${timeoutMs} ms`)), timeoutMs)
      : undefined;
    const settle = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
    };
    signal?.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(settle);
  });
}

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
