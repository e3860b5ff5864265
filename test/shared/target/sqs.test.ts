import {
  CreateQueueCommand,
  ReceiveMessageCommand,
  SendMessageBatchCommand,
  type SendMessageBatchCommandInput,
  SQSClient,
} from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openEmbeddedAws } from '../../../local/aws/embedded-aws.ts';
import { deliveryBatch, soon } from '../../support/deliveries.ts';
import { target } from '../../support/target-ports.ts';

const STANDARD = { sqs: { queueUrl: 'https://sqs.eu-central-1.amazonaws.com/1/orders' } };
const FIFO = { sqs: { queueUrl: 'https://sqs.eu-central-1.amazonaws.com/1/orders.fifo' } };
const MB = 1024 * 1024;

async function embeddedQueue() {
  const aws = await openEmbeddedAws();
  const sqs = new SQSClient({ ...aws.clientConfig(), maxAttempts: 1 });
  onTestFinished(async () => {
    sqs.destroy();
    await aws.close();
  });
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'orders' }));
  const receive = async () => {
    const bodies: Record<string, unknown>[] = [];
    for (;;) {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, VisibilityTimeout: 60 }),
      );
      if (Messages.length === 0) return bodies;
      bodies.push(...Messages.map(({ Body }) => JSON.parse(Body!)));
    }
  };
  return { sqs, spec: { sqs: { queueUrl: QueueUrl! } }, receive };
}

function mockedSqs() {
  const client = new SQSClient({ region: 'eu-central-1' });
  const mock = mockClient(client);
  onTestFinished(() => {
    mock.restore();
    client.destroy();
  });
  const sent = () =>
    mock.commandCalls(SendMessageBatchCommand).map(({ args }) => args[0].input as SendMessageBatchCommandInput);
  return { sqs: client, mock, sent };
}

describe('a queue', () => {
  it('gets every record as a message, by tens', async () => {
    const { sqs, spec, receive } = await embeddedQueue();
    const batch = deliveryBatch(Array.from({ length: 23 }, (_, i) => ({ key: `k${i}`, value: JSON.stringify({ i }) })));
    expect(await target(spec, { sqs }).send(batch, soon())).toEqual({ kind: 'done' });
    const events = await receive();
    expect(events.map(({ id }) => id).sort()).toEqual(batch.records.map(({ offset }) => `orders-3:${offset}`));
    expect(events.map(({ data }) => (data as { i: number }).i).sort((a, b) => a - b)).toEqual(
      batch.records.map((_, i) => i),
    );
  });

  it('gets what it would refuse as text in another form', async () => {
    const { sqs, spec, receive } = await embeddedQueue();
    const text = `${'a'.repeat(99)}\u0000\u0008\ufffe\uffff`;
    const batch = deliveryBatch([
      { value: text, key: text },
      { value: Buffer.from([0, 1, 0xff]) },
      { value: JSON.stringify(text) },
    ]);
    expect(await target(spec, { sqs }).send(batch, soon())).toEqual({ kind: 'done' });
    const events = (await receive()).sort((a, b) => String(a.id).localeCompare(String(b.id)));
    expect(events).toMatchObject([{ data: text }, { data_base64: 'AAH/' }, { data: text }]);
  });

  it('gets batches of a megabyte at most, all in all', async () => {
    const { sqs, spec, receive } = await embeddedQueue();
    const batch = deliveryBatch([{ value: 'x'.repeat(0.6 * MB) }, { value: 'y'.repeat(0.6 * MB) }, { value: 'z' }]);
    expect(await target(spec, { sqs }).send(batch, soon())).toEqual({ kind: 'done' });
    expect(await receive()).toHaveLength(3);
  });

  it('gets a link to a value that is too large for a message, or is sent what comes before it', async () => {
    const { sqs, spec, receive } = await embeddedQueue();
    const batch = deliveryBatch([{ value: '1' }, { value: 'x'.repeat(MB) }, { value: '3' }]);
    expect(await target(spec, { sqs }).send(batch, soon())).toEqual({ kind: 'too_large', at: 42 });
    expect(await receive()).toMatchObject([{ data: 1 }]);
    const link = { url: 'https://payloads.example/42', size: MB, sha256: 'ab' };
    expect(await target(spec, { sqs, link: async () => link }).send(batch, soon())).toEqual({ kind: 'done' });
    expect(await receive()).toEqual(expect.arrayContaining([expect.objectContaining({ dataref: link.url })]));
  });

  it('that does not exist cannot be sent to', async () => {
    const { sqs, spec } = await embeddedQueue();
    const missing = { sqs: { queueUrl: `${spec.sqs.queueUrl}-gone` } };
    expect(await target(missing, { sqs }).send(deliveryBatch([{ value: '1' }]), soon())).toMatchObject({
      kind: 'cannot',
      at: 41,
    });
  });

  it('is believed about each entry: the lowest one that it did not take is the failing record', async () => {
    const { sqs, mock, sent } = mockedSqs();
    const batch = deliveryBatch(Array.from({ length: 30 }, () => ({ value: '1' })));
    mock
      .on(SendMessageBatchCommand)
      .resolvesOnce({ Successful: [], Failed: [] })
      .resolves({
        Successful: [],
        Failed: [
          { Id: '7', Code: 'InvalidMessageContents', SenderFault: true },
          { Id: '4', Code: 'InvalidParameterValue', Message: 'too long', SenderFault: true },
        ],
      });
    expect(await target(STANDARD, { sqs }).send(batch, soon())).toEqual({
      kind: 'failed',
      at: 41 + 14,
      error: { name: 'InvalidParameterValue', message: 'too long' },
    });
    expect(sent()).toHaveLength(2);
  });

  it.each([
    ['InternalError', 'away'],
    ['ThrottlingException', 'away'],
    ['KmsAccessDenied', 'cannot'],
    ['AWS.SimpleQueueService.NonExistentQueue', 'cannot'],
    ['InvalidMessageContents', 'failed'],
  ])('that refuses an entry with %s: %s', async (Code, kind) => {
    const { sqs, mock } = mockedSqs();
    mock.on(SendMessageBatchCommand).resolves({ Successful: [], Failed: [{ Id: '1', Code, SenderFault: false }] });
    const batch = deliveryBatch([{ value: '1' }, { value: '2' }]);
    expect(await target(STANDARD, { sqs }).send(batch, soon())).toMatchObject({ kind, at: 42 });
  });

  it.each([
    ['AccessDenied', 403, 'cannot'],
    ['AWS.SimpleQueueService.NonExistentQueue', 400, 'cannot'],
    ['RequestThrottled', 403, 'away'],
    ['ServiceUnavailable', 503, 'away'],
    ['ExpiredToken', 403, 'away'],
    ['BatchRequestTooLong', 400, 'failed'],
  ])('that refuses a call with %s (%i): %s, and everything before is done', async (name, httpStatusCode, kind) => {
    const { sqs, mock } = mockedSqs();
    const error = Object.assign(new Error(name), { name, $metadata: { httpStatusCode } });
    mock.on(SendMessageBatchCommand).resolvesOnce({ Successful: [], Failed: [] }).rejects(error);
    const batch = deliveryBatch(Array.from({ length: 20 }, () => ({ value: '1' })));
    expect(await target(STANDARD, { sqs }).send(batch, soon())).toMatchObject({ kind, at: 51 });
  });

  it('is not sent more than there is time for', async () => {
    const { sqs, mock, sent } = mockedSqs();
    mock.on(SendMessageBatchCommand).callsFake(async () => {
      await expect.poll(() => Date.now() >= deadline, { interval: 5 }).toBe(true);
      return { Successful: [], Failed: [] };
    });
    const deadline = soon(60);
    const batch = deliveryBatch(Array.from({ length: 25 }, () => ({ value: '1' })));
    expect(await target(STANDARD, { sqs }).send(batch, deadline)).toEqual({ kind: 'part', next: 51 });
    expect(sent()).toHaveLength(1);
  });
});

describe('a FIFO queue', () => {
  async function idsOf(...records: Parameters<typeof deliveryBatch>[0]) {
    const { sqs, mock, sent } = mockedSqs();
    mock.on(SendMessageBatchCommand).resolves({ Successful: [], Failed: [] });
    await target(FIFO, { sqs }).send(deliveryBatch(records), soon());
    return sent().flatMap(({ Entries = [] }) =>
      Entries.map(({ MessageGroupId: group, MessageDeduplicationId: id }) => ({ group: group!, id: id! })),
    );
  }

  it('keeps the order of each key, and of keyless records by partition', async () => {
    const [plain, spaced, long, binary, keyless] = await idsOf(
      ...[
        { key: 'order-17' },
        { key: 'two words' },
        { key: 'x'.repeat(129) },
        { key: Buffer.from([0xff]) },
        { key: null },
      ],
    );
    expect(plain!.group).toBe('order-17');
    expect(keyless!.group).toBe('partition:01JZZZZZZZZZZZZZZZZZZZZZZZ.3');
    for (const { group } of [spaced!, long!, binary!]) expect(group).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(new Set([plain, spaced, long, binary, keyless].map((ids) => ids!.group)).size).toBe(5);
  });

  it('drops what is sent again, and not what was redriven', async () => {
    const [first] = await idsOf({ value: '1' });
    const [again] = await idsOf({ value: '1' });
    const [redriven] = await idsOf({ value: '1', redrives: 1 });
    expect(again).toEqual(first);
    expect(redriven!.group).toBe(first!.group);
    expect(redriven!.id).not.toBe(first!.id);
    expect(redriven!.id.length).toBeLessThanOrEqual(128);
  });

  it('is a matter of its name: a standard queue gets no such ids', async () => {
    const { sqs, mock, sent } = mockedSqs();
    mock.on(SendMessageBatchCommand).resolves({ Successful: [], Failed: [] });
    await target(STANDARD, { sqs }).send(deliveryBatch([{ key: 'k' }]), soon());
    expect(Object.keys(sent()[0]!.Entries![0]!).sort()).toEqual(['Id', 'MessageBody']);
  });
});
