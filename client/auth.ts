import { createHash, createHmac, type Hash, type Hmac } from 'node:crypto';
import { InvalidOptions } from './errors.ts';
import { CREDENTIALS_LIFE_MS_MIN, CREDENTIALS_REFRESH_MS, CREDENTIALS_WAIT_MS } from './limits.ts';

export interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  readonly expiration?: Date;
}

export interface IamAuth {
  /** By default the one in the endpoint's host name, else `AWS_REGION`. */
  readonly region?: string;
  /** By default AWS's provider chain: environment, profiles, SSO, container, instance. */
  readonly credentials?: AwsCredentials | (() => Promise<AwsCredentials>);
}

/** How requests are authenticated. Default: `none` for http on this machine, else `{ iam: {} }`. */
export type Auth = 'none' | { readonly apiKey: string | (() => string | Promise<string>) } | { readonly iam: IamAuth };

/** A request as it is about to leave. Header names are in lower case. */
export interface Unsigned {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
}

/** Gives a request the headers that it is to have. */
export type Signer = (request: Unsigned) => Promise<Record<string, string>>;

/** @throws {InvalidOptions} when this endpoint and this way do not fit */
export function openAuth(auth: Auth | undefined, endpoint: URL, now: () => number = Date.now): Signer {
  const chosen = auth ?? (isOnThisMachine(endpoint) ? 'none' : { iam: {} });
  if (chosen === 'none') return async ({ headers }) => ({ ...headers });
  const isObject = typeof chosen === 'object' && chosen !== null;
  if (isObject && 'apiKey' in chosen) return bearer(chosen.apiKey, endpoint);
  if (isObject && 'iam' in chosen) return sigV4(chosen.iam, endpoint, now);
  throw new InvalidOptions("'auth' must be 'none', { apiKey } or { iam }");
}

function bearer(apiKey: string | (() => string | Promise<string>), endpoint: URL): Signer {
  if (endpoint.protocol !== 'https:' && !isLoopback(endpoint.hostname)) {
    throw new InvalidOptions(`An API key would be readable on its way to ${endpoint.origin}; use https`);
  }
  // A variable of the environment that is not set should be noticed here, not by retries of each request.
  if (typeof apiKey !== 'string' && typeof apiKey !== 'function') {
    throw new InvalidOptions("'apiKey' must be a text, or a function that gives one");
  }
  return async ({ headers }) => {
    const key = typeof apiKey === 'string' ? apiKey : await apiKey();
    if (typeof key !== 'string' || !/^[!-~]+$/.test(key)) {
      throw new InvalidOptions("'apiKey' must be printable ASCII, without spaces");
    }
    return { ...headers, authorization: `Bearer ${key}` };
  };
}

function sigV4({ region, credentials }: IamAuth, endpoint: URL, now: () => number): Signer {
  const [service, itsRegion] = serviceOf(endpoint.hostname);
  const signedRegion = region ?? itsRegion ?? process.env.AWS_REGION;
  if (!signedRegion) {
    throw new InvalidOptions(
      `The region of ${endpoint.hostname} is not in its name: give auth: { iam: { region } }, or 'none' or { apiKey }`,
    );
  }
  let signer: Promise<(request: Unsigned) => Promise<Record<string, string>>> | undefined;
  const open = async () => {
    // Only those who sign load what signs.
    const { SignatureV4 } = await import('@smithy/signature-v4');
    const provide = typeof credentials === 'object' ? async () => credentials : cached(await chainOr(credentials), now);
    const v4 = new SignatureV4({ service, region: signedRegion, credentials: provide, sha256: Sha256 });
    return async ({ method, url, headers, body }: Unsigned) => {
      const signed = await v4.sign(
        {
          method,
          protocol: url.protocol,
          hostname: url.hostname,
          path: url.pathname,
          query: Object.fromEntries(url.searchParams),
          headers: { ...headers, host: url.host },
          body,
        },
        { signingDate: new Date(now()) },
      );
      const { host: _, ...sent } = signed.headers; // fetch sets it, and lets nobody else do so
      return sent;
    };
  };
  return async (request) => {
    signer ??= open().catch((error: unknown) => {
      signer = undefined; // not for ever, because of one bad moment
      throw error;
    });
    return (await signer)(request);
  };
}

async function chainOr(given: (() => Promise<AwsCredentials>) | undefined): Promise<() => Promise<AwsCredentials>> {
  if (given !== undefined) return given;
  const { defaultProvider } = await import('@aws-sdk/credential-provider-node');
  return defaultProvider();
}

/**
 * Asks once for all who wait, and again before what it has expires: while that has life left, a failure is no reason to
 * do without. Who was asked and does not answer is asked again after a while.
 */
function cached(provide: () => Promise<AwsCredentials>, now: () => number): () => Promise<AwsCredentials> {
  let known: AwsCredentials | undefined;
  let asking: Promise<AwsCredentials> | undefined;
  let askedAt = 0;
  return async () => {
    const lifeMs = (known?.expiration?.getTime() ?? Number.POSITIVE_INFINITY) - now();
    if (known !== undefined && lifeMs > CREDENTIALS_REFRESH_MS) return known;
    if (asking === undefined || now() - askedAt >= CREDENTIALS_WAIT_MS) {
      askedAt = now();
      const asked = provide().finally(() => {
        if (asking === asked) asking = undefined;
      });
      asking = asked;
    }
    try {
      known = await asking;
    } catch (error) {
      if (known === undefined || lifeMs < CREDENTIALS_LIFE_MS_MIN) throw error;
    }
    return known;
  };
}

/** The hash that signatures are made of, in the shape that the signer wants. */
class Sha256 {
  readonly #secret: string | Uint8Array | undefined;
  #hash: Hash | Hmac;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#secret = secret === undefined ? undefined : bytesOf(secret);
    this.#hash = this.#fresh();
  }

  update(chunk: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(chunk));
  }

  async digest(): Promise<Uint8Array> {
    return this.#hash.digest();
  }

  reset(): void {
    this.#hash = this.#fresh();
  }

  #fresh(): Hash | Hmac {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', this.#secret);
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): string | Uint8Array {
  if (typeof data === 'string') return data;
  return ArrayBuffer.isView(data)
    ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
    : new Uint8Array(data);
}

/** Of `<id>.lambda-url.<region>.on.aws`, `<api>.execute-api.<region>.amazonaws.com`, also in China; else that of an API. */
function serviceOf(hostname: string): [service: string, region: string | undefined] {
  const url = /\.lambda-url\.([a-z0-9-]+)\.on\.aws$/.exec(hostname);
  if (url !== null) return ['lambda', url[1]];
  return ['execute-api', /\.execute-api\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?$/.exec(hostname)?.[1]];
}

function isOnThisMachine({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && isLoopback(hostname);
}

/** `URL` has brought every spelling of an IPv4 address into this form. */
function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname);
}
