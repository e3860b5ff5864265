import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChangeListener } from './dynamodb/change-feed.ts';
import { Database } from './dynamodb/database.ts';
import { DynamoDb } from './dynamodb/dynamodb.ts';
import type { RemovalJournal } from './dynamodb/removal-journal.ts';
import { REGION } from './dynamodb/store-view.ts';
import { type EmbeddedClientConfig, InProcessHandler } from './in-process-handler.ts';
import { refusal, serveJson } from './json-service.ts';
import { listen } from './loopback.ts';
import { openBodies } from './s3/bodies.ts';
import { ObjectStore } from './s3/object-store.ts';
import { S3 } from './s3/s3.ts';
import type { AwsRequest, AwsResponse, Service } from './service.ts';
import { Queues } from './sqs/queues.ts';
import { Sqs } from './sqs/sqs.ts';
import { type Level, openLevel } from './storage/level.ts';
import { Records } from './storage/records.ts';

/** Key pair of the embedded services, as other local engines have it; presigned URLs are verified with it, other signatures only for their age. */
const CREDENTIALS = { accessKeyId: 'test', secretAccessKey: 'test' };

const EXPIRE_EVERY_MS = 60_000;
/** How long a request that runs may hold up the close; then its connection is cut. */
const CLOSE_GRACE_MS = 2_000;

export interface EmbeddedAwsOptions {
  /** Folder for all data, made if absent; without it everything is in memory. */
  readonly path?: string;
  /** Port on 127.0.0.1; 0 or absent: any free one. */
  readonly port?: number;
  /** Epoch ms; the clock of all services. */
  readonly now?: () => number;
  /** Time between two sweeps for expired items, ms; 0: none. Default: a minute. */
  readonly expireEveryMs?: number;
  /** Stands before the services: may refuse a request, or answer it in their place. */
  readonly front?: (request: AwsRequest, next: Service) => Promise<AwsResponse>;
  /** Secret key of who has this access key, beside the engine's own. */
  readonly secretOf?: (accessKeyId: string) => string | undefined;
}

export interface EmbeddedAws {
  /** For the SDK's clients: `new DynamoDBClient({ ...aws.clientConfig(), maxAttempts: 1 })`. Calls use no socket. */
  clientConfig(): EmbeddedClientConfig;
  /** `http://127.0.0.1:<port>`: the same services for any SDK, for CLIs and for presigned URLs. */
  readonly endpoint: string;
  /** Calls `listener` with each change of a table that has a stream, once it is stored. @returns what ends that */
  onChange(table: string, listener: ChangeListener): () => void;
  /** Notes a table's removals until they are forgotten, also over the end of the process. To be called once. */
  journalRemovals(table: string): RemovalJournal;
  /** Removes what has expired at `now` (epoch ms). @returns how many items were removed */
  expireNow(now?: number): Promise<number>;
  /** Ends long polls, waits for the requests that run, then closes the server and the data. Later requests throw {@link EmbeddedAwsClosed}. */
  close(): Promise<void>;
}

/** The engine was closed; the request was not begun. */
export class EmbeddedAwsClosed extends Error {
  constructor() {
    super('the embedded AWS services are closed');
    this.name = 'EmbeddedAwsClosed';
  }
}

/** DynamoDB, S3 and SQS inside this process. @throws {DataInUse} {PortInUse} */
export async function openEmbeddedAws(options: EmbeddedAwsOptions = {}): Promise<EmbeddedAws> {
  const { path } = options;
  if (path !== undefined) await mkdir(path, { recursive: true });
  const level = await openLevel(path && join(path, 'level'));
  try {
    return await start(level, options);
  } catch (error) {
    await level.close();
    throw error;
  }
}

async function start(level: Level, options: EmbeddedAwsOptions): Promise<EmbeddedAws> {
  const { path, port = 0, now = Date.now, expireEveryMs = EXPIRE_EVERY_MS, front, secretOf } = options;
  const dynamodb = new DynamoDb(new Database(level), now);
  await dynamodb.open();
  const objects = new ObjectStore(new Records(level), await openBodies(path && join(path, 'objects')), now);
  await objects.open();
  const { accessKeyId: ownKeyId, secretAccessKey: ownSecret } = CREDENTIALS;
  const s3 = new S3(objects, (keyId) => (keyId === ownKeyId ? ownSecret : secretOf?.(keyId)), now);
  const queues = new Queues(new Records(level), now);
  await queues.open();
  const sqs = new Sqs(queues, () => server.url);

  const route = (request: AwsRequest): Promise<AwsResponse> => {
    switch (request.headers['x-amz-target']?.split('.')[0]) {
      case undefined:
        return s3.serve(request);
      case 'DynamoDB_20120810':
        return serveJson(request, now(), (operation, body) => dynamodb.run(operation, body));
      case 'DynamoDBStreams_20120810':
        return serveJson(request, now(), (operation, body) => dynamodb.runStreams(operation, body));
      case 'AmazonSQS':
        return serveJson(request, now(), (operation, body) => sqs.run(operation, body, request.signal));
      default:
        return serveJson(request, now(), async () => refusal('UnknownOperationException'));
    }
  };
  let closing: Promise<void> | undefined;
  const running = new Set<Promise<unknown>>();
  const serve = async (request: AwsRequest): Promise<AwsResponse> => {
    if (closing) throw new EmbeddedAwsClosed();
    const answer = front ? front(request, route) : route(request);
    running.add(answer);
    return answer.finally(() => running.delete(answer));
  };

  const server = await listen(serve, port);
  const end = async () => {
    clearInterval(timer);
    queues.close();
    const ended = Promise.allSettled(running);
    await Promise.race([ended, once(AbortSignal.timeout(CLOSE_GRACE_MS), 'abort')]);
    await server.close();
    await ended;
    await dynamodb.close();
    await level.close();
  };
  const sweep = () => dynamodb.expire().catch((error) => console.error('expired items were not removed:', error));
  const timer = expireEveryMs > 0 ? setInterval(sweep, expireEveryMs).unref() : undefined;
  return {
    endpoint: server.url,
    onChange: (table, listener) => dynamodb.onChange(table, listener),
    journalRemovals: (table) => dynamodb.journalRemovals(table),
    expireNow: (at) => dynamodb.expire(at),
    clientConfig: () => ({
      region: REGION,
      credentials: CREDENTIALS,
      endpoint: server.url,
      requestHandler: new InProcessHandler(serve),
    }),
    close() {
      closing ??= end();
      return closing;
    },
  };
}
