import { expect } from 'vitest';
import { decodeRecordBatch, encodeRecordBatch } from '../../shared/wire/record-batch.ts';
import type { Scenario } from './scenario.ts';

const BATCH_TYPE = 'application/vnd.kafka.recordbatch';

/** Records that go in and come back, in every form. */
export const RECORDS: readonly Scenario[] = [
  {
    name: 'what is produced to a topic is fetched as it was, in order',
    async run(trial) {
      const topic = await trial.topic('orders', { partitions: 4 });
      const first = await trial.produce(topic, [
        { key: 'order-17', value: { total: 12.5 }, headers: { origin: 'shop' } },
        { key: 'order-17', value: 'äöü ☃' },
        { key: 'order-17', value: null },
      ]);
      const [placed, ...others] = await trial.produce(topic, [{ key: 'order-17', value: 4 }]);
      expect(others).toEqual([]);
      const { partition } = placed!;
      expect([...first, placed].map((each) => [each!.partition, each!.offset])).toEqual(
        [0, 1, 2, 3].map((offset) => [partition, offset]),
      );
      const fetched = await trial.fetch(topic, 0, '', partition);
      expect(fetched).toMatchObject({ nextOffset: 4, logStartOffset: 0, highWatermark: 4 });
      expect(fetched.records).toMatchObject([
        { offset: 0, key: 'order-17', value: { total: 12.5 }, headers: [['origin', 'shop']] },
        { offset: 1, key: 'order-17', value: 'äöü ☃', headers: [] },
        { offset: 2, key: 'order-17', value: null },
        { offset: 3, key: 'order-17', value: 4 },
      ]);
    },
  },
  {
    name: 'lines of JSON are records, each with the key that a pointer finds in it',
    async run(trial) {
      const topic = await trial.topic('lines');
      const path = `/v1/topics/${topic}/records?key=%2Fid`;
      const sent = {
        headers: { 'content-type': 'application/x-ndjson' },
        body: '{"id":"a","n":1}\n{"id":"b","n":2}\n',
      };
      await trial.json('POST', path, sent);
      expect((await trial.records(topic, 2)).map(({ key, value }) => [key, value])).toEqual([
        ['a', { id: 'a', n: 1 }],
        ['b', { id: 'b', n: 2 }],
      ]);
    },
  },
  {
    name: 'a Kafka record batch goes in as it is, and comes back as it is',
    async run(trial) {
      const topic = await trial.topic('raw', { partitions: 2 });
      const path = `/v1/topics/${topic}/partitions/1/records`;
      const records = ['a', 'b'].map((value) => ({ key: null, value: Buffer.from(value), headers: [], timestamp: 7 }));
      const batch = Buffer.from(encodeRecordBatch(records, 0));
      const sent = { headers: { 'content-type': BATCH_TYPE }, body: batch };
      for (const baseOffset of [0, 2]) {
        expect(await trial.json('POST', path, sent)).toEqual({ partition: 1, baseOffset, count: 2, duplicate: false });
      }
      const reply = await trial.send('GET', `${path}?offset=2`, { headers: { accept: BATCH_TYPE } });
      expect(reply.headers.get('content-type')).toBe(BATCH_TYPE);
      expect(reply.headers.get('vertebra-next-offset')).toBe('4');
      expect(decodeRecordBatch(reply.bytes, 2).map(({ offset, value }) => [offset, String(value)])).toEqual([
        [2, 'a'],
        [3, 'b'],
      ]);
    },
  },
  {
    name: 'a request that comes again with its key is answered as before, and stored once',
    async run(trial) {
      const topic = await trial.topic('once');
      const path = `/v1/topics/${topic}/records`;
      const headers = { 'idempotency-key': trial.named('key') };
      const body = { records: [{ value: 1 }, { value: 2 }] };
      const first = await trial.json('POST', path, { headers, body });
      expect(await trial.json('POST', path, { headers, body })).toEqual({ ...first, duplicate: true });
      const other = await trial.json('POST', path, { headers, body: { records: [{ value: 3 }] } }, 422);
      expect(other).toMatchObject({ code: 'idempotency_key_reused' });
      expect((await trial.fetch(topic)).records.map(({ value }) => value)).toEqual([1, 2]);
    },
  },
  {
    name: 'a request and an answer may be compressed',
    async run(trial) {
      const topic = await trial.topic('packed');
      const text = 'x'.repeat(20_000);
      await trial.produce(topic, [{ value: text }]);
      const path = `/v1/topics/${topic}/partitions/0/records?offset=0`;
      const reply = await trial.send('GET', path, { headers: { 'accept-encoding': 'gzip' } });
      expect(reply.headers.get('content-encoding')).toBe('gzip');
      expect(reply.json<{ records: { value: string }[] }>().records[0]!.value).toBe(text);
    },
  },
];
