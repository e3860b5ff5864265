import type { Readable } from 'node:stream';

/** A request to any of the services, however it came in. */
export interface AwsRequest {
  readonly method: string;
  /** As sent, percent-encoded, without the query. */
  readonly path: string;
  /** Decoded; a parameter that repeats has its last value. */
  readonly query: Readonly<Record<string, string>>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array | AsyncIterable<Uint8Array>;
  /** Aborted when the caller is gone: nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined;
}

export interface AwsResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string | Readable;
}

export type Service = (request: AwsRequest) => Promise<AwsResponse>;

/** Source: AWS, DynamoDB: "The maximum request size is 16 MB". */
const JSON_BODY_BYTES_MAX = 16 * 1024 * 1024;

/** A whole request body as text, of the services that speak JSON. Undefined: it is too large. */
export async function textOf(body: AwsRequest['body']): Promise<string | undefined> {
  if (typeof body === 'string') return body;
  if (body instanceof Uint8Array) return Buffer.from(body.buffer, body.byteOffset, body.byteLength).toString();
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > JSON_BODY_BYTES_MAX) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}
