import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';

export interface EnvironmentOptions {
  /** URL of the module. */
  readonly file: string;
  readonly exportName: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly memoryMb: number;
  /** Of the embedded services. */
  readonly endpoint: string;
  /** Under which host functions know the API, and where it is. */
  readonly api: { readonly host: string; readonly url: string };
  /** A float64: how far the backbone's clock is ahead of the host's, ms. */
  readonly clock: SharedArrayBuffer;
  readonly onLog: (line: string) => void;
}

export interface Call {
  /** JSON text. */
  readonly event: string;
  readonly requestId: string;
  /** By which it was called. */
  readonly arn: string;
}

export interface CallError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace?: readonly string[];
}
export type CallOutcome = { readonly payload: string } | { readonly error: CallError };
type Message = CallOutcome | { readonly ready: true };

/** To load a package. Lambda gives it 10 s; this machine may be busy with other things. */
const LOAD_MS_MAX = 60_000;

/** A thread that runs a function's package, with variables of its own, and no other of this process. */
export class Environment {
  readonly #worker: Worker;
  readonly #loaded: Promise<unknown>;
  #settle: ((outcome: CallOutcome) => void) | undefined;
  #ended: CallError | undefined;

  constructor({ variables, memoryMb, onLog, file, exportName, endpoint, api, clock }: EnvironmentOptions) {
    const workerData = { file, exportName, endpoint, api, clock };
    this.#worker = new Worker(new URL('environment.mjs', import.meta.url), {
      ...{ env: { ...variables }, execArgv: [], argv: [], stdout: true, stderr: true, workerData },
      resourceLimits: { maxOldGenerationSizeMb: memoryMb },
    });
    for (const stream of [this.#worker.stdout, this.#worker.stderr]) {
      createInterface({ input: stream }).on('line', onLog);
    }
    this.#loaded = new Promise<void>((resolve) => {
      this.#worker.once('message', () => resolve()); // that it is ready
      this.#worker.once('exit', () => resolve());
    });
    this.#worker.on('message', (message: Message) => {
      if (!('ready' in message)) this.#settle?.(message);
    });
    this.#worker.on('error', (error: Error) => this.#end({ errorType: error.name, errorMessage: error.message }));
    this.#worker.on('exit', (code) =>
      this.#end({ errorType: 'Runtime.ExitError', errorMessage: `Runtime exited with error: exit status ${code}` }),
    );
    this.#worker.unref();
  }

  /** Whether it can take another event. */
  get isUsable(): boolean {
    return this.#ended === undefined;
  }

  /** Handles one event; only when the one before is through. Who takes longer than `timeoutMs` is ended. */
  async handle(call: Call, timeoutMs: number): Promise<CallOutcome> {
    await this.#within(LOAD_MS_MAX, this.#loaded);
    if (this.#ended) return { error: this.#ended };
    const handled = new Promise<CallOutcome>((resolve) => {
      this.#settle = resolve;
      this.#worker.postMessage({ ...call, deadline: Date.now() + timeoutMs });
    });
    return this.#within(timeoutMs, handled);
  }

  async end(): Promise<void> {
    this.#end({ errorType: 'Runtime.ExitError', errorMessage: 'it was ended' });
    await this.#worker.terminate();
  }

  /** Waits for `work`; when that takes too long the thread is ended, which ends the work. */
  async #within<T>(limitMs: number, work: Promise<T>): Promise<T> {
    const timer = setTimeout(() => {
      const after = `${(limitMs / 1_000).toFixed(2)} seconds`;
      this.#end({ errorType: 'Sandbox.Timedout', errorMessage: `Error: Task timed out after ${after}` });
      void this.#worker.terminate();
    }, limitMs);
    return work.finally(() => {
      clearTimeout(timer);
      this.#settle = undefined;
    });
  }

  #end(error: CallError): void {
    this.#ended ??= error;
    this.#settle?.({ error: this.#ended });
  }
}
