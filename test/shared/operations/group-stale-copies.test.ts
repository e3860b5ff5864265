import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NEVER_DUE } from '../../../shared/operations/group-check.ts';
import { PlanCache } from '../../../shared/operations/plan-cache.ts';
import { TopicCache } from '../../../shared/operations/topic-cache.ts';
import { deleteTopic } from '../../../shared/operations/topics.ts';
import { brief, Consumer, type GroupBench, type GroupHost, openGroupBench } from '../../support/group-bench.ts';
import { append, makeTopic } from '../../support/log-bench.ts';

let bench: GroupBench;
let host: GroupHost;

beforeEach(async () => {
  bench = await openGroupBench();
  host = bench.host();
});
afterEach(() => bench.close());

/** A process whose replica shows group and members as they are now, until it catches up; what is read strongly is true. */
function lagging(): GroupHost & { catchUp(): void } {
  const one = bench.host();
  const { groups, members } = one.ports;
  let lags = true;
  const seen = new Map<string, Promise<unknown>>();
  const asSeen = <T>(key: string, strong: boolean, read: () => Promise<T>): Promise<T> => {
    if (strong || !lags) return read();
    const copy = seen.get(key) ?? read();
    seen.set(key, copy);
    return copy as Promise<T>;
  };
  const ports = {
    ...one.ports,
    plans: new PlanCache(),
    groups: Object.assign(Object.create(groups), {
      read: (name: string, strong: boolean) => asSeen(`group ${name}`, strong, () => groups.read(name, strong)),
    }),
    members: Object.assign(Object.create(members), {
      read: (...[id, key, strong]: Parameters<typeof members.read>) =>
        asSeen(`member ${key}`, strong, () => members.read(id, key, strong)),
    }),
  };
  return {
    ...one,
    ports: { ...ports, groups: bound(ports.groups, groups), members: bound(ports.members, members) },
    catchUp: () => (lags = false),
  };
}

/** The store's own methods keep the store as their `this`: they have private fields. */
function bound<T extends object>(replaced: T, store: T): T {
  return new Proxy(replaced, {
    get(target, name, receiver) {
      if (Object.hasOwn(target, name)) return Reflect.get(target, name, receiver);
      const value = Reflect.get(store, name);
      return typeof value === 'function' ? value.bind(store) : value;
    },
  });
}

const entry = (offset: number, epoch: number, partition = 0) => ({ topic: 't', partition, offset, epoch });

async function positionId(partition = 0) {
  const group = (await host.ports.groups.read('g', true))!;
  return { group, topicId: (await host.ports.topics.get('t')).id, partition };
}

describe('a copy of the group that is old', () => {
  it('takes nothing: a former plan does not keep partitions from those who are to have them', async () => {
    await makeTopic(host, 't', { partitions: 4 });
    const [first, second] = [new Consumer(host), new Consumer(host)];
    await first.poll();
    const behind = lagging();
    first.host = behind;
    await first.poll(); // its replica has seen the group with this member alone
    first.host = host;
    await second.poll();
    await first.poll();
    await first.giveBack();
    first.host = behind;
    expect((await first.poll()).assigned).toHaveLength(2);
    expect((await second.poll()).assigned).toHaveLength(2);
  });

  it('while it takes gives back at once what the younger plan has for another', async () => {
    await makeTopic(host, 't', { partitions: 3 });
    const [first, second] = [new Consumer(bench.host()), new Consumer(host)];
    await first.poll();
    await first.poll({ positions: [], release: first.positions });
    const { group, topicId } = await positionId();
    const third = { key: '01J00000000000000000000003', memberId: '01J00000000000000000000003', topics: ['t'] };
    const times = { lastSeenAt: bench.clock.now(), joinedAt: bench.clock.now(), sessionTimeoutMs: 30_000 };
    await host.ports.members.join(group, { ...third, ...times });
    const holds = [0, 1, 2].map((partition) =>
      first.host.faults.hold('GetItem', 'none', `${group.id}#${topicId}.${partition}`),
    );
    const taking = first.poll({ positions: [] });
    await Promise.all(holds.map(({ arrived }) => arrived));
    await second.poll();
    expect(second.held).toHaveLength(1);
    for (const hold of holds) hold.release();
    expect((await taking).assigned).toHaveLength(1);
    const positions = [0, 1, 2].map((partition) => host.ports.positions.read({ group, topicId, partition }));
    const owners = (await Promise.all(positions)).map((position) => position?.owner);
    expect(owners.toSorted()).toEqual([first.memberId, second.memberId, undefined].toSorted());
  });

  it('lets no former session of a static member take its place back', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    await append(host, 't', 'a', 5);
    const behind = lagging();
    const former = new Consumer(behind, { instanceId: 'pod-1' });
    await former.poll();
    await former.poll();
    const next = new Consumer(host, { instanceId: 'pod-1' });
    await next.poll();
    await expect(former.poll({ positions: [] })).rejects.toMatchObject({ code: 'instance_fenced' });
    const answer = await next.poll({ commit: [entry(5, next.held[0]!.epoch)] });
    expect(brief(answer).commits).toEqual(['0@5 done']);
  });

  it('with a mark that was lost does not leave a member without its share', async () => {
    await makeTopic(host, 't', { partitions: 2 });
    const first = new Consumer(host, { sessionTimeoutMs: 1_800_000 });
    await first.poll();
    const joining = bench.host();
    const held = joining.faults.hold('UpdateItem', 'lose-request', '#checkAt');
    const second = new Consumer(joining, { proposed: '01J00000000000000000000000' });
    const attempt = second.poll();
    await held.arrived;
    // Its process dies between the two writes: the member is there, and nobody was told.
    second.memberId = '01J00000000000000000000000';
    const group = (await host.ports.groups.read('g', true))!;
    expect(group.checkAt).toBeLessThan(NEVER_DUE);
    second.host = bench.host();
    await second.poll();
    await first.poll();
    expect(first.revoked).toHaveLength(1);
    held.release();
    await attempt.catch(() => undefined);
  });
});

describe('an epoch that is over', () => {
  it('is believed no more once a commit with it is fenced: the partition is taken anew, from what is committed', async () => {
    await makeTopic(host, 't', { partitions: 1 });
    await append(host, 't', 'a', 5);
    const member = new Consumer(host);
    await member.poll();
    const { epoch } = member.held[0]!;
    const id = await positionId();
    const seen = (await host.ports.positions.read(id))!;
    await host.ports.positions.change(id, seen, { committed: 2, epoch: epoch + 1 });
    expect(brief(await member.beat({ commit: [entry(5, epoch)] }))).toMatchObject({ assigned: [], revoked: ['0'] });
    const answer = await member.poll({ commit: [entry(5, epoch)] });
    expect(brief(answer)).toMatchObject({ assigned: ['0@5'], revoked: [], commits: ['0@5 fenced'] });
    expect(answer.records).toEqual(['0:2', '0:3', '0:4']);
    expect(brief(await member.poll({ commit: [entry(5, answer.assigned[0]!.epoch)] })).commits).toEqual(['0@5 done']);
  });

  it('of its own that nobody had since goes on where it was, when the partition comes back', async () => {
    await makeTopic(host, 't', { partitions: 2 });
    for (const partition of [0, 1]) await append(host, 't', 'a', 3, partition);
    const [keeper, passing] = [new Consumer(host), new Consumer(host)];
    await keeper.poll();
    await passing.poll();
    expect((await keeper.poll()).revoked).toHaveLength(1);
    await passing.leave();
    const positions = [0, 1].map((partition) => ({
      ...entry(3, [...keeper.held, ...keeper.revoked].find((one) => one.partition === partition)!.epoch, partition),
    }));
    const answer = await keeper.poll({ positions });
    expect(brief(answer)).toMatchObject({ assigned: ['0@3', '1@3'], revoked: [] });
    expect(answer.records).toEqual([]);
  });
});

describe('an assignment by a clock that was ahead', () => {
  it('holds up neither a join nor a check that is due', async () => {
    await makeTopic(host, 't', { partitions: 2 });
    await new Consumer(bench.host(60_000), { sessionTimeoutMs: 6_000 }).poll();
    const begun = bench.clock.now();
    const next = new Consumer(host);
    await next.poll();
    expect(bench.clock.now() - begun).toBeLessThan(1_000);
    bench.clock.pass(40_000);
    await new Consumer(host, {}).poll();
    expect(bench.clock.now() - begun).toBeLessThan(42_000);
  });
});

describe('what stays as it is', () => {
  it('do not end the wait of a long poll', async () => {
    for (const name of ['t', 'u']) await makeTopic(host, name, { partitions: 1 });
    const member = new Consumer(host, { topics: ['t', 'u'] });
    await member.poll();
    await deleteTopic(host.backbone, 'u');
    await member.poll();
    const begun = bench.clock.now();
    const answer = await member.poll({ waitMs: 5_000, positions: member.positions });
    expect(brief(answer).errors).toEqual(['u: topic_not_found']);
    expect(bench.clock.now() - begun).toBeGreaterThanOrEqual(5_000);
  });

  it('and partitions that are given back slowly do neither; what is revoked meanwhile does', async () => {
    await makeTopic(host, 't', { partitions: 4 });
    const [slow, other] = [new Consumer(host), new Consumer(bench.host())];
    await slow.poll();
    await other.poll();
    const begun = bench.clock.now();
    const told = await slow.poll({ waitMs: 10_000 });
    expect(told.revoked).toHaveLength(2);
    expect(bench.clock.now() - begun).toBeGreaterThanOrEqual(1_000);
    expect(bench.clock.now() - begun).toBeLessThan(2_000);

    const third = new Consumer(bench.host(), {}, 'u');
    await makeTopic(host, 'u', { partitions: 2 });
    const holder = new Consumer(host, { topics: ['u'] }, 'u');
    await holder.poll();
    const { sleep } = host.ports;
    let hasJoined = false;
    const joining = async (ms: number) => {
      await sleep(ms);
      if (!hasJoined) {
        hasJoined = true;
        await third.poll({ topics: ['u'] });
      }
    };
    holder.host = { ...host, ports: { ...host.ports, sleep: joining } };
    const since = bench.clock.now();
    expect((await holder.poll({ waitMs: 20_000 })).revoked).toHaveLength(1);
    expect(bench.clock.now() - since).toBeLessThan(5_000);
  });

  it('as those that grow beyond what a group may have are told, and hold on to what was handed out', async () => {
    const settings = { retentionMs: -1, createdAt: 0, hiddenUntil: 0 };
    let partitions = 8;
    const read = async (name: string) => ({ name, id: `01J0000000000000000000000${name}`, partitions, ...settings });
    const ports = { ...host.ports, topics: new TopicCache({ read }, bench.clock) };
    const member = new Consumer({ ...host, ports }, { topics: ['A', 'B', 'C', 'D', 'E'] });
    await member.poll();
    partitions = 1_024;
    bench.clock.pass(11_000);
    const answer = await member.poll();
    const full = answer.errors.filter(({ error }) => error.code === 'group_full').map(({ topic }) => topic);
    expect(full).toEqual(['D', 'E']);
    const group = (await host.ports.groups.read('g', true))!;
    const { plan } = (await host.ports.assignments.read(group, group.version))!;
    expect(plan.topics.map((topic) => topic.partitions)).toEqual([1_024, 1_024, 1_024, 1_016, 8]);
    await member.poll();
    expect((await host.ports.groups.read('g', true))!.version).toBe(group.version);
  });
});
