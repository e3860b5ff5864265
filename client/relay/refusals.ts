import { ValidationError, VertebraError } from '../errors.ts';
import { ERROR_CHARS_MAX } from './limits.ts';

/**
 * Refusals that will be the same the next time, of these rows alone. A repeat with other content (`idempotency_key_reused`) is
 * a row that was changed after it may have been sent. Whatever else is refused, such as credentials, is waited for.
 */
const FOR_GOOD = new Set([
  'invalid_record',
  'invalid_request',
  'record_too_large',
  'request_too_large',
  'topic_not_found',
  'idempotency_key_reused',
]);

/** Whether a row that is refused so is to be set aside. */
export function isPoison(error: unknown): error is VertebraError {
  return error instanceof VertebraError && FOR_GOOD.has(error.code);
}

/** What a row's `error` says: the code, then the reason. */
export function toldOf(error: VertebraError): string {
  // What is around the reason of a refused message speaks of its place in a call.
  const { code, message } =
    error instanceof ValidationError && error.cause instanceof ValidationError ? error.cause : error;
  return `${code}: ${message}`.slice(0, ERROR_CHARS_MAX).replaceAll('\0', '\uFFFD');
}
