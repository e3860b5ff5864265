import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTableCommand,
  DynamoDBClient,
  ResourceInUseException,
  type TimeToLiveSpecification,
  UpdateTimeToLiveCommand,
} from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { CreateQueueCommand, SetQueueAttributesCommand, SQSClient } from '@aws-sdk/client-sqs';
import { ACCOUNT, REGION } from '../aws/dynamodb/store-view.ts';
import type { EmbeddedAws } from '../aws/embedded-aws.ts';
import { createBucket } from '../aws/tables.ts';
import type { Access } from './access.ts';
import type { Maker } from './deployment.ts';
import { listOf, type Statement } from './policy.ts';
import { bucketArn, queueArn, tableArn } from './rights.ts';

interface PolicyDocument {
  readonly PolicyDocument: { readonly Statement: readonly Statement[] };
}

/** Properties of a table that the engine knows. */
const TABLE_PROPERTIES = ['AttributeDefinitions', 'KeySchema', 'BillingMode', 'GlobalSecondaryIndexes'] as const;
/** Properties of a queue that the engine knows as attributes. */
const QUEUE_ATTRIBUTES = [
  ...['DelaySeconds', 'MaximumMessageSize', 'MessageRetentionPeriod', 'ReceiveMessageWaitTimeSeconds'],
  ...['RedrivePolicy', 'VisibilityTimeout'],
];

/** Makes tables, buckets and queues, and takes their policies down. What is there already is kept. */
export function storageMakers(aws: EmbeddedAws, access: Access, keys: Map<string, string>) {
  const [dynamodb, s3, sqs] = [DynamoDBClient, S3Client, SQSClient].map((Client) => new Client(aws.clientConfig())) as [
    DynamoDBClient,
    S3Client,
    SQSClient,
  ];

  const table: Maker = async ({ properties, nameOf }) => {
    const TableName = String(properties.TableName ?? nameOf(255));
    const stream = properties.StreamSpecification as { readonly StreamViewType: 'KEYS_ONLY' } | undefined;
    const input = {
      ...Object.fromEntries(TABLE_PROPERTIES.flatMap((name) => (name in properties ? [[name, properties[name]]] : []))),
      ...(stream && { StreamSpecification: { StreamEnabled: true, ...stream } }),
      TableName,
    } as CreateTableCommandInput;
    keys.set(TableName, input.KeySchema!.find(({ KeyType }) => KeyType === 'HASH')!.AttributeName!);
    try {
      await dynamodb.send(new CreateTableCommand(input));
      const expiry = properties.TimeToLiveSpecification as TimeToLiveSpecification | undefined;
      if (expiry) await dynamodb.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification: expiry }));
    } catch (error) {
      if (!(error instanceof ResourceInUseException)) throw error;
    }
    const { Table } = await dynamodb.send(new DescribeTableCommand({ TableName }));
    return { ref: TableName, attributes: { Arn: tableArn(TableName), StreamArn: Table!.LatestStreamArn } };
  };

  const bucket: Maker = async ({ properties, nameOf }) => {
    const name = String(properties.BucketName ?? nameOf(63).toLowerCase());
    await createBucket(s3, name);
    const DomainName = `${name}.s3.amazonaws.com`;
    return { ref: name, attributes: { Arn: bucketArn(name), DomainName, RegionalDomainName: DomainName } };
  };

  const queue: Maker = async ({ properties, nameOf }) => {
    const QueueName = String(properties.QueueName ?? nameOf(80));
    const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName }));
    const attributes = QUEUE_ATTRIBUTES.flatMap((name): [string, string][] => {
      const value = properties[name];
      if (value === undefined) return [];
      return [[name, typeof value === 'object' ? JSON.stringify(value) : String(value)]];
    });
    await sqs.send(new SetQueueAttributesCommand({ QueueUrl, Attributes: Object.fromEntries(attributes) }));
    const ref = `https://sqs.${REGION}.amazonaws.com/${ACCOUNT}/${QueueName}`;
    return { ref, attributes: { Arn: queueArn(QueueName), QueueName, QueueUrl: ref } };
  };

  const bucketPolicy: Maker = async ({ properties, logicalId }) => {
    const { Bucket, PolicyDocument } = properties as unknown as PolicyDocument & { readonly Bucket: string };
    access.addResourcePolicy(bucketArn(Bucket), PolicyDocument.Statement);
    return { ref: logicalId };
  };

  const queuePolicy: Maker = async ({ properties, logicalId }) => {
    const { Queues, PolicyDocument } = properties as unknown as PolicyDocument & { readonly Queues: string[] };
    for (const url of listOf(Queues)) {
      access.addResourcePolicy(queueArn(url.split('/').at(-1)!), PolicyDocument.Statement);
    }
    return { ref: logicalId };
  };

  return {
    makers: {
      'AWS::DynamoDB::Table': table,
      'AWS::S3::Bucket': bucket,
      'AWS::S3::BucketPolicy': bucketPolicy,
      'AWS::SQS::Queue': queue,
      'AWS::SQS::QueuePolicy': queuePolicy,
    } as Readonly<Record<string, Maker>>,
    close: () => {
      for (const client of [dynamodb, s3, sqs]) client.destroy();
    },
  };
}
