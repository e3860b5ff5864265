import { policyOf, type RetryPolicy, retrying } from './retry.ts';
import { SURROUNDINGS, type Surroundings } from './surroundings.ts';
import type { Answer, Call, Transport } from './transport.ts';

/** Where the SDK tells what it does besides throwing: retries, rejoins, damage. */
export interface Logger {
  debug(message: string, data?: object): void;
  info(message: string, data?: object): void;
  warn(message: string, data?: object): void;
  error(message: string, data?: object): void;
}

const nothing = () => {};
export const SILENT: Logger = { debug: nothing, info: nothing, warn: nothing, error: nothing };

/** What producers, consumers, readers and admins of one client share. */
export class Connection {
  readonly transport: Transport;
  readonly retry: RetryPolicy;
  readonly logger: Logger;
  readonly surroundings: Surroundings;

  constructor(
    transport: Transport,
    {
      retry,
      logger = SILENT,
      surroundings = SURROUNDINGS,
    }: { retry?: Partial<RetryPolicy>; logger?: Logger; surroundings?: Surroundings } = {},
  ) {
    this.transport = transport;
    this.retry = policyOf(retry);
    this.logger = logger;
    this.surroundings = surroundings;
  }

  /**
   * Makes a call that may be repeated, until it is answered or its time is over.
   * @throws {ApiError} @throws {ConnectionError} @throws {RequestTimeout} what the last attempt failed with
   * @throws {Aborted}
   */
  call(call: Call, retry: Partial<RetryPolicy> = {}): Promise<Answer> {
    return retrying(() => this.transport.call(call), {
      ...this.retry,
      ...retry,
      signal: call.signal,
      surroundings: this.surroundings,
      onRetry: (error, pauseMs, attempts) =>
        this.logger.warn(`${call.method} ${call.path} failed, it is tried again`, { error, pauseMs, attempts }),
    });
  }
}
