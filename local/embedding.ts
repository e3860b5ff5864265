import type { EmbeddedClientConfig } from './aws/in-process-handler.ts';
import type { BackboneServer } from './backbone-server.ts';
import { describeFailure } from './function-log.ts';
import type { LocalAuth } from './options.ts';

export interface LocalBackboneOptions {
  /** Port on 127.0.0.1. Default: any free one. */
  readonly port?: number;
  /** `apiKey`: callers need API keys, as where the backbone is deployed so; `adminKey` is the first. Default `none`. */
  readonly auth?: LocalAuth;
  /** Told of what went wrong inside, such as a function that threw. Default: written to standard error. */
  readonly onFailure?: (message: string, error: unknown) => void;
}

/** A whole backbone inside this process, for tests: in memory, and gone with it. */
export interface LocalBackbone {
  /** `http://127.0.0.1:<port>`: the `endpoint` of clients. */
  readonly url: string;
  /** By which everything may be done, where callers need API keys. */
  readonly adminKey?: string;
  /** `new DynamoDBClient(backbone.clientConfig())`: for tables of your own, in the transactions of `prepareAppend` and `processOnce`. */
  clientConfig(): EmbeddedClientConfig;
  /** What `processOnce` and `effectOnce` take as `stateTable`. */
  readonly stateTable: string;
  /** The backbone's time, epoch ms: the host's, and what `advance` has added. */
  now(): number;
  /**
   * Sets the backbone's clock ahead, by 3 s or more, and removes what has expired by then: records past their retention,
   * remembered idempotency keys. Waits do not become shorter, and the time of clients stays as it is.
   */
  advance(ms: number): Promise<void>;
  /** Ends it: requests under way get an answer or an error, and the data is gone. */
  dispose(): Promise<void>;
  /** The same, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>;
}

/** How long the end waits for requests under way: who ends a test's backbone waits for nothing any more. */
const DRAIN_MS = 250;
/** Functions see the clock set right in no smaller steps. */
const STEP_MS_MIN = 3_000;
/** Read when the functions are loaded: their logs and metrics do not belong in the output of somebody's tests. */
const QUIET = {
  POWERTOOLS_LOG_LEVEL: 'SILENT',
  POWERTOOLS_METRICS_DISABLED: 'true',
  AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true',
};

/**
 * Starts a backbone in memory.
 *
 * ```ts
 * await using backbone = await startLocalBackbone();
 * const client = new Vertebra({ endpoint: backbone.url });
 * ```
 * @throws {RangeError} when `port` is none; Node's error with code `EADDRINUSE` when it is taken
 */
export async function startLocalBackbone(options: LocalBackboneOptions = {}): Promise<LocalBackbone> {
  const { port = 0, auth = 'none', onFailure = tellStandardError } = options;
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new RangeError('port must be 0 to 65535');
  if (auth !== 'none' && auth !== 'apiKey') throw new RangeError("auth must be 'none' or 'apiKey'");
  let aheadMs = 0;
  const server = await quietly(async () => {
    const { openBackboneServer } = await import('./backbone-server.ts');
    return openBackboneServer({
      port,
      auth,
      aheadMs: () => aheadMs,
      onRecords: () => {},
      onExchange: (exchange) => {
        const failure = describeFailure(exchange);
        if (failure) onFailure(failure, exchange.error);
      },
      onFailure: (name, error) => onFailure(`${name} failed`, error),
    });
  });
  const dispose = onlyOnce(server);
  return {
    url: server.url,
    ...(server.adminKey !== undefined && { adminKey: server.adminKey }),
    clientConfig: () => server.clientConfig(),
    stateTable: server.stateTable,
    now: () => Date.now() + aheadMs,
    async advance(ms) {
      if (!Number.isInteger(ms) || ms < STEP_MS_MIN) throw new RangeError(`ms must be an integer ≥ ${STEP_MS_MIN}`);
      aheadMs += ms;
      await server.tidyUp();
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

function onlyOnce(server: BackboneServer): () => Promise<void> {
  let closed: Promise<void> | undefined;
  return () => {
    closed ??= server.close(DRAIN_MS);
    return closed;
  };
}

function tellStandardError(message: string, error: unknown): void {
  const details = error === undefined ? '' : `\n${error instanceof Error ? error.stack : String(error)}`;
  process.stderr.write(`vertebra: ${message}${details}\n`);
}

/** How many work quietly now, and what the environment said before the first of them. */
let quiet = 0;
let before: readonly (readonly [name: string, value: string | undefined])[] = [];

/** Runs `work` in the quiet environment; the last one that ends puts back what was there before the first began. */
async function quietly<T>(work: () => Promise<T>): Promise<T> {
  if (quiet++ === 0) before = Object.keys(QUIET).map((name) => [name, process.env[name]]);
  Object.assign(process.env, QUIET);
  try {
    return await work();
  } finally {
    if (--quiet === 0) {
      for (const [name, value] of before) {
        if (value === undefined) delete process.env[name];
        else process.env[name] = value;
      }
    }
  }
}
