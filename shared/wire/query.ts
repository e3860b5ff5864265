import { InvalidRequest } from '../domain/errors.ts';

/** What a query string says: each parameter at most once, each one known. */
export type Query<Name extends string> = { readonly [name in Name]?: string };

const ENCODED = /[%+]/;

/**
 * Parses a raw query string. A parameter that is unknown, repeated or badly encoded is refused by its name; those of a
 * presigned request (`X-Amz-…`) are the gateway's and passed over. `+` is a space, as forms and `URLSearchParams` write it.
 * The raw string is read because API Gateway joins repeated parameters with commas in `queryStringParameters` (AWS, HTTP
 * APIs, "Payload format differences"); it comes as it was sent, still encoded.
 */
export function parseQuery<Name extends string>(raw: string, names: readonly Name[]): Query<Name> {
  const query: { [name in Name]?: string } = {};
  for (const pair of raw.split('&')) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = decode(equals < 0 ? pair : pair.slice(0, equals), 'a parameter name');
    if (/^x-amz-/i.test(name)) continue;
    const known = names.find((candidate) => candidate === name);
    if (known === undefined) throw new InvalidRequest(unknown(name, names));
    if (query[known] !== undefined) {
      throw new InvalidRequest(`Query parameter '${known}' is given more than once`, { parameter: known });
    }
    query[known] = decode(equals < 0 ? '' : pair.slice(equals + 1), `query parameter '${known}'`);
  }
  return query;
}

/**
 * A decimal integer without sign, leading zeros or anything around it.
 * @throws {InvalidRequest} naming the parameter and its range
 */
export function parseInteger(text: string, name: string, min: number, max: number): number {
  const value = /^(0|[1-9]\d{0,15})$/.test(text) ? Number(text) : Number.NaN;
  if (value >= min && value <= max) return value;
  throw new InvalidRequest(`'${name}' must be a decimal integer from ${min} to ${max}`, { parameter: name });
}

/** One of a few words. @throws {InvalidRequest} naming the parameter and the words */
export function parseChoice<Word extends string>(text: string, name: string, words: readonly Word[]): Word {
  const word = words.find((candidate) => candidate === text);
  if (word !== undefined) return word;
  throw new InvalidRequest(`'${name}' must be ${words.map((known) => `'${known}'`).join(' or ')}`, { parameter: name });
}

function decode(text: string, what: string): string {
  if (!ENCODED.test(text)) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new InvalidRequest(`The percent-encoding of ${what} is not valid UTF-8`);
  }
}

function unknown(name: string, names: readonly string[]): string {
  const known = names.length === 0 ? 'none are known here' : `known here: ${names.join(', ')}`;
  return `Query parameter '${name.slice(0, 64)}' is unknown; ${known}`;
}
