import {
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  PutItemCommand,
  ScanCommand,
} from '@aws-sdk/client-dynamodb';
import { HeadBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type EmbeddedAws, openEmbeddedAws } from '../../../local/aws/embedded-aws.ts';
import { createBackboneResources } from '../../../local/aws/tables.ts';
import { WAKE_TRIES_MAX } from '../../../shared/domain/limits.ts';

const NAMES = {
  logTable: 'the-log',
  stateTable: 'the-state',
  bucket: 'the-bucket',
  wakeQueue: 'wake',
  deadLetterQueue: 'dead',
};

let aws: EmbeddedAws;
let clients: { dynamodb: DynamoDBClient; s3: S3Client; sqs: SQSClient };

beforeEach(async () => {
  aws = await openEmbeddedAws();
  const config = { ...aws.clientConfig(), maxAttempts: 1 };
  clients = { dynamodb: new DynamoDBClient(config), s3: new S3Client(config), sqs: new SQSClient(config) };
});
afterEach(() => aws.close());

it('makes both tables with their keys, their expiry and the stream of the log', async () => {
  await createBackboneResources(clients, NAMES);
  const describe = async (TableName: string) => {
    const { Table } = await clients.dynamodb.send(new DescribeTableCommand({ TableName }));
    const { TimeToLiveDescription } = await clients.dynamodb.send(new DescribeTimeToLiveCommand({ TableName }));
    const types = Object.fromEntries(Table!.AttributeDefinitions!.map((a) => [a.AttributeName, a.AttributeType]));
    const keys = Table!.KeySchema!.map((key) => [key.KeyType, key.AttributeName, types[key.AttributeName!]]);
    return { keys, stream: Table!.StreamSpecification, expiry: TimeToLiveDescription?.AttributeName };
  };
  expect(await describe('the-log')).toEqual({
    keys: [
      ['HASH', 'log', 'S'],
      ['RANGE', 'last', 'N'],
    ],
    stream: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
    expiry: 'expiresAt',
  });
  expect(await describe('the-state')).toEqual({
    keys: [
      ['HASH', 'pk', 'S'],
      ['RANGE', 'sk', 'S'],
    ],
    stream: undefined,
    expiry: 'expiresAt',
  });
});

it('makes the bucket and the queues, and tells the URLs of these', async () => {
  const { wakeQueueUrl, deadLetterQueueUrl } = await createBackboneResources(clients, NAMES);
  await clients.s3.send(new HeadBucketCommand({ Bucket: 'the-bucket' }));
  for (const [QueueUrl, name] of [
    [wakeQueueUrl, 'wake'],
    [deadLetterQueueUrl, 'dead'],
  ]) {
    const { Attributes } = await clients.sqs.send(
      new GetQueueAttributesCommand({ QueueUrl, AttributeNames: ['QueueArn'] }),
    );
    expect(Attributes!.QueueArn!.split(':').at(-1)).toBe(name);
  }
});

it('keeps what is there already, with what it holds', async () => {
  const { wakeQueueUrl } = await createBackboneResources(clients, NAMES);
  await clients.dynamodb.send(new PutItemCommand({ TableName: 'the-state', Item: { pk: { S: 'a' }, sk: { S: 'b' } } }));
  await clients.s3.send(new PutObjectCommand({ Bucket: 'the-bucket', Key: 'a', Body: 'x' }));
  await clients.sqs.send(new SendMessageCommand({ QueueUrl: wakeQueueUrl, MessageBody: 'x' }));
  expect((await createBackboneResources(clients, NAMES)).wakeQueueUrl).toBe(wakeQueueUrl);
  expect((await clients.dynamodb.send(new ScanCommand({ TableName: 'the-state' }))).Count).toBe(1);
});

it('gives the queues of an earlier version the attributes of this one', async () => {
  const earlier = { VisibilityTimeout: '360' };
  await clients.sqs.send(new CreateQueueCommand({ QueueName: 'wake', Attributes: earlier }));
  const { wakeQueueUrl } = await createBackboneResources(clients, NAMES);
  const { Attributes } = await clients.sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: wakeQueueUrl, AttributeNames: ['VisibilityTimeout', 'RedrivePolicy'] }),
  );
  expect(Attributes!.VisibilityTimeout).toBe('5400');
  expect(JSON.parse(Attributes!.RedrivePolicy!)).toMatchObject({ maxReceiveCount: WAKE_TRIES_MAX });
});
