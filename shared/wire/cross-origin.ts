import { type ApiAnswer, withHeaders } from './http-answer.ts';

const METHODS = 'GET, PUT, POST, DELETE';
const REQUEST_HEADERS = [
  'Accept, Authorization, Content-Encoding, Content-Type, Idempotency-Key',
  'X-Amz-Content-Sha256, X-Amz-Date, X-Amz-Security-Token',
].join(', ');
const EXPOSED_HEADERS = 'Retry-After, Vertebra-Next-Offset, Vertebra-High-Watermark';
const PREFLIGHT_LIFE_S = 3_600;

/**
 * What a browser needs to see before it shows an answer to a page of another origin. Every answer gets it, refusals
 * too: without it a page sees a failed request and no reason. Credentials are never allowed, so `*` may stand for every
 * origin. No origins configured: nothing is added.
 */
export function allowOrigin(answer: ApiAnswer, origin: string | undefined, origins: readonly string[]): ApiAnswer {
  if (origins.length === 0) return answer;
  const allowed = allowedOrigin(origin, origins);
  return withHeaders(answer, {
    vary: 'Origin',
    ...(allowed !== undefined && {
      'access-control-allow-origin': allowed,
      'access-control-expose-headers': EXPOSED_HEADERS,
    }),
  });
}

/** Whether a browser asks if it may send the real request; only a configured origin is told so. */
export function isPreflight(method: string, headers: ReadonlyMap<string, string>, origins: readonly string[]): boolean {
  return (
    method === 'OPTIONS' &&
    headers.has('access-control-request-method') &&
    allowedOrigin(headers.get('origin'), origins) !== undefined
  );
}

/** Allows every method at every path: the real request then shows its own refusal. */
export function preflightAnswer(): ApiAnswer {
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': METHODS,
      'access-control-allow-headers': REQUEST_HEADERS,
      'access-control-max-age': String(PREFLIGHT_LIFE_S),
    },
  };
}

function allowedOrigin(origin: string | undefined, origins: readonly string[]): string | undefined {
  if (origin === undefined) return undefined;
  if (origins.includes('*')) return '*';
  return origins.includes(origin) ? origin : undefined;
}
