import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Unavailable } from '../../shared/domain/errors.ts';
import { REGISTER_LENGTH, SETTLE_AFTER_MS, VOID_LIFE_MS_MIN } from '../../shared/domain/limits.ts';
import type { Topic } from '../../shared/domain/topic.ts';
import { SlotAppend } from '../../shared/operations/append-slot.ts';
import { describePartitions } from '../../shared/operations/partitions.ts';
import { append, batchOf, type Host, type LogBench, makeTopic, openLogBench } from '../support/log-bench.ts';

/**
 * Found by simulated histories. Records that are kept for ever outlive the voids between them. Where a void has expired,
 * the next walk may have to put it again and fail, or find that nobody remembers what was there: then it told a high
 * watermark that was lower than one it had told before. What is told is stored now, before it is told.
 */
describe('the high watermark does not go back where a void has expired', () => {
  let bench: LogBench;
  let host: Host;
  let topic: Topic;
  beforeEach(async () => {
    bench = await openLogBench();
    onTestFinished(() => bench.close());
    host = bench.host();
    await makeTopic(host, 'orders', { retentionMs: -1 });
    topic = await host.backbone.topics.get('orders');
    await append(host, 'orders', 'A');
    await reserve();
  });

  const reserve = () => new SlotAppend(host.backbone, topic, 0).reserve(batchOf('never filled'));
  const watermark = async () => (await describePartitions(bench.host().backbone, 'orders'))[0]!.highWatermark;

  async function expireVoid(): Promise<void> {
    bench.clock.pass(VOID_LIFE_MS_MIN + 1_000);
    await bench.removeSlot({ topicId: topic.id, partition: 0 }, 1);
  }

  it('and cannot be put again', async () => {
    await append(host, 'orders', 'B');
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    expect(await watermark()).toBe(3);
    await expireVoid();
    host.faults.next('PutItem', 'lose-request', 3);
    expect(await describePartitions(host.backbone, 'orders')).toMatchObject([{ highWatermark: 3 }]);
  });

  it('and nobody remembers what was there', async () => {
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    expect(await watermark()).toBe(2);
    await expireVoid();
    for (let i = 0; i <= REGISTER_LENGTH; i++) await reserve();
    expect(await watermark()).toBe(2);
  });

  it('because it is not told unless it could be stored', async () => {
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    host.faults.next('UpdateItem', 'lose-request', 3);
    await expect(describePartitions(host.backbone, 'orders')).rejects.toBeInstanceOf(Unavailable);
    expect(await watermark()).toBe(2);
  });
});
