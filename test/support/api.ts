import { DynamoDBClient, ScanCommand } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { CreateQueueCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Backbone } from '../../functions/backbone.ts';
import { fetchHandler } from '../../functions/fetch.ts';
import { groupsHandler } from '../../functions/groups.ts';
import { openGroups } from '../../functions/groups-backbone.ts';
import { produceHandler } from '../../functions/produce.ts';
import { openProduce } from '../../functions/produce-backbone.ts';
import { openSubscriptions, subscriptionsHandler } from '../../functions/subscriptions.ts';
import { topicsHandler } from '../../functions/topics.ts';
import type { EmbeddedAwsOptions } from '../../local/aws/embedded-aws.ts';
import type { LambdaHandler } from '../../local/invocation.ts';
import { ModuleFunctions } from '../../local/module-function.ts';
import { localChecks } from '../../local/target-checks.ts';
import type { AccessSettings } from '../../shared/domain/access.ts';
import type { Clock } from '../../shared/domain/clock.ts';
import { TargetForbidden } from '../../shared/domain/subscription-errors.ts';
import type { Env } from '../../shared/env.ts';
import { checkSpec, type TargetChecks } from '../../shared/target/check.ts';
import type { ApiFunction } from '../../shared/wire/routes.ts';
import { type EmbeddedTables, embeddedTables } from './embedded.ts';
import { FaultHandler } from './fault-handler.ts';
import { type Reply, type Sent, send } from './gateway-call.ts';

export interface ApiOptions {
  readonly corsOrigins?: readonly string[];
  /** How callers are known; absent: not at all. */
  readonly access?: AccessSettings;
  /** 0 ≤ n < 1: where a request without keys goes. */
  readonly random?: () => number;
  /** The host's clock. One that tests move by hand moves with every pause, so that none is waited for. */
  readonly clock?: Clock & { pass?(ms: number): void };
  /** What the function's environment says besides the names of tables and bucket. */
  readonly env?: Partial<Env>;
  /** How the embedded engine runs. */
  readonly engine?: EmbeddedAwsOptions;
}

/** The whole API over an embedded engine of its own, called as the gateway calls it. */
export interface Api {
  readonly backbone: Backbone;
  readonly handlers: Readonly<Record<ApiFunction, LambdaHandler>>;
  /** What goes wrong on the way to the store; each call has one attempt. */
  readonly faults: FaultHandler;
  /** What it stores in, for a look behind the API. */
  readonly tables: EmbeddedTables;
  /** What wakes deliveries, and whether it is on: the last switch. */
  readonly deliveries: { on: boolean | undefined };
  /** The wake queue's URL. */
  readonly wakeQueueUrl: string;
  /** Where it tells of dead letters. */
  readonly deadLetters: { readonly url: string; readonly sqs: SQSClient };
  get(target: string, sent?: Sent): Promise<Reply>;
  put(target: string, body?: Sent['body'], headers?: Sent['headers']): Promise<Reply>;
  post(target: string, body?: Sent['body'], headers?: Sent['headers']): Promise<Reply>;
  delete(target: string): Promise<Reply>;
  send(method: string, target: string, sent?: Sent): Promise<Reply>;
  /** Every item of both tables: two that are equal mean that nothing was written in between. */
  stored(): Promise<string[]>;
  close(): Promise<void>;
}

export async function openApi({ corsOrigins = [], access, random, clock, env, engine }: ApiOptions = {}): Promise<Api> {
  const tables = await embeddedTables(engine);
  const config = tables.aws.clientConfig();
  const faults = new FaultHandler(config.requestHandler);
  const dynamodb = new DynamoDBClient({ ...config, requestHandler: faults, maxAttempts: 1 });
  const s3 = new S3Client({ ...config, requestHandler: faults, maxAttempts: 1 });
  const opened = openProduce({ dynamodb, s3 }, { ...tables, ...env }, undefined, clock);
  const sleep = clock?.pass && (async (ms: number) => clock.pass!(ms));
  const backbone = { ...opened, ...(random && { random }), ...(sleep && { sleep }) };
  const sqs = new SQSClient({ ...config, requestHandler: faults, maxAttempts: 1 });
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: 'dead-letters' }));
  const queue = { url: QueueUrl!, sqs };
  const wake = await sqs.send(new CreateQueueCommand({ QueueName: 'wake' }));
  const deliveries: Api['deliveries'] = { on: undefined };
  const checks: TargetChecks = {
    ...localChecks(new ModuleFunctions(process.cwd())),
    // As deployed: a function, or a queue, that lets nobody in.
    sqs: async () => {
      throw new TargetForbidden('access is denied', 'aws sqs …');
    },
  };
  const settings = { corsOrigins, access };
  const handlers = {
    produce: produceHandler(backbone, settings),
    fetch: fetchHandler(backbone, settings),
    topics: topicsHandler(backbone, settings),
    groups: groupsHandler(
      openGroups(backbone, { s3, sqs }, { ...tables, deadLetterQueueUrl: queue.url, wakeQueueUrl: wake.QueueUrl! }),
      settings,
    ),
    subscriptions: subscriptionsHandler(
      openSubscriptions(
        backbone,
        sqs,
        { wakeQueueUrl: wake.QueueUrl! },
        {
          targets: { check: (target) => checkSpec(target, checks) },
          deliveries: {
            switch: async (on) => {
              deliveries.on = on;
            },
          },
        },
      ),
      settings,
    ),
  };
  const call = (method: string, target: string, sent?: Sent) => send(handlers, method, target, sent);
  const withBody = (method: string) => (target: string, body?: Sent['body'], headers?: Sent['headers']) =>
    call(method, target, { ...(body !== undefined && { body }), ...(headers && { headers }) });
  return {
    backbone,
    handlers,
    faults,
    tables,
    deadLetters: queue,
    deliveries,
    wakeQueueUrl: wake.QueueUrl!,
    send: call,
    get: (target, sent) => call('GET', target, sent),
    put: withBody('PUT'),
    post: withBody('POST'),
    delete: (target) => call('DELETE', target),
    stored: async () =>
      [...(await itemsOf(tables, tables.logTable)), ...(await itemsOf(tables, tables.stateTable))].sort(),
    close: async () => {
      dynamodb.destroy();
      s3.destroy();
      sqs.destroy();
      await tables.close();
    },
  };
}

async function itemsOf({ dynamodb }: { dynamodb: DynamoDBClient }, table: string): Promise<string[]> {
  const { Items = [] } = await dynamodb.send(new ScanCommand({ TableName: table, ConsistentRead: true }));
  return Items.map((item) => JSON.stringify(item));
}
