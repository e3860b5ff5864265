import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Database } from './dynamodb/database.ts';
import { DynamoDb } from './dynamodb/dynamodb.ts';
import { openLevel } from './dynamodb/level.ts';
import { REGION } from './dynamodb/store-view.ts';
import { InProcessHandler } from './in-process-handler.ts';
import { serveJson } from './json-service.ts';
import { listen } from './loopback.ts';
import type { AwsRequest, AwsResponse } from './service.ts';

/** Key pair of the embedded services; presigned URLs are verified with it, other signatures only for their age. */
const CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' };

export interface EmbeddedAwsOptions {
  /** Folder for all data, made if absent; without it everything is in memory. */
  readonly path?: string;
  /** Port on 127.0.0.1; 0 or absent: any free one. */
  readonly port?: number;
  /** Epoch ms; the clock of all services. */
  readonly now?: () => number;
}

export interface EmbeddedAws {
  /** For the SDK's clients: `new DynamoDBClient({ ...aws.clientConfig(), maxAttempts: 1 })`. Calls use no socket. */
  clientConfig(): {
    region: string;
    credentials: { accessKeyId: string; secretAccessKey: string };
    endpoint: string;
    requestHandler: InProcessHandler;
  };
  /** `http://127.0.0.1:<port>`: the same services for any SDK, for CLIs and for presigned URLs. */
  readonly endpoint: string;
  /** Ends the server and closes the data. */
  close(): Promise<void>;
}

/** DynamoDB, S3 and SQS inside this process. @throws {DataInUse} {PortInUse} */
export async function openEmbeddedAws(options: EmbeddedAwsOptions = {}): Promise<EmbeddedAws> {
  const now = options.now ?? Date.now;
  const { path } = options;
  if (path !== undefined) await mkdir(path, { recursive: true });
  const level = await openLevel(path && join(path, 'dynamodb'));
  const dynamodb = new DynamoDb(new Database(level));

  const serve = (request: AwsRequest): Promise<AwsResponse> =>
    serveJson(request, now(), (operation, body) => dynamodb.run(operation, body));

  const server = await listen(serve, options.port ?? 0).catch(async (error) => {
    await level.close();
    throw error;
  });
  return {
    endpoint: server.url,
    clientConfig: () => ({
      region: REGION,
      credentials: CREDENTIALS,
      endpoint: server.url,
      requestHandler: new InProcessHandler(serve),
    }),
    async close() {
      await server.close();
      await level.close();
    },
  };
}
