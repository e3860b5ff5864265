import { randomUUID } from 'node:crypto';
import { type AwsRequest, type AwsResponse, textOf } from './service.ts';
import { parseAmzDate, staleness } from './signature-age.ts';

/** What an operation answers, or the error body that says why not. */
export interface JsonAnswer {
  readonly status: number;
  readonly body: unknown;
}

/** Serves one request of AWS's JSON protocols (`X-Amz-Target`): who signed it is not checked, when it was signed is. */
export async function serveJson(
  request: AwsRequest,
  now: number,
  run: (operation: string, body: unknown) => Promise<JsonAnswer>,
): Promise<AwsResponse> {
  const answer = await answerTo(request, now, run);
  return {
    status: answer.status,
    headers: {
      date: new Date(now).toUTCString(),
      'x-amzn-requestid': randomUUID(),
      'content-type': request.headers['content-type'] ?? 'application/x-amz-json-1.0',
    },
    body: JSON.stringify(answer.body),
  };
}

async function answerTo(
  request: AwsRequest,
  now: number,
  run: (operation: string, body: unknown) => Promise<JsonAnswer>,
): Promise<JsonAnswer> {
  const text = await textOf(request.body);
  if (text === undefined) return refusal('RequestTooLarge', 'the body is larger than 16 MB', 413);
  const authorization = request.headers.authorization;
  if (!authorization?.startsWith('AWS4-')) {
    return refusal('MissingAuthenticationTokenException', 'Request is missing Authentication Token');
  }
  const date = request.headers['x-amz-date'] ?? '';
  if (Number.isNaN(parseAmzDate(date))) {
    return refusal('IncompleteSignatureException', `Date must be in ISO-8601 'basic format'. Got '${date}'.`);
  }
  const stale = staleness(date, now);
  if (stale) return refusal('InvalidSignatureException', stale);
  const body = objectOf(text);
  if (!body) return refusal('SerializationException');
  return run(request.headers['x-amz-target']?.split('.')[1] ?? '', body);
}

function objectOf(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export function refusal(name: string, message?: string, status = 400): JsonAnswer {
  return { status, body: { __type: `com.amazon.coral.service#${name}`, ...(message && { message }) } };
}
