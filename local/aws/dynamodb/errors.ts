import type { Item } from 'dynalite/db/index.js';

/** An error as DynamoDB answers it: HTTP status and JSON body. dynalite's own errors have the same two fields. */
export class ServiceError extends Error {
  constructor(
    readonly body: { readonly __type: string; readonly message?: string } & Record<string, unknown>,
    readonly statusCode = 400,
  ) {
    super(body.message ?? body.__type);
    this.name = body.__type.split('#')[1]!;
  }
}

/** Whether an error carries the answer that AWS would give. */
export function isServiceError(error: unknown): error is Error & { statusCode: number; body: ServiceError['body'] } {
  return error instanceof Error && 'statusCode' in error && 'body' in error;
}

/** Short name of a service error, such as `ConditionalCheckFailedException`. */
export function nameOf(error: { body: { __type: string } }): string {
  return error.body.__type.split('#')[1]!;
}

const DYNAMODB = 'com.amazonaws.dynamodb.v20120810';
const STREAMS = 'com.amazonaws.dynamodb.v20120810';

export function validationError(message: string): ServiceError {
  return new ServiceError({ __type: 'com.amazon.coral.validate#ValidationException', message });
}

export function resourceNotFound(message: string): ServiceError {
  return new ServiceError({ __type: `${DYNAMODB}#ResourceNotFoundException`, message });
}

export function streamError(name: string, message: string): ServiceError {
  return new ServiceError({ __type: `${STREAMS}#${name}`, message });
}

/** Why one action of a transaction stopped it; `None` for those that did not. */
export interface CancellationReason {
  Code: 'None' | 'ConditionalCheckFailed' | 'ValidationError';
  Message?: string;
  Item?: Item;
}

export function transactionCanceled(reasons: readonly CancellationReason[]): ServiceError {
  const codes = reasons.map((reason) => reason.Code).join(', ');
  const message = `Transaction cancelled, please refer cancellation reasons for specific reasons [${codes}]`;
  return new ServiceError({
    __type: `${DYNAMODB}#TransactionCanceledException`,
    message,
    Message: message,
    CancellationReasons: reasons,
  });
}

export function idempotentParameterMismatch(): ServiceError {
  const message = 'Request tokens do not match: the same ClientRequestToken came with other parameters';
  return new ServiceError({ __type: `${DYNAMODB}#IdempotentParameterMismatchException`, message, Message: message });
}
