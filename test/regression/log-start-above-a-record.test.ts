import { expect, it, onTestFinished } from 'vitest';
import { SlotAppend } from '../../shared/operations/append-slot.ts';
import { describePartitions, findOffsets } from '../../shared/operations/partitions.ts';
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

/** Found by seed 3906: the same, once a reader has put a void there; and of the search for a time the same again. */
it('no search passes a record because of a void whose reservation was stamped long before it was made', async () => {
  const bench = await openLogBench();
  onTestFinished(() => bench.close());
  const host = bench.host();
  await makeTopic(host, 'orders', { retentionMs: 60 * MINUTE });
  await append(host, 'orders', 'old');
  bench.clock.pass(20 * MINUTE);
  const appendedAt = bench.clock.now();
  await append(host, 'orders', 'A');
  const past = bench.host(-15 * MINUTE).backbone;
  await new SlotAppend(past, await past.topics.get('orders'), 0).reserve(batchOf('late'));
  await append(host, 'orders', 'B');
  expect((await read(bench.host(), 'orders', 0)).got).toEqual(['old@0..0', 'A@1..1', 'B@3..3']);
  expect(await findOffsets(host.backbone, 'orders', appendedAt)).toEqual([{ partition: 0, offset: 1 }]);

  bench.clock.pass(46 * MINUTE);
  expect((await read(bench.host(), 'orders', 'earliest')).got).toEqual(['A@1..1', 'B@3..3']);
});
