import { beforeEach, expect, it } from 'vitest';
import { append, type LogBench, makeTopic, openLogBench, read } from '../support/log-bench.ts';

let bench: LogBench;

beforeEach(async () => {
  bench = await openLogBench();
  return () => bench.close();
});

/** What filled the last answer was two slots, so 100 small ones took 25 Queries, one after the other. */
it('small slots behind large ones take a few Queries, not one for every few slots', async () => {
  const host = bench.host();
  await makeTopic(host, 'orders');
  for (let i = 0; i < 100; i++) await append(host, 'orders', 'small');
  const { id: topicId } = await host.backbone.topics.get('orders');
  const partition = { topicId, partition: 0 };
  await read(host, 'orders', 0);
  host.backbone.readers.answered(partition, { slotsMax: 500, from: 0, to: 2, slots: 2, isFull: true });
  host.faults.calls.length = 0;
  expect((await read(host, 'orders', 0)).got).toHaveLength(100);
  expect(host.faults.calls.filter((call) => call === 'Query').length).toBeLessThanOrEqual(7);
});
