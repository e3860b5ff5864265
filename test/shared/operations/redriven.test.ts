import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type DeadLetter, deadLetterIdText } from '../../../shared/domain/dead-letter.ts';
import {
  POLL_REDRIVES_MAX,
  REDRIVE_GIVEN_MAX,
  REDRIVE_GIVEN_MS,
  REDRIVES_FAILED_MAX,
  REDRIVES_MARKED_MS,
} from '../../../shared/domain/redrive-limits.ts';
import { type DeadLetterReport, deadLetter } from '../../../shared/operations/dead-letter.ts';
import { deleteGroup } from '../../../shared/operations/delete-group.ts';
import { redriveDeadLetters } from '../../../shared/operations/redrive-dead-letters.ts';
import { deleteTopic } from '../../../shared/operations/topics.ts';
import { DeadLetterObjects } from '../../../shared/store/dead-letter-objects.ts';
import { correctLetter, encodeKeptRecord, keyOfLetter } from '../../../shared/wire/dead-letter-record.ts';
import { encodeRecordBatch } from '../../../shared/wire/record-batch.ts';
import {
  brief,
  Consumer,
  commits,
  type GroupBench,
  type GroupHost,
  openGroupBench,
} from '../../support/group-bench.ts';
import { append, makeTopic } from '../../support/log-bench.ts';

const error = { name: 'Error', message: 'no' };
const COUNT = 30;

let bench: GroupBench;
let host: GroupHost;
let member: Consumer;
let topicId: string;

beforeEach(async () => {
  bench = await openGroupBench();
  host = bench.host();
  await makeTopic(host, 't', { partitions: 2 });
  topicId = (await host.ports.topics.fresh('t')).id;
  await append(host, 't', 'a', COUNT);
  member = new Consumer(host);
  await member.poll();
  await member.poll({ commit: member.positions });
});
afterEach(() => bench.close());

const group = async () => (await host.ports.groups.read('g', true))!;
const letterOf = (offset: number, partition = 0) => ({ topicId, partition, offset });
const idOf = (offset: number, partition = 0) => deadLetterIdText(letterOf(offset, partition));
const stored = async () => (await host.backbone.deadLetters.list(await group(), { limit: 1_000 })).items;
const epoch = (of = member, partition = 0) => of.held.find((one) => one.partition === partition)!.epoch;

/** Dead letters with these offsets. */
const bury = (...offsets: number[]) => buryIn(0, ...offsets);
async function buryIn(partition: number, ...offsets: number[]): Promise<void> {
  for (const offset of offsets) {
    const record = { key: null, value: Buffer.from('v'), headers: [] };
    const payload = { bytes: Buffer.concat([Buffer.from([0]), encodeRecordBatch([record], 0)]) };
    const letter = { ...letterOf(offset, partition), topic: 't', payload, error, attempts: 3, redrives: 0 };
    await host.backbone.deadLetters.put(await group(), { ...letter, firstFailedAt: 0, deadLetteredAt: 0 });
  }
}

async function redrive(change: Partial<Parameters<typeof redriveDeadLetters>[1]> = {}) {
  const codec = { keyOf: keyOfLetter, correct: correctLetter };
  const deadLetterObjects = new DeadLetterObjects(bench.tables.s3, bench.tables.bucket);
  const ports = { ...host.backbone, deadLetterObjects, wakeQueue: { wake: async () => {} } };
  const wish = { group: 'g', wanted: { filter: {} }, isDryRun: false, deadline: bench.clock.now() + 20_000 };
  return redriveDeadLetters(ports, { ...wish, ...change }, codec);
}

const held = (offset: number) => ({ id: idOf(offset), epoch: epoch() });
const done = (offset: number) => ({ ...held(offset), done: true });

function report(change: Partial<DeadLetterReport>, by = member): Promise<{ readonly committed: number }> {
  const { memberId } = by;
  const about = { group: 'g', memberId: memberId!, topic: 't', partition: 0, offset: 0, epoch: epoch(by), error };
  const whole = { ...about, attempts: 1, deadline: bench.clock.now() + 20_000, ...change };
  return deadLetter(
    { ...host.ports, deadLetters: host.backbone.deadLetters, deadLetterObjects: objects() },
    whole,
    encodeKeptRecord,
  );
}
const objects = () => new DeadLetterObjects(bench.tables.s3, bench.tables.bucket);

describe('a dead letter of a group whose members poll', () => {
  it('comes back in a poll of whoever owns its partition, in order, and is gone when that one is done with it', async () => {
    await bury(3, 1);
    expect((await member.poll()).records).toEqual([]);
    expect(await redrive()).toEqual({ redriving: 2, more: false });
    const answer = await member.poll({ redriven: [] });
    expect(answer.records).toEqual(['redriven 0:1 1', 'redriven 0:3 1']);
    expect(brief(answer).assigned).toEqual([`0@${COUNT}`, '1@0']);
    expect((await member.poll({ redriven: [held(1), held(3)] })).records).toEqual([]);
    const settled = await member.poll({ redriven: [done(1), held(3)] });
    expect(settled.redriven).toEqual([{ id: idOf(1) }]);
    expect(settled.records).toEqual([]);
    expect((await stored()).map(({ offset }) => offset)).toEqual([3]);
    expect((await member.beat({ redriven: [done(3)] })).redriven).toEqual([{ id: idOf(3) }]);
    expect(await stored()).toEqual([]);
    expect((await host.ports.positions.read({ group: await group(), topicId, partition: 0 }))?.committed).toBe(COUNT);
  });

  it('comes again when the answer that had it was lost, and its end may be said twice', async () => {
    await bury(1);
    await redrive();
    await member.poll({ redriven: [] });
    expect((await member.poll({ redriven: [] })).records).toEqual(['redriven 0:1 1']);
    await member.poll({ redriven: [done(1)] });
    const again = await member.poll({ redriven: [done(1)] });
    expect(again.redriven).toEqual([{ id: idOf(1) }]);
    expect(again.records).toEqual([]);
  });

  it('is not done when its end was lost on the way, and it was taken back meanwhile', async () => {
    await bury(1);
    await redrive();
    await member.poll({ redriven: [] });
    const { redrives } = host.backbone;
    host.faults.next('TransactWriteItems', 'lose-request');
    const retry = host.faults.hold('TransactWriteItems');
    const ended = redrives.end(await group(), letterOf(1), { epoch: epoch() });
    await retry.arrived;
    await bench.host().backbone.redrives.recall(await group(), letterOf(1));
    retry.release();
    // Else what the letter has in the bucket would be removed.
    expect(await ended).toBe(false);
    expect(await stored()).toHaveLength(1);
    // Lost on the way back, it is.
    await redrive();
    await member.poll({ redriven: [] });
    host.faults.next('TransactWriteItems', 'lose-answer');
    expect(await redrives.end(await group(), letterOf(1), { epoch: epoch() })).toBe(true);
    expect(await stored()).toEqual([]);
  });

  it('comes before the records behind it, and leaves them their room', async () => {
    await bury(1, 2, 3);
    await redrive();
    await append(host, 't', 'b', 4);
    const answer = await member.poll({ redriven: [] });
    expect(answer.records).toEqual([
      ...['redriven 0:1 1', 'redriven 0:2 1', 'redriven 0:3 1'],
      ...[0, 1, 2, 3].map((i) => `0:${COUNT + i}`),
    ]);
    expect(brief(answer).assigned).toEqual([`0@${COUNT + 4}`, '1@0']);
  });

  it('comes with no more than a poll has time for, whatever their partitions are', async () => {
    await append(host, 't', 'b', COUNT, 1);
    await member.poll();
    await member.poll({ commit: member.positions });
    await bury(...Array.from({ length: 20 }, (_, i) => i));
    await buryIn(1, ...Array.from({ length: 20 }, (_, i) => i));
    await redrive();
    const { records } = await member.poll({ redriven: [] });
    expect(records).toHaveLength(POLL_REDRIVES_MAX);
    expect(new Set(records).size).toBe(POLL_REDRIVES_MAX);
    // Nor than it has time for: what it does not begin is nobody's.
    bench.clock.pass(REDRIVE_GIVEN_MS + 1);
    const late = await member.poll({ deadline: bench.clock.now() });
    expect(late.records).toEqual([]);
  });

  it('is not given to who has paused its partition, nor before its time', async () => {
    await bury(1, 2);
    await redrive({ ratePerSecond: 1 });
    expect((await member.poll({ redriven: [], paused: [{ topic: 't', partition: 0 }] })).records).toEqual([]);
    expect((await member.poll({ redriven: [] })).records).toEqual(['redriven 0:1 1']);
    expect((await member.poll({ redriven: [done(1)] })).records).toEqual([]);
    bench.clock.pass(1_000);
    expect((await member.poll({ redriven: [] })).records).toEqual(['redriven 0:2 1']);
  });

  it('is not given while the record itself is still to come', async () => {
    await bury(COUNT);
    await redrive();
    expect((await member.poll({ redriven: [] })).records).toEqual([]);
    await append(host, 't', 'b', 1);
    await member.poll({ redriven: [] });
    expect((await member.poll({ redriven: [], commit: member.positions })).records).toEqual([`redriven 0:${COUNT} 1`]);
  });

  it('wakes a poll that waits', async () => {
    await bury(1);
    let looks = 0;
    const { sleep } = host.ports;
    Object.assign(host.ports, {
      sleep: async (ms: number) => {
        if (++looks === 2) await redrive();
        await sleep(ms);
      },
    });
    expect((await member.poll({ redriven: [], waitMs: 10_000 })).records).toEqual(['redriven 0:1 1']);
  });
});

describe('a redriven record that fails', () => {
  it('is a dead letter again, with its history, and a report that is repeated changes nothing', async () => {
    await bury(1);
    await redrive();
    await member.poll({ redriven: [] });
    const failure = { name: 'Other', message: 'still not' };
    for (let times = 0; times < 2; times++) {
      const { committed } = await report({ offset: 1, redriven: 1, attempts: 2, error: failure });
      expect(committed).toBe(COUNT);
    }
    const history = [{ error, deadLetteredAt: 0 }];
    expect(await stored()).toMatchObject([{ redrives: 1, attempts: 5, error: failure, history }]);
    expect((await stored())[0]!.redriveAt).toBeUndefined();
    expect((await member.poll({ redriven: [] })).records).toEqual([]);
    await redrive();
    expect((await member.poll({ redriven: [] })).records).toEqual(['redriven 0:1 2']);
    // Of the redrive before, and late.
    await report({ offset: 1, redriven: 1 });
    expect(await stored()).toMatchObject([{ redrives: 1, redriveAt: bench.clock.now() }]);
  });

  it('stops the others when too many do in a row, and what is redriven then counts anew', async () => {
    const offsets = Array.from({ length: REDRIVES_FAILED_MAX + 5 }, (_, i) => i);
    await bury(...offsets);
    await redrive();
    expect((await member.poll({ redriven: [] })).records).toHaveLength(offsets.length);
    await report({ offset: 0, redriven: 1 });
    await member.poll({ redriven: [done(1)] });
    for (const offset of offsets.slice(2, 2 + REDRIVES_FAILED_MAX)) await report({ offset, redriven: 1 });
    const states = (await stored()).map(({ redrives, redriveAt }: DeadLetter) => [redrives, redriveAt]);
    expect(states).toEqual(
      [0, ...offsets.slice(2)].map((offset) => [offset < 2 + REDRIVES_FAILED_MAX ? 1 : 0, undefined]),
    );
    expect((await group()).redrives).toMatchObject({ stoppedAt: bench.clock.now(), failed: REDRIVES_FAILED_MAX });
    expect((await member.poll({ redriven: [] })).records).toEqual([]);
    await redrive();
    expect((await member.poll({ redriven: [] })).records).not.toEqual([]);
  });

  it('stops the others also where the one that counts dies over it', async () => {
    await bury(1, 2);
    await redrive();
    for (let i = 0; i < REDRIVES_FAILED_MAX; i++) await host.ports.groupRedrives.fail(await group());
    expect((await member.poll({ redriven: [] })).records).toEqual([]);
    const stoppedAt = bench.clock.now();
    expect((await group()).redrives).toMatchObject({ stoppedAt });
    expect((await stored()).map(({ redriveAt }) => redriveAt)).toEqual([undefined, undefined]);
    bench.clock.pass(1_000);
    await member.poll({ redriven: [] });
    expect((await group()).redrives).toMatchObject({ stoppedAt });
  });

  it('stops the others also where the answer was lost to the one that counts', async () => {
    const offsets = Array.from({ length: REDRIVES_FAILED_MAX + 1 }, (_, i) => i);
    await bury(...offsets);
    await redrive();
    await member.poll({ redriven: [] });
    const failing = offsets.slice(0, REDRIVES_FAILED_MAX);
    const last = failing.pop()!;
    for (const offset of failing) await report({ offset, redriven: 1 });
    host.faults.next('UpdateItem', 'lose-answer', 1, 'ADD redrivesFailed');
    await report({ offset: last, redriven: 1 });
    expect((await group()).redrives).toMatchObject({ stoppedAt: bench.clock.now() });
    expect((await stored()).filter(({ redriveAt }) => redriveAt !== undefined)).toEqual([]);
  });
});

describe('a redriven record whose partition goes to another member', () => {
  let other: Consumer;

  beforeEach(async () => {
    await bury(1);
    await redrive();
    await member.poll({ redriven: [] });
    other = new Consumer(bench.host(), { topics: ['t'], sessionTimeoutMs: 30_000 });
  });

  /** The first one dies, and the other has all that it had. */
  async function takeOver(): Promise<string[]> {
    bench.clock.pass(40_000);
    await other.poll({ redriven: [] });
    await other.poll({ redriven: [] });
    expect(other.partitions).toEqual(['0', '1']);
    return other.records.filter((text) => text.startsWith('redriven'));
  }

  it('comes to that one at once', async () => {
    expect((await takeOver())[0]).toBe('redriven 0:1 1');
  });

  it('is that one’s to end: who had it before is fenced, whether it is done or has failed', async () => {
    const epochBefore = epoch();
    await takeOver();
    const zombie = [{ id: idOf(1), epoch: epochBefore, done: true }];
    const told = await other.beat({ redriven: zombie });
    expect(told.redriven).toMatchObject([{ id: idOf(1), error: { code: 'fenced' } }]);
    expect(await stored()).toHaveLength(1);
    await expect(report({ offset: 1, redriven: 1, epoch: epochBefore }, other)).rejects.toMatchObject({
      code: 'fenced',
    });
    const redriven = [{ id: idOf(1), epoch: epoch(other), done: true }];
    expect((await other.beat({ redriven })).redriven).toEqual([{ id: idOf(1) }]);
    expect(await stored()).toEqual([]);
  });

  it('may be ended by who had it, as long as nobody else was given it', async () => {
    const redriven = [{ id: idOf(1), epoch: epoch(), done: true }];
    bench.clock.pass(40_000);
    await other.poll({ redriven: [], paused: [0, 1].map((partition) => ({ topic: 't', partition })) });
    expect((await other.beat({ redriven })).redriven).toEqual([{ id: idOf(1) }]);
    expect(await stored()).toEqual([]);
    expect((await other.poll({ redriven: [] })).records).toEqual([]);
  });

  it('is not given to who only believes that it owns it', async () => {
    bench.clock.pass(1_000);
    const position = { group: await group(), topicId, partition: 0 };
    const seen = (await host.ports.positions.read(position, true))!;
    await host.ports.positions.change(position, seen, { committed: seen.committed, epoch: seen.epoch + 1 });
    expect((await member.poll({ redriven: [] })).records).toEqual([]);
  });
});

describe('a member that knows nothing of redrives', () => {
  beforeEach(async () => {
    await bury(1, 2);
    await redrive();
  });

  it('goes on where it was, and is given the records a few times, with time in between; then they are dead letters again', async () => {
    for (let times = 0; times < REDRIVE_GIVEN_MAX; times++) {
      expect((await member.poll()).records).toEqual(['redriven 0:1 1', 'redriven 0:2 1']);
      const answer = await member.poll();
      expect(answer.records).toEqual([]);
      expect(brief(answer).assigned).toEqual([`0@${COUNT}`, '1@0']);
      for (let beats = 0; beats < 3; beats++) {
        bench.clock.pass(REDRIVE_GIVEN_MS / 3);
        await member.beat();
      }
    }
    expect((await member.poll()).records).toEqual([]);
    const left = { redrives: 1, error: { name: 'redrive_not_settled' } };
    expect(await stored()).toMatchObject([left, left]);
  });

  it('ends one by the commit of the offset behind it, as it would of any record', async () => {
    await member.poll();
    const entry = { topic: 't', partition: 0, offset: 2, epoch: epoch() };
    expect(brief(await member.poll({ commit: [entry] })).commits).toEqual(['0@2 done']);
    expect((await stored()).map(({ offset }) => offset)).toEqual([2]);
    expect(await commits(host, { memberId: member.memberId!, offsets: [{ ...entry, offset: 3 }] })).toEqual([
      '0:3 done',
    ]);
    expect(await stored()).toEqual([]);
    // And no other commit that lies behind.
    expect(brief(await member.poll({ commit: [{ ...entry, offset: 4 }] })).commits).toEqual(['0@4 commit_regressed']);
  });

  it('has one be a dead letter again as it reports any', async () => {
    await member.poll();
    expect(await report({ offset: 1 })).toMatchObject({ committed: COUNT });
    expect(await stored()).toMatchObject([{ redrives: 1 }, { redrives: 0 }]);
  });
});

describe('a redrive that something happens to', () => {
  it('is one, however often it is asked for, and named', async () => {
    await bury(1);
    expect(await redrive({ wanted: { ids: [idOf(1), idOf(1)] } })).toMatchObject({ redriving: 1 });
    await member.poll({ redriven: [] });
    expect(await redrive({ wanted: { ids: [idOf(1)] } })).toMatchObject({ redriving: 1 });
    expect((await member.poll({ redriven: [held(1)] })).records).toEqual([]);
    expect((await member.poll({ redriven: [done(1)] })).redriven).toEqual([{ id: idOf(1) }]);
    expect(await stored()).toEqual([]);
  });

  it('that corrects a record which a member has comes again: who had it as it was does not end it', async () => {
    await bury(1);
    await redrive();
    await member.poll({ redriven: [] });
    const corrections = new Map([[idOf(1), { value: Buffer.from('mended') }]]);
    await redrive({ wanted: { ids: [idOf(1)], corrections } });
    const answer = await member.poll({ redriven: [done(1)] });
    expect(answer.redriven).toMatchObject([{ error: { code: 'fenced' } }]);
    expect(answer.records).toEqual(['redriven 0:1 1']);
    expect((await member.poll({ redriven: [done(1)] })).redriven).toEqual([{ id: idOf(1) }]);
  });

  it('ends with its letter, when that is deleted', async () => {
    await bury(1, 2);
    await redrive();
    await member.poll({ redriven: [] });
    await host.backbone.deadLetters.delete(await group(), (await stored())[0]!);
    await host.backbone.deadLetters.delete(await group(), letterOf(2));
    expect((await member.poll({ redriven: [done(1)] })).redriven).toEqual([{ id: idOf(1) }]);
    expect((await member.poll({ redriven: [] })).records).toEqual([]);
    await expect(report({ offset: 1, redriven: 1 })).rejects.toMatchObject({ code: 'commit_regressed' });
  });

  it('is looked for no longer than it takes: then polls pay nothing more', async () => {
    await bury(1);
    await redrive();
    await member.poll({ redriven: [] });
    await member.poll({ redriven: [done(1)] });
    expect((await group()).redrives).toEqual({ at: bench.clock.now() });
    for (let passed = 0; passed < REDRIVES_MARKED_MS; passed += 10_000) {
      bench.clock.pass(10_000);
      await member.poll({ redriven: [] });
    }
    expect((await group()).redrives).toBeUndefined();
  });

  it('is taken back when its topic is deleted, and refused from then on; with its group it is gone', async () => {
    await bury(1);
    await redrive();
    await deleteTopic(host.backbone, 't');
    await makeTopic(host, 't', { partitions: 2 });
    for (let passed = 0; passed < 2 * REDRIVES_MARKED_MS; passed += 10_000) {
      bench.clock.pass(10_000);
      await member.poll({ redriven: [] });
    }
    expect(await stored()).toMatchObject([{ redrives: 0 }]);
    expect((await stored())[0]!.redriveAt).toBeUndefined();
    expect((await group()).redrives).toBeUndefined();
    expect(await redrive()).toEqual({ redriving: 0, more: false });
    await expect(redrive({ wanted: { ids: [idOf(1)] } })).rejects.toMatchObject({ code: 'invalid_request' });
    await deleteGroup(host.backbone, 'g');
    await expect(redrive()).rejects.toMatchObject({ code: 'group_not_found' });
    await expect(member.poll({ redriven: [done(1)] })).rejects.toMatchObject({ code: 'group_not_found' });
  });
});
