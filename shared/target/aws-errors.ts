import { type Delivered, deliveryError } from '../domain/delivery.ts';

/** What an SDK's error tells, as far as it tells. */
interface ServiceError extends Error {
  readonly code?: unknown;
  readonly Code?: unknown;
  readonly $metadata?: { readonly httpStatusCode?: number };
}

/** Refusals that last until somebody changes something: the target is not there, or not for us. */
const LASTING = new Set([
  ...['AccessDenied', 'AccessDeniedException', 'AuthorizationError', 'NotAuthorizedForSourceException'],
  ...['ResourceNotFoundException', 'QueueDoesNotExist', 'NonExistentQueue', 'InvalidAddress', 'InvalidSecurity'],
  ...['UnsupportedOperation', 'OperationDisabledException', 'IllegalStatusException', 'RecursiveInvocationException'],
  ...['InvalidRuntimeException', 'InvalidZipFileException', 'KMSAccessDeniedException', 'KMSDisabledException'],
  ...['KMSInvalidStateException', 'KMSNotFoundException', 'KmsAccessDenied', 'KmsDisabled', 'KmsInvalidKeyUsage'],
  ...['KmsInvalidState', 'KmsNotFound', 'KmsOptInRequired'],
]);
/** It is our own credentials or clock that are not right, for a while. */
const OURS = new Set([
  ...['ExpiredToken', 'ExpiredTokenException', 'CredentialsProviderError', 'IncompleteSignature', 'RequestExpired'],
  ...['InvalidClientTokenId', 'InvalidSignatureException', 'SignatureDoesNotMatch', 'UnrecognizedClientException'],
]);
/** Also of single entries, which have no status. */
const BUSY =
  /Throttl|TooManyRequests|RequestLimitExceeded|ServiceUnavailable|InternalFailure|InternalError|InternalException|InternalServiceError|NotReady|ResourceConflict|LimitExceeded|OverLimit/i;

export type Refusal = Exclude<Delivered, { kind: 'done' | 'part' | 'gone' | 'too_large' }>;

/**
 * What a call to an AWS service that did not go well says of the target.
 * @throws the error itself when no service and no network can have caused it
 */
export function refusalOf(error: unknown): Refusal {
  const { name, code, message, $metadata } = error as ServiceError;
  const told = deliveryError(name, message);
  const status = $metadata?.httpStatusCode;
  if (LASTING.has(plainName(name))) return { kind: 'cannot', error: told };
  if (OURS.has(name) || BUSY.test(name) || status === 429 || (status ?? 0) >= 500) return { kind: 'away', error: told };
  if (status === 403 || status === 404) return { kind: 'cannot', error: told };
  if (status !== undefined) return { kind: 'failed', error: told };
  // No answer came: a connection was refused or lost, or took too long.
  if (typeof code === 'string' || name === 'TimeoutError' || name === 'AbortError')
    return { kind: 'away', error: told };
  throw error;
}

/** The same of one entry of a call that went well by itself. */
export function refusalOfEntry(code: string, message: string): Refusal {
  const error = deliveryError(code, message);
  if (LASTING.has(plainName(code))) return { kind: 'cannot', error };
  return { kind: BUSY.test(code) ? 'away' : 'failed', error };
}

/** `AWS.SimpleQueueService.NonExistentQueue` and the like. */
function plainName(name: string): string {
  return name.slice(name.lastIndexOf('.') + 1);
}

/** Runs a call that is given up at the deadline. @param deadline epoch ms */
export async function byDeadline<T>(deadline: number, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), Math.max(0, deadline - Date.now()));
  try {
    return await call(controller.signal);
  } finally {
    clearTimeout(timer);
  }
}
