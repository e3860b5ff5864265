import { UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OutcomeUnknown, StrangerInSlot, Unavailable } from '../../shared/domain/errors.ts';
import { FENCES_MAX, FILL_DEADLINE_MS, REGISTER_LENGTH, SETTLE_AFTER_MS } from '../../shared/domain/limits.ts';
import type { Batch } from '../../shared/domain/record.ts';
import type { Topic } from '../../shared/domain/topic.ts';
import { appendBatches } from '../../shared/operations/append-batches.ts';
import { SlotAppend } from '../../shared/operations/append-slot.ts';
import { describePartitions } from '../../shared/operations/partitions.ts';
import { headKey } from '../../shared/store/keys.ts';
import { append, batchOf, type Host, type LogBench, makeTopic, openLogBench, read } from '../support/log-bench.ts';

/*
 * Schedules that broke earlier wordings of the protocol, played with the real operations, in the numbering of its
 * review. C1 to C6, C8, C10, C12, C13, D1 and D4 are beside the operations, in test/shared/operations. D5 and D6 are
 * about prepared appends, which do not exist yet.
 */

const HOUR = 3_600_000;
const SLOW_FILL_DEADLINE_MS = 5_000;
let bench: LogBench;
let host: Host;
let name: string;
let topic: Topic;
let made = 0;
beforeAll(async () => {
  bench = await openLogBench({ spillAboveBytes: 8 });
});
afterAll(() => bench.close());
beforeEach(() => use());

async function use(settings: { retentionMs?: number } = {}): Promise<void> {
  host = bench.host();
  name = `topic-${++made}`;
  await makeTopic(host, name, settings);
  topic = await host.backbone.topics.get(name);
}

/** A writer that reserves and does no more, until it is told to fill. */
async function reserve(batch: Batch, from = bench.host()) {
  const slot = new SlotAppend(from.backbone, topic, 0);
  const reservation = await slot.reserve(batch);
  if (reservation === undefined) throw new Error('head closed');
  return { reservation, fill: () => slot.fill(reservation, batch) };
}

/** Appends under a key. @returns the base offset */
async function once(from: Host, key: string, batch: Batch): Promise<number> {
  const fingerprint = Buffer.from(key.padEnd(32)).toString('hex');
  const { outcomes } = await appendBatches(from.backbone, {
    topic: name,
    build: () => new Map([[0, batch]]),
    once: { key, fingerprint },
  });
  const [outcome] = outcomes;
  if (outcome === undefined || 'error' in outcome) throw outcome?.error ?? new Error('no outcome');
  return outcome.baseOffset;
}

const puts = (from: Host) => from.faults.calls.filter((call) => call === 'PutItem').length;

describe('C1: voids of a range that nobody remembers', () => {
  it('are not put at the tail for what was filled between the Query and the look at the head', async () => {
    const reader = bench.host();
    await read(reader, name, 0);
    const { fill } = await reserve(batchOf('A', 3));
    const looking = reader.faults.hold('GetItem', 'none', 'head#');
    const reading = read(reader, name, 0);
    await looking.arrived;
    // Complete, and forgotten by the register, before the reader sees the head.
    await fill();
    for (let i = 0; i <= REGISTER_LENGTH; i++) await append(host, name, `x${i}`);
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    looking.release();
    expect((await reading).got[0]).toBe('A@0..2');
  });
});

describe('C7: a fill that comes when its fence is gone', () => {
  /** A writer that reserves offset 0, and whose fill gets no further than out of the process. */
  async function frozen(): Promise<{ appended: Promise<number>; writer: Host; thaw(): void }> {
    const writer = bench.host();
    await writer.backbone.topics.get(name);
    const held = writer.faults.hold('PutItem', 'lose-request');
    const appended = append(writer, name, 'frozen');
    appended.catch(() => {});
    await held.arrived;
    await append(host, name, 'X');
    return { appended, writer, thaw: held.release };
  }

  it('is not sent when readers have passed its gap as expired, without a void', async () => {
    await use({ retentionMs: HOUR });
    const { appended, thaw } = await frozen();
    bench.clock.pass(HOUR + 1_000);
    await append(host, name, 'Y');
    expect((await read(bench.host(), name, 'earliest')).got).toEqual(['Y@2..2']);
    thaw();
    await expect(appended).rejects.toBeInstanceOf(OutcomeUnknown);
    expect((await read(bench.host(), name, 'earliest')).got).toEqual(['Y@2..2']);
    expect(await host.backbone.log.find({ topicId: topic.id, partition: 0 }, 0)).toMatchObject({ kind: 'void' });
  });

  it('is not sent when the void that readers put has expired and is deleted', async () => {
    await use({ retentionMs: HOUR });
    const { appended, thaw } = await frozen();
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    expect((await read(bench.host(), name, 0)).got).toEqual(['X@1..1']);
    bench.clock.pass(25 * HOUR);
    await bench.removeSlot({ topicId: topic.id, partition: 0 }, 0);
    thaw();
    await expect(appended).rejects.toBeInstanceOf(OutcomeUnknown);
    expect((await host.backbone.log.find({ topicId: topic.id, partition: 0 }, 0))?.kind).not.toBe('batch');
  });
});

describe('C9, D8: a void that could be put', () => {
  it('is no proof that nothing was stored, when the slot was filled, read and deleted meanwhile', async () => {
    await use({ retentionMs: HOUR });
    const writer = bench.host();
    await writer.backbone.topics.get(name);
    writer.faults.next('PutItem', 'lose-answer');
    const held = writer.faults.hold('PutItem', 'lose-request');
    const appended = append(writer, name, 'A');
    await held.arrived;
    expect((await read(host, name, 0)).got).toEqual(['A@0..0']);
    bench.clock.pass(HOUR + 1_000);
    await bench.removeSlot({ topicId: topic.id, partition: 0 }, 0);
    held.release();
    await expect(appended).rejects.toBeInstanceOf(OutcomeUnknown);
    expect((await host.backbone.heads.read({ topicId: topic.id, partition: 0 }))?.next).toBe(1);
  });
});

describe('C11: payloads in S3', () => {
  it('are never overwritten by a caller with the same key: each reservation has an object of its own (a)', async () => {
    const slow = bench.host();
    const uploading = slow.faults.hold('PutObject');
    const first = once(slow, 'k', batchOf('the first bytes', 2));
    await uploading.arrived;
    bench.clock.pass(SLOW_FILL_DEADLINE_MS + 1);
    const second = await once(host, 'k', batchOf('the other bytes', 2));
    uploading.release();
    expect(await first).toBe(second);
    bench.clock.pass(10_001);
    expect((await read(bench.host(), name, 0)).got).toEqual([`the other bytes@${second}..${second + 1}`]);
  });
});

describe('D2: the high watermark', () => {
  it('does not pass a slot that the head has forgotten, though all that it remembers are filled', async () => {
    const slow = await reserve(batchOf('slow'));
    for (let i = 0; i <= REGISTER_LENGTH; i++) await append(host, name, `q${i}`);
    expect(await describePartitions(host.backbone, name)).toMatchObject([{ highWatermark: 0, logEndOffset: 10 }]);
    await slow.fill();
    expect(await describePartitions(host.backbone, name)).toMatchObject([{ highWatermark: 10 }]);
  });
});

describe('D3: a reservation after a fence', () => {
  it('has an id of its own, and does not get the voided slot back', async () => {
    const fenced = await reserve(batchOf('A'));
    await append(host, name, 'X');
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    await read(host, name, 0);
    const stored = await fenced.fill();
    expect(stored.id).not.toBe(fenced.reservation.id);
    expect(stored.last).toBe(2);
  });
});

describe('D7: a request that its second caller completes', () => {
  it('tells the predecessors of the slot that it fills, so nobody steps over a batch in flight', async () => {
    const inFlight = await reserve(batchOf('A', 3));
    await reserve(batchOf('B'));
    const dead = bench.host();
    const held = dead.faults.hold('PutItem', 'lose-request', '"batch"');
    void once(dead, 'k', batchOf('C', 2)).catch(() => {});
    await held.arrived;
    bench.clock.pass(FILL_DEADLINE_MS + 1);
    expect(await once(host, 'k', batchOf('C', 2))).toBe(6);
    const reader = bench.host();
    expect(await read(reader, name, 0)).toMatchObject({ got: [], nextOffset: 0 });
    await inFlight.fill();
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    const { got } = await read(reader, name, 0);
    expect(got.filter((batch) => batch.startsWith('A'))).toHaveLength(1);
    expect(got).toContain('C@6..7');
  });
});

describe('liveness', () => {
  it('ends: an append that is fenced every time is refused, and stored nowhere', async () => {
    const writer = bench.host();
    await writer.backbone.topics.get(name);
    let held = writer.faults.hold('PutItem', 'none', '"batch"');
    const appended = append(writer, name, 'A');
    appended.catch(() => {});
    for (let fences = 0; fences < FENCES_MAX; fences++) {
      await held.arrived;
      const arrived = held;
      held = writer.faults.hold('PutItem', 'none', '"batch"');
      bench.clock.pass(SETTLE_AFTER_MS + 1);
      await append(host, name, `x${fences}`);
      bench.clock.pass(SETTLE_AFTER_MS + 1);
      await read(host, name, 0);
      arrived.release();
    }
    await expect(appended).rejects.toBeInstanceOf(Unavailable);
    expect((await read(host, name, 0)).got.every((batch) => batch.startsWith('x'))).toBe(true);
  });
});

describe('what is easily got wrong', () => {
  it('2: a recognised retry knows fewer predecessors, perhaps none, which never means that there were none', async () => {
    for (let i = 0; i < 3; i++) await reserve(batchOf('dead'));
    const writer = bench.host();
    const answer = writer.faults.hold('UpdateItem', 'lose-answer');
    const reserved = reserve(batchOf('A'), writer);
    await answer.arrived;
    answer.release();
    const { reservation, fill } = await reserved;
    expect(reservation).toMatchObject({ last: 3, previous: [{ count: 1 }, { count: 1 }, { count: 1 }] });
    await fill();
    expect((await read(host, name, 0)).got).toEqual([]);
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    expect((await read(host, name, 0)).got).toEqual(['A@3..3']);
  });

  it('3: of what is forgotten, the youngest may be as young as the oldest that is known: it is waited for', async () => {
    await reserve(batchOf('old', 2));
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    for (let i = 0; i < REGISTER_LENGTH; i++) await reserve(batchOf('young'));
    await append(host, name, 'X');
    const before = puts(host);
    expect(await read(host, name, 0)).toMatchObject({ got: [], nextOffset: 0 });
    expect(puts(host)).toBe(before);
  });

  it('4: a writer’s own void tells its predecessors, so that what lies below it is no unknown range', async () => {
    for (let i = 0; i < 3; i++) await reserve(batchOf('dead', 50));
    const slot = new SlotAppend(host.backbone, topic, 0);
    const own = await slot.reserve(batchOf('A'));
    await slot.abandon(own!);
    await append(host, name, 'X');
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    const reader = bench.host();
    expect((await read(reader, name, 0)).got).toEqual(['X@151..151']);
    expect(puts(reader)).toBe(3);
  });

  it('6: a stranger in the slot, as after a head was set back, is an alarm and never an acknowledgement', async () => {
    await append(host, name, 'A');
    const { pk, sk } = headKey({ topicId: topic.id, partition: 0 });
    await bench.tables.dynamodb.send(
      new UpdateItemCommand({
        TableName: bench.tables.stateTable,
        Key: { pk: { S: pk }, sk: { S: sk } },
        UpdateExpression: 'SET #next = :zero',
        ExpressionAttributeNames: { '#next': 'next' },
        ExpressionAttributeValues: { ':zero': { N: '0' } },
      }),
    );
    await expect(append(host, name, 'B')).rejects.toBeInstanceOf(StrangerInSlot);
    expect(host.seen.map(({ kind }) => kind)).toContain('stranger_in_slot');
    expect((await read(host, name, 0)).got).toEqual(['A@0..0']);
  });

  it('22: a reservation of nobody, made by an attempt that was forgotten, is settled like any other', async () => {
    const writer = bench.host();
    await writer.backbone.topics.get(name);
    writer.faults.next('UpdateItem', 'lose-answer');
    const again = writer.faults.hold('UpdateItem');
    const appended = append(writer, name, 'A', 2);
    await again.arrived;
    // So many others in between that the head no longer knows the first attempt.
    for (let i = 0; i <= REGISTER_LENGTH; i++) await append(host, name, `x${i}`);
    again.release();
    const base = 2 + REGISTER_LENGTH + 1;
    expect(await appended).toBe(base);
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    const { got } = await read(bench.host(), name, 0);
    expect(got).toHaveLength(REGISTER_LENGTH + 2);
    expect(got.at(-1)).toBe(`A@${base}..${base + 1}`);
  });
});
