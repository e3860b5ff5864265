import { gzipSync } from 'node:zlib';
import type { APIGatewayProxyStructuredResultV2 } from 'aws-lambda';
import { LAMBDA_ANSWER_BYTES_MAX } from '../domain/limits.ts';
import { measureString } from './json-writer.ts';
import { JSON_TYPE, weightOf } from './media-type.ts';
import { textOf } from './utf8.ts';

/** What a handler answers, before it is put into the gateway's form. */
export interface ApiAnswer {
  readonly status: number;
  /** Names in lower case; `content-type` is JSON unless it says otherwise. */
  readonly headers?: Readonly<Record<string, string>>;
  /** A text, or bytes that are sent as they are. */
  readonly body?: string | Uint8Array;
  /** The bytes of `body` are a text in UTF-8, and sent as one: a large text need not become a string on its way to base64. */
  readonly isText?: boolean;
}

/** Room for status and headers in the function's answer. */
const ENVELOPE_BYTES = 16 * 1024;
/** Largest body that fits into a function's answer as base64, whatever is in it: 3 bytes of it take 4. */
export const ANSWER_BODY_BYTES_MAX = Math.floor((LAMBDA_ANSWER_BYTES_MAX - ENVELOPE_BYTES) / 4) * 3;
/** Largest body that fits as text, escapes included. */
export const ESCAPED_BODY_BYTES_MAX = LAMBDA_ANSWER_BYTES_MAX - ENVELOPE_BYTES;
/** A text up to here fits even when every byte of it is escaped: `"` and `\` take two bytes in the function's answer. */
const TEXT_BYTES_MAX = Math.floor(ESCAPED_BODY_BYTES_MAX / 2);
/** What a UTF-16 unit takes in UTF-8: a character of four bytes is two units. */
const BYTES_PER_UNIT_MAX = 3;
/** Bodies below this gain nothing from compression. */
const GZIP_ABOVE_BYTES = 1_024;

/** A JSON answer. */
export function jsonAnswer(value: unknown, status = 200): ApiAnswer {
  return { status, body: JSON.stringify(value) };
}

/** The same answer with more headers. */
export function withHeaders(answer: ApiAnswer, headers: Readonly<Record<string, string>>): ApiAnswer {
  return { ...answer, headers: { ...answer.headers, ...headers } };
}

/**
 * An answer as API Gateway's payload format 2.0 wants it. Text is compressed when the client takes gzip; bytes are not,
 * because stored batches are compressed already. What may grow past the limit as text travels as base64.
 * @throws {Error} when bytes are more than a function's answer carries
 */
export function toGatewayResult(
  answer: ApiAnswer,
  acceptEncoding: string | undefined,
): APIGatewayProxyStructuredResultV2 {
  const { status: statusCode, body, isText = typeof body === 'string' } = answer;
  if (body === undefined) return { statusCode, headers: { ...answer.headers } };
  const headers: Record<string, string> = { 'content-type': JSON_TYPE, ...answer.headers };
  if (typeof body !== 'string' && !isText) return { statusCode, headers, ...inBase64(body) };
  if (body.length >= GZIP_ABOVE_BYTES || Buffer.byteLength(body) >= GZIP_ABOVE_BYTES) {
    headers.vary = headers.vary === undefined ? 'Accept-Encoding' : `${headers.vary}, Accept-Encoding`;
    if (weightOf(acceptEncoding, 'gzip') > 0) {
      headers['content-encoding'] = 'gzip';
      return { statusCode, headers, ...inBase64(gzipSync(body, { level: 1 })) };
    }
  }
  return { statusCode, headers, ...(typeof body === 'string' ? ofString(body) : ofText(body)) };
}

type GatewayBody = Pick<APIGatewayProxyStructuredResultV2, 'body' | 'isBase64Encoded'>;

/** Bytes are counted only where the number of characters does not decide. */
function ofString(body: string): GatewayBody {
  return body.length * BYTES_PER_UNIT_MAX <= TEXT_BYTES_MAX ? { body } : ofText(Buffer.from(body));
}

/** Escapes are counted only in a text too large for base64, as one large record may be. */
function ofText(bytes: Uint8Array): GatewayBody {
  const fits =
    bytes.length <= TEXT_BYTES_MAX ||
    (bytes.length > ANSWER_BODY_BYTES_MAX && escapedBytes(bytes) <= ESCAPED_BODY_BYTES_MAX);
  return fits ? { body: textOf(bytes) } : inBase64(bytes);
}

/** Bytes that a text in UTF-8 takes as a JSON string, quotes included. */
export function escapedBytes(text: Uint8Array): number {
  return measureString(text, 0, text.length).bytes + 2;
}

function inBase64(bytes: Uint8Array): GatewayBody {
  if (bytes.length > ANSWER_BODY_BYTES_MAX) {
    throw new Error(`an answer of ${bytes.length} bytes does not fit; at most ${ANSWER_BODY_BYTES_MAX} do`);
  }
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
  return { body, isBase64Encoded: true };
}
