import { ACCOUNT } from '../dynamodb/store-view.ts';
import type { JsonAnswer } from '../json-service.ts';
import { attributesMd5, bytesOf, contentOf, MESSAGE_BYTES_MAX, md5 } from './message.ts';
import { type Queue, VISIBILITY_SECONDS_MAX } from './queue.ts';
import { arnOf, numberOf } from './queue-attributes.ts';
import type { Queues } from './queues.ts';
import { receive } from './receive.ts';
import { missing, SqsError, wholeNumber } from './sqs-error.ts';

type Input = Record<string, unknown>;
type Operation = (input: Input, signal: AbortSignal | undefined) => unknown;

/** Source: AWS, SQS quotas, "Entries in a batch request". */
const BATCH_MAX = 10;

/** SQS over its JSON protocol: standard queues. */
export class Sqs {
  readonly #queues: Queues;
  readonly #endpoint: () => string;
  readonly #operations: Record<string, Operation> = {
    CreateQueue: async ({ QueueName, Attributes }) => {
      await this.#queues.create(text(QueueName, 'QueueName'), Attributes);
      return { QueueUrl: this.#urlOf(QueueName as string) };
    },
    GetQueueUrl: ({ QueueName }) => ({ QueueUrl: this.#urlOf(this.#queues.named(text(QueueName, 'QueueName')).name) }),
    ListQueues: ({ QueueNamePrefix }) => ({
      QueueUrls: this.#queues.names((QueueNamePrefix as string | undefined) ?? '').map((name) => this.#urlOf(name)),
    }),
    DeleteQueue: (input) => this.#queues.delete(this.#queue(input)),
    PurgeQueue: (input) => this.#queue(input).purge(),
    GetQueueAttributes: (input) => ({ Attributes: attributesOf(this.#queue(input), input.AttributeNames) }),
    SetQueueAttributes: (input) => this.#queues.setAttributes(this.#queue(input), input.Attributes),
    SendMessage: (input) => send(this.#queue(input), input),
    SendMessageBatch: (input) => {
      const queue = this.#queue(input);
      const bytes = entriesOf(input).reduce((sum, entry) => sum + sizeOf(entry), 0);
      if (bytes > MESSAGE_BYTES_MAX) {
        throw new SqsError(
          'BatchRequestTooLong',
          `Batch requests cannot be longer than ${MESSAGE_BYTES_MAX} bytes. You have sent ${bytes} bytes.`,
        );
      }
      return each(input, (entry) => send(queue, entry));
    },
    ReceiveMessage: async (input, signal) => ({
      Messages: await receive(this.#queue(input), this.#queues, input, signal),
    }),
    DeleteMessage: (input) => this.#queue(input).delete(text(input.ReceiptHandle, 'ReceiptHandle')),
    DeleteMessageBatch: (input) => {
      const queue = this.#queue(input);
      return each(input, (entry) => queue.delete(text(entry.ReceiptHandle, 'ReceiptHandle')));
    },
    ChangeMessageVisibility: (input) => changeVisibility(this.#queue(input), input),
    ChangeMessageVisibilityBatch: (input) => {
      const queue = this.#queue(input);
      return each(input, (entry) => changeVisibility(queue, entry));
    },
  };

  constructor(queues: Queues, endpoint: () => string) {
    this.#queues = queues;
    this.#endpoint = endpoint;
  }

  async run(name: string, body: unknown, signal: AbortSignal | undefined): Promise<JsonAnswer> {
    try {
      const operation = Object.hasOwn(this.#operations, name) ? this.#operations[name] : undefined;
      if (!operation) throw new SqsError('UnsupportedOperation', `The embedded queues do not know ${name}`);
      return { status: 200, body: (await operation(body as Input, signal)) ?? {} };
    } catch (error) {
      if (!(error instanceof SqsError)) console.error(`${name} failed:`, error);
      const { code, message, statusCode } =
        error instanceof SqsError ? error : new SqsError('InternalError', 'an internal error occurred', 500);
      return { status: statusCode, body: { __type: `com.amazonaws.sqs#${code}`, message } };
    }
  }

  /** The queue that a URL names; host and port do not matter, since they change. */
  #queue({ QueueUrl }: Input): Queue {
    return this.#queues.named(text(QueueUrl, 'QueueUrl').split('/').at(-1)!);
  }

  #urlOf(queue: string): string {
    return `${this.#endpoint()}/${ACCOUNT}/${queue}`;
  }
}

function text(value: unknown, parameter: string): string {
  if (typeof value !== 'string' || value === '') throw missing(parameter);
  return value;
}

async function send(queue: Queue, input: Input): Promise<unknown> {
  const content = contentOf(input, numberOf(queue.attributes, 'MaximumMessageSize'));
  const delaySeconds = wholeNumber(
    input.DelaySeconds,
    'DelaySeconds',
    0,
    900,
    numberOf(queue.attributes, 'DelaySeconds'),
  );
  const { id } = await queue.send(content, delaySeconds);
  return {
    MessageId: id,
    MD5OfMessageBody: md5(content.body),
    MD5OfMessageAttributes: attributesMd5(content.attributes),
  };
}

function sizeOf({ MessageBody, MessageAttributes }: Input): number {
  return bytesOf({
    body: String(MessageBody ?? ''),
    attributes: (MessageAttributes ?? {}) as Parameters<typeof bytesOf>[0]['attributes'],
  });
}

function changeVisibility(queue: Queue, input: Input): Promise<void> {
  if (input.VisibilityTimeout === undefined) throw missing('VisibilityTimeout');
  const seconds = wholeNumber(input.VisibilityTimeout, 'VisibilityTimeout', 0, VISIBILITY_SECONDS_MAX, 0);
  return queue.changeVisibility(text(input.ReceiptHandle, 'ReceiptHandle'), seconds);
}

function entriesOf({ Entries }: Input): (Input & { Id: string })[] {
  const entries = (Entries ?? []) as (Input & { Id: string })[];
  if (entries.length === 0)
    throw new SqsError('EmptyBatchRequest', 'There should be at least one entry in the request.');
  if (entries.length > BATCH_MAX) {
    throw new SqsError(
      'TooManyEntriesInBatchRequest',
      `Maximum number of entries per request are ${BATCH_MAX}. You have sent ${entries.length}.`,
    );
  }
  const illegal = entries.find(({ Id }) => typeof Id !== 'string' || !/^[A-Za-z0-9_-]{1,80}$/.test(Id));
  if (illegal)
    throw new SqsError(
      'InvalidBatchEntryId',
      'A batch entry id can only contain alphanumeric characters, hyphens and underscores. It can be at most 80 letters long.',
    );
  if (new Set(entries.map(({ Id }) => Id)).size < entries.length) {
    throw new SqsError('BatchEntryIdsNotDistinct', 'Two or more batch entries in the request have the same Id.');
  }
  return entries;
}

/** Does each entry by itself: one that is refused does not hold up the others. */
async function each(input: Input, run: (entry: Input) => Promise<unknown>): Promise<unknown> {
  const Successful: unknown[] = [];
  const Failed: unknown[] = [];
  for (const entry of entriesOf(input)) {
    const { Id } = entry;
    try {
      Successful.push({ Id, ...((await run(entry)) as object | undefined) });
    } catch (error) {
      if (!(error instanceof SqsError)) throw error;
      Failed.push({ Id, Code: error.code, Message: error.message, SenderFault: true });
    }
  }
  return { Successful, Failed };
}

function attributesOf(queue: Queue, names: unknown): Record<string, string> {
  const { visible, inFlight, delayed } = queue.counts();
  const all: Record<string, string> = {
    ...queue.attributes,
    QueueArn: arnOf(queue.name),
    CreatedTimestamp: String(Math.floor(queue.createdAt / 1_000)),
    ApproximateNumberOfMessages: String(visible),
    ApproximateNumberOfMessagesNotVisible: String(inFlight),
    ApproximateNumberOfMessagesDelayed: String(delayed),
  };
  const asked = (names ?? []) as string[];
  const known = [
    ...Object.keys(all),
    'All',
    'RedrivePolicy',
    'Policy',
    'LastModifiedTimestamp',
    'KmsMasterKeyId',
    'SqsManagedSseEnabled',
  ];
  const unknown = asked.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new SqsError('InvalidAttributeName', `Unknown Attribute ${unknown}.`);
  return Object.fromEntries(Object.entries(all).filter(([name]) => asked.includes('All') || asked.includes(name)));
}
