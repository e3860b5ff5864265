import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  type QueueAttributeName,
  SendMessageBatchCommand,
  type SendMessageBatchRequestEntry,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { WAKE_DELAY_MS_MAX } from '../domain/limits.ts';
import type { Removal } from '../domain/removal.ts';
import { type AsideEvent, sentOn, type WakeUp } from '../domain/wake-up.ts';
import { readOutcome, WriteAttempts } from './dynamo.ts';
import { intentKey, LAYOUT_VERSION, logKey, parseLogItemKey, uploadLogKey } from './keys.ts';

/*
 * A message, as JSON: {"v": "1", "removed": [[log, last, expired], …]} or {"v": "1", "wake": {topicId, partition, …}}
 *
 *   log, last   key of the item that is gone from the Log table
 *   expired     1 when it is known that its time was up, else 0
 *   wake        a `WakeUp`
 *
 * Or Lambda's own record of a wake-up that was handed aside, and whose function died, or never began:
 * {"requestPayload": {"aside": {topicId, partition, …}}, …}. Source: AWS Lambda, "Capturing records of asynchronous invocations".
 */

/** Removals in one message: about 25 KB, less than half of what SQS bills as one. */
const REMOVALS_PER_MESSAGE = 500;
/** Source: AWS, SQS quotas, "Entries in a batch request". */
const MESSAGES_PER_BATCH = 10;

/** How many messages wait, are being worked off, or are kept back: what the queue knows may be a minute old. */
const COUNTS: QueueAttributeName[] = [
  'ApproximateNumberOfMessages',
  'ApproximateNumberOfMessagesNotVisible',
  'ApproximateNumberOfMessagesDelayed',
];

/** What is used of an SQS client. */
export type SQS = Pick<SQSClient, 'send'>;

/** Work that could not be done at once. Standard queue: at least once, in any order. */
export class WakeQueue {
  readonly #sqs: SQS;
  readonly #url: string;

  constructor(sqs: SQS, url: string) {
    this.#sqs = sqs;
    this.#url = url;
  }

  /** Hands removals on to be followed later. @throws {WriteFailed} some may have been handed on */
  async sendRemovals(removals: readonly Removal[]): Promise<void> {
    const entries: { MessageBody: string }[] = [];
    for (let i = 0; i < removals.length; i += REMOVALS_PER_MESSAGE) {
      entries.push({ MessageBody: encodeRemovals(removals.slice(i, i + REMOVALS_PER_MESSAGE)) });
    }
    await this.#send(entries);
  }

  /**
   * Wakes subscriptions. The queue shares its consumers out among them: a subscription that is slow keeps no other waiting.
   *
   * @param delayMs at most `WAKE_DELAY_MS_MAX` @throws {WriteFailed} some may have been sent
   */
  async wake(wakeUps: readonly WakeUp[], delayMs = 0): Promise<void> {
    await this.#send(
      wakeUps.map((wakeUp) => ({
        MessageBody: encodeWakeUp(wakeUp),
        MessageGroupId: wakeUp.to?.group.id ?? wakeUp.topicId,
        ...(delayMs > 0 && { DelaySeconds: Math.ceil(Math.min(delayMs, WAKE_DELAY_MS_MAX) / 1_000) }),
      })),
    );
  }

  /** Whether nothing is left to be worked off, as far as the queue knows. @throws {Throttled | Unavailable} */
  async isEmpty(): Promise<boolean> {
    const command = new GetQueueAttributesCommand({ QueueUrl: this.#url, AttributeNames: COUNTS });
    const { Attributes = {} } = await readOutcome(this.#sqs.send(command));
    return COUNTS.every((count) => Number(Attributes[count] ?? 0) === 0);
  }

  async #send(messages: readonly Omit<SendMessageBatchRequestEntry, 'Id'>[]): Promise<void> {
    for (let i = 0; i < messages.length; i += MESSAGES_PER_BATCH) {
      const Entries = messages.slice(i, i + MESSAGES_PER_BATCH).map((message, n) => ({ Id: String(n), ...message }));
      const command = new SendMessageBatchCommand({ QueueUrl: this.#url, Entries });
      const { Failed = [] } = await new WriteAttempts(command).outcome(this.#sqs.send(command));
      // Success may have a remainder.
      if (Failed.length > 0) throw new Error(`${Failed.length} messages were not taken: ${Failed[0]?.Code}`);
    }
  }

  /** Lets a message that was received come back only after this time. @throws {WriteFailed} */
  async delay(receiptHandle: string, seconds: number): Promise<void> {
    const command = new ChangeMessageVisibilityCommand({
      QueueUrl: this.#url,
      ReceiptHandle: receiptHandle,
      VisibilityTimeout: seconds,
    });
    await new WriteAttempts(command).outcome(this.#sqs.send(command));
  }
}

export function encodeRemovals(removals: readonly Removal[]): string {
  const removed = removals.map((removal) => [...keyOf(removal), removal.expired ? 1 : 0]);
  return JSON.stringify({ v: LAYOUT_VERSION, removed });
}

export function encodeWakeUp(wakeUp: WakeUp): string {
  return JSON.stringify({ v: LAYOUT_VERSION, wake: wakeUp });
}

/** @returns undefined for what is no wake-up: another message of ours, or none */
export function decodeWakeUp(body: string): WakeUp | undefined {
  const { v, wake, requestPayload } = JSON.parse(body) as { v?: unknown; wake?: WakeUp; requestPayload?: AsideEvent };
  if (requestPayload !== undefined) return sentOn(requestPayload.aside);
  return v === LAYOUT_VERSION ? wake : undefined;
}

/** @throws {Error} when the message is none of ours */
export function decodeRemovals(body: string): Removal[] {
  const { v, removed } = JSON.parse(body) as { v?: unknown; removed?: unknown };
  if (v !== LAYOUT_VERSION || !Array.isArray(removed)) throw new Error('a message of the wake queue is not understood');
  return removed.map(([log, last, expired]) => removalOf(String(log), Number(last), expired === 1));
}

function keyOf(removal: Removal): [log: string, last: number] {
  if (removal.kind === 'upload') return [uploadLogKey(removal), 0];
  return [removal.kind === 'slot' ? logKey(removal) : intentKey(removal), removal.last];
}

/** What is gone when the item of this key is. @throws {Error} when it is no key of the Log table */
export function removalOf(log: string, last: number, expired: boolean): Removal {
  return { ...parseLogItemKey(log, last), expired };
}
