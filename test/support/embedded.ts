import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { type EmbeddedAws, type EmbeddedAwsOptions, openEmbeddedAws } from '../../local/aws/embedded-aws.ts';
import { createBackboneTables } from '../../local/aws/tables.ts';
import { SPILL_ABOVE_BYTES_DEFAULT } from '../../shared/domain/limits.ts';
import type { Env } from '../../shared/env.ts';

export interface EmbeddedTables extends Env {
  readonly aws: EmbeddedAws;
  readonly dynamodb: DynamoDBClient;
  readonly s3: S3Client;
  close(): Promise<void>;
}

/** The tables and the bucket of a backbone, empty, on an engine of its own in memory. */
export async function embeddedTables(options: EmbeddedAwsOptions = {}): Promise<EmbeddedTables> {
  const aws = await openEmbeddedAws(options);
  const dynamodb = new DynamoDBClient({ ...aws.clientConfig(), maxAttempts: 1 });
  const s3 = new S3Client({ ...aws.clientConfig(), maxAttempts: 1 });
  const env = {
    logTable: 'log',
    stateTable: 'state',
    bucket: 'payloads',
    spillAboveBytes: SPILL_ABOVE_BYTES_DEFAULT,
  };
  await createBackboneTables(dynamodb, env);
  await s3.send(new CreateBucketCommand({ Bucket: env.bucket }));
  const close = async () => {
    dynamodb.destroy();
    s3.destroy();
    await aws.close();
  };
  return { aws, dynamodb, s3, ...env, close };
}
