import { describe, expect, it } from 'vitest';
import { dynamodbRights, objectRights, queueRights, streamRights } from '../../../local/assembly/rights.ts';

const TABLE = 'arn:aws:dynamodb:us-east-1:000000000000:table/state';
const keyOf = (table: string) => (table === 'state' ? 'pk' : undefined);
const rights = (operation: string, body: object) =>
  dynamodbRights(operation, body as Record<string, unknown>, keyOf).map(({ action, resource, facts = {} }) => [
    action,
    resource,
    ...Object.values(facts),
  ]);
const item = (pk: string) => ({ pk: { S: pk }, sk: { S: 'x' } });

describe('a request to a table needs a right', () => {
  it.each([
    ['GetItem', { TableName: 'state', Key: item('a') }, [['dynamodb:GetItem', TABLE, ['a']]]],
    ['PutItem', { TableName: TABLE, Item: item('a') }, [['dynamodb:PutItem', TABLE]]],
    ['Scan', { TableName: 'state' }, [['dynamodb:Scan', TABLE]]],
    ['Query', { TableName: 'state', IndexName: 'by' }, [['dynamodb:Query', `${TABLE}/index/by`]]],
    ['ListTables', {}, [['dynamodb:ListTables', '*']]],
    [
      'Query',
      {
        ...{ TableName: 'state', KeyConditionExpression: 'sk > :from AND #p = :pk' },
        ExpressionAttributeNames: { '#p': 'pk' },
        ExpressionAttributeValues: { ':pk': { S: 'a' }, ':from': { S: 'b' } },
      },
      [['dynamodb:Query', TABLE, ['a']]],
    ],
    [
      'BatchWriteItem',
      { RequestItems: { state: [{ PutRequest: { Item: item('a') } }, { DeleteRequest: { Key: item('b') } }] } },
      [['dynamodb:BatchWriteItem', TABLE, ['a', 'b']]],
    ],
    [
      'BatchGetItem',
      { RequestItems: { state: { Keys: [item('a'), item('a')] } } },
      [['dynamodb:BatchGetItem', TABLE, ['a']]],
    ],
    [
      'TransactWriteItems',
      {
        TransactItems: [
          { ConditionCheck: { TableName: 'state', Key: item('a') } },
          { Delete: { TableName: 'state', Key: item('b') } },
        ],
      },
      [
        ['dynamodb:ConditionCheckItem', TABLE, ['a']],
        ['dynamodb:DeleteItem', TABLE, ['b']],
      ],
    ],
  ])('%s %j', (operation, body, expected) => {
    expect(rights(operation, body)).toEqual(expected);
  });
});

describe('a request to a stream, a queue or a bucket needs a right', () => {
  it('on the stream that its iterator is of', () => {
    const ShardIterator = Buffer.from(JSON.stringify({ arn: 'arn:stream' })).toString('base64');
    expect(streamRights('GetRecords', { ShardIterator })).toEqual([
      { action: 'dynamodb:GetRecords', resource: 'arn:stream' },
    ]);
  });

  it('on its queue, the same for one message and for many', () => {
    expect(
      queueRights('SendMessageBatch', { QueueUrl: 'https://sqs.us-east-1.amazonaws.com/000000000000/wake' }),
    ).toEqual([{ action: 'sqs:SendMessage', resource: 'arn:aws:sqs:us-east-1:000000000000:wake' }]);
  });

  it.each([
    ['GET', '/b/a%20b/c', {}, ['s3:GetObject arn:aws:s3:::b/a b/c']],
    ['HEAD', '/b/c', {}, ['s3:GetObject arn:aws:s3:::b/c']],
    ['PUT', '/b/c', {}, ['s3:PutObject arn:aws:s3:::b/c']],
    ['DELETE', '/b/c', {}, ['s3:DeleteObject arn:aws:s3:::b/c']],
    ['GET', '/b', { 'list-type': '2' }, ['s3:ListBucket arn:aws:s3:::b']],
    ['POST', '/b', { delete: '' }, ['s3:DeleteObject arn:aws:s3:::b/1', 's3:DeleteObject arn:aws:s3:::b/2']],
  ])('%s %s', (method, path, query, expected) => {
    const body = '<Delete><Object><Key>1</Key></Object><Object><Key>2</Key></Object></Delete>';
    const request = { method, path, query: query as Record<string, string>, headers: {}, body };
    expect(objectRights(request, body).map(({ action, resource }) => `${action} ${resource}`)).toEqual(expected);
  });
});
