import { randomBytes } from 'node:crypto';
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DynamoDBClient,
  type DynamoDBClientConfig,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import { DynamoDBStreamsClient } from '@aws-sdk/client-dynamodb-streams';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { type EmbeddedAws, openEmbeddedAws } from '../../local/aws/embedded-aws.ts';

/** An engine under contract: the embedded one, or the one at `VERTEBRA_CONTRACT_ENDPOINT`. */
export interface Engine {
  readonly config: Pick<DynamoDBClientConfig, 'region' | 'endpoint' | 'credentials' | 'requestHandler'>;
  readonly dynamodb: DynamoDBClient;
  readonly streams: DynamoDBStreamsClient;
  readonly s3: S3Client;
  readonly sqs: SQSClient;
  /** The embedded engine, for what only it can do: its clock and its sweep. */
  readonly embedded: EmbeddedAws | undefined;
  close(): Promise<void>;
}

export const CONTRACT_ENDPOINT = process.env.VERTEBRA_CONTRACT_ENDPOINT;

export async function contractEngine(now?: () => number): Promise<Engine> {
  const embedded = CONTRACT_ENDPOINT ? undefined : await openEmbeddedAws(now ? { now } : {});
  const config = embedded?.clientConfig() ?? {
    region: 'us-east-1',
    endpoint: CONTRACT_ENDPOINT!,
    credentials: {
      accessKeyId: process.env.AWS_ACCESS_KEY_ID ?? 'test',
      secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY ?? 'test',
    },
  };
  const clients = {
    dynamodb: new DynamoDBClient({ ...config, maxAttempts: 1 }),
    streams: new DynamoDBStreamsClient({ ...config, maxAttempts: 1 }),
    s3: new S3Client({ ...config, maxAttempts: 1 }),
    sqs: new SQSClient({ ...config, maxAttempts: 1 }),
  };
  const close = async () => {
    for (const client of Object.values(clients)) client.destroy();
    await embedded?.close();
  };
  return { config, ...clients, embedded, close };
}

/** A name that nobody else uses on a shared engine. */
export function fresh(prefix: string): string {
  return `${prefix}-${randomBytes(6).toString('hex')}`;
}

/** A table with a text partition key `pk` and a number sort key `sk`, ready for use. */
export async function freshTable(engine: Engine, more: Partial<CreateTableCommandInput> = {}): Promise<string> {
  const TableName = fresh('table');
  await engine.dynamodb.send(
    new CreateTableCommand({
      TableName,
      AttributeDefinitions: [
        { AttributeName: 'pk', AttributeType: 'S' },
        { AttributeName: 'sk', AttributeType: 'N' },
      ],
      KeySchema: [
        { AttributeName: 'pk', KeyType: 'HASH' },
        { AttributeName: 'sk', KeyType: 'RANGE' },
      ],
      BillingMode: 'PAY_PER_REQUEST',
      ...more,
    }),
  );
  await waitUntilTableExists({ client: engine.dynamodb, maxWaitTime: 30, minDelay: 1 }, { TableName });
  return TableName;
}
