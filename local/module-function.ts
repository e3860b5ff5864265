import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import { basename, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { CallLimit, FunctionAnswer, Functions } from '../shared/target/lambda.ts';

type ModuleHandler = (event: unknown, context: object) => unknown;

const DEFAULT_EXPORT = 'handler';
const NO_FUNCTION = 'ResourceNotFoundException';

/**
 * Functions that are modules on this machine: `file:./handler.mjs`, from a folder on, or `file:./handlers.mjs#name` for
 * another export than `handler`. Called in this process, as Lambda would call them: an event of their own, what they
 * return as JSON, what they throw as its type and message; whoever runs out of time runs on unheard. A module that was
 * written anew is loaded anew; what it imports is not.
 */
export class ModuleFunctions implements Functions {
  readonly #base: string;

  /** @param folder from which on relative paths lead */
  constructor(folder: string) {
    this.#base = pathToFileURL(folder + sep).href;
  }

  async invoke(functionArn: string, payload: string, limit: CallLimit): Promise<FunctionAnswer> {
    const { url, writtenAt } = await this.#find(functionArn);
    const called = call(url, writtenAt, payload, limit.deadline)
      .then((result) => ({ payload: asJson(result), failed: false }))
      .catch((error: unknown) => ({ payload: JSON.stringify(told(error)), failed: true }));
    return unlessAborted(called, limit.signal);
  }

  /** Where its module is. @throws as Lambda does when there is no such function */
  async locate(functionArn: string): Promise<URL> {
    return (await this.#find(functionArn)).url;
  }

  async #find(functionArn: string): Promise<{ readonly url: URL; readonly writtenAt: number }> {
    if (!functionArn.startsWith('file:') || !URL.canParse(functionArn, this.#base)) {
      throw named(NO_FUNCTION, `${functionArn} is no module: write file:./handler.mjs`);
    }
    const url = new URL(functionArn, this.#base);
    const { mtimeMs } = await stat(url).catch(() => {
      throw named(NO_FUNCTION, `there is no module at ${fileURLToPath(url)}`);
    });
    return { url, writtenAt: mtimeMs };
  }
}

async function call(url: URL, writtenAt: number, payload: string, deadline: number): Promise<unknown> {
  const name = url.hash.slice(1) || DEFAULT_EXPORT;
  const location = new URL(url);
  location.hash = '';
  // Modules are loaded once per URL, also those that could not be: whoever mends one sees that at the next call.
  location.searchParams.set('written', String(writtenAt));
  const module = (await import(location.href)) as Record<string, unknown>;
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

/** @throws named as Lambda names it, when there is no JSON of it */
function asJson(result: unknown): string {
  try {
    return JSON.stringify(result) ?? 'null';
  } catch (error) {
    throw named('Runtime.MarshalError', `what the handler returned has no JSON: ${told(error).errorMessage}`);
  }
}

/** Whatever was thrown, also what does not let itself be looked at. */
function told(error: unknown): { errorType: string; errorMessage: string } {
  try {
    if (error instanceof Error) return { errorType: String(error.name), errorMessage: String(error.message) };
    return { errorType: typeof error, errorMessage: String(error) };
  } catch {
    return { errorType: typeof error, errorMessage: 'it cannot be told' };
  }
}

function named(name: string, message: string): Error {
  return Object.assign(new Error(message), { name });
}
