import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { ApiError, apiError } from './api-error.ts';
import type { Signer } from './auth.ts';
import { Aborted, ConnectionError, type Effect, MalformedAnswer, RequestTimeout, VertebraError } from './errors.ts';
import { TIMER_MS_MAX } from './limits.ts';
import { unlessAborted } from './surroundings.ts';

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

type Body = Uint8Array | Blob;

const gzipped = promisify(gzip);

/**
 * `/v1/topics/…`, each part percent-encoded.
 * @throws {VertebraError} `invalid_request` for a part that would lead to another path, such as `..`, and for one that is
 *   no name: `undefined` would be the name of a topic
 */
export function pathOf(...parts: readonly (string | number)[]): string {
  for (const part of parts) {
    const isOne = typeof part === 'string' ? /^(?!\.{1,2}$)[^/]+$/.test(part) : Number.isSafeInteger(part);
    if (!isOne) {
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

  /** How long an attempt may take unless its call says otherwise. */
  get timeoutMs(): number {
    return this.#options.timeoutMs;
  }

  /**
   * @throws {ApiError} for every status but 2xx
   * @throws {ConnectionError} @throws {RequestTimeout} @throws {Aborted}
   */
  call(call: Call): Promise<Answer> {
    const { signal, timeoutMs = this.#options.timeoutMs } = call;
    const bounds = { signal, timeoutMs, changes: call.method !== 'GET', origin: this.#options.endpoint.origin };
    return bounded(bounds, async (stop, leave) => {
      const request = await this.#requestOf(call);
      leave();
      return this.#exchange(request.url, request, stop);
    });
  }

  /** Makes a request to an address that the API gave, as it is: presigned ones need nothing else. Throws as `call` does. */
  outside(
    url: string,
    request: {
      readonly method: 'GET' | 'PUT';
      readonly headers?: Readonly<Record<string, string>>;
      readonly body?: Body;
    },
    bounds: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<Answer> {
    const { signal, timeoutMs } = bounds;
    const { origin } = new URL(url);
    return bounded({ signal, timeoutMs, changes: request.method !== 'GET', origin }, (stop, leave) => {
      leave();
      return this.#exchange(url, request, stop);
    });
  }

  /** For what is read as a stream, beside the API: downloads. */
  get fetch(): typeof fetch {
    return this.#options.fetch;
  }

  async #exchange(
    url: string | URL,
    { method, headers, body }: { method: string; headers?: Readonly<Record<string, string>>; body?: Body | undefined },
    stop: AbortSignal,
  ): Promise<Answer> {
    const response = await this.#options.fetch(url, {
      ...{ method, headers: { ...headers }, redirect: 'manual', signal: stop },
      ...(body !== undefined && { body }),
    });
    const bytes = new Uint8Array(await response.arrayBuffer());
    const changes = method !== 'GET';
    if (!response.ok) throw apiError(response.status, response.headers, bytes, changes);
    return answerOf(response, bytes, changes ? 'unknown' : 'none');
  }

  async #requestOf({ method, path, query = {}, body, headers, accept }: Call) {
    const { endpoint, sign, userAgent } = this.#options;
    const url = new URL(endpoint.pathname.replace(/\/$/, '') + path, endpoint);
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined) url.searchParams.set(name, String(value));
    }
    url.search = url.search.replaceAll('+', '%20'); // in a signature a blank is %20, and a plus is a plus
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

interface Bounds {
  readonly signal: AbortSignal | undefined;
  readonly timeoutMs: number;
  /** Whether the request may change anything. */
  readonly changes: boolean;
  /** Where it goes. */
  readonly origin: string;
}

/** Acts until the time is over or the caller aborts. @param act tells when the request leaves */
async function bounded<T>(
  { signal, timeoutMs, changes, origin }: Bounds,
  act: (stop: AbortSignal, leave: () => void) => Promise<T>,
): Promise<T> {
  if (signal?.aborted) throw new Aborted(signal);
  const stop = new AbortController();
  const onAbort = () => stop.abort('over');
  signal?.addEventListener('abort', onAbort, { once: true });
  const timer = setTimeout(onAbort, Math.min(timeoutMs, TIMER_MS_MAX));
  let left = false;
  try {
    const leave = () => {
      stop.signal.throwIfAborted();
      left = true;
    };
    return await unlessAborted(act(stop.signal, leave), stop.signal); // credentials may be slow, too
  } catch (error) {
    const effect = left && changes ? 'unknown' : 'none';
    if (stop.signal.aborted && !(error instanceof ApiError)) {
      throw signal?.aborted ? new Aborted(signal, effect) : new RequestTimeout(timeoutMs, effect);
    }
    if (!left || !isNetworkTrouble(error)) throw error;
    throw connectionError(error, origin, effect);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
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

function connectionError(error: TypeError, origin: string, effect: Effect): VertebraError {
  const code = codeOf(error.cause);
  const untrusted = CERTIFICATE.test(code);
  const why = error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : code || error.message;
  return new ConnectionError(`${origin} cannot be reached: ${why}`, {
    retryable: !untrusted,
    effect: untrusted || BEFORE_SENDING.test(code) ? 'none' : effect,
    data: { endpoint: origin, ...(code !== '' && { reason: code }) },
    cause: error,
  });
}

function codeOf(cause: unknown): string {
  return typeof cause === 'object' && cause !== null && 'code' in cause ? String(cause.code) : '';
}
