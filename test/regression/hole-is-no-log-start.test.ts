import { beforeEach, expect, it } from 'vitest';
import { describePartitions } from '../../shared/operations/partitions.ts';
import { putTopic } from '../../shared/operations/topics.ts';
import { append, type Host, type LogBench, makeTopic, openLogBench, read } from '../support/log-bench.ts';

const HOUR = 3_600_000;
let bench: LogBench;
let host: Host;

/** One record that is kept for a week, and behind it 150 that were appended while an hour was enough, expired by now. */
beforeEach(async () => {
  bench = await openLogBench();
  host = bench.host();
  await makeTopic(host, 'orders', { retentionMs: 168 * HOUR });
  await append(host, 'orders', 'kept');
  bench.clock.pass(60_000);
  await putTopic(host.backbone, 'orders', { retentionMs: HOUR });
  await append(host, 'orders', 'hole', 150);
  bench.clock.pass(60_000);
  await putTopic(host.backbone, 'orders', { retentionMs: 168 * HOUR });
  bench.clock.pass(2 * HOUR);
  return () => bench.close();
});

it.each(['that are hidden', 'that are removed'])(
  'a reader that begins among expired records %s does not move the log start above older ones',
  async (what) => {
    if (what === 'that are removed') await bench.tables.aws.expireNow(bench.clock.now());
    const reader = bench.host();
    expect(await read(reader, 'orders', 1)).toMatchObject({ got: [], nextOffset: 151, logStartOffset: 0 });
    await append(host, 'orders', 'new');
    expect(await read(bench.host(), 'orders', 1)).toMatchObject({ got: ['new@151..151'], logStartOffset: 0 });
    expect((await read(bench.host(), 'orders', 'earliest')).got).toEqual(['kept@0..0', 'new@151..151']);
  },
);

it('nor do bounds, of which the walk begins at `settled`', async () => {
  const { id: topicId } = await host.backbone.topics.get('orders');
  await host.backbone.heads.advance({ topicId, partition: 0 }, { from: 0, to: 1 });
  expect(await describePartitions(bench.host().backbone, 'orders')).toMatchObject([
    { logStartOffset: 0, highWatermark: 151 },
  ]);
  expect((await read(bench.host(), 'orders', 'earliest')).got).toEqual(['kept@0..0']);
});
