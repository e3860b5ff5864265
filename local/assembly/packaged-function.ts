import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { FunctionAnswer } from '../../shared/target/lambda.ts';
import { Environment, type EnvironmentOptions } from './environment.ts';

export interface PackagedFunctionOptions extends Omit<EnvironmentOptions, 'file' | 'exportName'> {
  readonly name: string;
  readonly arn: string;
  /** Folder of the package. */
  readonly folder: string;
  /** `index.handler` */
  readonly handler: string;
  readonly timeoutMs: number;
  /** Environments at once, at most; who comes then waits. */
  readonly concurrency: number;
  /** Told when an environment begins, and when it has logged: Lambda writes logs in the function's name. */
  readonly onLogs: (action: 'CreateLogStream' | 'PutLogEvents') => void;
}

const EXTENSIONS = ['mjs', 'js', 'cjs'];

/**
 * A function as it would be deployed: its package, run by execution environments that each handle one event at a time. One
 * that failed to load, ran out of time or ended by itself is gone, and the next event gets a new one, as in Lambda.
 */
export class PackagedFunction {
  readonly name: string;
  readonly arn: string;
  readonly timeoutMs: number;
  readonly #options: PackagedFunctionOptions;
  readonly #idle: Environment[] = [];
  readonly #all = new Set<Environment>();
  readonly #waiting: (() => void)[] = [];
  #busy = 0;

  constructor(options: PackagedFunctionOptions) {
    this.name = options.name;
    this.arn = options.arn;
    this.timeoutMs = options.timeoutMs;
    this.#options = options;
  }

  /** Calls it and waits for its answer. Never rejects: what failed is an answer, too. */
  async invoke(payload: string, arn = this.arn): Promise<FunctionAnswer> {
    while (this.#busy >= this.#options.concurrency) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#busy += 1;
    try {
      return await this.#run(payload, arn);
    } finally {
      this.#busy -= 1;
      this.#waiting.shift()?.();
    }
  }

  /** Ends all environments, also those at work. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map((environment) => environment.end()));
  }

  async #run(payload: string, arn: string): Promise<FunctionAnswer> {
    const environment = this.#idle.pop() ?? this.#start();
    const call = { event: payload, requestId: randomUUID(), arn };
    const outcome = await environment.handle(call, this.timeoutMs);
    this.#options.onLogs('PutLogEvents');
    if (environment.isUsable) this.#idle.push(environment);
    else this.#all.delete(environment);
    return 'payload' in outcome
      ? { payload: outcome.payload, failed: false }
      : { payload: JSON.stringify(outcome.error), failed: true };
  }

  #start(): Environment {
    const { folder, handler } = this.#options;
    const dot = handler.lastIndexOf('.');
    const candidates = EXTENSIONS.map((extension) => join(folder, `${handler.slice(0, dot)}.${extension}`));
    const file = pathToFileURL(candidates.find((candidate) => existsSync(candidate)) ?? candidates[0]!).href;
    this.#options.onLogs('CreateLogStream');
    const environment = new Environment({ ...this.#options, file, exportName: handler.slice(dot + 1) });
    this.#all.add(environment);
    return environment;
  }
}
