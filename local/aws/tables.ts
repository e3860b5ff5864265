import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DescribeTimeToLiveCommand,
  type DynamoDBClient,
  ResourceInUseException,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { BucketAlreadyOwnedByYou, CreateBucketCommand, type S3Client } from '@aws-sdk/client-s3';
import {
  CreateQueueCommand,
  GetQueueAttributesCommand,
  SetQueueAttributesCommand,
  type SQSClient,
} from '@aws-sdk/client-sqs';
import { DELIVER_FUNCTION_TIMEOUT_MS, WAKE_TRIES_MAX } from '../../shared/domain/limits.ts';

export interface TableNames {
  readonly logTable: string;
  readonly stateTable: string;
}

export interface ResourceNames extends TableNames {
  readonly bucket: string;
  readonly wakeQueue: string;
  readonly deadLetterQueue: string;
}

export interface QueueUrls {
  readonly wakeQueueUrl: string;
  readonly deadLetterQueueUrl: string;
}

/** Attribute by which items of both tables expire, epoch seconds. */
const EXPIRY_ATTRIBUTE = 'expiresAt';

/**
 * Everything that a backbone stores things in, as the stack makes it. Tables and bucket that exist are kept as they are;
 * queues get the attributes that this version gives them.
 */
export async function createBackboneResources(
  clients: { readonly dynamodb: DynamoDBClient; readonly s3: S3Client; readonly sqs: SQSClient },
  names: ResourceNames,
): Promise<QueueUrls> {
  const [, , urls] = await Promise.all([
    createBackboneTables(clients.dynamodb, names),
    createBucket(clients.s3, names.bucket),
    createQueues(clients.sqs, names),
  ]);
  return urls;
}

async function createQueues(sqs: SQSClient, names: ResourceNames): Promise<QueueUrls> {
  const dead = await sqs.send(new CreateQueueCommand({ QueueName: names.deadLetterQueue }));
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({ QueueUrl: dead.QueueUrl, AttributeNames: ['QueueArn'] }),
  );
  const redrive = { deadLetterTargetArn: Attributes!.QueueArn, maxReceiveCount: WAKE_TRIES_MAX };
  // Without attributes: a queue that has others, of an earlier version, would be refused.
  const wake = await sqs.send(new CreateQueueCommand({ QueueName: names.wakeQueue }));
  await sqs.send(
    new SetQueueAttributesCommand({
      QueueUrl: wake.QueueUrl,
      Attributes: {
        VisibilityTimeout: String((6 * DELIVER_FUNCTION_TIMEOUT_MS) / 1_000),
        RedrivePolicy: JSON.stringify(redrive),
      },
    }),
  );
  return { wakeQueueUrl: wake.QueueUrl!, deadLetterQueueUrl: dead.QueueUrl! };
}

/** The bucket of payloads. */
export async function createBucket(s3: S3Client, bucket: string): Promise<void> {
  await s3.send(new CreateBucketCommand({ Bucket: bucket })).catch(unlessOwned);
}

/** The Log and State tables, ready for use. */
export async function createBackboneTables(dynamodb: DynamoDBClient, names: TableNames): Promise<void> {
  await Promise.all([
    createTable(dynamodb, {
      TableName: names.logTable,
      AttributeDefinitions: [
        { AttributeName: 'log', AttributeType: 'S' },
        { AttributeName: 'last', AttributeType: 'N' },
      ],
      KeySchema: [
        { AttributeName: 'log', KeyType: 'HASH' },
        { AttributeName: 'last', KeyType: 'RANGE' },
      ],
      StreamSpecification: { StreamEnabled: true, StreamViewType: 'KEYS_ONLY' },
      BillingMode: 'PAY_PER_REQUEST',
    }),
    createTable(dynamodb, {
      TableName: names.stateTable,
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'S' },
      ],
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      BillingMode: 'PAY_PER_REQUEST',
    }),
  ]);
}

async function createTable(dynamodb: DynamoDBClient, table: CreateTableCommandInput): Promise<void> {
  try {
    await dynamodb.send(new CreateTableCommand(table));
  } catch (error) {
    if (!(error instanceof ResourceInUseException)) throw error;
  }
  const { TableName } = table;
  await waitUntilTableExists({ client: dynamodb, maxWaitTime: 60, minDelay: 1 }, { TableName });
  const expiry = await dynamodb.send(new DescribeTimeToLiveCommand({ TableName }));
  if (expiry.TimeToLiveDescription?.TimeToLiveStatus !== 'DISABLED') return;
  const TimeToLiveSpecification = { Enabled: true, AttributeName: EXPIRY_ATTRIBUTE };
  await dynamodb.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
}

function unlessOwned(error: unknown): void {
  if (!(error instanceof BucketAlreadyOwnedByYou)) throw error;
}
