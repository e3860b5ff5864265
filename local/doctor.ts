import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { GetQueueUrlCommand, QueueDoesNotExist, SQSClient } from '@aws-sdk/client-sqs';
import { type DoctorOptions, examineBackbone } from '../functions/doctor.ts';
import { openEmbeddedAws } from './aws/embedded-aws.ts';
import { ENVIRONMENT } from './backbone-server.ts';
import { MARKER, openDataFolder } from './data-folder.ts';
import { Refusal } from './refusal.ts';

/**
 * Looks at the backbone in a data folder, as it lies there: no function runs meanwhile.
 *
 * @throws {Refusal} there is none, or it is in use
 */
export async function examineDataFolder(data: string, options: DoctorOptions) {
  if (!existsSync(join(data, MARKER))) throw new Refusal(`${data} is no data folder: there is no ${MARKER} in it`, 2);
  const folder = openDataFolder(data);
  try {
    // Nothing expires while it is looked at.
    const aws = await openEmbeddedAws({ path: folder.enginePath, expireEveryMs: 0 });
    const clients = {
      dynamodb: new DynamoDBClient(aws.clientConfig()),
      s3: new S3Client(aws.clientConfig()),
      sqs: new SQSClient(aws.clientConfig()),
    };
    try {
      const { logTable, stateTable, bucket, wakeQueue, deadLetterQueue } = ENVIRONMENT;
      const [wakeQueueUrl, deadLetterQueueUrl] = await Promise.all([
        urlOf(clients.sqs, wakeQueue),
        urlOf(clients.sqs, deadLetterQueue),
      ]);
      const parts = {
        ...{ logTable, stateTable, bucket },
        ...(wakeQueueUrl !== undefined && { wakeQueueUrl }),
        ...(deadLetterQueueUrl !== undefined && { deadLetterQueueUrl }),
      };
      return await examineBackbone(clients, parts, options);
    } finally {
      for (const client of Object.values(clients)) client.destroy();
      await aws.close();
    }
  } finally {
    folder.release();
  }
}

/** @returns undefined when there is none: a version without it has used the folder, and the next start makes it */
async function urlOf(sqs: SQSClient, QueueName: string): Promise<string | undefined> {
  try {
    return (await sqs.send(new GetQueueUrlCommand({ QueueName }))).QueueUrl;
  } catch (error) {
    if (error instanceof QueueDoesNotExist) return undefined;
    throw error;
  }
}
