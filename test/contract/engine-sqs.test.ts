import {
  ChangeMessageVisibilityBatchCommand,
  ChangeMessageVisibilityCommand,
  CreateQueueCommand,
  type CreateQueueCommandInput,
  DeleteMessageBatchCommand,
  DeleteMessageCommand,
  DeleteQueueCommand,
  GetQueueAttributesCommand,
  GetQueueUrlCommand,
  ListQueuesCommand,
  PurgeQueueCommand,
  type QueueAttributeName,
  ReceiveMessageCommand,
  type ReceiveMessageCommandInput,
  SendMessageBatchCommand,
  SendMessageCommand,
  type SendMessageCommandInput,
  SetQueueAttributesCommand,
} from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contractEngine, type Engine, fresh } from '../support/engine.ts';

let engine: Engine;

beforeAll(async () => {
  engine = await contractEngine();
});
afterAll(() => engine.close());

async function freshQueue(Attributes: CreateQueueCommandInput['Attributes'] = {}) {
  const QueueName = fresh('queue');
  const { QueueUrl } = await engine.sqs.send(new CreateQueueCommand({ QueueName, Attributes }));
  return {
    QueueName,
    QueueUrl: QueueUrl!,
    send: (MessageBody: string, more: Partial<SendMessageCommandInput> = {}) =>
      engine.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody, ...more })),
    receive: async (more: Partial<ReceiveMessageCommandInput> = {}) =>
      (await engine.sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 0, ...more }))).Messages ?? [],
    remove: (ReceiptHandle: string) => engine.sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle })),
    hide: (ReceiptHandle: string, VisibilityTimeout: number) =>
      engine.sqs.send(new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout })),
    attribute: async (name: QueueAttributeName) =>
      (await engine.sqs.send(new GetQueueAttributesCommand({ QueueUrl, AttributeNames: [name] }))).Attributes?.[name],
  };
}
const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => 'accepted',
    (error) => error.name,
  );

describe('a queue', () => {
  it('is found by its name until it is deleted', async () => {
    const { QueueName, QueueUrl } = await freshQueue();
    expect((await engine.sqs.send(new GetQueueUrlCommand({ QueueName }))).QueueUrl).toBe(QueueUrl);
    const { QueueUrls } = await engine.sqs.send(new ListQueuesCommand({ QueueNamePrefix: QueueName }));
    expect(QueueUrls).toEqual([QueueUrl]);
    await engine.sqs.send(new DeleteQueueCommand({ QueueUrl }));
    expect(await refusal(engine.sqs.send(new GetQueueUrlCommand({ QueueName })))).toBe('QueueDoesNotExist');
    expect(await refusal(engine.sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'x' })))).toBe(
      'QueueDoesNotExist',
    );
  });

  it('is made once: the same again is found, another of its name is refused', async () => {
    const { QueueName, QueueUrl } = await freshQueue({ VisibilityTimeout: '7' });
    const again = (VisibilityTimeout: string) =>
      engine.sqs.send(new CreateQueueCommand({ QueueName, Attributes: { VisibilityTimeout } }));
    expect((await again('7')).QueueUrl).toBe(QueueUrl);
    expect(await refusal(again('8'))).toBe('QueueNameExists');
  });

  it('has attributes within bounds', async () => {
    const queue = await freshQueue({ DelaySeconds: '0' });
    expect(await queue.attribute('VisibilityTimeout')).toBe('30');
    expect(await queue.attribute('QueueArn')).toMatch(new RegExp(`^arn:aws:sqs:us-east-1:\\d{12}:${queue.QueueName}$`));
    const set = (Attributes: Record<string, string>) =>
      engine.sqs.send(new SetQueueAttributesCommand({ QueueUrl: queue.QueueUrl, Attributes }));
    await set({ VisibilityTimeout: '43200' });
    expect(await queue.attribute('VisibilityTimeout')).toBe('43200');
    expect(await refusal(set({ VisibilityTimeout: '43201' }))).not.toBe('accepted');
    expect(await refusal(set({ DelaySeconds: '901' }))).not.toBe('accepted');
    expect(await refusal(set({ Nonsense: '1' }))).toBe('InvalidAttributeName');
  });
});

describe('a message', () => {
  it('comes back with its attributes and what the service knows of it', async () => {
    const queue = await freshQueue();
    const MessageAttributes = {
      text: { DataType: 'String', StringValue: 'ä' },
      number: { DataType: 'Number.long', StringValue: '-12.5' },
      bytes: { DataType: 'Binary', BinaryValue: new Uint8Array([255, 0, 1]) },
    };
    const sent = await queue.send('{"a":"ä\u{1F600}"}', { MessageAttributes, MessageGroupId: 'subscription-1' });
    const [message] = await queue.receive({ MessageAttributeNames: ['All'], MessageSystemAttributeNames: ['All'] });
    expect(message).toMatchObject({ MessageId: sent.MessageId, Body: '{"a":"ä\u{1F600}"}', MessageAttributes });
    expect(message!.MD5OfMessageAttributes).toBe(sent.MD5OfMessageAttributes);
    expect(message!.Attributes).toMatchObject({ ApproximateReceiveCount: '1', MessageGroupId: 'subscription-1' });
    expect(Number(message!.Attributes!.SentTimestamp)).toBeGreaterThan(Date.now() - 60_000);
  });

  it('shows only the attributes that were asked for', async () => {
    const queue = await freshQueue();
    const attribute = { DataType: 'String', StringValue: 'x' };
    await queue.send('x', { MessageAttributes: { 'a.one': attribute, 'a.two': attribute, b: attribute } });
    const names = async (MessageAttributeNames: string[]) => {
      const [message] = await queue.receive({ MessageAttributeNames, VisibilityTimeout: 0 });
      return Object.keys(message!.MessageAttributes ?? {}).sort();
    };
    expect(await names([])).toEqual([]);
    expect(await names(['b'])).toEqual(['b']);
    expect(await names(['a.*'])).toEqual(['a.one', 'a.two']);
  });

  it('is hidden from others once received, until its time is over or it is shown again', async () => {
    const queue = await freshQueue();
    await queue.send('x');
    const [first] = await queue.receive();
    expect(await queue.receive()).toEqual([]);
    await queue.hide(first!.ReceiptHandle!, 0);
    const [second] = await queue.receive({
      VisibilityTimeout: 1,
      MessageSystemAttributeNames: ['ApproximateReceiveCount'],
    });
    expect(second!.Attributes).toEqual({ ApproximateReceiveCount: '2' });
    const [third] = await queue.receive({ WaitTimeSeconds: 5 });
    expect(third!.MessageId).toBe(first!.MessageId);
  });

  it('is deleted by its latest receipt, and by no other', async () => {
    const queue = await freshQueue();
    await queue.send('x');
    const [first] = await queue.receive({ VisibilityTimeout: 0 });
    const [second] = await queue.receive({ VisibilityTimeout: 0 });
    await queue.remove(first!.ReceiptHandle!);
    expect(await queue.receive({ VisibilityTimeout: 0 })).toHaveLength(1);
    await queue.remove(second!.ReceiptHandle!);
    const [latest] = await queue.receive();
    await queue.remove(latest!.ReceiptHandle!);
    await queue.remove(latest!.ReceiptHandle!);
    expect(await queue.attribute('ApproximateNumberOfMessagesNotVisible')).toBe('0');
    expect(await refusal(queue.remove('nonsense'))).toBe('ReceiptHandleIsInvalid');
    expect(await refusal(queue.hide(latest!.ReceiptHandle!, 10))).not.toBe('accepted');
  });

  it('may be delayed, up to 15 minutes', async () => {
    const queue = await freshQueue();
    await queue.send('late', { DelaySeconds: 1 });
    expect(await queue.receive()).toEqual([]);
    expect(await queue.attribute('ApproximateNumberOfMessagesDelayed')).toBe('1');
    expect((await queue.receive({ WaitTimeSeconds: 5 })).map(({ Body }) => Body)).toEqual(['late']);
    await queue.send('much later', { DelaySeconds: 900 });
    expect(await refusal(queue.send('too late', { DelaySeconds: 901 }))).not.toBe('accepted');
  });

  it('has at most 1 MiB, attributes included', async () => {
    const queue = await freshQueue();
    const most = 1024 * 1024;
    await queue.send('x'.repeat(most));
    expect(await refusal(queue.send('x'.repeat(most + 1)))).not.toBe('accepted');
    const MessageAttributes = { a: { DataType: 'String', StringValue: 'b' } };
    const overhead = 'aStringb'.length;
    await queue.send('x'.repeat(most - overhead), { MessageAttributes });
    expect(await refusal(queue.send('x'.repeat(most - overhead + 1), { MessageAttributes }))).not.toBe('accepted');
  });

  it.each([
    ['a control character', '\u0001', 'InvalidMessageContents'],
    ['a character that is none', '\uffff', 'InvalidMessageContents'],
  ])('has no %s in it', async (_, character, name) => {
    const queue = await freshQueue();
    expect(await refusal(queue.send(`a${character}b`))).toBe(name);
    await queue.send('\t\n\r \ud7ff\ue000\ufffd\u{10000}');
  });

  it('is not empty, and its group has a legal name', async () => {
    const queue = await freshQueue();
    expect(await refusal(queue.send(''))).not.toBe('accepted');
    expect(await refusal(queue.send('x', { MessageGroupId: 'a b' }))).not.toBe('accepted');
    expect(await refusal(queue.send('x', { MessageGroupId: 'x'.repeat(129) }))).not.toBe('accepted');
    await queue.send('x', { MessageGroupId: 'x'.repeat(128) });
  });
});

describe('a receiver', () => {
  it('is woken by a message while it waits', async () => {
    const queue = await freshQueue();
    const waiting = queue.receive({ WaitTimeSeconds: 20 });
    await queue.send('x');
    expect(await waiting).toHaveLength(1);
  });

  it('shares with others: each message goes to one of them', async () => {
    const queue = await freshQueue();
    const waiting = Array.from({ length: 5 }, () => queue.receive({ WaitTimeSeconds: 1, MaxNumberOfMessages: 10 }));
    await Promise.all(Array.from({ length: 20 }, (_, n) => queue.send(String(n))));
    const rest = await queue.receive({ MaxNumberOfMessages: 10 });
    const more = await queue.receive({ MaxNumberOfMessages: 10 });
    const bodies = [...(await Promise.all(waiting)).flat(), ...rest, ...more].map(({ Body }) => Number(Body));
    expect(bodies.sort((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  it('that gives up takes nothing with it', async () => {
    const queue = await freshQueue();
    const controller = new AbortController();
    const command = new ReceiveMessageCommand({ QueueUrl: queue.QueueUrl, WaitTimeSeconds: 20 });
    const waiting = engine.sqs.send(command, { abortSignal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    await queue.send('x');
    expect(await queue.receive({ WaitTimeSeconds: 2 })).toHaveLength(1);
  });

  it.each([
    { MaxNumberOfMessages: 0 },
    { MaxNumberOfMessages: 11 },
    { WaitTimeSeconds: 21 },
    { VisibilityTimeout: 43_201 },
  ])('is refused %j', async (more) => {
    const queue = await freshQueue();
    expect(await refusal(queue.receive(more))).not.toBe('accepted');
  });
});

describe('a batch', () => {
  const Entries = (bodies: string[]) => bodies.map((MessageBody, n) => ({ Id: String(n), MessageBody }));

  it('is sent, hidden and deleted entry by entry', async () => {
    const queue = await freshQueue();
    const { QueueUrl } = queue;
    const sent = await engine.sqs.send(
      new SendMessageBatchCommand({ QueueUrl, Entries: Entries(['a', '\u0001', 'b']) }),
    );
    expect(sent.Successful!.map(({ Id }) => Id)).toEqual(['0', '2']);
    expect(sent.Failed).toMatchObject([{ Id: '1', Code: 'InvalidMessageContents', SenderFault: true }]);
    const received = await queue.receive({ MaxNumberOfMessages: 10 });
    const handles = received.map(({ ReceiptHandle }, n) => ({ Id: String(n), ReceiptHandle: ReceiptHandle! }));
    const shown = handles.map((handle) => ({ ...handle, VisibilityTimeout: 0 }));
    await engine.sqs.send(new ChangeMessageVisibilityBatchCommand({ QueueUrl, Entries: shown }));
    const again = await queue.receive({ MaxNumberOfMessages: 10 });
    expect(again).toHaveLength(2);
    const removed = again.map(({ ReceiptHandle }, n) => ({ Id: String(n), ReceiptHandle: ReceiptHandle! }));
    const broken = { Id: 'broken', ReceiptHandle: 'nonsense' };
    const { Failed } = await engine.sqs.send(
      new DeleteMessageBatchCommand({ QueueUrl, Entries: [...removed, broken] }),
    );
    expect(Failed).toMatchObject([{ Id: 'broken', Code: 'ReceiptHandleIsInvalid' }]);
    expect(await queue.attribute('ApproximateNumberOfMessagesNotVisible')).toBe('0');
  });

  it.each([
    ['without entries', [], 'EmptyBatchRequest'],
    ['of 11', Entries(Array(11).fill('x')), 'TooManyEntriesInBatchRequest'],
    ['with an id twice', [...Entries(['a']), ...Entries(['b'])], 'BatchEntryIdsNotDistinct'],
    ['of more than 1 MiB', Entries(['x'.repeat(600_000), 'x'.repeat(600_000)]), 'BatchRequestTooLong'],
  ])('%s is refused as a whole', async (_, entries, name) => {
    const queue = await freshQueue();
    const { QueueUrl } = queue;
    expect(await refusal(engine.sqs.send(new SendMessageBatchCommand({ QueueUrl, Entries: entries })))).toBe(name);
    expect(await queue.attribute('ApproximateNumberOfMessages')).toBe('0');
  });
});

describe('a dead-letter queue', () => {
  it('takes what was received as often as allowed, with what it held', async () => {
    const dead = await freshQueue();
    const deadLetterTargetArn = await dead.attribute('QueueArn');
    const queue = await freshQueue({ RedrivePolicy: JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 }) });
    const MessageAttributes = { a: { DataType: 'String', StringValue: 'b' } };
    const { MessageId } = await queue.send('poison', { MessageAttributes });
    for (let n = 0; n < 2; n++) expect(await queue.receive({ VisibilityTimeout: 0 })).toHaveLength(1);
    expect(await dead.receive()).toEqual([]);
    expect(await queue.receive({ VisibilityTimeout: 0 })).toEqual([]);
    const [moved] = await dead.receive({ MessageAttributeNames: ['All'], WaitTimeSeconds: 5 });
    expect(moved).toMatchObject({ MessageId, Body: 'poison', MessageAttributes });
    expect(await queue.attribute('ApproximateNumberOfMessages')).toBe('0');
  });

  it('must exist', async () => {
    const deadLetterTargetArn = `arn:aws:sqs:us-east-1:000000000000:${fresh('absent')}`;
    const RedrivePolicy = JSON.stringify({ deadLetterTargetArn, maxReceiveCount: 2 });
    expect(await refusal(freshQueue({ RedrivePolicy }))).not.toBe('accepted');
    expect(await refusal(freshQueue({ RedrivePolicy: 'nonsense' }))).not.toBe('accepted');
  });
});

it('a purge leaves nothing, hidden and delayed messages included', async () => {
  const queue = await freshQueue();
  await queue.send('visible');
  await queue.send('hidden');
  await queue.receive();
  await queue.send('delayed', { DelaySeconds: 900 });
  await engine.sqs.send(new PurgeQueueCommand({ QueueUrl: queue.QueueUrl }));
  const names: QueueAttributeName[] = [
    'ApproximateNumberOfMessages',
    'ApproximateNumberOfMessagesNotVisible',
    'ApproximateNumberOfMessagesDelayed',
  ];
  expect(await Promise.all(names.map((name) => queue.attribute(name)))).toEqual(['0', '0', '0']);
});
