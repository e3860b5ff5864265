import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deleteTopic, putTopic } from '../../../shared/operations/topics.ts';
import {
  brief,
  Consumer,
  commits,
  type GroupBench,
  type GroupHost,
  openGroupBench,
  poll,
} from '../../support/group-bench.ts';
import { append, makeTopic } from '../../support/log-bench.ts';

let bench: GroupBench;
let host: GroupHost;

beforeEach(async () => {
  bench = await openGroupBench();
  host = bench.host();
  await makeTopic(host, 't', { partitions: 2 });
});
afterEach(() => bench.close());

const entry = (offset: number, epoch: number, partition = 0) => ({ topic: 't', partition, offset, epoch });
const foreign = (offset: number, partition = 0) => ({ topic: 't', partition, offset });

async function positionOf(partition = 0, name = 'g') {
  const group = (await host.ports.groups.read(name, true))!;
  return host.ports.positions.read({ group, topicId: (await host.ports.topics.fresh('t')).id, partition });
}

describe('a member’s commit', () => {
  let member: Consumer;
  let epoch: number;

  beforeEach(async () => {
    await append(host, 't', 'a', 5);
    member = new Consumer(host);
    await member.poll();
    epoch = member.held[0]!.epoch;
  });

  it('moves on, and may be repeated, by a poll, a heartbeat, or by itself', async () => {
    const { memberId } = member;
    expect(brief(await member.poll({ commit: [entry(1, epoch)] })).commits).toEqual(['0@1 done']);
    expect(brief(await member.beat({ commit: [entry(2, epoch)] })).commits).toEqual(['0@2 done']);
    const offsets = [entry(3, epoch)];
    expect(await commits(bench.host(), { memberId: memberId!, offsets })).toEqual(['0:3 done']);
    expect(await commits(bench.host(), { memberId: memberId!, offsets })).toEqual(['0:3 done']);
    expect(await positionOf()).toMatchObject({ committed: 3, owner: memberId });
  });

  it('never moves backwards', async () => {
    await member.poll({ commit: [entry(4, epoch)] });
    expect(brief(await member.poll({ commit: [entry(2, epoch)] })).commits).toEqual(['0@2 commit_regressed']);
    expect((await positionOf())?.committed).toBe(4);
  });

  it('reaches the high watermark and no further', async () => {
    const wrong = await member.poll({ commit: [entry(6, epoch)] });
    expect(brief(wrong).commits).toEqual(['0@6 offset_out_of_range']);
    expect(wrong.commits[0]!.error!.data).toMatchObject({ logStartOffset: 0, highWatermark: 5 });
    expect(await commits(bench.host(), { memberId: member.memberId!, offsets: [entry(5, epoch)] })).toEqual([
      '0:5 done',
    ]);
  });

  it('does not reach an offset that is reserved and not settled', async () => {
    const held = host.faults.hold('PutItem', 'none', 'batch');
    const appending = append(host, 't', 'b', 3);
    await held.arrived;
    const other = bench.host();
    const offsets = [entry(8, epoch)];
    expect(await commits(other, { memberId: member.memberId!, offsets })).toEqual(['0:8 offset_out_of_range']);
    held.release();
    await appending;
    expect(await commits(other, { memberId: member.memberId!, offsets })).toEqual(['0:8 done']);
  });

  it('is refused with a stale epoch or by another owner: a zombie is told', async () => {
    const { memberId } = member;
    expect(await commits(host, { memberId: memberId!, offsets: [entry(1, epoch - 1)] })).toEqual(['0:1 fenced']);
    const other = { memberId: '01J00000000000000000000000', offsets: [entry(1, epoch)] };
    expect(await commits(host, other)).toEqual(['0:1 fenced']);
    expect((await positionOf())?.committed).toBe(0);
  });

  it('is one write with the release of its partition, and a success again when both are repeated', async () => {
    const report = {
      commit: [{ ...entry(2, epoch), metadata: 'here' }],
      release: [{ topic: 't', partition: 0, epoch }],
    };
    host.faults.calls.length = 0;
    await member.beat(report);
    expect(host.faults.calls.filter((call) => call === 'UpdateItem')).toHaveLength(1);
    expect(await positionOf()).toEqual({ epoch, committed: 2, metadata: 'here' });
    expect(brief(await member.beat(report)).commits).toEqual(['0@2 done']);
    expect(await commits(host, { memberId: member.memberId!, offsets: [entry(3, epoch)] })).toEqual(['0:3 fenced']);
  });

  it('that is refused leaves its partition to be released all the same', async () => {
    const release = [{ topic: 't', partition: 0, epoch }];
    const answer = await member.poll({ commit: [entry(9, epoch)], release });
    expect(brief(answer)).toMatchObject({ commits: ['0@9 offset_out_of_range'], assigned: ['1@0'], revoked: [] });
    expect((await positionOf())?.owner).toBeUndefined();
    expect((await member.poll()).records).toHaveLength(5); // it is to have it still, from what is committed
  });

  it('in a topic or partition that does not exist is refused at its entry alone', async () => {
    const commit = [{ ...entry(1, epoch), topic: 'nowhere' }, entry(1, epoch, 7), entry(1, epoch)];
    const answer = await member.poll({ commit });
    expect(brief(answer).commits.map((text) => text.split(' ')[1])).toEqual([
      'topic_not_found',
      'partition_not_found',
      'done',
    ]);
  });

  it('costs no read where the container has read so far itself, half a unit where the offset is settled, a walk else', async () => {
    const readsOf = async (by: GroupHost, offset: number) => {
      by.faults.calls.length = 0;
      await commits(by, { memberId: member.memberId!, offsets: [entry(offset, epoch)] });
      return by.faults.calls.filter((call) => call === 'Query' || call === 'GetItem').join(' ');
    };
    const [group, topic, head] = ['GetItem', 'GetItem', 'GetItem'];
    expect(await readsOf(host, 1)).toBe(group);
    const other = bench.host();
    expect(await readsOf(other, 2)).toContain('Query');
    expect(await readsOf(other, 3)).toBe(group);
    expect(await readsOf(bench.host(), 4)).toBe([group, topic, head].join(' ')); // the walk moved `settled`
  });
});

describe('a commit without a member', () => {
  it('makes group and position, and where a first member begins', async () => {
    await append(host, 't', 'a', 5);
    expect(await commits(host, { offsets: [foreign(3), foreign(0, 1)] })).toEqual(['0:3 done', '1:0 done']);
    expect(await commits(host, { offsets: [foreign(3)] })).toEqual(['0:3 done']);
    expect((await poll(host, { autoOffsetReset: 'none' })).records).toEqual(['0:3', '0:4']);
  });

  it('takes effect while no member lives, moves forward only, and fences those who were', async () => {
    await append(host, 't', 'a', 5);
    const member = new Consumer(host);
    await member.poll();
    const { epoch } = member.held[0]!;
    expect(await commits(host, { offsets: [foreign(2)] })).toEqual(['0:2 fenced']);
    bench.clock.pass(40_000);
    expect(await commits(host, { offsets: [foreign(2)] })).toEqual(['0:2 done']);
    expect(await commits(host, { offsets: [foreign(1)] })).toEqual(['0:1 commit_regressed']);
    expect(await commits(host, { memberId: member.memberId!, offsets: [entry(4, epoch)] })).toEqual(['0:4 fenced']);
    expect((await positionOf())?.committed).toBe(2);
  });

  it('needs the epoch to match where it names one', async () => {
    await append(host, 't', 'a', 5);
    await commits(host, { offsets: [foreign(1)] });
    const { epoch } = (await positionOf())!;
    expect(await commits(host, { offsets: [entry(2, epoch)] })).toEqual(['0:2 done']);
    expect(await commits(host, { offsets: [entry(3, epoch + 1)] })).toEqual(['0:3 fenced']);
    await expect(commits(host, { group: 'nobody', offsets: [entry(1, 7)] })).rejects.toMatchObject({
      code: 'group_not_found',
    });
  });

  it('makes no group for a topic that does not exist', async () => {
    const offsets = [{ topic: 'nowhere', partition: 0, offset: 0 }];
    await expect(commits(host, { offsets })).rejects.toMatchObject({ code: 'topic_not_found' });
    expect(await host.ports.groups.read('g', true)).toBeUndefined();
  });

  it('loses against a member that takes the partition meanwhile', async () => {
    await append(host, 't', 'a', 5);
    await commits(host, { offsets: [foreign(1)] });
    const other = bench.host();
    const held = other.faults.hold('UpdateItem', 'none', '#committed');
    const late = commits(other, { offsets: [foreign(4)] });
    await held.arrived;
    const member = new Consumer(host);
    await member.poll();
    held.release();
    expect(await late).toEqual(['0:4 fenced']);
    expect(await positionOf()).toMatchObject({ committed: 1, owner: member.memberId });
  });

  it('counts what is added to its topic later from the first record on (G5)', async () => {
    await commits(host, { offsets: [foreign(0)] });
    await putTopic(host.backbone, 't', { partitions: 3 });
    await append(host, 't', 'known', 1, 1);
    await append(host, 't', 'added', 1, 2);
    const answer = await poll(bench.host(), { autoOffsetReset: 'latest' });
    expect(answer.records).toEqual(['2:0']);
  });
});

describe('a commit and the end of its topic', () => {
  it('is refused once the topic is gone', async () => {
    const member = new Consumer(host);
    await member.poll();
    const { epoch } = member.held[0]!;
    await deleteTopic(host.backbone, 't');
    bench.clock.pass(11_000);
    expect(brief(await member.poll({ commit: [entry(0, epoch)] })).commits).toEqual(['0@0 topic_not_found']);
  });

  it('is refused below the log start', async () => {
    await append(host, 't', 'a', 5);
    const member = new Consumer(host);
    await member.poll();
    const { id: topicId } = await host.ports.topics.get('t');
    await host.ports.heads.advance({ topicId, partition: 0 }, { from: 0, to: 5, logStart: 3 });
    const offsets = [entry(2, member.held[0]!.epoch)];
    expect(await commits(bench.host(), { memberId: member.memberId!, offsets })).toEqual(['0:2 offset_out_of_range']);
  });
});
