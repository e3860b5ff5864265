/** What goes back to the client. */
export interface Answer {
  readonly statusCode: number;
  /** Values that repeat (cookies) are lists. */
  readonly headers: Readonly<Record<string, string | string[]>>;
  readonly body: Buffer;
}

/** The gateway's own words: a JSON message, never a problem document. */
export const gatewayMessage = (statusCode: number, message: string): Answer => ({
  statusCode,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify({ message })),
});

/** Framing is the gateway's business, whatever the function says. */
const NOT_TAKEN_OVER = new Set(['connection', 'content-length', 'keep-alive', 'transfer-encoding']);

/**
 * The answer that an HTTP API makes of a function's result. Source: AWS, "Lambda function response for format 2.0": a result
 * without `statusCode` is the body of a 200.
 * @returns null when the result is none that the gateway understands: it then answers 500.
 */
export function toAnswer(result: unknown): Answer | null {
  if (typeof result === 'string') return { ...json(200), body: Buffer.from(result) };
  if (typeof result !== 'object' || result === null) return null;
  if (!('statusCode' in result)) return { ...json(200), body: Buffer.from(JSON.stringify(result)) };
  const { statusCode, headers = {}, cookies = [], body = '', isBase64Encoded = false } = result as Structured;
  const status = Number(statusCode);
  if (!Number.isInteger(status) || status < 100 || status > 599) return null;
  if (typeof body !== 'string' || typeof headers !== 'object' || headers === null) return null;
  if (!Array.isArray(cookies) || !cookies.every((cookie) => typeof cookie === 'string')) return null;
  const taken: Record<string, string | string[]> = { 'content-type': 'text/plain; charset=utf-8' };
  for (const [name, value] of Object.entries(headers)) {
    if (!['string', 'number', 'boolean'].includes(typeof value)) return null;
    if (!NOT_TAKEN_OVER.has(name.toLowerCase())) taken[name.toLowerCase()] = String(value);
  }
  if (cookies.length > 0) taken['set-cookie'] = cookies;
  return { statusCode: status, headers: taken, body: Buffer.from(body, isBase64Encoded === true ? 'base64' : 'utf8') };
}

/** As the function gave it: nothing about it is certain yet. */
interface Structured {
  statusCode?: unknown;
  headers?: unknown;
  cookies?: unknown;
  body?: unknown;
  isBase64Encoded?: unknown;
}

const json = (statusCode: number) => ({ statusCode, headers: { 'content-type': 'application/json' } });
