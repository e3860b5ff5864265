import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { S3Client } from '@aws-sdk/client-s3';
import { SQSClient } from '@aws-sdk/client-sqs';
import { uploadsKey } from '../../shared/store/keys.ts';
import type { EmbeddedTables } from './embedded.ts';

interface Input {
  readonly TableName?: string;
  /** An item's, or an object's. */
  readonly Key?: { readonly pk?: { readonly S?: string } } | string;
  readonly QueueUrl?: string;
  readonly RequestItems?: Record<string, unknown>;
  readonly TransactItems?: Record<string, { TableName?: string }>[];
}

/** Calls whose right has another name. */
const RIGHT_OF: Readonly<Record<string, string>> = {
  DeleteObjects: 'DeleteObject',
  HeadObject: 'GetObject',
  SendMessageBatch: 'SendMessage',
};

/** Clients whose calls are noted in `used` as `resource service:action`, as IAM would judge them. */
export function clientsThatTell({ aws, logTable }: EmbeddedTables, used: Set<string>) {
  const config = { ...aws.clientConfig(), maxAttempts: 1 };
  const onTable = (name: string | undefined, action: string, key?: Input['Key']) => {
    // The one right that depends on the item's key.
    const ofUploads = action === 'DeleteItem' && typeof key === 'object' && key.pk?.S?.startsWith(uploadsKey(''));
    used.add(`${name === logTable ? 'Log' : 'State'}${ofUploads ? ` ${uploadsKey('*')}` : ''} dynamodb:${action}`);
  };
  const noting = (note: (action: string, input: Input) => void) =>
    [
      // biome-ignore lint/suspicious/noExplicitAny: the SDK's own type of a middleware, whose arguments are passed on
      (next: any, context: { commandName?: string }) => (args: any) => {
        const action = context.commandName!.replace(/Command$/, '');
        note(RIGHT_OF[action] ?? action, args.input);
        return next(args);
      },
      { step: 'initialize' },
    ] as const;
  const dynamodb = new DynamoDBClient(config);
  dynamodb.middlewareStack.add(
    ...noting((action, { TableName, Key, RequestItems, TransactItems }) => {
      // A transaction needs the rights of its parts: Put is PutItem, and so on.
      const parts = TransactItems?.flatMap((item) => Object.entries(item));
      for (const [part, what] of parts ?? []) onTable(what.TableName, `${part}Item`);
      if (parts === undefined) onTable(TableName ?? Object.keys(RequestItems!)[0], action, Key);
    }),
  );
  const s3 = new S3Client(config);
  s3.middlewareStack.add(
    ...noting((action, { Key }) =>
      // What is read may be any object: the rights on dead letters alone are to change them.
      used.add(
        `Bucket ${typeof Key === 'string' && Key.startsWith('dead-letters/') && action !== 'GetObject' ? 'dead-letters' : 'objects'} s3:${action}`,
      ),
    ),
  );
  const sqs = new SQSClient(config);
  sqs.middlewareStack.add(
    ...noting((action, { QueueUrl }) =>
      used.add(`Delivery${QueueUrl?.endsWith('/dead-letters') ? 'DeadLetters' : 'Wake'} sqs:${action}`),
    ),
  );
  return { dynamodb, s3, sqs };
}
