import { CloudFormationClient, paginateListStackResources } from '@aws-sdk/client-cloudformation';
import { DeleteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { paginateListObjectsV2, S3Client } from '@aws-sdk/client-s3';
import { DeleteMessageCommand, PurgeQueueCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { openAuth } from '../../client/auth.ts';
import type { Need, Target } from '../scenarios/target.ts';

/** What the tests are told by who deployed. */
export interface Deployment {
  readonly stack: string;
  /** Where the API is reached, without a slash at its end. */
  readonly url: string;
  readonly consumerArn: string;
  readonly strangerArn: string;
  /** Of the backbone; absent: it was deployed by somebody else, and may be in use. */
  readonly assembly?: string;
  /** For what the tests write; whoever deployed removes it. */
  readonly folder: string;
}

export const DEPLOYMENT_VARIABLE = 'VERTEBRA_DEPLOYMENT';

export function readDeployment(): Deployment {
  const text = process.env[DEPLOYMENT_VARIABLE];
  if (text === undefined) throw new Error('nothing is deployed: call npm run test:deploy');
  return JSON.parse(text) as Deployment;
}

/** What is offered of a backbone that is in use: nothing that takes something from its users. */
const OFFERED_IN_USE: readonly Need[] = ['consumer', 'sweep', 'bucket', 'expiry'];

export function offeredBy({ assembly }: Deployment): readonly Need[] {
  return assembly === undefined ? OFFERED_IN_USE : [...OFFERED_IN_USE, 'wake-queue', 'dead-letter-queue'];
}

/** Waits are bounded by the minute of the sweep, and what comes after it. */
const PATIENCE_MS = 120_000;
/** By logical ids: those of stored data, queues and functions do not change. */
const RESOURCES = {
  log: /^BackboneStorageLog[0-9A-F]{8}$/,
  state: /^BackboneStorageState[0-9A-F]{8}$/,
  bucket: /^BackboneStorageBucket[0-9A-F]{8}$/,
  wakeQueue: /^BackboneDeliveryWake[0-9A-F]{8}$/,
  deadLetterQueue: /^BackboneDeliveryDeadLetters[0-9A-F]{8}$/,
} as const;

export interface DeployedTarget extends Required<Target> {
  /** Calls a function. @returns its answer */
  invoke<T>(functionArn: string): Promise<T>;
  close(): void;
}

/** A stack, by AWS's own calls and those of its API. Credentials, region and endpoint are those of the environment. */
export async function openDeployed({ stack, url, consumerArn }: Deployment): Promise<DeployedTarget> {
  const clients = {
    dynamodb: new DynamoDBClient({}),
    lambda: new LambdaClient({}),
    s3: new S3Client({ forcePathStyle: process.env.AWS_ENDPOINT_URL !== undefined }),
    // An emulator names another host in the URLs of its queues.
    sqs: new SQSClient({ useQueueUrlAsEndpoint: false }),
  };
  const { dynamodb, lambda, s3, sqs } = clients;
  const { log, bucket, wakeQueue, deadLetterQueue } = await resourcesOf(stack);
  return {
    url,
    sign: openAuth({ iam: {} }, new URL(url)),
    patienceMs: PATIENCE_MS,
    consumer: async () => consumerArn,
    // The rule's minute is part of what is tried.
    sweep: async () => {},
    loseWakeUps: async () => void (await sqs.send(new PurgeQueueCommand({ QueueUrl: wakeQueue }))),
    async takeDeadLetterMessages() {
      const command = { QueueUrl: deadLetterQueue, MaxNumberOfMessages: 10, WaitTimeSeconds: 1 };
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand(command));
      for (const { ReceiptHandle } of Messages) {
        await sqs.send(new DeleteMessageCommand({ QueueUrl: deadLetterQueue, ReceiptHandle }));
      }
      return Messages.map(({ Body }) => Body!);
    },
    async objects(prefix) {
      const keys: string[] = [];
      for await (const { Contents = [] } of paginateListObjectsV2({ client: s3 }, { Bucket: bucket, Prefix: prefix })) {
        keys.push(...Contents.map(({ Key }) => Key!));
      }
      return keys;
    },
    async expire(of, last) {
      const Key = { log: { S: of }, last: { N: String(last) } };
      await dynamodb.send(new DeleteItemCommand({ TableName: log, Key }));
    },
    async invoke(functionArn) {
      const { Payload } = await lambda.send(new InvokeCommand({ FunctionName: functionArn }));
      return JSON.parse(Payload!.transformToString());
    },
    close() {
      for (const client of Object.values(clients)) client.destroy();
    },
  };
}

/** Names, or URLs, of what a backbone's stack holds. */
export async function resourcesOf(stack: string): Promise<Record<keyof typeof RESOURCES, string>> {
  const client = new CloudFormationClient({});
  const found = new Map<string, string>();
  for await (const page of paginateListStackResources({ client }, { StackName: stack })) {
    for (const { LogicalResourceId, PhysicalResourceId } of page.StackResourceSummaries ?? []) {
      if (PhysicalResourceId !== undefined) found.set(LogicalResourceId!, PhysicalResourceId);
    }
  }
  client.destroy();
  const named = Object.entries(RESOURCES).map(([name, pattern]) => {
    const id = [...found.keys()].find((each) => pattern.test(each));
    if (id === undefined) throw new Error(`the stack ${stack} has no ${pattern.source}`);
    return [name, found.get(id)!];
  });
  return Object.fromEntries(named) as Record<keyof typeof RESOURCES, string>;
}
