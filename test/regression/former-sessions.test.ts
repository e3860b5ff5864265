import { afterEach, beforeEach, expect, it } from 'vitest';
import { joinGroup } from '../../shared/operations/join-group.ts';
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
