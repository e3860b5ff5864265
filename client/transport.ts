import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { apiError } from './api-error.ts';
import type { Signer } from './auth.ts';
import { Aborted, ConnectionError, type Effect, MalformedAnswer, RequestTimeout, VertebraError } from './errors.ts';

export interface Call {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE';
  /** Percent-encoded, from `/v1` on: see `pathOf`. */
  readonly path: string;
  /** What is undefined is left out. */
  readonly query?: Readonly<Record<string, string | number | undefined>>;
  readonly body?: { readonly type: string; readonly bytes: Uint8Array | string; readonly gzip?: boolean };
  /** Names in lower case. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly accept?: string;
  readonly signal?: AbortSignal | undefined;
  /** For this attempt, from the signature to the last byte of the answer. */
  readonly timeoutMs?: number;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  /** @throws {MalformedAnswer} */
  json<T>(): T;
}

export interface TransportOptions {
  readonly endpoint: URL;
  readonly sign: Signer;
  readonly userAgent: string;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
}

const gzipped = promisify(gzip);

/**
 * `/v1/topics/…`, each part percent-encoded.
 * @throws {VertebraError} `invalid_request` for a part that would lead to another path, such as `..`
 */
export function pathOf(...parts: readonly (string | number)[]): string {
  for (const part of parts) {
    if (!/^(?!\.{1,2}$)[^/]+$/.test(String(part))) {
      throw new VertebraError('invalid_request', `${JSON.stringify(part)} cannot be a name`);
    }
  }
  return ['/v1', ...parts.map((part) => encodeURIComponent(part))].join('/');
}

/** Makes calls of the HTTP API, one attempt each. */
export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /**
   * @throws {ApiError} for every status but 2xx
   * @throws {ConnectionError} @throws {RequestTimeout} @throws {Aborted}
   */
  async call(call: Call): Promise<Answer> {
    const { signal, timeoutMs = this.#options.timeoutMs } = call;
    if (signal?.aborted) throw new Aborted(signal);
    const stop = new AbortController();
    const onAbort = () => stop.abort();
    signal?.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(onAbort, timeoutMs);
    let left = false;
    try {
      const request = await this.#requestOf(call);
      if (stop.signal.aborted) throw stop.signal.reason;
      left = true;
      const response = await this.#options.fetch(request.url, {
        method: request.method,
        headers: request.headers,
        redirect: 'manual',
        signal: stop.signal,
        ...(request.body !== undefined && { body: request.body }),
      });
      const bytes = new Uint8Array(await response.arrayBuffer());
      const changes = call.method !== 'GET';
      if (!response.ok) throw apiError(response.status, response.headers, bytes, changes);
      return answerOf(response, bytes, changes ? 'unknown' : 'none');
    } catch (error) {
      const effect = left && call.method !== 'GET' ? 'unknown' : 'none';
      if (signal?.aborted) throw new Aborted(signal, effect);
      if (stop.signal.aborted) throw new RequestTimeout(timeoutMs, effect);
      if (!left || !isNetworkTrouble(error)) throw error;
      throw connectionError(error, this.#options.endpoint, effect);
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  async #requestOf({ method, path, query = {}, body, headers, accept }: Call) {
    const { endpoint, sign, userAgent } = this.#options;
    const url = new URL(endpoint.pathname.replace(/\/$/, '') + path, endpoint);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    const plain = typeof body?.bytes === 'string' ? new TextEncoder().encode(body.bytes) : body?.bytes;
    const bytes = plain !== undefined && body?.gzip ? await gzipped(plain) : plain;
    const unsigned = {
      'user-agent': userAgent,
      accept: accept ?? 'application/json',
      ...(body && { 'content-type': body.type }),
      ...(body?.gzip && { 'content-encoding': 'gzip' }),
      ...headers,
    };
    return { method, url, body: bytes, headers: await sign({ method, url, headers: unsigned, body: bytes }) };
  }
}

function answerOf({ status, headers }: Response, bytes: Uint8Array, effect: Effect): Answer {
  return {
    status,
    headers,
    bytes,
    json<T>() {
      try {
        return JSON.parse(new TextDecoder().decode(bytes)) as T;
      } catch (cause) {
        throw new MalformedAnswer(`The answer (${status}) is no JSON`, effect, cause);
      }
    },
  };
}

/** `fetch` throws a TypeError, whose cause tells what happened. */
function isNetworkTrouble(error: unknown): error is TypeError {
  return error instanceof TypeError;
}

/** The connection never stood, so nothing was sent. */
const BEFORE_SENDING = /^(?:ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT)$/;
/** Nor will it stand at the next attempt. */
const CERTIFICATE = /CERT|^ERR_TLS|^ERR_SSL|^UNABLE_TO_/;

function connectionError(error: TypeError, endpoint: URL, effect: Effect): VertebraError {
  const code = codeOf(error.cause);
  const untrusted = CERTIFICATE.test(code);
  const why = error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : code || error.message;
  return new ConnectionError(`${endpoint.origin} cannot be reached: ${why}`, {
    retryable: !untrusted,
    effect: untrusted || BEFORE_SENDING.test(code) ? 'none' : effect,
    data: { endpoint: endpoint.origin, ...(code !== '' && { reason: code }) },
    cause: error,
  });
}

function codeOf(cause: unknown): string {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
}
