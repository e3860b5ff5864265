import { expect, it, onTestFinished } from 'vitest';
import { putTopic } from '../../shared/operations/topics.ts';
import { Consumer, openGroupBench } from '../support/group-bench.ts';
import { append, makeTopic } from '../support/log-bench.ts';

/**
 * Met by users of other clients: records written to a new partition before a group noticed it were skipped by members that
 * begin at the latest.
 */
it('what is written to an added partition is read from its first record on, however late the group notices', async () => {
  const bench = await openGroupBench();
  onTestFinished(() => bench.close());
  const host = bench.host();
  await makeTopic(host, 't', { partitions: 3 });
  await append(host, 't', 'old', 5, 0);
  const latest = { autoOffsetReset: 'latest' as const };
  const members = [new Consumer(host, latest), new Consumer(bench.host(), latest)];
  const poll = async () => {
    for (const member of members) {
      await member.poll(latest);
      if (member.revoked.length > 0) await member.poll({ ...latest, release: member.revoked.splice(0) });
    }
  };
  await poll();
  await poll();
  await putTopic(host.backbone, 't', { partitions: 4 });
  const written: string[] = [];
  for (let i = 0; i < 6; i++) {
    const partition = i % 2 === 0 ? 3 : 1;
    written.push(`${partition}:${await append(host, 't', 'new', 1, partition)}`);
    bench.clock.pass(10_000); // copies of the topic are up to 10 s old: it is noticed some time
    await poll();
  }
  await poll();
  await poll();
  expect(members.flatMap(({ records }) => records).toSorted()).toEqual(written.toSorted());
  expect(members.flatMap(({ partitions }) => partitions).toSorted()).toEqual(['0', '1', '2', '3']);
});
