import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChangeListener } from './dynamodb/change-feed.ts';
import { Database } from './dynamodb/database.ts';
import { DynamoDb } from './dynamodb/dynamodb.ts';
import { REGION } from './dynamodb/store-view.ts';
import { InProcessHandler } from './in-process-handler.ts';
import { refusal, serveJson } from './json-service.ts';
import { listen } from './loopback.ts';
import { openBodies } from './s3/bodies.ts';
import { ObjectStore } from './s3/object-store.ts';
import { S3 } from './s3/s3.ts';
import type { AwsRequest, AwsResponse } from './service.ts';
import { Queues } from './sqs/queues.ts';
import { Sqs } from './sqs/sqs.ts';
import { openLevel } from './storage/level.ts';
import { Records } from './storage/records.ts';

/** Key pair of the embedded services; presigned URLs are verified with it, other signatures only for their age. */
const CREDENTIALS = { accessKeyId: 'local', secretAccessKey: 'local' };

const EXPIRE_EVERY_MS = 60_000;

export interface EmbeddedAwsOptions {
  /** Folder for all data, made if absent; without it everything is in memory. */
  readonly path?: string;
  /** Port on 127.0.0.1; 0 or absent: any free one. */
  readonly port?: number;
  /** Epoch ms; the clock of all services. */
  readonly now?: () => number;
  /** Time between two sweeps for expired items, ms; 0: none. Default: a minute. */
  readonly expireEveryMs?: number;
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
  /** Calls `listener` with each change of a table that has a stream, once it is stored. @returns what ends that */
  onChange(table: string, listener: ChangeListener): () => void;
  /** Removes what has expired at `now` (epoch ms). @returns how many items were removed */
  expireNow(now?: number): Promise<number>;
  /** Ends the server and closes the data. */
  close(): Promise<void>;
}

/** DynamoDB, S3 and SQS inside this process. @throws {DataInUse} {PortInUse} */
export async function openEmbeddedAws(options: EmbeddedAwsOptions = {}): Promise<EmbeddedAws> {
  const now = options.now ?? Date.now;
  const { path } = options;
  if (path !== undefined) await mkdir(path, { recursive: true });
  const level = await openLevel(path && join(path, 'level'));
  const objects = new ObjectStore(new Records(level), await openBodies(path && join(path, 'objects')), now);
  await objects.open();
  const s3 = new S3(objects, CREDENTIALS, now);
  const queues = new Queues(new Records(level), now);
  await queues.open();
  const sqs = new Sqs(queues, () => server.url);
  const dynamodb = new DynamoDb(new Database(level), now);
  await dynamodb.open();

  const serve = async (request: AwsRequest): Promise<AwsResponse> => {
    switch (request.headers['x-amz-target']?.split('.')[0]) {
      case 'DynamoDB_20120810':
        return serveJson(request, now(), (operation, body) => dynamodb.run(operation, body));
      case 'DynamoDBStreams_20120810':
        return serveJson(request, now(), (operation, body) => dynamodb.runStreams(operation, body));
      case 'AmazonSQS':
        return serveJson(request, now(), (operation, body) => sqs.run(operation, body, request.signal));
      case undefined:
        return s3.serve(request);
      default:
        return serveJson(request, now(), async () => refusal('UnknownOperationException'));
    }
  };

  const server = await listen(serve, options.port ?? 0).catch(async (error) => {
    await level.close();
    throw error;
  });
  const expireEveryMs = options.expireEveryMs ?? EXPIRE_EVERY_MS;
  const sweep = () => dynamodb.expire().catch((error) => console.error('expired items were not removed:', error));
  const timer = expireEveryMs > 0 ? setInterval(sweep, expireEveryMs).unref() : undefined;
  return {
    endpoint: server.url,
    onChange: (table, listener) => dynamodb.onChange(table, listener),
    expireNow: (at) => dynamodb.expire(at),
    clientConfig: () => ({
      region: REGION,
      credentials: CREDENTIALS,
      endpoint: server.url,
      requestHandler: new InProcessHandler(serve),
    }),
    async close() {
      clearInterval(timer);
      queues.close();
      await server.close();
      await dynamodb.close();
      await level.close();
    },
  };
}
