import { InvalidRequest } from '../domain/errors.ts';

/** A body that is a small JSON object; no body is an empty one. @throws {InvalidRequest} */
export function jsonObjectOf(body: Uint8Array): Record<string, unknown> {
  if (body.length === 0) return {};
  const value = parseJson(body);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new InvalidRequest('The body must be a JSON object');
}

function parseJson(body: Uint8Array): unknown {
  try {
    // A byte order mark stays, and is no JSON: it is refused here as it is in records.
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(body));
  } catch {
    throw new InvalidRequest('The body is not valid JSON in UTF-8');
  }
}
