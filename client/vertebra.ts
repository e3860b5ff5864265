import { VERSION } from '../shared/wire/version.ts';
import { Admin } from './admin.ts';
import type { AdminOptions } from './admin-words.ts';
import { type Auth, openAuth } from './auth.ts';
import { Connection, type Logger } from './connection.ts';
import { Consumer } from './consumer.ts';
import type { ConsumerOptions } from './consumer-options.ts';
import { InvalidOptions } from './errors.ts';
import { REQUEST_TIMEOUT_MS_DEFAULT } from './limits.ts';
import { known } from './option-checks.ts';
import { type PreparedAppend, type PrepareOptions, prepareAppend } from './prepared-append.ts';
import { Producer } from './producer.ts';
import type { Message, ProducerOptions } from './producer-words.ts';
import { Reader, type ReaderOptions } from './reader.ts';
import type { RetryPolicy } from './retry.ts';
import type { Surroundings } from './surroundings.ts';
import { Transport } from './transport.ts';

export interface VertebraOptions {
  /**
   * Where the API is, without `/v1`. Default: the environment's `VERTEBRA_ENDPOINT`, or else `VERTEBRA_URL`, which a function
   * has that was granted something by the CDK constructs.
   */
  readonly endpoint?: string | URL;
  readonly auth?: Auth;
  /** Tells the log of the gateway who calls; part of the `User-Agent`. */
  readonly clientId?: string;
  /** How calls other than `send` are repeated. */
  readonly retry?: Partial<RetryPolicy>;
  readonly logger?: Logger;
  readonly fetch?: typeof fetch;
  /** One attempt of one request. */
  readonly requestTimeoutMs?: number;
  /** Time, chance and waiting: for tests. */
  readonly surroundings?: Surroundings;
}

const OPTIONS: readonly (keyof VertebraOptions)[] = [
  ...(['endpoint', 'auth', 'clientId', 'retry', 'logger', 'fetch', 'requestTimeoutMs', 'surroundings'] as const),
];

/** A backbone, as its users see it. Opens nothing by itself: there is nothing to be closed but what it makes. */
export class Vertebra {
  /** What its producers, consumers and admins share. */
  readonly connection: Connection;

  /** @throws {InvalidOptions} */
  constructor(options: VertebraOptions = {}) {
    known('Vertebra', options, OPTIONS);
    const { retry, logger, surroundings } = options;
    this.connection = new Connection(openTransport(options), {
      ...(retry && { retry }),
      ...(logger && { logger }),
      ...(surroundings && { surroundings }),
    });
  }

  /** Sends records. Close it, so that nothing is left behind. @throws {InvalidOptions} */
  producer<T = unknown>(options: ProducerOptions<T> = {}): Producer<T> {
    return new Producer(this.connection, options);
  }

  /**
   * Prepares records that a DynamoDB transaction of your own stores, together with what it writes for you: both or
   * neither, without a relay. Check what often fails before this: a transaction that does not come about keeps readers waiting
   * until it is settled.
   *
   * @throws {ValidationError} @throws {RecordTooLarge} @throws {ApiError} as `request_too_large` when they do not go into a
   *   transaction; @throws {ConnectionError} @throws {RequestTimeout} @throws {Aborted}
   */
  prepareAppend<T = unknown>(
    topic: string,
    messages: readonly Message<T>[],
    options?: PrepareOptions<T>,
  ): Promise<PreparedAppend> {
    return prepareAppend(this.connection, topic, messages, options);
  }

  /** A member of a consumer group, once it runs. Stop it, so that its partitions go on at once. @throws {InvalidOptions} */
  consumer<T = unknown>(options: ConsumerOptions<T>): Consumer<T> {
    return new Consumer(this.connection, options);
  }

  /** One partition, read without a group. @throws {InvalidOptions} */
  reader<T = unknown>(options: ReaderOptions<T>): Reader<T> {
    return new Reader(this.connection, options);
  }

  /** Topics, offsets and groups. */
  admin(options?: AdminOptions): Admin {
    return new Admin(this.connection, options);
  }
}

function openTransport({ auth, clientId, requestTimeoutMs, surroundings, ...options }: VertebraOptions): Transport {
  const endpoint = endpointOf(options.endpoint ?? (process.env.VERTEBRA_ENDPOINT || process.env.VERTEBRA_URL));
  if (clientId !== undefined && !/^[\w.:/@-]{1,128}$/.test(clientId)) {
    throw new InvalidOptions("'clientId' must be 1 to 128 letters, digits or . _ : / @ -");
  }
  const timeoutMs = requestTimeoutMs ?? REQUEST_TIMEOUT_MS_DEFAULT;
  if (!(timeoutMs > 0)) throw new InvalidOptions("'requestTimeoutMs' must be above 0");
  return new Transport({
    endpoint,
    sign: openAuth(auth, endpoint, surroundings?.now),
    userAgent: `vertebra/${VERSION}${clientId === undefined ? '' : ` ${clientId}`}`,
    fetch: options.fetch ?? globalThis.fetch,
    timeoutMs,
  });
}

function endpointOf(given: string | URL | undefined): URL {
  if (given === undefined || given === '') {
    throw new InvalidOptions(
      "No endpoint: give 'endpoint', or set VERTEBRA_ENDPOINT (http://127.0.0.1:4100 for npm start)",
    );
  }
  const endpoint = URL.canParse(String(given)) ? new URL(given) : undefined;
  if (endpoint === undefined || !/^https?:$/.test(endpoint.protocol)) {
    throw new InvalidOptions(`'endpoint' must be an http or https URL, not ${String(given).slice(0, 200)}`);
  }
  if (endpoint.username !== '' || endpoint.password !== '' || endpoint.search !== '' || endpoint.hash !== '') {
    throw new InvalidOptions("'endpoint' must have no user, query or fragment; give credentials as 'auth'");
  }
  return endpoint;
}
