import { SIGNATURE_LIFE_MS, STORE_ATTEMPT_TIMEOUT_MS } from '../../../shared/domain/limits.ts';
import type { Observation } from '../../../shared/domain/observation.ts';
import type { Host } from './host.ts';
import type { Fate } from './network.ts';
import type { Scheduler } from './scheduler.ts';
import type { Outcome } from './tables.ts';

/** Source: AWS SDK for JavaScript v3: three attempts, full jitter, 100 ms (DynamoDB: 50 ms) doubled each time. */
const ATTEMPTS_MAX = 3;
const BACKOFF_MS = 50;
/** The SDK corrects its clock when it finds it this far off. Source: the same, `isClockSkewed`. */
const CLOCK_CORRECTED_MS = 5 * 60_000;

/** What a client needs of the simulated world. */
export interface Wire {
  fate(host: Host, operation: string, input: object): Fate;
  /** Carries an attempt out, now. @returns undefined when it is too old to be listened to */
  arrive(host: Host, operation: string, input: object, signedAt: number): Promise<Outcome | undefined>;
  /** 0 ≤ n < 1. */
  chance(): number;
  observed(host: Host, observation: Observation): void;
}

type Handler = (args: { input: object; request: object }) => Promise<{ output: object; response: object }>;

interface Command {
  readonly input: object;
  readonly middlewareStack: {
    clone(): {
      add(middleware: (next: Handler) => Handler, options: { name: string; step: 'finalizeRequest' }): void;
      resolve(handler: Handler, context: object): Handler;
    };
  };
}

/**
 * A client of the AWS SDK as operations see it: attempts, each with a timeout of its own, pauses between them, and the
 * middleware that stores put behind the signature of every attempt.
 */
export class SimulatedClient {
  readonly config = { systemClockOffset: 0 };
  readonly #host: Host;
  readonly #scheduler: Scheduler;
  readonly #wire: Wire;

  constructor(host: Host, scheduler: Scheduler, wire: Wire) {
    this.#host = host;
    this.#scheduler = scheduler;
    this.#wire = wire;
  }

  async send(command: Command, options: { readonly requestTimeout?: number } = {}): Promise<object> {
    const operation = command.constructor.name.replace(/Command$/, '');
    const input = this.#host.sent(operation, command.input);
    let signedAt = 0;
    const stack = command.middlewareStack.clone();
    stack.add(
      (next) => (args) => {
        signedAt = this.#now();
        return next(args);
      },
      { name: 'httpSigningMiddleware', step: 'finalizeRequest' },
    );
    const attempt = stack.resolve(async () => {
      return { output: await this.#attempt(operation, input, signedAt, options.requestTimeout), response: {} };
    }, {});
    for (let attempts = 1; ; attempts++) {
      try {
        return (await attempt({ input, request: {} })).output;
      } catch (error) {
        if (attempts === ATTEMPTS_MAX || !isRetried(error)) throw error;
        const pauseMs = Math.floor(this.#wire.chance() * BACKOFF_MS * 2 ** attempts);
        await new Promise<void>((resolve) => this.#scheduler.after(pauseMs, '', () => this.#host.wake(resolve)));
      }
    }
  }

  #attempt(operation: string, input: object, signedAt: number, timeoutMs = STORE_ATTEMPT_TIMEOUT_MS): Promise<object> {
    const { there, back, requestLost, answerLost, refused, carriedOut } = this.#wire.fate(this.#host, operation, input);
    const scheduler = this.#scheduler;
    return new Promise((resolve, reject) => {
      let over = false;
      const end = (how: () => void) =>
        this.#host.wake(() => {
          if (over) return;
          over = true;
          how();
        });
      const timeout = Object.assign(new Error('no answer in time'), { name: 'TimeoutError' });
      scheduler.after(timeoutMs, '', () => end(() => reject(timeout)));
      if (requestLost) return scheduler.note(() => `${this.#host.name} ${operation} is lost`);
      scheduler.after(there, '', async () => {
        const error = refused === undefined ? undefined : refusal(refused);
        const done = carriedOut ? await this.#wire.arrive(this.#host, operation, input, signedAt) : undefined;
        const outcome = error === undefined ? done : { error };
        if (outcome === undefined) return;
        const date = Math.floor(scheduler.now / 1_000) * 1_000;
        if (answerLost) return scheduler.note(() => `${this.#host.name} ${operation} is not answered`);
        scheduler.after(back, '', () =>
          end(() => {
            this.#learnTime(date);
            if ('error' in outcome) reject(outcome.error);
            else resolve(outcome.output);
          }),
        );
      });
    });
  }

  #now(): number {
    return this.#host.now() + this.config.systemClockOffset;
  }

  #learnTime(date: number): void {
    if (Math.abs(date - this.#now()) >= CLOCK_CORRECTED_MS) this.config.systemClockOffset = date - this.#host.now();
  }
}

/** AWS refuses what was signed too long ago, or in the future. */
export function isStale(signedAt: number, now: number): boolean {
  return Math.abs(now - Math.floor(signedAt / 1_000) * 1_000) > SIGNATURE_LIFE_MS;
}

function refusal(kind: 'throttled' | 'internal-error'): Error {
  if (kind === 'throttled') return named('ProvisionedThroughputExceededException', 400);
  return named('InternalServerError', 500);
}

function named(name: string, httpStatusCode: number): Error {
  return Object.assign(new Error(name), { name, $metadata: { httpStatusCode } });
}

function isRetried(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error.name === 'TimeoutError' || error.name === 'ProvisionedThroughputExceededException') return true;
  const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
  return ($metadata?.httpStatusCode ?? 0) >= 500;
}
