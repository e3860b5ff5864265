import { expect } from 'vitest';
import type { Scenario } from './scenario.ts';

/** Topics, and records that go in and come back. */
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
      const { partition, offset } = placed!;
      expect([...first, placed].map((each) => [each!.partition, each!.offset])).toEqual(
        [0, 1, 2, 3].map((each) => [partition, each]),
      );
      expect(offset).toBe(3);
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
];
