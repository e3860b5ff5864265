import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import type { Backbone } from '../functions/backbone.ts';
import { callsBy, type DeliverHandler, deliverHandler, openDeliver } from '../functions/deliver.ts';
import { dispatchHandler } from '../functions/dispatch.ts';
import { fetchHandler } from '../functions/fetch.ts';
import { groupsHandler } from '../functions/groups.ts';
import { openGroups } from '../functions/groups-backbone.ts';
import { produceHandler } from '../functions/produce.ts';
import { openProduce } from '../functions/produce-backbone.ts';
import { openSubscriptions, subscriptionsHandler } from '../functions/subscriptions.ts';
import { openSweep, sweepHandler } from '../functions/sweep.ts';
import { topicsHandler } from '../functions/topics.ts';
import { DELIVER_FUNCTION_TIMEOUT_MS, LIST_LIMIT_MAX, SPILL_ABOVE_BYTES_DEFAULT } from '../shared/domain/limits.ts';
import type { TargetSpec } from '../shared/domain/target-spec.ts';
import type { WakeUp } from '../shared/domain/wake-up.ts';
import { Doorbell } from '../shared/operations/doorbell.ts';
import { listTopics } from '../shared/operations/topics.ts';
import { WakeQueue } from '../shared/store/wake-queue.ts';
import { checkSpec } from '../shared/target/check.ts';
import type { ApiFunction } from '../shared/wire/routes.ts';
import { renewAdminKey } from './admin-key.ts';
import { openEmbeddedAws } from './aws/embedded-aws.ts';
import type { EmbeddedClientConfig } from './aws/in-process-handler.ts';
import { createBackboneResources } from './aws/tables.ts';
import { contextNow, startBackground } from './background.ts';
import { type Exchange, openGateway } from './gateway.ts';
import type { LambdaHandler } from './invocation.ts';
import { ModuleFunctions } from './module-function.ts';
import type { LocalAuth } from './options.ts';
import type { TopicFacts } from './status-lines.ts';
import { localChecks } from './target-checks.ts';

export interface BackboneServerOptions {
  /** 0: any free one. */
  readonly port: number;
  /** Folder of the embedded AWS; absent: everything in memory. */
  readonly path?: string | undefined;
  /** How callers are known. Default: not at all. */
  readonly auth?: LocalAuth | undefined;
  /** Told of records as they are appended and read. */
  readonly onRecords: (topicId: string, direction: 'in' | 'out', records: number) => void;
  /** Told of every request that reached a function. */
  readonly onExchange: (exchange: Exchange) => void;
  /** Told of a function that works in the background and threw; it is called again. */
  readonly onFailure: (name: string, error: unknown) => void;
  /** How far the backbone's clock is ahead of the host's, ms. Absent: not at all. */
  readonly aheadMs?: (() => number) | undefined;
}

export interface BackboneServer {
  readonly url: string;
  /** By which everything may be done, where callers are known by API keys. */
  readonly adminKey?: string;
  /** For AWS clients of others: the backbone's tables are there, and theirs may lie beside them. */
  clientConfig(): EmbeddedClientConfig;
  readonly stateTable: string;
  /** All topics by id. */
  describeTopics(): Promise<ReadonlyMap<string, TopicFacts>>;
  /** Removes what has expired, and does what the sweep does from minute to minute. */
  tidyUp(): Promise<void>;
  /** Waits at most `drainMs` for requests under way; then the data is closed. */
  close(drainMs: number): Promise<void>;
}

/** Names within one embedded AWS, which holds one backbone. */
export const ENVIRONMENT = {
  logTable: 'log',
  stateTable: 'state',
  bucket: 'payloads',
  wakeQueue: 'wake',
  deadLetterQueue: 'dead-letters',
  spillAboveBytes: SPILL_ABOVE_BYTES_DEFAULT,
};

/**
 * The whole backbone in this process: the functions as they are deployed, behind a gateway, over an embedded AWS.
 * @throws `DataInUse`, or `EADDRINUSE`: then nothing is left open.
 */
export async function openBackboneServer(options: BackboneServerOptions): Promise<BackboneServer> {
  const { aheadMs, auth = 'none' } = options;
  const aws = await openEmbeddedAws({
    ...(options.path !== undefined && { path: options.path }),
    ...(aheadMs && { now: () => Date.now() + aheadMs() }),
  });
  try {
    const dynamodb = new DynamoDBClient(aws.clientConfig());
    const s3 = new S3Client(aws.clientConfig());
    const sqs = new SQSClient(aws.clientConfig());
    if (aheadMs) for (const { config } of [dynamodb, s3, sqs]) followClock(config, aheadMs);
    const { wakeQueueUrl, deadLetterQueueUrl } = await createBackboneResources({ dynamodb, s3, sqs }, ENVIRONMENT);
    const backbone = openProduce({ dynamodb, s3 }, ENVIRONMENT, (observation) => {
      if (observation.kind === 'records_appended')
        options.onRecords(topicIdOf(observation.log), 'in', observation.count);
      if (observation.kind === 'records_read') options.onRecords(topicIdOf(observation.log), 'out', observation.count);
    });
    const functions = new ModuleFunctions(process.cwd());
    const checks = localChecks(functions);
    const wakeQueue = new WakeQueue(sqs, wakeQueueUrl);
    const groups = openGroups(backbone, { s3, sqs }, { ...ENVIRONMENT, deadLetterQueueUrl, wakeQueueUrl });
    const callOf = callsBy({ functions, sqs, eventBridge: NO_BUSES, rules: checks.rules });
    const handOn = async (aside: WakeUp) => void besides({ aside }, contextNow(DELIVER_FUNCTION_TIMEOUT_MS));
    const deliver = deliverHandler(() => openDeliver(groups, sqs, { wakeQueueUrl }, callOf, handOn));
    const deliverBesides = deliverHandler(() => openDeliver(groups, sqs, { wakeQueueUrl }, callOf));
    const besides: DeliverHandler = (event, context) =>
      deliverBesides(event, context).catch((error) => {
        options.onFailure('deliver', error);
        return { batchItemFailures: [] };
      });
    const pushed = {
      targets: { check: (target: TargetSpec) => checkSpec(target, checks) },
      // Everything here is woken by the same process, and waiting costs nothing.
      deliveries: { switch: async () => {} },
    };
    const settings = { access: { auth, storedGrants: false } };
    const adminKey = auth === 'apiKey' ? await renewAdminKey(backbone) : undefined;
    const gateway = await openGateway({
      handlers: {
        produce: produceHandler({ ...backbone, doorbell: new Doorbell({ ...backbone, wakeQueue }) }, settings),
        fetch: fetchHandler(backbone, settings),
        topics: topicsHandler(backbone, settings),
        groups: groupsHandler(groups, settings),
        subscriptions: subscriptionsHandler(openSubscriptions(backbone, sqs, { wakeQueueUrl }, pushed), settings),
      } satisfies Record<ApiFunction, LambdaHandler>,
      port: options.port,
      observe: options.onExchange,
    });
    const background = startBackground({
      ...{ aws, sqs, wakeQueueUrl, logTable: ENVIRONMENT.logTable, onFailure: options.onFailure },
      dispatch: dispatchHandler(() => ({ ...backbone, wakeQueue })),
      deliver,
      sweep: sweepHandler(() => ({ ...openSweep({ dynamodb, s3 }, ENVIRONMENT), wakeQueue })),
    });
    return {
      url: gateway.url,
      ...(adminKey !== undefined && { adminKey }),
      clientConfig: () => aws.clientConfig(),
      stateTable: ENVIRONMENT.stateTable,
      describeTopics: () => describeTopics(backbone),
      async tidyUp() {
        await aws.expireNow();
        await background.sweep();
      },
      async close(drainMs) {
        await gateway.close(drainMs);
        await background.close();
        for (const client of [dynamodb, s3, sqs]) client.destroy();
        await aws.close();
      },
    };
  } catch (error) {
    await aws.close();
    throw error;
  }
}

/** There are no event buses here: none can be subscribed to. */
const NO_BUSES = { send: () => Promise.reject(new Error('there are no event buses here')) };

/** The SDK learns of a clock that is set by what services answer, and only of large steps: here it is told. */
function followClock(config: { systemClockOffset: number }, aheadMs: () => number): void {
  Object.defineProperty(config, 'systemClockOffset', { get: aheadMs, set: () => {} });
}

async function describeTopics(backbone: Backbone): Promise<ReadonlyMap<string, TopicFacts>> {
  const facts = new Map<string, TopicFacts>();
  let after: string | undefined;
  do {
    const page = await listTopics(backbone, { limit: LIST_LIMIT_MAX, ...(after !== undefined && { after }) });
    for (const { id, name, partitions } of page.items) facts.set(id, { name, partitions });
    after = page.next;
  } while (after !== undefined);
  return facts;
}

/** A log is `<topicId>.<partition>`. */
const topicIdOf = (log: string) => log.slice(0, log.lastIndexOf('.'));
