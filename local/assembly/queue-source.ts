import type { Message } from '@aws-sdk/client-sqs';
import { queueEvent } from '../events.ts';
import { EventSource } from './event-source.ts';

/** Source: AWS, "Using Lambda with Amazon SQS": ten messages unless the mapping says otherwise. */
const BATCH_DEFAULT = 10;
/** Source: AWS, SQS, "Maximum long-polling wait time". */
const WAIT_S = 20;
/** Batches at once, at most. */
const CONCURRENCY_DEFAULT = 16;

/** Hands the messages of a queue to a function, batch by batch; what it does not name as failed is deleted. */
export class QueueSource extends EventSource {
  protected override async read(ending: AbortSignal): Promise<void> {
    const { properties, call } = this.options;
    const most = Math.min(properties.ScalingConfig?.MaximumConcurrency ?? CONCURRENCY_DEFAULT, CONCURRENCY_DEFAULT);
    const QueueUrl = this.#url;
    await call('AmazonSQS.GetQueueAttributes', { QueueUrl, AttributeNames: ['VisibilityTimeout'] });
    const atWork = new Set<Promise<void>>();
    while (!ending.aborted) {
      const { Messages } = await call(
        'AmazonSQS.ReceiveMessage',
        {
          ...{ QueueUrl, MessageSystemAttributeNames: ['All'], WaitTimeSeconds: WAIT_S },
          MaxNumberOfMessages: Math.min(properties.BatchSize ?? BATCH_DEFAULT, 10),
        },
        ending,
      ).catch((error: unknown) => {
        if (ending.aborted) return { Messages: [] };
        throw error;
      });
      const messages = (Messages ?? []) as Message[];
      if (messages.length > 0) {
        const work: Promise<void> = this.#handOn(messages)
          .catch((error) => this.tell(error))
          .finally(() => atWork.delete(work));
        atWork.add(work);
      }
      while (atWork.size >= most) await Promise.race(atWork);
    }
    await Promise.all(atWork);
  }

  async #handOn(messages: readonly Message[]): Promise<void> {
    const { fn, properties, call } = this.options;
    const { payload, failed } = await fn.invoke(JSON.stringify(queueEvent(messages, properties.EventSourceArn)));
    if (failed) {
      this.tell(payload);
      return;
    }
    const reports = properties.FunctionResponseTypes?.includes('ReportBatchItemFailures');
    const left = new Set(reports ? failuresIn(payload) : []);
    for (const { MessageId, ReceiptHandle } of messages) {
      if (!left.has(MessageId!)) await call('AmazonSQS.DeleteMessage', { QueueUrl: this.#url, ReceiptHandle });
    }
  }

  get #url(): string {
    return `/${this.options.properties.EventSourceArn.split(':').at(-1)}`;
  }
}

/** Ids of what a function names as failed. */
export function failuresIn(payload: string): string[] {
  const { batchItemFailures = [] } = (JSON.parse(payload) ?? {}) as {
    batchItemFailures?: readonly { readonly itemIdentifier: string }[];
  };
  return batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
}
