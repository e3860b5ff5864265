import { expect, it } from 'vitest';
import { Unavailable } from '../../shared/domain/errors.ts';
import { findOffsets } from '../../shared/operations/partitions.ts';
import { append, makeTopic, openLogBench } from '../support/log-bench.ts';

it('refuses to answer for a time that its walk did not reach, instead of skipping the records there', async () => {
  const bench = await openLogBench();
  const host = bench.host();
  await makeTopic(host, 'orders');
  for (let i = 0; i < 1_005; i++) await append(host, 'orders', `r${i}`); // all within the skew of clocks
  bench.clock.pass(100);
  const wanted = bench.clock.now();
  await append(host, 'orders', 'wanted');
  await append(host, 'orders', 'later');
  expect(await findOffsets(host.backbone, 'orders', wanted)).toEqual([{ partition: 0, offset: 1_005 }]);
  const { log } = host.backbone;
  const find = log.read.bind(log);
  let pages = 0;
  log.read = async (partition, offset, options) => {
    const page = await find(partition, offset, options);
    if (options.limit === 1_000 && ++pages === 2) bench.clock.pass(30_000); // the time that a call has is over
    return page;
  };
  await expect(findOffsets(host.backbone, 'orders', wanted)).rejects.toBeInstanceOf(Unavailable);
  await bench.close();
});
