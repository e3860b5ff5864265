import { afterEach, beforeEach, expect, it } from 'vitest';
import { sharesOf } from '../../shared/domain/plan.ts';
import { joinGroup } from '../../shared/operations/join-group.ts';
import { takePositions } from '../../shared/operations/take-positions.ts';
import { brief, Consumer, type GroupBench, type GroupHost, openGroupBench } from '../support/group-bench.ts';
import { append, makeTopic } from '../support/log-bench.ts';

let bench: GroupBench;
let host: GroupHost;

beforeEach(async () => {
  bench = await openGroupBench();
  host = bench.host();
  await makeTopic(host, 't', { partitions: 1 });
  await append(host, 't', 'a', 5);
});
afterEach(() => bench.close());

// A static member keeps its place in the plan, so what its former session knew looked like its own: it was given records
// of partitions that it did not own, and its first commit was fenced.
it('a session does not begin with what the session before it owned', async () => {
  const former = new Consumer(host, { instanceId: 'pod-1' });
  await former.poll();
  const next = new Consumer(host, { instanceId: 'pod-1' });
  const answer = await next.poll({ positions: former.positions });
  expect(answer.assigned[0]!.epoch).toBeGreaterThan(former.held[0]!.epoch);
  expect(answer.records).toHaveLength(5);
  const { topic, partition, epoch, offset } = next.held[0]!;
  expect(brief(await next.poll({ commit: [{ topic, partition, epoch, offset }] })).commits).toEqual(['0@5 done']);
});

// It looked at its own place, then at the position: between the two its successor joined and took it.
it('a session that is replaced while it takes does not take from its successor', async () => {
  const slow = bench.host();
  const former = new Consumer(slow, { instanceId: 'pod-1' });
  await former.poll();
  const next = new Consumer(host, { instanceId: 'pod-1' });
  const { read } = slow.ports.positions;
  const positions = new Proxy(slow.ports.positions, {
    get(target, name) {
      if (name !== 'read') return (Reflect.get(target, name) as (...args: unknown[]) => unknown).bind(target);
      return async (...asked: Parameters<typeof read>) => {
        if (next.memberId === undefined) await next.poll();
        return target.read(...asked);
      };
    },
  });
  former.host = { ...slow, ports: { ...slow.ports, positions } };
  await expect(former.poll({ positions: [] })).rejects.toMatchObject({ code: 'instance_fenced' });
  const { topic, partition, epoch, offset } = next.held[0]!;
  expect(brief(await next.poll({ commit: [{ topic, partition, epoch, offset }] })).commits).toEqual(['0@5 done']);
});

// A checker that died had put an assignment and never told it. Whoever checked next took it over, tenures and all: the time
// that owners have to give back had passed before they were told.
it('an assignment that never held leaves owners their time to give back', async () => {
  await makeTopic(host, 'u', { partitions: 2 });
  const first = new Consumer(host, { topics: ['u'], sessionTimeoutMs: 60_000 });
  await first.poll();
  const second = new Consumer(bench.host(), { topics: ['u'] });
  const dying = bench.host();
  const groups = Object.assign(Object.create(dying.ports.groups), {
    read: dying.ports.groups.read.bind(dying.ports.groups),
    markDue: dying.ports.groups.markDue.bind(dying.ports.groups),
    claim: dying.ports.groups.claim.bind(dying.ports.groups),
    finish: () => Promise.reject(new Error('the process died')),
  });
  const join = { group: 'g', proposed: '01J00000000000000000000000', topics: ['u'], sessionTimeoutMs: 60_000 };
  await expect(joinGroup({ ...dying.ports, groups }, join)).rejects.toThrow('the process died');
  second.memberId = join.proposed;
  bench.clock.pass(50_000);
  expect((await second.poll()).assigned).toEqual([]);
  expect((await first.poll()).revoked).toHaveLength(1);
  const held: number[] = [];
  for (let passed = 0; passed < 68_000; passed += 17_000) {
    bench.clock.pass(17_000);
    await Promise.all([first.beat(), second.poll()]);
    held.push(second.held.length);
  }
  expect(held).toEqual([0, 0, 0, 1]);
});

// A slow call read the group, then a position that somebody had taken by a younger plan in between, and believed its own
// plan to be the last.
it('what was taken after a plan was read is not taken back by that plan', async () => {
  const consumer = new Consumer(host);
  await consumer.poll();
  const group = (await host.ports.groups.read('g', true))!;
  const { plan } = await host.ports.plans.of(host.ports, group);
  const topic = await host.ports.topics.fresh('t');
  const [share] = sharesOf(plan, consumer.memberId!);
  const id = { group, topicId: topic.id, partition: 0 };
  const seen = (await host.ports.positions.read(id))!;
  await host.ports.positions.take(id, seen, '01J00000000000000000000000', seen.epoch + 10);
  const take = (epoch: number) =>
    takePositions(
      host.ports,
      {
        ...{ group, plan, autoOffsetReset: 'earliest', deadline: bench.clock.now() + 1_000 },
        ...{ member: { key: consumer.memberId!, memberId: consumer.memberId! } },
        foundBefore: new Map([[`${topic.id}.0`, epoch]]),
      },
      [{ ...share!, of: topic, echo: undefined }],
    );
  expect((await take(seen.epoch)).held).toEqual([]);
  expect((await take(seen.epoch + 10)).held).toHaveLength(1);
});
