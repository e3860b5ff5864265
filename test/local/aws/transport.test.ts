import { request } from 'node:http';
import { DynamoDBClient, GetItemCommand, ListTablesCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { CreateQueueCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openEmbeddedAws } from '../../../local/aws/embedded-aws.ts';
import { InProcessHandler } from '../../../local/aws/in-process-handler.ts';
import { PortInUse } from '../../../local/aws/loopback.ts';
import { type EmbeddedTables, embeddedTables } from '../../support/embedded.ts';

let tables: EmbeddedTables;

beforeAll(async () => {
  tables = await embeddedTables();
});
afterAll(() => tables.close());

describe('over a socket', () => {
  it('a client finds what another wrote in the process, bytes and errors included', async () => {
    const { requestHandler: _, ...config } = tables.aws.clientConfig();
    const remote = new DynamoDBClient({ ...config, maxAttempts: 1 });
    const Item = { pk: { S: 'é' }, sk: { S: 'b' }, value: { B: new Uint8Array([255, 0]) } };
    await tables.dynamodb.send(new PutItemCommand({ TableName: 'state', Item }));
    const Key = { pk: Item.pk, sk: Item.sk };
    expect((await remote.send(new GetItemCommand({ TableName: 'state', Key }))).Item).toEqual(Item);
    const refused = remote.send(
      new PutItemCommand({ TableName: 'state', Item, ConditionExpression: 'attribute_not_exists(pk)' }),
    );
    await expect(refused).rejects.toMatchObject({ name: 'ConditionalCheckFailedException' });
    remote.destroy();
  });

  const post = (headers: Record<string, string>, body: string) =>
    fetch(tables.aws.endpoint, {
      method: 'POST',
      headers: {
        'x-amz-target': 'DynamoDB_20120810.ListTables',
        'x-amz-date': `${new Date().toISOString().slice(0, 19).replace(/[-:]/g, '')}Z`,
        authorization: 'AWS4-HMAC-SHA256 Credential=a/20260101/us-east-1/dynamodb/aws4_request',
        ...headers,
      },
      body,
    });

  it.each([
    ['a request that is not signed', { authorization: '' }, '{}', 'MissingAuthenticationTokenException'],
    ['a date that is none', { 'x-amz-date': 'yesterday' }, '{}', 'IncompleteSignatureException'],
    ['a body that is no JSON', {}, '{', 'SerializationException'],
    ['a body of the wrong shape', {}, '[]', 'SerializationException'],
    ['a parameter of the wrong type', {}, '{"Limit":"one"}', 'SerializationException'],
    [
      'an operation that does not exist',
      { 'x-amz-target': 'DynamoDB_20120810.Toggle' },
      '{}',
      'UnknownOperationException',
    ],
    [
      'an operation named like a method',
      { 'x-amz-target': 'DynamoDB_20120810.toString' },
      '{}',
      'UnknownOperationException',
    ],
  ])('%s is refused', async (_, headers, body, name) => {
    const response = await post(headers, body);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ __type: expect.stringMatching(`#${name}$`) });
  });

  it('a body above 16 MB is refused', async () => {
    const response = await post({}, ' '.repeat(16 * 1024 * 1024 + 1));
    expect(response.status).toBe(413);
  });

  it('a port that is taken is refused by name', async () => {
    const port = Number(new URL(tables.aws.endpoint).port);
    await expect(openEmbeddedAws({ port })).rejects.toBeInstanceOf(PortInUse);
  });
});

describe('a close', () => {
  it('ends long polls, lets running requests end, and refuses later ones by name', async () => {
    const aws = await openEmbeddedAws();
    const { requestHandler, ...config } = aws.clientConfig();
    let arrived = () => {};
    class Observed extends InProcessHandler {
      override handle(...input: Parameters<InProcessHandler['handle']>) {
        const answer = requestHandler.handle(...input);
        arrived();
        return answer;
      }
    }
    const sqs = new SQSClient({ ...config, requestHandler: new Observed(() => Promise.reject()), maxAttempts: 1 });
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'queue' }));
    const polling = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const poll = sqs.send(new ReceiveMessageCommand({ QueueUrl, WaitTimeSeconds: 20 }));
    await polling;
    await Promise.all([aws.close(), aws.close()]);
    expect((await poll).Messages).toBeUndefined();
    await expect(sqs.send(new CreateQueueCommand({ QueueName: 'late' }))).rejects.toMatchObject({
      name: 'EmbeddedAwsClosed',
    });
    await expect(fetch(aws.endpoint)).rejects.toThrow();
  });

  it('cuts off an upload that does not move', async () => {
    const aws = await openEmbeddedAws();
    const s3 = new S3Client({ ...aws.clientConfig(), requestChecksumCalculation: 'WHEN_REQUIRED' });
    await s3.send(new CreateBucketCommand({ Bucket: 'bucket' }));
    const url = await getSignedUrl(s3, new PutObjectCommand({ Bucket: 'bucket', Key: 'a' }));
    const begun = new Promise<void>((resolve) => {
      const upload = request(url, { method: 'PUT', headers: { 'content-length': '10' } });
      upload.on('error', () => {});
      upload.write('half', () => resolve());
    });
    await begun;
    await aws.close();
  });
});

describe('in the process', () => {
  it('a request whose caller has given up before is not begun', async () => {
    const aborted = AbortSignal.abort();
    await expect(tables.dynamodb.send(new ListTablesCommand(), { abortSignal: aborted })).rejects.toMatchObject({
      name: 'AbortError',
    });
  });

  it('a caller that gives up while it waits is released, and so is one whose time is over', async () => {
    const never = new InProcessHandler(() => new Promise(() => {}));
    const client = new DynamoDBClient({ ...tables.aws.clientConfig(), requestHandler: never, maxAttempts: 1 });
    const controller = new AbortController();
    const waiting = client.send(new ListTablesCommand(), { abortSignal: controller.signal });
    const late = client.send(new ListTablesCommand(), { requestTimeout: 20 });
    await expect(late).rejects.toMatchObject({ name: 'TimeoutError' });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
  });
});
