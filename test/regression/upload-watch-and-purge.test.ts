import { beforeEach, expect, it } from 'vitest';
import { LATE_MAX_MS, UPLOAD_LIFE_MS } from '../../shared/domain/limits.ts';
import { sweep } from '../../shared/operations/sweep.ts';
import { deleteTopic, putTopic } from '../../shared/operations/topics.ts';
import { type BackgroundBench, openBackgroundBench } from '../support/background-bench.ts';
import { appendUploads, makeUpload } from '../support/uploads.ts';

let bench: BackgroundBench;

beforeEach(async () => {
  bench = await openBackgroundBench();
  return () => bench.close();
});

async function runSweep(): Promise<void> {
  const { ports } = bench.sweepHost();
  expect(await sweep(ports, ports.clock.now() + 40_000)).toEqual([]);
}

/** The watch that was to end with the topic was put after the purge had deleted all watches: nobody ever looked again. */
it('an upload whose watch is renewed while its topic is purged goes all the same', async () => {
  const host = bench.host();
  const { topic } = await putTopic(host.backbone, 'orders', { partitions: 1, retentionMs: -1 });
  const upload = await makeUpload(bench, host, topic.id);
  await appendUploads(host, 'orders', 'a', [upload]);
  bench.clock.pass(UPLOAD_LIFE_MS - LATE_MAX_MS);
  await deleteTopic(host.backbone, 'orders');
  bench.clock.pass(LATE_MAX_MS + 2_000);
  await bench.tables.aws.expireNow(bench.clock.now());

  const dispatch = bench.dispatchHost();
  const renewal = dispatch.faults.hold('PutItem');
  const following = bench.follow(dispatch);
  await renewal.arrived;
  await runSweep();
  expect((await bench.items('state')).map(({ pk }) => pk!.S)).toEqual([`uploads#${topic.id}`]);
  renewal.release();
  await following;

  bench.clock.pass(LATE_MAX_MS + 2_000);
  await bench.tables.aws.expireNow(bench.clock.now());
  await bench.follow();
  expect(await bench.objects()).toEqual([]);
  expect(await bench.items('state')).toEqual([]);
  expect(await bench.items('log')).toEqual([]);
});
