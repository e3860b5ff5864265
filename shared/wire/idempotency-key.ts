import { InvalidRequest } from '../domain/errors.ts';
import { IDEMPOTENCY_KEY_CHARS_MAX } from '../domain/limits.ts';
import type { ApiRequest } from './http-request.ts';

const KEY = new RegExp(`^[ -~]{1,${IDEMPOTENCY_KEY_CHARS_MAX}}$`);

/** The request's `Idempotency-Key`, if it has one. @throws {InvalidRequest} unless it is 1 to 255 printable ASCII characters */
export function idempotencyKeyOf(request: ApiRequest): string | undefined {
  const key = request.headers.get('idempotency-key');
  if (key === undefined || KEY.test(key)) return key;
  throw new InvalidRequest(`'Idempotency-Key' must be 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} printable ASCII characters`, {
    field: 'Idempotency-Key',
  });
}
