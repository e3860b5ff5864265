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

it('what is no wake-up is told from one', () => {
  expect(decodeWakeUp(encodeRemovals([]))).toBeUndefined();
  expect(decodeWakeUp('{"v":"2","wake":{}}')).toBeUndefined();
});
