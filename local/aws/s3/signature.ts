import { timingSafeEqual } from 'node:crypto';
import type { AwsRequest } from '../service.ts';
import { amzDate, parseAmzDate, SIGNATURE_LIFE_MS, staleness } from '../signature-age.ts';
import { canonicalHeaders, canonicalQuery, signatureOf } from '../signature-v4.ts';
import { S3Error } from './s3-error.ts';

/** The secret key that belongs to an access key; undefined: nobody has it. */
export type SecretOf = (accessKeyId: string) => string | undefined;

/** Source: AWS, "Authenticating Requests: Using Query Parameters", seven days. */
const EXPIRES_SECONDS_MAX = 604_800;

/**
 * Lets a request in: a presigned URL by its signature and its expiry, another signed request by the age of its
 * signature. @throws {S3Error}
 */
export function authorize(request: AwsRequest, secretOf: SecretOf, now: number): void {
  if (request.query['X-Amz-Signature'] !== undefined) {
    authorizePresigned(request, secretOf, now);
    return;
  }
  if (!request.headers.authorization?.startsWith('AWS4-')) throw new S3Error(403, 'AccessDenied', 'Access Denied');
  const date = request.headers['x-amz-date'] ?? '';
  if (Number.isNaN(parseAmzDate(date))) {
    throw new S3Error(403, 'AccessDenied', 'AWS authentication requires a valid Date or x-amz-date header');
  }
  if (staleness(date, now)) {
    throw new S3Error(
      403,
      'RequestTimeTooSkewed',
      'The difference between the request time and the current time is too large.',
      {
        RequestTime: date,
        ServerTime: new Date(now).toISOString(),
        MaxAllowedSkewMilliseconds: String(SIGNATURE_LIFE_MS),
      },
    );
  }
}

function authorizePresigned(request: AwsRequest, secretOf: SecretOf, now: number): void {
  const { query } = request;
  for (const name of ['Algorithm', 'Credential', 'Date', 'Expires', 'SignedHeaders']) {
    if (!query[`X-Amz-${name}`]) throw malformed(`Query-string authentication requires the X-Amz-${name} parameter`);
  }
  const signedAt = parseAmzDate(query['X-Amz-Date']!);
  const seconds = Number(query['X-Amz-Expires']);
  if (query['X-Amz-Algorithm'] !== 'AWS4-HMAC-SHA256')
    throw malformed('X-Amz-Algorithm only supports "AWS4-HMAC-SHA256"');
  if (Number.isNaN(signedAt)) throw malformed("X-Amz-Date must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"");
  if (!Number.isInteger(seconds) || seconds < 1)
    throw malformed('X-Amz-Expires should be a positive number of seconds');
  if (seconds > EXPIRES_SECONDS_MAX) throw malformed('X-Amz-Expires must be less than a week (in seconds)');
  if (signedAt > now + SIGNATURE_LIFE_MS) throw new S3Error(403, 'AccessDenied', 'Request is not valid yet');
  if (signedAt + seconds * 1_000 < now) {
    throw new S3Error(403, 'AccessDenied', 'Request has expired', {
      'X-Amz-Expires': String(seconds),
      Expires: new Date(signedAt + seconds * 1_000).toISOString(),
      ServerTime: amzDate(now),
    });
  }
  const signed = query['X-Amz-SignedHeaders']!.split(';');
  const unsigned = Object.keys(request.headers).filter((name) => name.startsWith('x-amz-') && !signed.includes(name));
  if (unsigned.length > 0) {
    const HeadersNotSigned = unsigned.join(', ');
    throw new S3Error(403, 'AccessDenied', 'There were headers present in the request which were not signed', {
      HeadersNotSigned,
    });
  }
  const [accessKeyId, ...scope] = query['X-Amz-Credential']!.split('/');
  const secret = secretOf(accessKeyId!);
  if (secret === undefined) {
    throw new S3Error(403, 'InvalidAccessKeyId', 'The AWS Access Key Id you provided does not exist in our records.');
  }
  const expected = presignedSignature(request, scope.join('/'), secret);
  const given = Buffer.from(query['X-Amz-Signature']!, 'hex');
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new S3Error(
      403,
      'SignatureDoesNotMatch',
      'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
    );
  }
}

/** Signature of a presigned request. */
function presignedSignature({ method, path, query, headers }: AwsRequest, scope: string, secret: string): Buffer {
  const names = query['X-Amz-SignedHeaders']!.split(';');
  const parameters = Object.entries(query).filter(([name]) => name !== 'X-Amz-Signature');
  const payload = query['X-Amz-Content-Sha256'] ?? headers['x-amz-content-sha256'] ?? 'UNSIGNED-PAYLOAD';
  const parts = [method, path, canonicalQuery(parameters), canonicalHeaders(names, headers), names.join(';'), payload];
  return signatureOf({ canonical: parts.join('\n'), date: query['X-Amz-Date']!, scope, secret });
}

function malformed(message: string): S3Error {
  return new S3Error(400, 'AuthorizationQueryParametersError', message);
}
