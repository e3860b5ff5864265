import { ACCOUNT } from '../dynamodb/store-view.ts';
import { attributesMd5, type MessageAttribute, md5 } from './message.ts';
import { type Message, type Queue, VISIBILITY_SECONDS_MAX } from './queue.ts';
import { arnOf, numberOf, redrivePolicyOf } from './queue-attributes.ts';
import type { Queues } from './queues.ts';
import { wholeNumber } from './sqs-error.ts';

type Input = Record<string, unknown>;

/** ReceiveMessage: waits for a message as long as it was asked to, and sends aside what was received too often. */
export async function receive(
  queue: Queue,
  queues: Queues,
  input: Input,
  signal: AbortSignal | undefined,
): Promise<unknown[] | undefined> {
  const { attributes } = queue;
  const most = wholeNumber(input.MaxNumberOfMessages, 'MaxNumberOfMessages', 1, 10, 1);
  const absentVisibility = numberOf(attributes, 'VisibilityTimeout');
  const visibility = wholeNumber(
    input.VisibilityTimeout,
    'VisibilityTimeout',
    0,
    VISIBILITY_SECONDS_MAX,
    absentVisibility,
  );
  const absentWait = numberOf(attributes, 'ReceiveMessageWaitTimeSeconds');
  const waitMs = 1_000 * wholeNumber(input.WaitTimeSeconds, 'WaitTimeSeconds', 0, 20, absentWait);

  const end = performance.now() + waitMs;
  for (;;) {
    const taken = await queue.take(most, visibility);
    const kept = await withoutDead(taken, queue, queues);
    if (kept.length > 0) return kept.map((message) => answerOf(message, input));
    const left = end - performance.now();
    if (taken.length === 0) {
      if (left <= 0 || signal?.aborted || !queues.has(queue)) return undefined;
      await queue.wait(left, signal);
    }
  }
}

/** Moves messages that were received more often than the queue allows to its dead-letter queue. */
async function withoutDead(taken: Message[], queue: Queue, queues: Queues): Promise<Message[]> {
  const policy = redrivePolicyOf(queue.attributes);
  const target = policy && queues.find(policy.target);
  if (!policy || !target) return taken;
  const dead = taken.filter(({ delivery }) => delivery.receives > policy.maxReceiveCount);
  if (dead.length > 0) await queue.move(dead, target, { DeadLetterQueueSourceArn: arnOf(queue.name) });
  return taken.filter((message) => !dead.includes(message));
}

function answerOf({ id, content, sentAt, delivery }: Message, input: Input): unknown {
  const attributes = selected(content.attributes, (input.MessageAttributeNames ?? []) as string[]);
  const system: Record<string, string> = {
    SenderId: ACCOUNT,
    SentTimestamp: String(sentAt),
    ApproximateReceiveCount: String(delivery.receives),
    ApproximateFirstReceiveTimestamp: String(delivery.firstReceivedAt),
    ...content.system,
  };
  const asked = [
    ...((input.MessageSystemAttributeNames ?? []) as string[]),
    ...((input.AttributeNames ?? []) as string[]),
  ];
  const shown = Object.entries(system).filter(([name]) => asked.includes('All') || asked.includes(name));
  return {
    MessageId: id,
    ReceiptHandle: delivery.receipt,
    Body: content.body,
    MD5OfBody: md5(content.body),
    ...(shown.length > 0 && { Attributes: Object.fromEntries(shown) }),
    ...(Object.keys(attributes).length > 0 && {
      MessageAttributes: attributes,
      MD5OfMessageAttributes: attributesMd5(attributes),
    }),
  };
}

/** Attributes by name, by `prefix.*`, or all of them (`All`, `.*`). */
function selected(attributes: Readonly<Record<string, MessageAttribute>>, names: readonly string[]) {
  const wanted = (own: string) =>
    names.some((name) => name === 'All' || name === own || (name.endsWith('.*') && own.startsWith(name.slice(0, -2))));
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => wanted(name)));
}
