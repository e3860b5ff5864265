import { expect, it } from 'vitest';
import { append, makeTopic, openLogBench, read } from '../support/log-bench.ts';

it('does not refuse "earliest" because the log start moves while it is looked up', async () => {
  const bench = await openLogBench();
  const host = bench.host();
  await makeTopic(host, 'orders', { retentionMs: 3_600_000 });
  await append(host, 'orders', 'old');
  bench.clock.pass(3_599_000);
  await append(host, 'orders', 'new');
  const reader = bench.host();
  await read(reader, 'orders', 1); // its topic and its memory of the head are there
  const { log } = reader.backbone;
  const find = log.read.bind(log);
  log.read = (partition, offset, options) => {
    if (!options.outline && offset === 0) bench.clock.pass(2_000);
    return find(partition, offset, options);
  };
  expect((await read(reader, 'orders', 'earliest')).got).toEqual(['new@1..1']);
  await bench.close();
});
