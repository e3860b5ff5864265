import { createHash, createHmac } from 'node:crypto';

export interface SignedText {
  /** The canonical request: what was signed. */
  readonly canonical: string;
  /** As in `X-Amz-Date`. */
  readonly date: string;
  /** `<date>/<region>/<service>/aws4_request` */
  readonly scope: string;
  readonly secret: string;
}

/** Signature Version 4. Source: AWS, "Create a signed AWS API request". */
export function signatureOf({ canonical, date, scope, secret }: SignedText): Buffer {
  const hash = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', date, scope, hash].join('\n');
  const key = scope.split('/').reduce<Buffer | string>((previous, part) => hmac(previous, part), `AWS4${secret}`);
  return hmac(key, text);
}

/** Parameters of a query as they are signed: escaped, and in order. */
export function canonicalQuery(parameters: Iterable<readonly [name: string, value: string]>): string {
  return [...parameters]
    .map(([name, value]) => `${percentEncoded(name)}=${percentEncoded(value)}`)
    .sort()
    .join('&');
}

/** Headers as they are signed, each on a line of its own. */
export function canonicalHeaders(names: readonly string[], headers: Readonly<Record<string, string>>): string {
  return names.map((name) => `${name}:${(headers[name] ?? '').trim().replace(/\s+/g, ' ')}\n`).join('');
}

/** Percent-encoding with RFC 3986's unreserved characters only. */
export function percentEncoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (found) => `%${found.charCodeAt(0).toString(16).toUpperCase()}`);
}

function hmac(key: Buffer | string, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
