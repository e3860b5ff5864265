import { InvalidRequest } from '../domain/errors.ts';

/** Which list a token goes on with: a token of one means nothing in another. */
export type ListKind =
  | 'topics'
  | 'deletedTopics'
  | 'groups'
  | 'deadLetters'
  | 'subscriptions'
  | 'parkedKeys'
  | 'apiKeys';

/** Where a list goes on → an opaque token that stands in a URL without escaping. */
export function toNextToken(kind: ListKind, next: string): string {
  return Buffer.from(`${kind}:${next}`).toString('base64url');
}

/** @throws {InvalidRequest} when the token is not one that this list gave out */
export function parseNextToken(kind: ListKind, token: string): string {
  const text = Buffer.from(token, 'base64url').toString();
  const next = text.slice(kind.length + 1);
  // Printable ASCII, as every name and id is: whatever else decodes was made up.
  if (text.startsWith(`${kind}:`) && /^[!-~]{1,512}$/.test(next) && toNextToken(kind, next) === token) return next;
  throw new InvalidRequest("'nextToken' must be the one that the page before gave", { parameter: 'nextToken' });
}
