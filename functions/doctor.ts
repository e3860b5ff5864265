import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { CloudWatchClient } from '@aws-sdk/client-cloudwatch';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { EventBridgeClient } from '@aws-sdk/client-eventbridge';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { type BackboneParts, backbonesIn, partsOf } from '../shared/domain/backbone-parts.ts';
import type { Clock } from '../shared/domain/clock.ts';
import { CannotLook } from '../shared/domain/finding.ts';
import { ENV } from '../shared/env.ts';
import { examineBackground } from '../shared/operations/examine-background.ts';
import { examineClaims } from '../shared/operations/examine-claims.ts';
import { type DeploymentPorts, examineDeployment } from '../shared/operations/examine-deployment.ts';
import { examineGroups, examineSubscriptions } from '../shared/operations/examine-groups.ts';
import { examineLogs } from '../shared/operations/examine-logs.ts';
import { examineObjects } from '../shared/operations/examine-objects.ts';
import { examinePartitions } from '../shared/operations/examine-partitions.ts';
import { Findings, type FindingsReport } from '../shared/operations/findings.ts';
import { PartitionEnds } from '../shared/operations/partition-ends.ts';
import { BucketSettings } from '../shared/store/bucket-settings.ts';
import { FunctionSettings } from '../shared/store/function-settings.ts';
import { LogKeys } from '../shared/store/log-keys.ts';
import { PayloadListing } from '../shared/store/payload-listing.ts';
import { QueueSettings } from '../shared/store/queue-settings.ts';
import { stackResources } from '../shared/store/stack-resources.ts';
import { SweepLease } from '../shared/store/sweep-lease.ts';
import { TableSettings } from '../shared/store/table-settings.ts';
import { alarmsNamed, isRuleEnabled } from '../shared/store/watch-settings.ts';
import { openTables } from './tables.ts';

/** Where to look: what a stack has made, or tables and a bucket by name. */
export type DoctorPlace = { readonly stack: string; readonly backbone?: string | undefined } | BackboneParts;

export interface DoctorOptions {
  /** Also what takes a look at everything: claims, objects, the keys of all logs. */
  readonly deep: boolean;
  /** Moves heads that their logs have overtaken. */
  readonly repair: boolean;
  /** Looks for claims beyond their logs, without all that is `deep`. */
  readonly claims: boolean;
  /** Items, objects and keys that such a look goes through at most. */
  readonly looksMax: number;
  readonly onProgress: (what: string, count: number) => void;
}

/** Whose backbone it is; absent: as the environment says. */
export interface DoctorAccount {
  readonly profile?: string | undefined;
  readonly region?: string | undefined;
}

/** The clients by which the doctor looks. Without the last three there are no functions, schedules and alarms to look at. */
export interface DoctorClients {
  readonly dynamodb: DynamoDBClient;
  readonly s3: S3Client;
  readonly sqs: SQSClient;
  readonly lambda?: LambdaClient;
  readonly eventBridge?: EventBridgeClient;
  readonly cloudWatch?: CloudWatchClient;
}

/** Nobody waits for a single call: each may take its time, and is made again. */
const CALLS = {
  maxAttempts: 5,
  requestHandler: { connectionTimeout: 3_000, requestTimeout: 15_000, throwOnRequestTimeout: true },
} as const;

/** Looks at a backbone in AWS. @throws {CannotLook} when it cannot even be found */
export async function examineAws(
  place: DoctorPlace,
  account: DoctorAccount,
  options: DoctorOptions,
): Promise<FindingsReport> {
  const config = {
    ...CALLS,
    ...(account.profile !== undefined && { profile: account.profile }),
    ...(account.region !== undefined && { region: account.region }),
  };
  const clients = {
    dynamodb: new DynamoDBClient(config),
    s3: new S3Client(config),
    sqs: new SQSClient({ ...config, useQueueUrlAsEndpoint: false }),
    lambda: new LambdaClient(config),
    eventBridge: new EventBridgeClient(config),
    cloudWatch: new CloudWatchClient(config),
  };
  const cloudFormation = new CloudFormationClient(config);
  try {
    await requireRegion(cloudFormation);
    const parts = 'stack' in place ? await partsOfStack(cloudFormation, place) : place;
    return await examineBackbone(clients, parts, options);
  } finally {
    for (const client of [...Object.values(clients), cloudFormation]) client.destroy();
  }
}

/** The SDK says so with each call, in words that name no option. @throws {CannotLook} nobody says which region it is */
async function requireRegion({ config }: CloudFormationClient): Promise<void> {
  await config.region().catch((cause: Error) => {
    throw new CannotLook('no AWS region is set: name one with --region, AWS_REGION, or the profile', { cause });
  });
}

/** What a backbone of a stack consists of. @throws {CannotLook} there is no such stack, or which backbone of it is meant is not clear */
export async function partsOfStack(
  cloudFormation: Pick<CloudFormationClient, 'send'>,
  { stack, backbone }: { readonly stack: string; readonly backbone?: string | undefined },
): Promise<BackboneParts> {
  const resources = await stackResources(cloudFormation, stack);
  const all = backbonesIn(resources);
  const chosen = backbone ?? (all.length === 1 ? all[0]! : undefined);
  if (all.length === 0) throw new CannotLook(`stack ${stack} holds no backbone`);
  if (chosen === undefined || !all.includes(chosen)) {
    throw new CannotLook(`stack ${stack} holds these backbones: ${all.join(', ')}; name one of them with --backbone`);
  }
  const parts = partsOf(resources, chosen);
  if (parts === undefined) throw new CannotLook(`backbone ${chosen} of stack ${stack} has no State table or no bucket`);
  return parts;
}

/** Looks at a backbone, and puts right what it may. @param host the host's own clock */
export async function examineBackbone(
  clients: DoctorClients,
  parts: BackboneParts,
  options: DoctorOptions,
  host: Clock = Date,
): Promise<FindingsReport> {
  const { deep, repair, claims, looksMax } = options;
  const findings = new Findings(options.onProgress);
  const { dynamodb, s3 } = clients;
  const ports = {
    ...openTables(dynamodb, parts, undefined, host),
    lease: new SweepLease(dynamodb, parts.stateTable),
    objects: new PayloadListing(s3, parts.bucket, dynamodb, parts),
    logKeys: new LogKeys(dynamodb, parts.logTable),
  };
  const subscriptions = await examineSubscriptions(ports, findings);
  const { wakeQueueUrl, deadLetterQueueUrl } = parts;
  const environment = {
    [ENV.logTable]: parts.logTable,
    [ENV.stateTable]: parts.stateTable,
    [ENV.bucket]: parts.bucket,
    ...(wakeQueueUrl !== undefined && { [ENV.wakeQueueUrl]: wakeQueueUrl }),
    ...(deadLetterQueueUrl !== undefined && { [ENV.deadLetterQueueUrl]: deadLetterQueueUrl }),
  };
  const context = {
    environment,
    versionVariable: ENV.version,
    ...(subscriptions !== undefined && { subscriptions }),
  };
  await examineDeployment(openSettings(clients), parts, context, findings);
  await examinePartitions(ports, repair, findings);
  await examineBackground(ports, findings);
  const ends = new PartitionEnds(ports);
  await examineGroups(ports, ends, findings);
  if (deep || claims) await examineClaims(ports, ends, looksMax, findings);
  if (deep) {
    await examineObjects(ports, looksMax, findings);
    await examineLogs(ports, looksMax, findings);
  }
  return findings.report();
}

function openSettings({ dynamodb, s3, sqs, lambda, eventBridge, cloudWatch }: DoctorClients): DeploymentPorts {
  return {
    tables: new TableSettings(dynamodb),
    buckets: new BucketSettings(s3),
    queues: new QueueSettings(sqs),
    functions: new FunctionSettings(lambda ?? NOTHING_THERE),
    isRuleEnabled: (name) => isRuleEnabled(eventBridge ?? NOTHING_THERE, name),
    alarmsNamed: (names) => alarmsNamed(cloudWatch ?? NOTHING_THERE, names),
  };
}

/** For what has no such parts: it is never asked. */
const NOTHING_THERE = { send: () => Promise.reject(new CannotLook('there are none here')) };
