import { CreateQueueCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { WakeUp } from '../../../shared/domain/wake-up.ts';
import { decodeWakeUp, encodeRemovals, WakeQueue } from '../../../shared/store/wake-queue.ts';
import { type EmbeddedTables, embeddedTables } from '../../support/embedded.ts';

const topicId = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
let tables: EmbeddedTables;
let sqs: SQSClient;
let queue: WakeQueue;
let QueueUrl: string;
beforeAll(async () => {
  tables = await embeddedTables();
  sqs = new SQSClient({ ...tables.aws.clientConfig(), maxAttempts: 1 });
  QueueUrl = (await sqs.send(new CreateQueueCommand({ QueueName: 'wake' }))).QueueUrl!;
  queue = new WakeQueue(sqs, QueueUrl);
});
afterAll(async () => {
  sqs.destroy();
  await tables.close();
});

const receive = async () => {
  const request = { QueueUrl, MaxNumberOfMessages: 10, MessageSystemAttributeNames: ['All' as const] };
  return (await sqs.send(new ReceiveMessageCommand(request))).Messages ?? [];
};

it('a wake-up comes back as it was sent, in the group of whom it wakes', async () => {
  const to = { group: { name: 'mail', id: '01BX5ZZKBKACTAV9WEVGEMMVRY' }, topic: 'orders', known: 8 };
  const wakeUps: WakeUp[] = [
    { topicId, partition: 3, last: 41, hop: 0 },
    { topicId, partition: 3, hop: 7, to },
  ];
  await queue.wake(wakeUps);
  const messages = await receive();
  expect(messages.map(({ Body }) => decodeWakeUp(Body!))).toEqual(wakeUps);
  expect(messages.map(({ Attributes }) => Attributes!.MessageGroupId)).toEqual([topicId, to.group.id]);
});

it('one that is to come later does not come at once', async () => {
  await queue.wake([{ topicId, partition: 4, hop: 0 }], 2 * 900_000);
  expect(await receive()).toEqual([]);
});

it('one that died where it was handed aside comes back in the platform’s own words, and looks in any case', () => {
  const aside = { topicId, partition: 3, last: 41, epoch: 5, hop: 7 };
  // Source: AWS Lambda, "Capturing records of asynchronous invocations", with less in it.
  const record = {
    version: '1.0',
    timestamp: '2030-01-01T00:00:00.000Z',
    requestContext: {
      functionArn: 'arn:aws:lambda:…:$LATEST',
      condition: 'RetriesExhausted',
      approximateInvokeCount: 1,
    },
    requestPayload: { aside },
    responseContext: { statusCode: 200, functionError: 'Unhandled' },
    responsePayload: { errorMessage: 'Task timed out after 900.00 seconds' },
  };
  expect(decodeWakeUp(JSON.stringify(record))).toEqual({ topicId, partition: 3, hop: 8 });
});

it('what is no wake-up is told from one', () => {
  expect(decodeWakeUp(encodeRemovals([]))).toBeUndefined();
  expect(decodeWakeUp('{"v":"2","wake":{}}')).toBeUndefined();
});
