import { expect, it, onTestFinished } from 'vitest';
import { Unavailable } from '../../shared/domain/errors.ts';
import { SETTLE_AFTER_MS, VOID_LIFE_MS_MIN } from '../../shared/domain/limits.ts';
import { SlotAppend } from '../../shared/operations/append-slot.ts';
import { describePartitions } from '../../shared/operations/partitions.ts';
import { append, batchOf, makeTopic, openLogBench } from '../support/log-bench.ts';

/**
 * Found by a simulated history (seed 5243). Records that are kept for ever outlive the voids between them. Where one has
 * expired, the next walk has to put it again; when it could not, it told a high watermark that was lower than before.
 */
it('the high watermark does not go back where a void has expired and cannot be put again', async () => {
  const bench = await openLogBench();
  onTestFinished(() => bench.close());
  const host = bench.host();
  await makeTopic(host, 'orders', { retentionMs: -1 });
  const topic = await host.backbone.topics.get('orders');
  await append(host, 'orders', 'A');
  await new SlotAppend(host.backbone, topic, 0).reserve(batchOf('dead'));
  await append(host, 'orders', 'B');
  bench.clock.pass(SETTLE_AFTER_MS + 1);
  const all = [{ partition: 0, logStartOffset: 0, highWatermark: 3, logEndOffset: 3 }];
  expect(await describePartitions(host.backbone, 'orders')).toEqual(all);

  bench.clock.pass(VOID_LIFE_MS_MIN + 1_000);
  await bench.removeSlot({ topicId: topic.id, partition: 0 }, 1);
  host.faults.next('PutItem', 'lose-request', 3);
  await expect(describePartitions(host.backbone, 'orders')).rejects.toBeInstanceOf(Unavailable);
  expect(await describePartitions(host.backbone, 'orders')).toEqual(all);
});
