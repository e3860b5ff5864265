import type { AttributeValue, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { Throttled, Unavailable } from '../domain/errors.ts';
import {
  FILL_DEADLINE_MS,
  HASTY_ATTEMPT_TIMEOUT_MS,
  HASTY_ATTEMPTS,
  STORE_ATTEMPT_TIMEOUT_MS,
} from '../domain/limits.ts';
import { WriteFailed } from '../domain/write-failed.ts';
import { refuseUnknownLayout } from './keys.ts';

/** What stores need of a DynamoDB client: the ordinary one, or anything that answers its commands. */
export type DynamoDB = Pick<DynamoDBClient, 'send'>;

const THROTTLES: ReadonlySet<string> = new Set([
  'ProvisionedThroughputExceededException',
  'ThrottlingException',
  'RequestLimitExceeded',
  'SlowDown',
]);

/** Thrown in place of an attempt that would have been sent too late. */
class TooLate extends Error {
  override readonly name = 'TooLate';
}

/** Awaits a read. @throws {Throttled | Unavailable} for what may pass; anything else is a bug and stays as it is. */
export async function readOutcome<T>(sent: Promise<T>): Promise<T> {
  try {
    return await sent;
  } catch (error) {
    if (isThrottle(error)) throw new Throttled('The store refuses more reads for now', 1_000, { cause: error });
    if (isPassing(error)) throw new Unavailable('The store did not answer in time', 1_000, { cause: error });
    throw error;
  }
}

/** What is used of a command: the stack that every attempt of it passes. */
interface Attempted {
  readonly middlewareStack: {
    addRelativeTo(
      middleware: (next: Next) => Next,
      options: { name: string; relation: 'after'; toMiddleware: string; override: boolean },
    ): void;
  };
}
// biome-ignore lint/suspicious/noExplicitAny: the SDK's own type of a middleware, whose arguments are passed on unseen
type Next = (args: any) => Promise<any>;

/**
 * Watches every attempt of a write, the SDK's own retries included.
 *
 * An attempt is refused here, after it was signed, once `isLate` says so: a process that was frozen in between cannot
 * send it any more, and what it has sent AWS refuses when the signature is 15 minutes old. And it is remembered
 * whether an attempt ended without an answer, for then it may have been carried out whatever a later one is told.
 */
export class WriteAttempts {
  #unanswered = 0;
  #sent = 0;

  constructor(command: Attempted, isLate: () => boolean = () => false) {
    const middleware =
      (next: Next): Next =>
      async (args) => {
        if (isLate()) throw new TooLate('the deadline of this write has passed');
        this.#unanswered += 1;
        this.#sent += 1;
        try {
          const answer = await next(args);
          this.#unanswered -= 1;
          return answer;
        } catch (error) {
          if (isRefusal(error)) this.#unanswered -= 1;
          throw error;
        }
      };
    command.middlewareStack.addRelativeTo(middleware, {
      name: 'writeAttempts',
      relation: 'after',
      toMiddleware: 'httpSigningMiddleware',
      override: true,
    });
  }

  /**
   * What `send` is to be called with for a write that is late `deadlineMs` after it began: where that is soon, the first
   * attempts are given up early enough for another one. The last has the usual time: late or not, its answer counts.
   */
  within(deadlineMs: number): { readonly requestTimeout?: number } {
    if (deadlineMs > FILL_DEADLINE_MS) return {};
    const isHasty = () => this.#sent <= HASTY_ATTEMPTS;
    return {
      // The SDK's request handler asks anew for each attempt.
      get requestTimeout() {
        return isHasty() ? HASTY_ATTEMPT_TIMEOUT_MS : STORE_ATTEMPT_TIMEOUT_MS;
      },
    };
  }

  /** A transaction was cancelled by nothing but load: no part of it was written. */
  static conflicted(cause: Error): WriteFailed {
    return new WriteFailed('throttled', false, cause);
  }

  /** A condition was refused because of an item that was not there when one looked. */
  static vanished(refusal: Error): WriteFailed {
    return new WriteFailed('unreachable', true, refusal);
  }

  /** Whether some attempt ended without an answer: a later one may then have met what that one wrote. */
  get anyUnanswered(): boolean {
    return this.#unanswered > 0;
  }

  /** Awaits the write. @throws {WriteFailed}, or the refusal itself where it says something about the item. */
  async outcome<T>(sent: Promise<T>): Promise<T> {
    try {
      return await sent;
    } catch (error) {
      if (isThrottle(error) || nameOf(error) === 'TransactionConflictException') {
        throw new WriteFailed('throttled', this.#unanswered > 0, error);
      }
      // An earlier attempt of the same transaction is still at work.
      if (nameOf(error) === 'TransactionInProgressException') throw new WriteFailed('unreachable', true, error);
      if (error instanceof TooLate) throw new WriteFailed('late', this.#unanswered > 0, error);
      if (isPassing(error)) throw new WriteFailed('unreachable', true, error);
      throw error;
    }
  }
}

/** The condition of a conditional write did not hold. */
export function isConditionFailed(error: unknown): error is Error & { Item?: Record<string, AttributeValue> } {
  return nameOf(error) === 'ConditionalCheckFailedException';
}

/**
 * Awaits a conditional write that asks for the item which it meets (`ALL_OLD`).
 *
 * @returns whether its condition held @throws {UnknownLayout} nothing was written; {WriteFailed}
 */
export async function whetherWritten(written: Promise<unknown>): Promise<boolean> {
  try {
    await written;
    return true;
  } catch (error) {
    if (!isConditionFailed(error)) throw error;
    if (error.Item !== undefined) refuseUnknownLayout(error.Item);
    return false;
  }
}

function isThrottle(error: unknown): boolean {
  return THROTTLES.has(nameOf(error));
}

/** The service looked at the request and said no: a 4xx answer. Without an answer, or with a 5xx, nobody knows. */
function isRefusal(error: unknown): boolean {
  const status = statusOf(error);
  return status !== undefined && status >= 400 && status < 500;
}

/** No answer, or one that says that the service itself failed. */
function isPassing(error: unknown): boolean {
  const status = statusOf(error);
  if (status !== undefined) return status >= 500;
  return error instanceof Error && (NETWORK_NAMES.has(error.name) || NETWORK_CODES.has(codeOf(error)));
}

const NETWORK_NAMES: ReadonlySet<string> = new Set(['TimeoutError', 'AbortError', 'NetworkingError']);
const NETWORK_CODES: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'ECONNREFUSED',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
]);

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : '';
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : '';
}

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('$metadata' in error)) return undefined;
  return (error.$metadata as { httpStatusCode?: number }).httpStatusCode;
}
