import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import {
  OffsetOutOfRange,
  OutcomeUnknown,
  Throttled,
  TopicNotFound,
  Unavailable,
} from '../../../shared/domain/errors.ts';
import { appendBatches } from '../../../shared/operations/append-batches.ts';
import { deleteTopic, putTopic } from '../../../shared/operations/topics.ts';
import { append, batchOf, type Host, type LogBench, makeTopic, openLogBench, read } from '../../support/log-bench.ts';

let bench: LogBench;
let host: Host;
let topic: string;
let made = 0;
beforeAll(async () => {
  bench = await openLogBench();
});
afterAll(() => bench.close());
beforeEach(async () => {
  host = bench.host();
  topic = `topic-${++made}`;
  await makeTopic(host, topic);
});

describe('appending', () => {
  it('gives consecutive offsets and reads them back in order', async () => {
    expect(await append(host, topic, 'a')).toBe(0);
    expect(await append(host, topic, 'b', 3)).toBe(1);
    expect(await append(host, topic, 'c')).toBe(4);
    const result = await read(host, topic, 0);
    expect(result.got).toEqual(['a@0..0', 'b@1..3', 'c@4..4']);
    expect(result).toMatchObject({ nextOffset: 5, logStartOffset: 0, highWatermark: 5 });
    expect((await read(host, topic, 2)).got).toEqual(['b@2..3', 'c@4..4']);
  });

  it('costs two calls, one after the other, and a fetch that finds data one', async () => {
    await append(host, topic, 'warm');
    await read(host, topic, 0);
    host.faults.calls.length = 0;
    await append(host, topic, 'a');
    expect(host.faults.calls).toEqual(['UpdateItem', 'PutItem']);
    host.faults.calls.length = 0;
    await read(host, topic, 0);
    expect(host.faults.calls).toEqual(['Query']);
  });

  it('makes no second Query for a reader that has all it asked for at the end of the first', async () => {
    for (const name of ['a', 'b', 'c']) await append(host, topic, name);
    await read(host, topic, 0);
    host.faults.calls.length = 0;
    expect(await read(host, topic, 0, { slotsMax: 2 })).toMatchObject({ got: ['a@0..0', 'b@1..1'], nextOffset: 2 });
    expect(host.faults.calls).toEqual(['Query']);
  });

  it('recognises its own reservation and its own slot when the answers were lost (F28)', async () => {
    host.faults.next('UpdateItem', 'lose-answer');
    host.faults.next('PutItem', 'lose-answer');
    expect(await append(host, topic, 'a')).toBe(0);
    expect(await append(host, topic, 'b')).toBe(1);
    expect((await read(host, topic, 0)).got).toEqual(['a@0..0', 'b@1..1']);
  });

  it('stores once when every answer of the fill is lost: its own void meets it', async () => {
    host.faults.next('PutItem', 'lose-answer', 3);
    expect(await append(host, topic, 'a')).toBe(0);
    expect((await read(host, topic, 0)).got).toEqual(['a@0..0']);
    expect(host.seen.map(({ kind }) => kind)).toContain('append_late');
  });

  it('moves to another slot when the fill never arrived, and leaves a void behind', async () => {
    host.faults.next('PutItem', 'lose-request', 3);
    expect(await append(host, topic, 'a')).toBe(1);
    expect((await read(host, topic, 0)).got).toEqual(['a@1..1']);
  });

  it('answers "unknown" when neither the fill nor the void was answered', async () => {
    host.faults.next('PutItem', 'lose-request', 6);
    await expect(append(host, topic, 'a')).rejects.toBeInstanceOf(OutcomeUnknown);
  });

  it('answers "throttled" when the log refused every attempt, and nothing is stored', async () => {
    host.faults.next('PutItem', 'throttle', 6);
    await expect(append(host, topic, 'a')).rejects.toBeInstanceOf(Throttled);
    bench.clock.pass(2_001);
    expect((await read(host, topic, 0)).got).toEqual([]);
  });

  it('does not call it "throttled" when an attempt before the refusal may have been carried out', async () => {
    host.faults.next('PutItem', 'lose-request', 1);
    host.faults.next('PutItem', 'throttle', 5);
    await expect(append(host, topic, 'a')).rejects.toBeInstanceOf(OutcomeUnknown);
  });

  it('answers "unavailable" when the head does not answer, and reserves again at the next try', async () => {
    host.faults.next('UpdateItem', 'internal-error', 3);
    await expect(append(host, topic, 'a')).rejects.toBeInstanceOf(Unavailable);
    expect(await append(host, topic, 'b')).toBe(0);
  });

  it('sends no attempt of the fill after its deadline, however long it was frozen (C7)', async () => {
    const writer = bench.host();
    const held = writer.faults.hold('UpdateItem');
    const appended = append(writer, topic, 'frozen');
    await held.arrived;
    bench.clock.pass(1_001);
    held.release();
    // The reservation stands, its fill is refused by the writer itself; the second try is in time.
    expect(await appended).toBe(1);
    expect(writer.faults.calls).toEqual(['GetItem', 'UpdateItem', 'PutItem', 'UpdateItem', 'PutItem']);
    expect((await read(host, topic, 0)).got).toEqual(['frozen@1..1']);
  });

  it('does not acknowledge, nor reserve again, what it finds out after half the retention (C9)', async () => {
    const short = `${topic}-short`;
    await makeTopic(host, short, { retentionMs: 3_600_000 });
    const writer = bench.host();
    await append(writer, short, 'warm');
    const held = writer.faults.hold('PutItem');
    const appended = append(writer, short, 'frozen');
    await held.arrived;
    bench.clock.pass(1_800_001);
    held.release();
    await expect(appended).rejects.toBeInstanceOf(OutcomeUnknown);
  });

  it('is fenced by a void, learns the time of whoever put it, and stores elsewhere (D1)', async () => {
    const slow = bench.host(-3_000);
    const held = slow.faults.hold('PutItem');
    const appended = append(slow, topic, 'slow');
    await held.arrived;
    await append(host, topic, 'x');
    expect((await read(host, topic, 0)).got).toEqual(['x@1..1']);
    held.release();
    expect(await appended).toBe(2);
    // It reserves by the settlers' clock from now on, and is not fenced any more.
    const again = slow.faults.hold('PutItem');
    const second = append(slow, topic, 'not so slow');
    await again.arrived;
    await append(host, topic, 'y');
    expect((await read(host, topic, 0)).got).toEqual(['x@1..1', 'slow@2..2']);
    again.release();
    expect(await second).toBe(3);
  });

  it('stores all partitions of a request or, when one cannot be reserved, none', async () => {
    await putTopic(host.backbone, topic, { partitions: 3 });
    const request = {
      topic,
      build: () => new Map([0, 1, 2].map((partition) => [partition, batchOf(`p${partition}`)])),
    };
    const stored = await appendBatches(host.backbone, request);
    expect(stored.outcomes.map((outcome) => outcome.partition)).toEqual([0, 1, 2]);
    host.faults.next('UpdateItem', 'throttle', 3, '.1"');
    await expect(appendBatches(host.backbone, request)).rejects.toBeInstanceOf(Throttled);
    for (const partition of [0, 1, 2]) {
      expect((await read(host, topic, 0, { partition })).got).toEqual([`p${partition}@0..0`]);
    }
  });

  it('tells which partitions are stored when a fill fails for some', async () => {
    await putTopic(host.backbone, topic, { partitions: 2 });
    const writer = bench.host();
    const request = { topic, build: () => new Map([0, 1].map((partition) => [partition, batchOf(`p${partition}`)])) };
    writer.faults.next('PutItem', 'throttle', 12, '.1"');
    const { outcomes } = await appendBatches(writer.backbone, request);
    expect(outcomes).toMatchObject([
      { partition: 0, baseOffset: 0 },
      { partition: 1, error: { code: 'throttled', retryable: true } },
    ]);
  });

  it('never stores into an incarnation whose DELETE has answered, though its copy of the topic is old (C10, A6)', async () => {
    const other = bench.host();
    await append(host, topic, 'a');
    await deleteTopic(other.backbone, topic);
    await expect(append(host, topic, 'b')).rejects.toBeInstanceOf(TopicNotFound);
    await makeTopic(other, topic);
    const late = bench.host();
    await append(late, topic, 'c');
    await deleteTopic(other.backbone, topic);
    await makeTopic(other, topic);
    // Its copy names the second incarnation; nothing is reserved there, so it goes on in the third.
    expect(await append(late, topic, 'd')).toBe(0);
    expect((await read(bench.host(), topic, 0)).got).toEqual(['d@0..0']);
  });

  it('keeps the incarnation it began with once it holds a reservation', async () => {
    const writer = bench.host();
    const held = writer.faults.hold('PutItem', 'lose-request');
    const appended = append(writer, topic, 'a');
    await held.arrived;
    await deleteTopic(host.backbone, topic);
    await makeTopic(host, topic);
    bench.clock.pass(1_001);
    held.release();
    // Its fill is too late and its head is closed: it does not go on in the topic that has the name now.
    await expect(appended).rejects.toBeInstanceOf(TopicNotFound);
    expect((await read(bench.host(), topic, 0)).got).toEqual([]);
  });
});

describe('reading', () => {
  it('stops before a slot that is still in flight, and reads on once it is filled (F29)', async () => {
    const writer = bench.host();
    const held = writer.faults.hold('PutItem');
    const slow = append(writer, topic, 'slow');
    await held.arrived;
    await append(host, topic, 'fast');
    expect(await read(host, topic, 0)).toMatchObject({ got: [], nextOffset: 0, highWatermark: 0 });
    held.release();
    await slow;
    expect((await read(host, topic, 0)).got).toEqual(['slow@0..0', 'fast@1..1']);
  });

  it('settles what a dead writer left behind after two seconds, with one put', async () => {
    const dead = bench.host();
    dead.faults.hold('PutItem');
    void append(dead, topic, 'dead').catch(() => {});
    await expect.poll(() => dead.faults.calls.includes('PutItem')).toBe(true);
    await append(host, topic, 'after');
    expect((await read(host, topic, 0)).got).toEqual([]);
    bench.clock.pass(2_001);
    host.faults.calls.length = 0;
    expect((await read(host, topic, 0)).got).toEqual(['after@1..1']);
    expect(host.faults.calls.filter((call) => call === 'PutItem')).toHaveLength(1);
  });

  it('waits for a record and answers when it comes', async () => {
    const reading = read(host, topic, 0, { waitMs: 20_000, deadline: Number.MAX_SAFE_INTEGER });
    await append(bench.host(), topic, 'a');
    expect((await reading).got).toEqual(['a@0..0']);
  });

  it('answers empty at the end, and between the high watermark and the end', async () => {
    await append(host, topic, 'a');
    expect(await read(host, topic, 1)).toMatchObject({ got: [], nextOffset: 1, highWatermark: 1 });
    const writer = bench.host();
    const held = writer.faults.hold('PutItem');
    const slow = append(writer, topic, 'b', 5);
    await held.arrived;
    expect(await read(host, topic, 3)).toMatchObject({ got: [], nextOffset: 3 });
    held.release();
    await slow;
  });

  it('refuses an offset above the end, or goes where it is told to', async () => {
    await append(host, topic, 'a');
    await expect(read(host, topic, 2)).rejects.toMatchObject({
      data: { logStartOffset: 0, highWatermark: 1 },
    });
    expect(await read(host, topic, 2, { reset: 'earliest' })).toMatchObject({ got: ['a@0..0'] });
    expect(await read(host, topic, 99, { reset: 'latest' })).toMatchObject({ got: [], nextOffset: 1 });
  });

  it('hides what is expired by its own clock, and refuses offsets below the log start (F39)', async () => {
    const short = `${topic}-short`;
    await makeTopic(host, short, { retentionMs: 3_600_000 });
    await append(host, short, 'old', 2);
    bench.clock.pass(3_600_001);
    await append(host, short, 'young');
    await expect(read(host, short, 0)).rejects.toBeInstanceOf(OffsetOutOfRange);
    await expect(read(host, short, 1)).rejects.toMatchObject({ data: { logStartOffset: 2, highWatermark: 3 } });
    expect((await read(host, short, 'earliest')).got).toEqual(['young@2..2']);
    expect((await read(host, short, 2)).got).toEqual(['young@2..2']);
  });

  it('begins at the end when asked for the latest, which an unsettled slot holds back (C13)', async () => {
    await append(host, topic, 'a');
    const writer = bench.host();
    const held = writer.faults.hold('PutItem');
    const slow = append(writer, topic, 'slow');
    await held.arrived;
    for (let i = 0; i < 9; i++) await append(host, topic, `after-${i}`);
    expect((await read(host, topic, 'latest')).nextOffset).toBe(1);
    held.release();
    await slow;
    expect((await read(host, topic, 'latest')).nextOffset).toBe(11);
  });
});
