import { createPublicKey, type JsonWebKey, verify } from 'node:crypto';
import type { Authorizer } from '../gateway.ts';
import { type Answer, gatewayMessage } from '../gateway-answer.ts';
import type { ReceivedRequest } from '../gateway-event.ts';

/** Whose tokens are let in, as the template says. */
export interface JwtConfiguration {
  readonly Issuer: string;
  readonly Audience: readonly string[];
}

/** The keys that an issuer signs with now. */
export type IssuerKeys = (issuer: string) => Promise<readonly (JsonWebKey & { readonly kid?: string })[]>;

type Claims = Readonly<Record<string, unknown>>;

const UNAUTHORIZED: Answer = {
  ...gatewayMessage(401, 'Unauthorized'),
  headers: { 'content-type': 'application/json', 'www-authenticate': 'Bearer' },
};

/**
 * Lets in whoever shows a token of the issuer's, as the JWT authorizer of an HTTP API does. Source: AWS, "Control access to HTTP
 * APIs with JWT authorizers": RSA signatures; `iss`, `aud` or `client_id`, `exp`, `nbf` and `iat` are looked at.
 */
export class JwtAuthorizer {
  readonly #configuration: JwtConfiguration;
  readonly #keysOf: IssuerKeys;
  readonly #now: () => number;

  constructor(configuration: JwtConfiguration, keysOf: IssuerKeys, now: () => number) {
    this.#configuration = configuration;
    this.#keysOf = keysOf;
    this.#now = now;
  }

  async admit({ rawHeaders }: ReceivedRequest): Promise<Answer | Authorizer> {
    const at = rawHeaders.findIndex((name, i) => i % 2 === 0 && name.toLowerCase() === 'authorization');
    const token = at < 0 ? '' : rawHeaders[at + 1]!.replace(/^Bearer /i, '');
    const claims = await this.#claimsOf(token).catch(() => undefined);
    if (claims === undefined || !this.#isMeant(claims)) return UNAUTHORIZED;
    const texts = Object.entries(claims).map(([name, value]) => [name, textOf(value)]);
    return { jwt: { claims: Object.fromEntries(texts), scopes: null } };
  }

  /** What a token says that is signed by the issuer. @throws when it is none, or there is no such key */
  async #claimsOf(token: string): Promise<Claims | undefined> {
    const [head = '', body = '', signature = ''] = token.split('.');
    const { alg, kid } = decoded(head);
    const hash = { RS256: 'sha256', RS384: 'sha384', RS512: 'sha512' }[String(alg)];
    if (hash === undefined) return undefined;
    const keys = await this.#keysOf(this.#configuration.Issuer);
    const key = keys.find((candidate) => candidate.kid === kid);
    if (key === undefined) return undefined;
    const signed = Buffer.from(`${head}.${body}`);
    const isGood = verify(hash, signed, createPublicKey({ key, format: 'jwk' }), Buffer.from(signature, 'base64url'));
    return isGood ? decoded(body) : undefined;
  }

  #isMeant({ iss, aud, client_id: client, exp, nbf, iat }: Claims): boolean {
    const { Issuer, Audience } = this.#configuration;
    const now = this.#now() / 1_000;
    const isFor = [aud ?? client].flat().some((one) => Audience.includes(String(one)));
    const isNow = Number(exp) > now && Number(nbf ?? 0) <= now && Number(iat ?? 0) <= now;
    return iss === Issuer && isFor && isNow;
  }
}

/** As the gateway writes claims into the event: texts, lists in brackets. */
function textOf(value: unknown): string {
  return Array.isArray(value) ? `[${value.join(' ')}]` : String(value);
}

function decoded(part: string): Claims {
  return JSON.parse(Buffer.from(part, 'base64url').toString()) as Claims;
}

/** Asks the issuer, where OpenID Connect says that it tells. */
export const publishedKeys: IssuerKeys = async (issuer) => {
  const json = async (url: string) => (await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS_MAX) })).json();
  const { jwks_uri: uri } = (await json(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)) as {
    readonly jwks_uri: string;
  };
  return ((await json(uri)) as { readonly keys: Awaited<ReturnType<IssuerKeys>> }).keys;
};

const ANSWER_MS_MAX = 1_500;
