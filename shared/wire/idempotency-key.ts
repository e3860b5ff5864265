import { InvalidRequest, NotImplemented } from '../domain/errors.ts';
import { IDEMPOTENCY_KEY_CHARS_MAX } from '../domain/limits.ts';
import type { ApiRequest } from './http-request.ts';

const KEY = new RegExp(`^[ -~]{1,${IDEMPOTENCY_KEY_CHARS_MAX}}$`);

/**
 * Refuses a request with an `Idempotency-Key`: taking it without honouring it would promise what is not kept.
 * @throws {InvalidRequest} when the key is not 1 to 255 printable ASCII characters
 * @throws {NotImplemented} when it is
 */
export function refuseIdempotencyKey(request: ApiRequest): void {
  const key = request.headers.get('idempotency-key');
  if (key === undefined) return;
  if (!KEY.test(key)) {
    throw new InvalidRequest(`'Idempotency-Key' must be 1 to ${IDEMPOTENCY_KEY_CHARS_MAX} printable ASCII characters`, {
      field: 'Idempotency-Key',
    });
  }
  throw new NotImplemented('This version does not deduplicate by Idempotency-Key yet; send the request without it');
}
