import { expect, it, onTestFinished } from 'vitest';
import { brief, Consumer, commits, openGroupBench } from '../support/group-bench.ts';
import { append, makeTopic } from '../support/log-bench.ts';

/**
 * Met by users of other clients: a commit that failed during a rebalance was kept, sent again after a newer one, and moved
 * the group back; another client committed the record it had handled instead of the next one, so that one record came
 * again for ever; a seek beyond the end left a negative lag, and silence.
 */
it('a late commit does not move a group back, and none moves it beyond the end', async () => {
  const bench = await openGroupBench();
  onTestFinished(() => bench.close());
  const host = bench.host();
  await makeTopic(host, 't');
  await append(host, 't', 'a', 10);
  const member = new Consumer(host);
  await member.poll();
  const { epoch } = member.held[0]!;
  const commit = (offset: number) => ({
    memberId: member.memberId!,
    offsets: [{ topic: 't', partition: 0, offset, epoch }],
  });

  // The late one arrives last, or at the same time.
  const late = bench.host();
  const held = late.faults.hold('UpdateItem', 'none', '#committed');
  const early = commits(late, commit(5));
  await held.arrived;
  expect(await commits(host, commit(9))).toEqual(['0:9 done']);
  held.release();
  expect(await early).toEqual(['0:5 commit_regressed']);
  const outcomes = await Promise.all([commits(host, commit(10)), commits(bench.host(), commit(9))]);
  expect(outcomes.flat().toSorted()).toEqual([expect.stringMatching(/^0:10 done/), expect.stringMatching(/^0:9 /)]);

  expect(await commits(host, commit(11))).toEqual(['0:11 offset_out_of_range']);
  const next = new Consumer(bench.host(), {}, 'g');
  await member.leave();
  expect(brief(await next.poll())).toMatchObject({ assigned: ['0@10'] });
  expect(next.records).toEqual([]); // what was committed is the next to be read: nothing is left
});
