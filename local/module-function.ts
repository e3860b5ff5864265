import { randomUUID } from 'node:crypto';
import { access } from 'node:fs/promises';
import { basename, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CallLimit, FunctionAnswer, Functions } from '../shared/target/lambda.ts';

type ModuleHandler = (event: unknown, context: object) => unknown;

const DEFAULT_EXPORT = 'handler';
const NO_FUNCTION = 'ResourceNotFoundException';

/**
 * Functions that are modules on this machine: `file:./handler.mjs`, from a folder on, or `file:./handlers.mjs#name` for
 * another export than `handler`. Called in this process, as Lambda would call them: an event of their own, what they
 * return as JSON, what they throw as its type and message; whoever runs out of time runs on unheard.
 */
export class ModuleFunctions implements Functions {
  readonly #base: string;

  /** @param folder from which on relative paths lead */
  constructor(folder: string) {
    this.#base = pathToFileURL(folder + sep).href;
  }

  async invoke(functionArn: string, payload: string, limit: CallLimit): Promise<FunctionAnswer> {
    const url = await this.locate(functionArn);
    const called = call(url, payload, limit.deadline).then(
      (result) => ({ payload: JSON.stringify(result) ?? 'null', failed: false }),
      (error: unknown) => ({ payload: JSON.stringify(told(error)), failed: true }),
    );
    return unlessAborted(called, limit.signal);
  }

  /** Where its module is. @throws as Lambda does when there is no such function */
  async locate(functionArn: string): Promise<URL> {
    if (!functionArn.startsWith('file:') || !URL.canParse(functionArn, this.#base)) {
      throw named(NO_FUNCTION, `${functionArn} is no module: write file:./handler.mjs`);
    }
    const url = new URL(functionArn, this.#base);
    await access(url).catch(() => {
      throw named(NO_FUNCTION, `there is no module at ${fileURLToPath(url)}`);
    });
    return url;
  }
}

async function call(url: URL, payload: string, deadline: number): Promise<unknown> {
  const name = url.hash.slice(1) || DEFAULT_EXPORT;
  const module = (await import(url.href.slice(0, url.href.length - url.hash.length))) as Record<string, unknown>;
  const handler = module[name];
  if (typeof handler !== 'function') throw named('Runtime.HandlerNotFound', `${url.pathname} exports no ${name}`);
  return (handler as ModuleHandler)(JSON.parse(payload), {
    functionName: basename(url.pathname),
    functionVersion: '$LATEST',
    invokedFunctionArn: url.href,
    awsRequestId: randomUUID(),
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
  });
}

function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(named('AbortError', 'the call was given up'));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

function told(error: unknown): { errorType: string; errorMessage: string } {
  return error instanceof Error
    ? { errorType: error.name, errorMessage: error.message }
    : { errorType: typeof error, errorMessage: String(error) };
}

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
