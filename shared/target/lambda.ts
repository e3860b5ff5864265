import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import {
  type Delivered,
  type DeliveryBatch,
  deliveryError,
  type LinkPayload,
  type ReadAnswer,
  type RecordText,
  type Target,
  type Verdict,
} from '../domain/delivery.ts';
import { TARGET_CALL_BYTES_MAX } from '../domain/limits.ts';
import { byDeadline, refusalOf } from './aws-errors.ts';
import { fitOneCall } from './fitting.ts';

/** What became of a call to a function. */
export interface FunctionAnswer {
  /** What it returned, or, when it failed, `{"errorType", "errorMessage"}`: a JSON text, or empty. */
  readonly payload: string;
  /** It threw, ran out of time or memory, or could not start. */
  readonly failed: boolean;
}

/** How long a call is waited for. */
export interface CallLimit {
  /** Epoch ms. */
  readonly deadline: number;
  /** Aborts at the deadline. */
  readonly signal: AbortSignal;
}

/** Functions that can be called and waited for. Each call is one attempt. */
export interface Functions {
  /** @throws what the service refused it with, or the network, or the limit */
  invoke(functionArn: string, payload: string, limit: CallLimit): Promise<FunctionAnswer>;
}

/** AWS's. The client must make one attempt alone: a repetition could overlap with the call it repeats. */
export class LambdaFunctions implements Functions {
  readonly #client: Pick<LambdaClient, 'send'>;

  constructor(client: Pick<LambdaClient, 'send'>) {
    this.#client = client;
  }

  async invoke(functionArn: string, payload: string, { signal }: CallLimit): Promise<FunctionAnswer> {
    const command = new InvokeCommand({
      FunctionName: functionArn,
      InvocationType: 'RequestResponse',
      Payload: Buffer.from(payload),
    });
    const { FunctionError, Payload } = await this.#client.send(command, { abortSignal: signal });
    return { payload: Payload?.transformToString() ?? '', failed: FunctionError !== undefined };
  }
}

/** What is said of connections that were never made. */
const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];

export interface LambdaTargetOptions {
  readonly functionArn: string;
  readonly record: RecordText;
  /** The whole event. @param records each by `record` */
  readonly event: (batch: DeliveryBatch, records: readonly string[]) => string;
  readonly readAnswer: ReadAnswer;
  readonly link?: LinkPayload;
}

/** A function that is called with the event of AWS's Kafka event source and waited for. */
export class LambdaTarget implements Target {
  readonly #functions: Functions;
  readonly #options: LambdaTargetOptions;

  constructor(functions: Functions, options: LambdaTargetOptions) {
    this.#functions = functions;
    this.#options = options;
  }

  async send(batch: DeliveryBatch, deadline: number): Promise<Delivered> {
    const { event, record, link } = this.#options;
    const room = TARGET_CALL_BYTES_MAX - Buffer.byteLength(event(batch, []));
    const call = await fitOneCall(batch, room, { text: record, ...(link && { link }) });
    if (call.texts.length === 0) return { kind: 'too_large', at: call.next! };
    const delivered = await this.#invoke(call.batch, event(batch, call.texts), deadline);
    return delivered.kind === 'done' && call.next !== undefined ? { kind: 'part', next: call.next } : delivered;
  }

  async #invoke(batch: DeliveryBatch, payload: string, deadline: number): Promise<Delivered> {
    let aborted = false;
    try {
      const answer = await byDeadline(deadline, (signal) => {
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        return this.#functions.invoke(this.#options.functionArn, payload, { deadline, signal });
      });
      return answer.failed ? thrown(answer.payload) : this.#read(answer.payload, batch);
    } catch (error) {
      // It took the call: that is the function's fault, not that of the way to it.
      if (aborted) return { kind: 'failed', error: deliveryError('Timeout', 'the function did not answer in time') };
      const refusal = refusalOf(error);
      if (refusal.kind !== 'away' || !mayHaveArrived(error)) return refusal;
      // The function may be at it: not before its time is over does the next call begin.
      return { ...refusal, retryAfterMs: Math.max(0, deadline - Date.now()) };
    }
  }

  #read(payload: string, batch: DeliveryBatch): Verdict {
    if (payload === '') return this.#options.readAnswer(undefined, batch);
    try {
      return this.#options.readAnswer(JSON.parse(payload), batch);
    } catch {
      return { kind: 'failed', error: deliveryError('InvalidAnswer', 'the function answered no JSON') };
    }
  }
}

/** Whether a connection was lost on which the call may have gone out. */
function mayHaveArrived(error: unknown): boolean {
  const { code, $metadata } = error as { code?: string; $metadata?: { httpStatusCode?: number } };
  return $metadata?.httpStatusCode === undefined && !NEVER_SENT.includes(code ?? '');
}

function thrown(payload: string): Verdict {
  try {
    const { errorType, errorMessage } = JSON.parse(payload) as { errorType?: unknown; errorMessage?: unknown };
    return { kind: 'failed', error: deliveryError(String(errorType ?? 'Error'), String(errorMessage ?? '')) };
  } catch {
    return { kind: 'failed', error: deliveryError('Error', payload) };
  }
}
