import { CannotLook } from '../domain/finding.ts';

/** What services call a right that is lacking. */
const DENIED =
  /^(?:AccessDenied|AccessDeniedException|AccessDeniedError|UnauthorizedOperation|Forbidden|403|ExpiredToken|ExpiredTokenException|InvalidClientTokenId|UnrecognizedClientException|InvalidSignatureException|SignatureDoesNotMatch|CredentialsProviderError)$/;
/** What engines call an operation that they do not have. */
const UNKNOWN = /^(?:UnknownOperationException|UnknownOperation|NotImplemented|InvalidAction|UnsupportedOperation)$/;
const MISSING =
  /^(?:ResourceNotFoundException|ResourceNotFound|NoSuchBucket|NotFound|404|QueueDoesNotExist|AWS\.SimpleQueueService\.NonExistentQueue)$/;

/**
 * Awaits a look at how something is set.
 *
 * @returns undefined when the thing is not there, `'not told'` when the engine knows of no such setting
 * @throws {CannotLook} one may not, or nobody answers
 */
export async function look<T>(sent: Promise<T>): Promise<T | 'not told' | undefined> {
  try {
    return await sent;
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (MISSING.test(name)) return undefined;
    if (UNKNOWN.test(name)) return 'not told';
    if (DENIED.test(name) || isAway(error)) throw new CannotLook((error as Error).message, { cause: error });
    throw error;
  }
}

/** As `look`, of what an engine may do without. */
export async function lookOr<T>(fallback: T, sent: Promise<T>): Promise<T> {
  const found = await look(sent);
  return found === undefined || found === 'not told' ? fallback : found;
}

/** As `look`, of what every engine tells. @returns undefined when the thing is not there */
export async function lookFor<T>(sent: Promise<T>): Promise<T | undefined> {
  const found = await look(sent);
  if (found === 'not told') throw new CannotLook('this engine does not tell');
  return found;
}

/** No answer, or one that says that the service itself failed or is too busy. */
function isAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const status = (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode;
  return 'code' in error || error.name === 'TimeoutError' || status === 429 || (status !== undefined && status >= 500);
}
