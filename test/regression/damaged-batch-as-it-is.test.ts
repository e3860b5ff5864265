import { type AttributeValue, PutItemCommand, ScanCommand } from '@aws-sdk/client-dynamodb';
import { expect, it } from 'vitest';
import { decodeRecordBatch } from '../../shared/wire/record-batch.ts';
import { openTopicBench } from '../support/topic-bench.ts';

const RAW = { headers: { accept: 'application/vnd.kafka.recordbatch' } };
const bench = openTopicBench();

/** Flips one bit of the batch that lies in the slot whose last offset is `last`. */
async function damage(topicId: string, last: number, byte: number): Promise<void> {
  const { dynamodb, logTable } = bench.api.tables;
  const { Items } = await dynamodb.send(new ScanCommand({ TableName: logTable }));
  const slot = Items!.find(({ log, last: at }) => log!.S === `${topicId}.0` && at!.N === String(last))!;
  const batch = Uint8Array.from(slot.batch!.B!);
  batch[byte]! ^= 1;
  const Item: Record<string, AttributeValue> = { ...slot, batch: { B: batch } };
  await dynamodb.send(new PutItemCommand({ TableName: logTable, Item }));
}

it.each([
  ['its length', 10],
  ['its number of records', 60],
  ['a record', 70],
])('a damaged batch is not handed out among others as they are: %s', async (_, byte) => {
  const topic = await bench.newTopic();
  for (const value of ['before', 'damaged', 'after'])
    await bench.api.post(`${topic}/records`, { records: [{ value }] });
  const { topicId } = await bench.fetched(topic);
  await damage(topicId, 1, byte);

  const path = `${topic}/partitions/0/records`;
  expect((await bench.fetched(topic)).records).toMatchObject([
    { value: 'before' },
    { error: { code: 'payload_corrupt' } },
    { value: 'after' },
  ]);
  const before = await bench.api.get(`${path}?offset=0`, RAW);
  expect(before.headers).toMatchObject({ 'vertebra-next-offset': '1' });
  expect(decodeRecordBatch(before.bytes, 0)).toHaveLength(1);
  const refused = await bench.api.get(`${path}?offset=1`, RAW);
  expect(refused.json()).toMatchObject({ status: 500, code: 'payload_corrupt', nextOffset: 2 });
  const after = await bench.api.get(`${path}?offset=2`, RAW);
  expect([after.status, decodeRecordBatch(after.bytes, 2).length]).toEqual([200, 1]);
});
