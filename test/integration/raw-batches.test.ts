import { describe, expect, it } from 'vitest';
import { crc32c } from '../../shared/wire/crc32c.ts';
import { decodeRecordBatch, encodeRecordBatch } from '../../shared/wire/record-batch.ts';
import { undescribed } from '../support/openapi-page.ts';
import { openTopicBench } from '../support/topic-bench.ts';

const BATCH = { 'content-type': 'application/vnd.kafka.recordbatch' };
const RAW = { headers: { accept: 'application/vnd.kafka.recordbatch' } };
const bench = openTopicBench();

describe('a stored batch', () => {
  const records = ['a', 'b', 'c'].map((value) => ({
    key: Buffer.from('k'),
    value: Buffer.from(value),
    headers: [],
    timestamp: 7,
  }));
  const batch = Buffer.from(encodeRecordBatch(records, 0));

  it('goes in as it is and comes back as it is, with its offsets in it', async () => {
    const topic = await bench.newTopic(2);
    for (const baseOffset of [0, 3]) {
      const reply = await bench.api.post(`${topic}/partitions/1/records`, batch, BATCH);
      expect(reply.json()).toEqual({ partition: 1, baseOffset, count: 3, duplicate: false });
    }
    const reply = await bench.api.get(`${topic}/partitions/1/records?offset=4`, RAW);
    expect(reply.headers).toMatchObject({
      'content-type': 'application/vnd.kafka.recordbatch',
      'vertebra-next-offset': '6',
      'vertebra-high-watermark': '6',
    });
    expect(reply.bytes.subarray(8)).toEqual(batch.subarray(8));
    expect(reply.bytes.readBigInt64BE(0)).toBe(3n);
    expect(decodeRecordBatch(reply.bytes, 3).map(({ offset, value }) => [offset, String(value)])).toEqual([
      [3, 'a'],
      [4, 'b'],
      [5, 'c'],
    ]);
    const both = await bench.api.get(`${topic}/partitions/1/records?offset=0`, RAW);
    expect(both.bytes).toHaveLength(2 * batch.length);
  });

  it('is read as JSON records, too', async () => {
    const topic = await bench.newTopic(1);
    await bench.api.post(`${topic}/partitions/0/records`, batch, BATCH);
    const { records: back } = await bench.fetched(topic, 'offset=1');
    expect(back.map(({ offset, value, timestamp }) => [offset, value, timestamp])).toEqual([
      [1, 'b', 7],
      [2, 'c', 7],
    ]);
  });

  it('may hold a record of 4 MB that is no text: it comes as base64 in one answer', async () => {
    const topic = await bench.newTopic(1);
    const value = Buffer.alloc(4 * 1024 * 1024);
    await bench.api.post(
      `${topic}/partitions/0/records`,
      encodeRecordBatch([{ key: null, value, headers: [] }], 0),
      BATCH,
    );
    const page = await bench.fetched(topic, 'offset=0&values=base64');
    expect(page).toMatchObject({ records: [{ offset: 0, valueEncoding: 'base64' }], nextOffset: 1 });
    expect(page.records[0]!.value === value.toString('base64')).toBe(true);
  });

  it('that is damaged inside shows it record by record, and the reader goes on behind it', async () => {
    const topic = await bench.newTopic(1);
    const damaged = Buffer.from(encodeRecordBatch(records, 0));
    damaged[61] = 0x7f; // the first record's length
    damaged.writeUInt32BE(crc32c(damaged, 21), 17);
    await bench.api.post(`${topic}/partitions/0/records`, damaged, BATCH);
    await bench.api.post(`${topic}/records`, { records: [{ value: 'next' }] });
    const reply = await bench.api.get(`${topic}/partitions/0/records?offset=1`);
    const error = { code: 'payload_corrupt' };
    expect(reply.json()).toMatchObject({
      records: [
        { offset: 1, error },
        { offset: 2, error },
        { offset: 3, value: 'next' },
      ],
      nextOffset: 4,
    });
    expect(undescribed('GET', `${topic}/partitions/0/records?offset=1`, reply)).toEqual([]);
  });
});
