import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { InvalidRequest, RequestTooLarge, UnsupportedMediaType } from '../domain/errors.ts';
import { NAME_CHARS_MAX, REQUEST_BYTES_MAX } from '../domain/limits.ts';
import { gunzipWithin } from './gunzip.ts';
import { isJsonType, JSON_TYPE, type MediaType, parseMediaType } from './media-type.ts';
import { parseInteger } from './query.ts';

/** A request as a handler reads it. */
export interface ApiRequest {
  /** The route that the gateway chose, such as `GET /v1/topics`, or `$default`. */
  readonly route: string;
  readonly method: string;
  readonly path: string;
  readonly rawQuery: string;
  /** Names in lower case; the gateway joins repeated ones with commas. */
  readonly headers: ReadonlyMap<string, string>;
  /**
   * As the gateway hands them over: decoded, once (AWS, "Create routes for HTTP APIs": "API Gateway decodes URL-encoded
   * request parameters before passing them to your backend integration"). Never decoded again: a `%` that is left was
   * sent as `%25`, and no name has one.
   */
  readonly parameters: ReadonlyMap<string, string>;
  /** Epoch ms at which the gateway took the request. */
  readonly receivedAt: number;
  /**
   * The body, decoded from base64 and decompressed; at most `REQUEST_BYTES_MAX`. Only routes that take one look at it. The
   * event's text goes when its bytes are there: nobody holds a large body twice.
   * @throws {RequestTooLarge} before or after decompression
   * @throws {UnsupportedMediaType} for a `Content-Encoding` other than gzip
   */
  readBody(): Uint8Array;
}

const NAME = new RegExp(`^[A-Za-z0-9._-]{1,${NAME_CHARS_MAX}}$`);

/** Reads an event of API Gateway's payload format 2.0. */
export function parseApiRequest(event: APIGatewayProxyEventV2): ApiRequest {
  const headers = headersOf(event);
  let body: Uint8Array | undefined;
  return {
    route: event.routeKey,
    method: event.requestContext.http.method,
    path: event.rawPath,
    rawQuery: event.rawQueryString ?? '',
    headers,
    parameters: new Map(Object.entries(event.pathParameters ?? {}).map(([name, value]) => [name, value ?? ''])),
    receivedAt: event.requestContext.timeEpoch,
    readBody: () => {
      body ??= bodyOf(event, headers);
      return body;
    },
  };
}

/** One header, by its name in lower case, whoever made the event. */
export function headerOf({ headers = {} }: APIGatewayProxyEventV2, name: string): string | undefined {
  const value = headers[name];
  if (value !== undefined) return value;
  return headers[Object.keys(headers).find((sent) => sent.toLowerCase() === name) ?? name];
}

/** Header names in lower case. */
function headersOf(event: APIGatewayProxyEventV2): Map<string, string> {
  const headers = new Map<string, string>();
  for (const [name, value] of Object.entries(event.headers ?? {})) {
    if (value !== undefined) headers.set(name.toLowerCase(), value);
  }
  return headers;
}

/** The topic that the path names. @throws {InvalidRequest} when it is no legal name */
export function topicOf(request: ApiRequest): string {
  const name = request.parameters.get('topic') ?? '';
  if (isName(name)) return name;
  throw new InvalidRequest(
    `The topic's name must be 1 to ${NAME_CHARS_MAX} characters out of A-Z a-z 0-9 . _ - and neither '.' nor '..'`,
    { field: 'topic' },
  );
}

/** Whether a text may name a topic. */
export function isName(text: string): boolean {
  return NAME.test(text) && text !== '.' && text !== '..';
}

/** The partition that the path names; whether the topic has it is not known here. @throws {InvalidRequest} */
export function partitionOfPath(request: ApiRequest): number {
  return parseInteger(request.parameters.get('partition') ?? '', 'partition', 0, Number.MAX_SAFE_INTEGER);
}

/**
 * The body's media type; a missing one is JSON, and a type of its own that is written in JSON is JSON.
 * @throws {UnsupportedMediaType} unless it is one of `accepted`, in UTF-8
 */
export function mediaTypeOf<Type extends string>(request: ApiRequest, accepted: readonly Type[]): Type {
  const text = request.headers.get('content-type') ?? JSON_TYPE;
  const { essence, charset }: MediaType = parseMediaType(text);
  const wanted = isJsonType(essence) ? JSON_TYPE : essence;
  const type = accepted.find((candidate) => candidate === wanted);
  if (type === undefined) throw new UnsupportedMediaType(essence, accepted);
  if (charset === undefined || charset === 'utf-8' || charset === 'utf8' || charset === 'us-ascii') return type;
  throw new UnsupportedMediaType(`${essence}; charset=${charset}`, accepted);
}

function bodyOf(event: APIGatewayProxyEventV2, headers: ReadonlyMap<string, string>): Uint8Array {
  const sent = Buffer.from(event.body ?? '', event.isBase64Encoded ? 'base64' : 'utf8');
  event.body = '';
  if (sent.length > REQUEST_BYTES_MAX) throw tooLarge();
  if (!event.isBase64Encoded) refuseReplaced(sent, headers.get('content-length'));
  const coding = (headers.get('content-encoding') ?? 'identity').trim().toLowerCase();
  if (sent.length === 0 || coding === 'identity' || coding === '') return sent;
  if (coding !== 'gzip' && coding !== 'x-gzip') throw new UnsupportedMediaType(coding, ['gzip'], 'Content-Encoding');
  return inflate(sent);
}

const REPLACEMENT_CHARACTER = Buffer.from('\ufffd');

/**
 * Refuses a text in which the gateway has put U+FFFD for bytes that were no UTF-8: different keys would become one. The
 * bytes are gone, but the body has seldom the length any more that the client announced. Where the length is the same (a
 * character of four bytes that lost its last one), nothing tells.
 */
function refuseReplaced(sent: Buffer, announced: string | undefined): void {
  if (announced === undefined || Number(announced) === sent.length) return;
  if (sent.includes(REPLACEMENT_CHARACTER)) throw new InvalidRequest('The body is not valid UTF-8');
}

function inflate(sent: Uint8Array): Uint8Array {
  try {
    return gunzipWithin(sent, REQUEST_BYTES_MAX);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge();
    throw new InvalidRequest('The body is not valid gzip, though Content-Encoding says so');
  }
}

function tooLarge(): RequestTooLarge {
  return new RequestTooLarge(`The body has more than ${REQUEST_BYTES_MAX} bytes after decoding`, {
    maxBytes: REQUEST_BYTES_MAX,
  });
}
