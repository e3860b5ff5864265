import { randomUUID } from 'node:crypto';
import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { API_FUNCTION_TIMEOUT_MS, LAMBDA_ANSWER_BYTES_MAX } from '../shared/domain/limits.ts';
import { type Answer, gatewayMessage, toAnswer } from './gateway-answer.ts';

export type LambdaHandler = (event: APIGatewayProxyEventV2, context: Context) => Promise<unknown>;

export interface Outcome {
  readonly answer: Answer;
  /** What the function threw, what was wrong with its result, or that it was cut off. */
  readonly error?: unknown;
}

/** Source: AWS Lambda, "Invocation payload, synchronous", 6 MB: the whole event as JSON. */
const EVENT_BYTES_MAX = 6 * 1024 * 1024;
/** Escapes make a JSON string at most six times as long: a body shorter than this need not be measured. */
const SURELY_SMALL_CHARS = 512 * 1024;

/**
 * Calls a function as the gateway does and makes its result an answer. Never rejects: a function that throws, answers
 * nonsense or answers too much is a 500; one that is cut off, by the time limit or by `signal`, is a 503 and runs on unheard.
 */
export function invoke(
  handler: LambdaHandler,
  name: string,
  event: APIGatewayProxyEventV2,
  limits: { readonly timeoutMs: number; readonly signal: AbortSignal },
): Promise<Outcome> {
  if (jsonBytes(event, event.body) > EVENT_BYTES_MAX) {
    return Promise.resolve({ answer: gatewayMessage(413, 'Request Entity Too Large') });
  }
  return new Promise((resolve) => {
    const finish = (outcome: Outcome) => {
      clearTimeout(timer);
      limits.signal.removeEventListener('abort', stop);
      resolve(outcome);
    };
    const cut = (why: string) => finish({ answer: gatewayMessage(503, 'Service Unavailable'), error: new Error(why) });
    const stop = () => cut('the server is shutting down');
    const timer = setTimeout(() => cut(`cut off after ${limits.timeoutMs} ms`), limits.timeoutMs);
    limits.signal.addEventListener('abort', stop);
    if (limits.signal.aborted) stop();
    callHandler(handler, name, event).then(finish);
  });
}

async function callHandler(handler: LambdaHandler, name: string, event: APIGatewayProxyEventV2): Promise<Outcome> {
  try {
    const result = await handler(event, contextOf(name));
    const body = (result as { body?: string } | null | undefined)?.body;
    if (jsonBytes(result, body) > LAMBDA_ANSWER_BYTES_MAX) throw new Error(`${name} answered more than 6 MB`);
    const answer = toAnswer(result);
    if (!answer) throw new Error(`${name} answered what is no HTTP answer`);
    return { answer };
  } catch (error) {
    return { answer: gatewayMessage(500, 'Internal Server Error'), error };
  }
}

/** Size of `whole` as JSON; 0 when its `body` is so short that it does not matter. */
function jsonBytes(whole: unknown, body: unknown): number {
  return typeof body !== 'string' || body.length < SURELY_SMALL_CHARS ? 0 : Buffer.byteLength(JSON.stringify(whole));
}

function contextOf(functionName: string): Context {
  const deadline = Date.now() + API_FUNCTION_TIMEOUT_MS;
  const nothing = () => {};
  return {
    callbackWaitsForEmptyEventLoop: true,
    functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: `arn:aws:lambda:us-east-1:000000000000:function:${functionName}`,
    memoryLimitInMB: '1024',
    awsRequestId: randomUUID(),
    logGroupName: `/aws/lambda/${functionName}`,
    logStreamName: 'local',
    getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()),
    done: nothing,
    fail: nothing,
    succeed: nothing,
  };
}
