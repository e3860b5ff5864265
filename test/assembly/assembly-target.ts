import { DeleteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3';
import { DeleteMessageCommand, PurgeQueueCommand, ReceiveMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { openAuth } from '../../client/auth.ts';
import type { AssemblyServer } from '../../local/assembly/assembly-server.ts';
import type { Need, Target } from '../scenarios/target.ts';
import { SHOP } from './synthesised.ts';

/** What the assembly offers to scenarios. */
export const OFFERED: readonly Need[] = [
  ...(['consumer', 'sweep', 'wake-queue', 'dead-letter-queue', 'bucket', 'expiry'] as const),
];

/** A running assembly as a target, and the clients of whoever may do everything in it. */
export function assemblyTarget(server: AssemblyServer) {
  /** Its physical name, by how its logical id begins. */
  const named = (id: string) => {
    const [, made] = [...server.resources].find(([key]) =>
      new RegExp(`^Vertebra/Backbone${id}[0-9A-F]{8}$`).test(key),
    )!;
    return made.ref;
  };
  const places = {
    ...{ log: named('StorageLog'), state: named('StorageState'), bucket: named('StorageBucket') },
    ...{ wakeQueueUrl: named('DeliveryWake'), deadLetterQueueUrl: named('DeliveryDeadLetters') },
  };
  const dynamodb = new DynamoDBClient(server.aws.clientConfig());
  const s3 = new S3Client(server.aws.clientConfig());
  const sqs = new SQSClient({ ...server.aws.clientConfig(), useQueueUrlAsEndpoint: false });
  const target: Target = {
    url: server.url,
    sign: openAuth({ iam: { region: 'us-east-1', credentials: server.keys } }, new URL(server.url), server.now),
    patienceMs: 60_000,
    consumer: async () => String(server.outputs.get(SHOP.stack)![`Export${SHOP.consumerArn}`]),
    sweep: () => server.tidyUp(),
    async loseWakeUps() {
      await sqs.send(new PurgeQueueCommand({ QueueUrl: places.wakeQueueUrl }));
    },
    async takeDeadLetterMessages() {
      const QueueUrl = places.deadLetterQueueUrl;
      const { Messages = [] } = await sqs.send(new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10 }));
      for (const { ReceiptHandle } of Messages) await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
      return Messages.map(({ Body }) => Body!);
    },
    async objects(prefix) {
      const { Contents = [] } = await s3.send(new ListObjectsV2Command({ Bucket: places.bucket, Prefix: prefix }));
      return Contents.map(({ Key }) => Key!);
    },
    async expire(log, last) {
      const Key = { log: { S: log }, last: { N: String(last) } };
      await dynamodb.send(new DeleteItemCommand({ TableName: places.log, Key }));
    },
  };
  const close = () => {
    for (const client of [dynamodb, s3, sqs]) client.destroy();
  };
  return { target, places, dynamodb, s3, sqs, close };
}
