import { expect, it } from 'vitest';
import { appendBatches } from '../../shared/operations/append-batches.ts';
import { describePartitions } from '../../shared/operations/partitions.ts';
import { batchOf, makeTopic, openLogBench } from '../support/log-bench.ts';

it('does not let the first of very many reservations grow too old while the last are made', async () => {
  const bench = await openLogBench();
  const host = bench.host();
  const partitions = 200;
  await makeTopic(host, 'orders', { partitions });
  const { heads } = host.backbone;
  const reserve = heads.reserve.bind(heads);
  heads.reserve = async (...reservation) => {
    const reserved = await reserve(...reservation);
    bench.clock.pass(20); // a store that takes four seconds for all of them
    return reserved;
  };
  const { outcomes } = await appendBatches(host.backbone, {
    topic: 'orders',
    build: () => new Map(Array.from({ length: partitions }, (_, i) => [i, batchOf(`p${i}`)])),
  });
  expect(outcomes.every((outcome) => 'baseOffset' in outcome && outcome.baseOffset === 0)).toBe(true);
  const bounds = await describePartitions(host.backbone, 'orders');
  expect(bounds.every(({ logEndOffset }) => logEndOffset === 1)).toBe(true);
  await bench.close();
});
