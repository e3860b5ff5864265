import { setTimeout as sleep } from 'node:timers/promises';
import { DeleteMessageCommand, type Message, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { DeliverHandler } from '../functions/deliver.ts';
import type { DispatchHandler } from '../functions/dispatch.ts';
import type { SweepHandler } from '../functions/sweep.ts';
import {
  BACKGROUND_FUNCTION_TIMEOUT_MS,
  DELIVER_FUNCTION_TIMEOUT_MS,
  OBJECTS_PER_DELETE_MAX,
} from '../shared/domain/limits.ts';
import type { EmbeddedAws } from './aws/embedded-aws.ts';
import { queueEvent, streamEvent, type ToldChange } from './events.ts';

export interface BackgroundOptions {
  readonly aws: EmbeddedAws;
  readonly sqs: SQSClient;
  readonly logTable: string;
  readonly wakeQueueUrl: string;
  readonly dispatch: DispatchHandler;
  readonly deliver: DeliverHandler;
  readonly sweep: SweepHandler;
  /** Told of a function that threw, by its name. */
  readonly onFailure: (name: string, error: unknown) => void;
  /** Time between two runs of the sweep. Default a minute. */
  readonly sweepEveryMs?: number;
}

export interface Background {
  /** One run of the sweep, now. A failure is told as always. */
  sweep(): Promise<void>;
  /** Begins nothing new and waits for what is under way. */
  close(): Promise<void>;
}

/** Changes are gathered for this long. In AWS it is a minute; here somebody may be looking. */
const GATHER_MS = 200;
/** Pause after a failure, which doubles up to the second one. */
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 60_000;
const SWEEP_EVERY_MS = 60_000;
/** Source: AWS, SQS, "Maximum long-polling wait time". */
const RECEIVE_WAIT_S = 20;
/** Messages that are worked off at once: in AWS, each by an invocation of its own. */
const MESSAGES_PARALLEL_MAX = 200;
/** How long the end waits for deliveries that are under way: their positions tell the next process what is left. */
const END_WAIT_MS = 1_000;

/**
 * Calls the functions that work in the background as their event sources do: the log's stream, the wake queue, the
 * clock. Nothing here keeps the process alive. What it had not come to when it was killed the next one takes up.
 */
export function startBackground(options: BackgroundOptions): Background {
  const ending = new AbortController();
  const sources = [
    followRemovals(options, ending.signal),
    followInserts(options, ending.signal),
    workQueue(options, ending.signal),
  ];
  const runs = new Set<Promise<void>>();
  const sweep = (): Promise<void> => {
    const run = options
      .sweep({}, contextNow())
      .catch((error: unknown) => options.onFailure('sweep', error))
      .finally(() => runs.delete(run));
    runs.add(run);
    return run;
  };
  const timer = setInterval(sweep, options.sweepEveryMs ?? SWEEP_EVERY_MS).unref();
  return {
    sweep,
    async close() {
      clearInterval(timer);
      ending.abort();
      await Promise.all([...sources, ...runs]);
    },
  };
}

/** Hands removals on in the order in which they came; what fails is handed on again, and what came after it waits. */
async function followRemovals(options: BackgroundOptions, ending: AbortSignal): Promise<void> {
  const journal = options.aws.journalRemovals(options.logTable);
  const waiting: ToldChange[] = [];
  let wake = () => {};
  const stop = options.aws.onChange(options.logTable, (record) => {
    if (record.eventName !== 'REMOVE') return;
    waiting.push(record);
    wake();
  });
  ending.addEventListener('abort', () => wake());
  // What the process before this one had not come to.
  waiting.push(...(await journal.pending()).map((Keys) => ({ eventName: 'REMOVE' as const, dynamodb: { Keys } })));
  let pauseMs = PAUSE_MS;
  while (!ending.aborted || waiting.length > 0) {
    if (waiting.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      await pause(GATHER_MS, ending);
      continue;
    }
    const batch = waiting.slice(0, OBJECTS_PER_DELETE_MAX);
    try {
      await options.dispatch(streamEvent(batch), contextNow());
      waiting.splice(0, batch.length);
      await journal.forget(batch.map(({ dynamodb }) => dynamodb.Keys));
      pauseMs = PAUSE_MS;
    } catch (error) {
      options.onFailure('dispatch', error);
      if (ending.aborted) break;
      await pause(pauseMs, ending);
      pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX);
    }
  }
  stop();
}

/** Tells of what is new. What is not told is found by the sweep. */
async function followInserts(options: BackgroundOptions, ending: AbortSignal): Promise<void> {
  let waiting: ToldChange[] = [];
  let wake = () => {};
  const stop = options.aws.onChange(options.logTable, (record) => {
    if (record.eventName !== 'INSERT') return;
    waiting.push(record);
    wake();
  });
  ending.addEventListener('abort', () => wake());
  while (!ending.aborted) {
    if (waiting.length === 0) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
    await pause(GATHER_MS, ending);
    const batch = waiting;
    waiting = [];
    if (batch.length === 0 || ending.aborted) continue;
    await options.dispatch(streamEvent(batch), contextNow()).catch((error) => options.onFailure('dispatch', error));
  }
  stop();
}

/** Receives, hands on, and deletes what is done; the rest comes back by itself. None waits for another. */
async function workQueue(options: BackgroundOptions, ending: AbortSignal): Promise<void> {
  const atWork = new Set<Promise<void>>();
  while (!ending.aborted) {
    try {
      for (const message of await receive(options, ending)) {
        const work: Promise<void> = handOn(options, message)
          .catch((error) => (ending.aborted ? undefined : options.onFailure('deliver', error)))
          .finally(() => atWork.delete(work));
        atWork.add(work);
      }
    } catch (error) {
      if (ending.aborted) break;
      options.onFailure('deliver', error);
      await pause(PAUSE_MS, ending);
    }
    while (atWork.size >= MESSAGES_PARALLEL_MAX) await Promise.race(atWork);
  }
  await Promise.race([Promise.all(atWork), sleep(END_WAIT_MS, undefined, { ref: false })]);
}

async function receive({ sqs, wakeQueueUrl }: BackgroundOptions, ending: AbortSignal): Promise<Message[]> {
  const command = new ReceiveMessageCommand({
    QueueUrl: wakeQueueUrl,
    MaxNumberOfMessages: 10,
    MessageSystemAttributeNames: ['All'],
    WaitTimeSeconds: RECEIVE_WAIT_S,
  });
  return (await sqs.send(command, { abortSignal: ending })).Messages ?? [];
}

async function handOn({ sqs, wakeQueueUrl, deliver }: BackgroundOptions, message: Message): Promise<void> {
  const arn = `arn:aws:sqs:us-east-1:000000000000:${wakeQueueUrl.split('/').at(-1)}`;
  const { batchItemFailures } = await deliver(queueEvent([message], arn), contextNow(DELIVER_FUNCTION_TIMEOUT_MS));
  if (batchItemFailures.length > 0) return;
  await sqs.send(new DeleteMessageCommand({ QueueUrl: wakeQueueUrl, ReceiptHandle: message.ReceiptHandle }));
}

/** A function's time counts from its call. */
export function contextNow(timeoutMs = BACKGROUND_FUNCTION_TIMEOUT_MS): { getRemainingTimeInMillis(): number } {
  const end = Date.now() + timeoutMs;
  return { getRemainingTimeInMillis: () => Math.max(0, end - Date.now()) };
}

async function pause(ms: number, ending: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { ref: false, signal: ending }).catch(() => {});
}
