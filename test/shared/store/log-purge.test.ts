import { BatchWriteItemCommand, DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { expect, it } from 'vitest';
import { intentKey } from '../../../shared/store/keys.ts';
import { LogPurge } from '../../../shared/store/log-purge.ts';

it('a batch of deletions tells which of them were not carried out (F30)', async () => {
  const partition = { topicId: '01ARZ3NDEKTSV4RRFFQ69G5FAV', partition: 3 };
  const dynamodb = new DynamoDBClient({});
  const request = (last: string) => ({
    DeleteRequest: { Key: { log: { S: intentKey(partition) }, last: { N: last } } },
  });
  const mock = mockClient(dynamodb)
    .on(BatchWriteItemCommand)
    .resolvesOnce({ UnprocessedItems: { log: [request('7'), request('9')] } })
    .resolves({ UnprocessedItems: {} });
  const purge = new LogPurge(dynamodb, 'log');
  expect(await purge.delete(partition, 'intents', [5, 7, 9])).toEqual([7, 9]);
  expect(await purge.delete(partition, 'intents', [7, 9])).toEqual([]);
  expect(mock.commandCalls(BatchWriteItemCommand)[1]!.args[0].input.RequestItems).toEqual({
    log: [request('7'), request('9')],
  });
});
