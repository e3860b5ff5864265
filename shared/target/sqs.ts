import { createHash } from 'node:crypto';
import { SendMessageBatchCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Delivered, DeliveryBatch, DeliveryRecord, LinkPayload, RecordText, Target } from '../domain/delivery.ts';
import { SQS_BATCH_BYTES_MAX, SQS_BATCH_ENTRIES_MAX } from '../domain/limits.ts';
import { type RefusedEntry, sendEntries } from './entries.ts';
import type { Fitted } from './fitting.ts';

/** What a FIFO queue's ids may be. Source: AWS, SQS, "SendMessage", `MessageGroupId`. */
const PLAIN_ID = /^[A-Za-z0-9!"#$%&'()*+,\-./:;<=>?@[\\\]^_`{|}~]{1,128}$/;
/** A key that no id can be stands by its hash. */
const HASHED = 'sha256:';
/** Keyless records of a partition are one group of their own. */
const KEYLESS = 'partition:';

export interface SqsTargetOptions {
  readonly queueUrl: string;
  /** The message's body: none of the characters that SQS refuses. */
  readonly record: RecordText;
  readonly link?: LinkPayload;
}

/** A queue, to which each record goes as a message. A FIFO queue keeps the order of each key, or of the partition. */
export class SqsTarget implements Target {
  readonly #sqs: Pick<SQSClient, 'send'>;
  readonly #options: SqsTargetOptions;
  readonly #fifo: boolean;

  constructor(sqs: Pick<SQSClient, 'send'>, options: SqsTargetOptions) {
    this.#sqs = sqs;
    this.#options = options;
    this.#fifo = options.queueUrl.endsWith('.fifo');
  }

  send(batch: DeliveryBatch, deadline: number): Promise<Delivered> {
    const { record, link } = this.#options;
    return sendEntries(batch, deadline, {
      text: record,
      ...(link && { link }),
      entriesMax: SQS_BATCH_ENTRIES_MAX,
      bytesMax: SQS_BATCH_BYTES_MAX,
      overheadBytes: 0, // there are no message attributes
      send: (entries, signal) => this.#call(batch, entries, signal),
    });
  }

  async #call(batch: DeliveryBatch, entries: readonly Fitted[], signal: AbortSignal): Promise<RefusedEntry[]> {
    const command = new SendMessageBatchCommand({
      QueueUrl: this.#options.queueUrl,
      Entries: entries.map(({ record, text }, i) => ({
        Id: String(i),
        MessageBody: text,
        ...(this.#fifo && {
          MessageGroupId: messageGroupId(batch, record),
          MessageDeduplicationId: deduplicationId(batch, record),
        }),
      })),
    });
    const { Failed = [] } = await this.#sqs.send(command, { abortSignal: signal });
    return Failed.map(({ Id, Code = 'Unknown', Message = '' }) => ({
      index: Number(Id),
      code: Code,
      message: Message,
    }));
  }
}

function messageGroupId({ topicId, partition }: DeliveryBatch, { key }: DeliveryRecord): string {
  if (key === null) return `${KEYLESS}${topicId}.${partition}`;
  const text = Buffer.from(key).toString('latin1');
  return PLAIN_ID.test(text) ? text : HASHED + createHash('sha256').update(key).digest('hex');
}

/** The same when a record is sent again, so that the queue drops it; another once it was redriven, so that it does not. */
function deduplicationId(
  { group, topicId, partition }: DeliveryBatch,
  { offset, redrives = 0 }: DeliveryRecord,
): string {
  return `${group.id}.${topicId}.${partition}.${offset}.${redrives}`;
}
