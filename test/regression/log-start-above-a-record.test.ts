import { expect, it, onTestFinished } from 'vitest';
import { SlotAppend } from '../../shared/operations/append-slot.ts';
import { describePartitions } from '../../shared/operations/partitions.ts';
import { append, batchOf, makeTopic, openLogBench, read } from '../support/log-bench.ts';

const MINUTE = 60_000;

/**
 * Found by a simulated history (seed 1690). An attempt of a reservation landed minutes late, so it lies above records that
 * were reserved before it but expire after it. The walk for bounds begins at `settled`, above those records, met the
 * expired reservation first, and took what was behind it for the log's start: the records below were hidden.
 */
it('the log does not start behind an expired reservation when something below it is not expired', async () => {
  const bench = await openLogBench();
  onTestFinished(() => bench.close());
  const host = bench.host();
  await makeTopic(host, 'orders', { retentionMs: 60 * MINUTE });
  await append(host, 'orders', 'A', 3);
  expect(await describePartitions(host.backbone, 'orders')).toMatchObject([{ highWatermark: 3 }]);
  const past = bench.host(-15 * MINUTE).backbone;
  await new SlotAppend(past, await past.topics.get('orders'), 0).reserve(batchOf('late'));

  bench.clock.pass(50 * MINUTE);
  expect(await describePartitions(host.backbone, 'orders')).toEqual([
    { partition: 0, logStartOffset: 0, highWatermark: 4, logEndOffset: 4 },
  ]);
  expect((await read(bench.host(), 'orders', 'earliest')).got).toEqual(['A@0..2']);

  bench.clock.pass(11 * MINUTE);
  expect(await describePartitions(host.backbone, 'orders')).toMatchObject([{ logStartOffset: 4, highWatermark: 4 }]);
});
