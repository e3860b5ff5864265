/**
 * What is known about the effects of something that failed. `none`: nothing was stored or changed. `unknown`: it may
 * have been; only a repeat with the same idempotency key, or a look, can tell.
 */
export type Effect = 'none' | 'unknown';

/** Facts that the caller can act on. */
export type ErrorData = Readonly<Record<string, unknown>>;

export interface ErrorFacts {
  readonly retryable?: boolean;
  readonly effect?: Effect;
  readonly data?: ErrorData;
  readonly cause?: unknown;
}

/** Whatever this package throws. */
export class VertebraError extends Error {
  /** Stable, in snake_case: the API's own codes, and those of the classes below. */
  readonly code: string;
  /** Whether the same call may succeed when it is made again. */
  readonly retryable: boolean;
  readonly effect: Effect;
  readonly data: ErrorData;

  constructor(
    code: string,
    message: string,
    { retryable = false, effect = 'none', data = {}, cause }: ErrorFacts = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = new.target.name;
    this.code = code;
    this.retryable = retryable;
    this.effect = effect;
    this.data = data;
  }
}

/** Options that cannot be meant. Nothing was sent. */
export class InvalidOptions extends VertebraError {
  constructor(message: string, cause?: unknown) {
    super('invalid_options', message, { cause });
  }
}

/** One thing that a schema finds wrong with a value; the shape is Standard Schema's. */
export interface Issue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** A record that cannot be sent, or read, as it is. When sending: nothing of this call was sent. */
export class ValidationError extends VertebraError {
  constructor(
    message: string,
    /** What its schema says, if it was the schema that refused it. */
    readonly issues: readonly Issue[] = [],
    facts: ErrorFacts = {},
  ) {
    super('invalid_record', message, facts);
  }
}

/** A record is larger than the backbone takes. Nothing of this call was sent. */
export class RecordTooLarge extends VertebraError {
  constructor(bytes: number, maxBytes: number, index: number) {
    super(
      'record_too_large',
      `Message ${index} has ${bytes} bytes; at most ${maxBytes} are allowed, beyond that use upload()`,
      { data: { index, bytes, maxBytes } },
    );
  }
}

/** The signal that the caller gave was aborted. */
export class Aborted extends VertebraError {
  constructor(signal: AbortSignal, effect: Effect = 'none') {
    super('aborted', 'The call was aborted', { effect, cause: signal.reason });
  }
}

/** The producer, consumer or reader was closed. */
export class Closed extends VertebraError {
  constructor(what: string, effect: Effect = 'none') {
    super('closed', `The ${what} is closed`, { effect });
  }
}

/** The endpoint could not be reached, or the connection broke. */
export class ConnectionError extends VertebraError {
  constructor(message: string, facts: ErrorFacts) {
    super('connection_failed', message, facts);
  }
}

/** No answer within the time that one attempt has. */
export class RequestTimeout extends VertebraError {
  constructor(timeoutMs: number, effect: Effect) {
    super('request_timeout', `No answer within ${timeoutMs} ms`, { retryable: true, effect, data: { timeoutMs } });
  }
}

/** An answer that no backbone gives: something stands in between. */
export class MalformedAnswer extends VertebraError {
  constructor(message: string, effect: Effect, cause?: unknown) {
    super('malformed_answer', message, { retryable: true, effect, cause });
  }
}

/** A record could not be delivered within `deliveryTimeoutMs`; `cause` is what the last attempt failed with. */
export class DeliveryTimeout extends VertebraError {
  constructor(timeoutMs: number, effect: Effect, cause?: unknown) {
    const why = cause instanceof Error ? `: ${cause.message}` : '';
    super('delivery_timeout', `Not delivered within ${timeoutMs} ms${why}`, { effect, data: { timeoutMs }, cause });
  }
}

/** What became of one message: where it is, or why it is not. */
export type Delivery = { readonly partition: number; readonly offset: number; readonly timestamp: number };
export type DeliveryResult = Delivery | { readonly error: VertebraError };

/**
 * Some or all messages of one call were not delivered. `code` is that of the first failure (also the `cause`), `effect`
 * speaks of those that failed.
 */
export class NotDelivered extends VertebraError {
  /** @param results one per message, in the order given; at least one has failed */
  constructor(readonly results: readonly DeliveryResult[]) {
    const failures = results.flatMap((result) => ('error' in result ? [result.error] : []));
    const first = failures[0]!;
    super(first.code, `${failures.length} of ${results.length} messages were not delivered: ${first.message}`, {
      retryable: failures.every(({ retryable }) => retryable),
      effect: failures.some(({ effect }) => effect === 'unknown') ? 'unknown' : 'none',
      data: first.data,
      cause: first,
    });
  }
}
