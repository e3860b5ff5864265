import { expect, it, onTestFinished } from 'vitest';
import { brief, Consumer, openGroupBench } from '../support/group-bench.ts';
import { append, makeTopic } from '../support/log-bench.ts';

/**
 * Met by users of other clients: a consumer that fell behind the retention met "out of range", and jumped to the newest
 * record in silence, over millions.
 */
it('a group that retention has overtaken is told from where to where, and goes on only as it says', async () => {
  const bench = await openGroupBench();
  onTestFinished(() => bench.close());
  const host = bench.host();
  await makeTopic(host, 't', { retentionMs: 3_600_000 });
  await append(host, 't', 'old', 50);
  const member = new Consumer(host, { sessionTimeoutMs: 1_800_000 });
  await member.poll({}, { records: 10 });
  await member.poll({ commit: [{ ...member.held[0]!, offset: 10 }] }, { records: 0 });
  await member.leave();
  bench.clock.pass(3_700_000);
  await append(host, 't', 'new', 3);

  const late = new Consumer(bench.host());
  const told = await late.poll();
  expect(told.records).toEqual([]);
  expect(brief(told).assigned).toEqual(['0@10 offset_out_of_range']);
  expect(told.assigned[0]!.error!.data).toEqual({ logStartOffset: 50, highWatermark: 53 });
  expect(brief(await late.poll()).assigned).toEqual(['0@10 offset_out_of_range']); // it stays so

  const reset = await late.poll({ reset: 'earliest' });
  expect(reset.records).toEqual(['0:50', '0:51', '0:52']);
  expect(brief(await late.poll()).assigned).toEqual(['0@53']); // at the end: nothing, and nothing wrong
});

it('a commit from the log start on mends it, too', async () => {
  const bench = await openGroupBench();
  onTestFinished(() => bench.close());
  const host = bench.host();
  await makeTopic(host, 't', { retentionMs: 3_600_000 });
  await append(host, 't', 'old', 5);
  const member = new Consumer(host, { sessionTimeoutMs: 1_800_000 });
  await member.poll({}, { records: 0 });
  for (let i = 0; i < 4; i++) {
    bench.clock.pass(1_000_000);
    await member.poll({}, { records: 0 });
  }
  await append(host, 't', 'new', 1);
  const { epoch } = member.held[0]!;
  const answer = await member.poll({ commit: [{ topic: 't', partition: 0, offset: 5, epoch }], positions: [] });
  expect(brief(answer).commits).toEqual(['0@5 done']);
  expect(answer.records).toEqual(['0:5']);
});
