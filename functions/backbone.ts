import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import type { Clock } from '../shared/domain/clock.ts';
import type { Observe } from '../shared/domain/observation.ts';
import { type Env, readEnv } from '../shared/env.ts';
import { Spill } from '../shared/store/spill.ts';
import { UploadObjects } from '../shared/store/upload-objects.ts';
import { UploadUrls } from '../shared/store/upload-urls.ts';
import { observe } from './observability.ts';
import { awsDynamoDB, CALLS, openTables } from './tables.ts';

/** The AWS clients of functions that move payloads. */
export interface Clients {
  readonly dynamodb: DynamoDBClient;
  readonly s3: S3Client;
}

/** Everything that appending and reading need: the tables, and the bucket. */
export type Backbone = ReturnType<typeof openBackbone>;

/**
 * @param tell told what operations did or met beside their answer
 * @param host the host's own clock
 */
export function openBackbone({ dynamodb, s3 }: Clients, env: Env, tell: Observe = () => {}, host: Clock = Date) {
  return {
    ...openTables(dynamodb, env, tell, host),
    spill: new Spill(s3, env.bucket),
    uploadObjects: new UploadObjects(s3, env.bucket),
    uploadUrls: new UploadUrls(s3, env.bucket),
    spillAboveBytes: env.spillAboveBytes,
  };
}

/** A deployed function's backbone. @throws {Error} naming the environment variables that are missing or wrong */
export function awsBackbone(): Backbone {
  return openBackbone({ dynamodb: awsDynamoDB(), s3: new S3Client(CALLS) }, readEnv(), observe);
}
