import { expect, it, onTestFinished } from 'vitest';
import { Consumer, openGroupBench } from '../support/group-bench.ts';
import { append, makeTopic } from '../support/log-bench.ts';

/**
 * Met by users of other clients: members that lost a partition crashed, came back and stole it, and so did the others, for
 * ever; a member with a slow handler was put out, and met the same slow record again; a restart moved every partition.
 */
async function bench() {
  const opened = await openGroupBench();
  onTestFinished(() => opened.close());
  await makeTopic(opened.host(), 't', { partitions: 10 });
  return opened;
}

it('a rolling restart moves the partitions of those that restart, and few others', async () => {
  const { clock, host: newHost } = await bench();
  const host = newHost();
  let members = Array.from({ length: 5 }, () => new Consumer(host));
  const settle = async () => {
    for (let polls = 0; polls < 3; polls++) {
      for (const member of members) {
        await member.poll();
        if (member.revoked.length > 0) await member.giveBack();
      }
      clock.pass(1_000);
    }
  };
  await settle();
  for (let restarts = 0; restarts < 5; restarts++) {
    const [leaving, ...others] = members;
    const before = new Map(others.map((member) => [member, new Set(member.partitions)]));
    await leaving!.leave();
    members = [...others, new Consumer(host)];
    await settle();
    const kept = [...before].flatMap(([member, had]) => member.partitions.filter((partition) => had.has(partition)));
    // Two go to others with the leave, and with the join two go to the newcomer.
    expect(kept.length).toBeGreaterThanOrEqual(8 - 2);
    expect(members.map(({ held }) => held.length)).toEqual([2, 2, 2, 2, 2]);
  }
});

it('members that are killed over and over bring the group on all the same', async () => {
  const { clock, host: newHost } = await bench();
  const host = newHost();
  for (let partition = 0; partition < 10; partition++) await append(host, 't', 'a', 3, partition);
  const done = new Set<string>();
  for (let lives = 0; lives < 30 && done.size < 30; lives++) {
    // It handles one record, commits, and is killed without a word; its next life is another member.
    const member = new Consumer(host, { sessionTimeoutMs: 6_000 });
    const { records } = await member.poll({}, { records: 10 });
    for (const record of records) done.add(record);
    const commit = member.held.map(({ topic, partition, epoch, offset }) => ({ topic, partition, epoch, offset }));
    await member.poll({ commit }, { records: 0 });
    clock.pass(20_000);
  }
  expect(done.size).toBe(30);
});

it('a handler that takes three sessions keeps its partitions while heartbeats go on, and its commit stands', async () => {
  const { clock, host: newHost } = await bench();
  const [slow, other] = [new Consumer(newHost()), new Consumer(newHost())];
  await append(slow.host, 't', 'a', 1, 0);
  await slow.poll();
  for (let seconds = 0; seconds < 90; seconds += 5) {
    clock.pass(5_000);
    await slow.beat({ positions: slow.positions });
  }
  await other.poll();
  const { epoch } = slow.held.find(({ partition }) => partition === 0)!;
  const told = await slow.poll({ commit: [{ topic: 't', partition: 0, offset: 1, epoch }] });
  expect(told.commits.map(({ error }) => error)).toEqual([undefined]);
});
