import { beforeEach, expect, it } from 'vitest';
import { putTopic } from '../../shared/operations/topics.ts';
import { type LogBench, openLogBench } from '../support/log-bench.ts';
import { appendUploads, makeUpload } from '../support/uploads.ts';

const HOUR = 3_600_000;
let bench: LogBench;

beforeEach(async () => {
  bench = await openLogBench();
  return () => bench.close();
});

/** Its slot was gone, and a void there was taken for proof that there had never been a record. */
it.each(['removed', 'removed and voided'])('an upload is used up by a record that is %s', async (what) => {
  const host = bench.host();
  const { topic } = await putTopic(host.backbone, 'orders', { partitions: 1, retentionMs: HOUR });
  const upload = await makeUpload(bench, host, topic.id);
  await appendUploads(host, 'orders', 'a', [upload]);
  bench.clock.pass(HOUR + 2_000);
  await bench.tables.aws.expireNow(bench.clock.now());
  if (what === 'removed and voided') {
    const order = { last: 0, count: 1, previous: [], reservedBy: bench.clock.now() };
    await host.backbone.log.putVoid({ topicId: topic.id, partition: 0 }, order, bench.clock.now(), HOUR);
  }
  await expect(appendUploads(bench.host(), 'orders', 'b', [upload])).rejects.toMatchObject({ code: 'upload_invalid' });
});
