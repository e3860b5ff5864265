import { ACCOUNT, REGION } from '../aws/dynamodb/store-view.ts';
import { textsOf } from '../aws/s3/xml.ts';
import type { AwsRequest } from '../aws/service.ts';
import type { Right } from './policy.ts';

export const arnOf = (service: string, resource: string) => `arn:aws:${service}:${REGION}:${ACCOUNT}:${resource}`;
export const tableArn = (table: string) => (table.startsWith('arn:') ? table : arnOf('dynamodb', `table/${table}`));
export const queueArn = (queue: string) => arnOf('sqs', queue);
export const bucketArn = (bucket: string) => `arn:aws:s3:::${bucket}`;
export const functionArn = (name: string) => arnOf('lambda', `function:${name}`);
export const mappingArn = (id: string) => arnOf('lambda', `event-source-mapping:${id}`);

type Body = Readonly<Record<string, unknown>>;
type Item = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Name of a table's partition key; undefined: there is no such table. */
export type KeyOf = (table: string) => string | undefined;

interface Part extends Body {
  readonly TableName: string;
  readonly Item?: Item;
  readonly Key?: Item;
}

/**
 * Rights that a request to DynamoDB needs. A transaction needs the rights of its parts. Source: AWS, "Actions, resources, and
 * condition keys for Amazon DynamoDB"; "Managing access to DynamoDB transactions".
 */
export function dynamodbRights(operation: string, body: Body, keyOf: KeyOf): Right[] {
  const parts = (body.TransactItems ?? []) as readonly Readonly<Record<string, Part>>[];
  if (operation.startsWith('Transact')) {
    // ConditionCheck, Delete, Get, Put, Update
    return parts.flatMap((part) => Object.entries(part)).map(([verb, part]) => onTable(`${verb}Item`, part, keyOf));
  }
  if (operation.startsWith('Batch')) {
    return Object.entries((body.RequestItems ?? {}) as Body).map(([table, requests]) => {
      const items =
        'Keys' in (requests as Body) ? ((requests as Body).Keys as Item[]) : writtenItems(requests as Body[]);
      return itemsRight(operation, table, items, keyOf);
    });
  }
  if (typeof body.TableName !== 'string') return [{ action: `dynamodb:${operation}`, resource: '*' }];
  return [onTable(operation, body as Part, keyOf)];
}

function writtenItems(requests: readonly Body[]): Item[] {
  return requests.flatMap((request) => Object.values(request) as Part[]).map(({ Item, Key }) => (Item ?? Key)!);
}

function onTable(operation: string, part: Part, keyOf: KeyOf): Right {
  const { TableName: table, IndexName: index } = part;
  if (index !== undefined) return { action: `dynamodb:${operation}`, resource: `${tableArn(table)}/index/${index}` };
  const item = part.Item ?? part.Key;
  if (item !== undefined) return itemsRight(operation, table, [item], keyOf);
  const leading = operation === 'Query' ? queriedKey(part, keyOf(table)) : undefined;
  return {
    action: `dynamodb:${operation}`,
    resource: tableArn(table),
    ...(leading !== undefined && { facts: { 'dynamodb:LeadingKeys': [leading] } }),
  };
}

function itemsRight(operation: string, table: string, items: readonly Item[], keyOf: KeyOf): Right {
  const key = keyOf(table);
  const leading = items.flatMap((item) => Object.values(item[key ?? ''] ?? {}));
  const facts = leading.length > 0 && { facts: { 'dynamodb:LeadingKeys': [...new Set(leading)] } };
  return { action: `dynamodb:${operation}`, resource: tableArn(table), ...facts };
}

/** The partition that a Query reads. */
function queriedKey(query: Part, key: string | undefined): string | undefined {
  const names = (query.ExpressionAttributeNames ?? {}) as Readonly<Record<string, string>>;
  const values = (query.ExpressionAttributeValues ?? {}) as Item;
  for (const [, name, value] of String(query.KeyConditionExpression ?? '').matchAll(/(#?[\w.-]+)\s*=\s*(:\w+)/g)) {
    if ((names[name!] ?? name) === key) return Object.values(values[value!] ?? {})[0];
  }
  return undefined;
}

/** Rights that a request to a stream needs. An iterator of the embedded engine names its stream. */
export function streamRights(operation: string, body: Body): Right[] {
  const action = `dynamodb:${operation}`;
  const stream = body.StreamArn ?? body.ExclusiveStartStreamArn;
  if (typeof stream === 'string') return [{ action, resource: stream }];
  if (typeof body.ShardIterator !== 'string') return [{ action, resource: '*' }];
  const { arn } = JSON.parse(Buffer.from(body.ShardIterator, 'base64').toString()) as { arn: string };
  return [{ action, resource: arn }];
}

/** Rights that a request to SQS needs: those of one message also for many. */
export function queueRights(operation: string, body: Body): Right[] {
  const name = String(body.QueueUrl ?? body.QueueName ?? '*')
    .split('/')
    .at(-1)!;
  return [{ action: `sqs:${operation.replace(/Batch$/, '')}`, resource: queueArn(name) }];
}

/**
 * Rights that a request to S3 needs. Source: AWS, "Required permissions for Amazon S3 API operations".
 * @param body of a request that deletes several objects
 */
export function objectRights({ method, path, query }: AwsRequest, body = ''): Right[] {
  const [, bucket = '', ...rest] = path.split('/').map(decodeURIComponent);
  const key = rest.join('/');
  const on = (verb: string, object?: string): Right => ({
    action: `s3:${verb}`,
    resource: bucketArn(bucket) + (object === undefined ? '' : `/${object}`),
  });
  if (bucket === '') return [{ action: 's3:ListAllMyBuckets', resource: '*' }];
  if (key === '') {
    if (method === 'POST' && 'delete' in query) {
      const keys = textsOf(body, 'Object').flatMap((object) => textsOf(object, 'Key'));
      return keys.map((each) => on('DeleteObject', each));
    }
    if (method === 'PUT') return [on('CreateBucket')];
    return [on(method === 'DELETE' ? 'DeleteBucket' : 'ListBucket')];
  }
  const verbs: Readonly<Record<string, string>> = { PUT: 'PutObject', DELETE: 'DeleteObject' };
  return [on(verbs[method] ?? 'GetObject', key)];
}
