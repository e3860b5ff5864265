import { expect, it, onTestFinished } from 'vitest';
import { Consumer, commits, openGroupBench } from '../support/group-bench.ts';
import { append, makeTopic } from '../support/log-bench.ts';

/**
 * Met by users of other clients: a member that was put out of its group kept on handling its old partitions next to their
 * new owner, and committed over it; or it failed at each commit, and never learned why.
 */
it('a member that slept through its session is refused whatever it sends, and the new owner’s commits stand', async () => {
  const bench = await openGroupBench();
  onTestFinished(() => bench.close());
  const [host, other] = [bench.host(), bench.host()];
  await makeTopic(host, 't');
  await append(host, 't', 'a', 60);
  const [zombie, owner] = [new Consumer(host), new Consumer(other)];
  await zombie.poll();
  const { epoch } = zombie.held[0]!;
  bench.clock.pass(60_000);
  await owner.poll();
  const { epoch: next } = owner.held[0]!;
  expect(next).toBeGreaterThan(epoch);
  const entry = (offset: number, by: number) => ({ topic: 't', partition: 0, offset, epoch: by });
  expect(await commits(other, { memberId: owner.memberId!, offsets: [entry(50, next)] })).toEqual(['0:50 done']);

  expect(await commits(host, { memberId: zombie.memberId!, offsets: [entry(30, epoch)] })).toEqual(['0:30 fenced']);
  expect(await commits(host, { memberId: zombie.memberId!, offsets: [entry(55, epoch)] })).toEqual(['0:55 fenced']);
  for (const call of [() => zombie.poll(), () => zombie.poll({ commit: [entry(30, epoch)] }), () => zombie.beat()]) {
    await expect(call()).rejects.toMatchObject({ code: 'member_not_found' });
  }
  const group = (await host.ports.groups.read('g', true))!;
  const id = { group, topicId: (await host.ports.topics.get('t')).id, partition: 0 };
  expect((await host.ports.positions.read(id))?.committed).toBe(50);

  // A group that is deleted and made again gives no epoch out a second time.
  await host.backbone.groups.delete(group, bench.clock.now());
  bench.clock.pass(1);
  const again = new Consumer(host);
  await again.poll();
  expect(again.held[0]!.epoch).toBeGreaterThan(next);
  expect(await commits(other, { memberId: owner.memberId!, offsets: [entry(60, next)] })).toEqual(['0:60 fenced']);
});
