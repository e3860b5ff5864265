import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LATE_MAX_MS, SETTLE_AFTER_MS, VOID_PUTS_MAX } from '../../../shared/domain/limits.ts';
import type { Reservation } from '../../../shared/domain/slot.ts';
import type { Topic } from '../../../shared/domain/topic.ts';
import { SlotAppend } from '../../../shared/operations/append-slot.ts';
import { describePartitions } from '../../../shared/operations/partitions.ts';
import { putTopic } from '../../../shared/operations/topics.ts';
import { append, batchOf, type Host, type LogBench, makeTopic, openLogBench, read } from '../../support/log-bench.ts';

const HOUR = 3_600_000;
let bench: LogBench;
let host: Host;
let name: string;
let topic: Topic;
let made = 0;
beforeAll(async () => {
  bench = await openLogBench();
});
afterAll(() => bench.close());
beforeEach(() => use({}));

async function use(settings: { retentionMs?: number }) {
  host = bench.host();
  name = `topic-${++made}`;
  await makeTopic(host, name, settings);
  topic = await host.backbone.topics.get(name);
}

/** A writer that reserves and does no more, until it is told to fill. */
async function reserve(count = 1): Promise<{ reservation: Reservation; fill(batch: string): Promise<Reservation> }> {
  const slot = new SlotAppend(bench.host().backbone, topic, 0);
  const reservation = await slot.reserve(batchOf('reserved', count));
  if (reservation === undefined) throw new Error('head closed');
  return { reservation, fill: (batch) => slot.fill(reservation, batchOf(batch, count)) };
}

async function head() {
  const found = await host.backbone.heads.read({ topicId: topic.id, partition: 0 });
  if (found === undefined) throw new Error('no head');
  return found;
}

function countCalls(operation: string): number {
  return host.faults.calls.filter((call) => call === operation).length;
}

describe('a range that its follower does not remember', () => {
  it('is voided from the highest offset down, so no batch is ever readable in part (C1, D4)', async () => {
    const writer = bench.host();
    const inFlight = writer.faults.hold('PutItem');
    const filled = append(writer, name, 'A', 3);
    await inFlight.arrived;
    for (let i = 0; i < 9; i++) await reserve();
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    await append(host, name, 'X');
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    // X remembers offsets 4 to 11. Between the voids of 2 and 1 the fill of [0..2], whose key is 2, arrives.
    const reader = bench.host();
    const between = reader.faults.hold('PutItem', 'none', '"last":{"N":"1"}');
    const reading = read(reader, name, 0);
    await between.arrived;
    inFlight.release();
    expect(await filled).toBe(13);
    between.release();
    const whole = ['X@12..12', 'A@13..15'];
    expect((await reading).got).toEqual(whole);
    expect((await read(host, name, 0)).got).toEqual(whole);
  });

  it('keeps a batch that was stored before the voids came to it', async () => {
    const slow = await reserve(3);
    for (let i = 0; i < 9; i++) await reserve();
    await slow.fill('A');
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    await append(host, name, 'X');
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    expect((await read(host, name, 0)).got).toEqual(['A@0..2', 'X@12..12']);
  });

  it('costs at most 100 puts a call, and every call gets further (C2)', async () => {
    for (let i = 0; i < 12; i++) await reserve(30);
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    await append(host, name, 'X');
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    const puts: number[] = [];
    for (let call = 0; call < 3; call++) {
      const before = countCalls('PutItem');
      const result = await read(host, name, 0);
      puts.push(countCalls('PutItem') - before);
      if (result.got.length > 0) break;
      expect(result.nextOffset).toBeLessThan(360);
    }
    // 4 × 30 offsets that X has forgotten, one by one, then its 8 predecessors, each at once.
    expect(puts.reduce((sum, n) => sum + n, 0)).toBe(4 * 30 + 8);
    expect(Math.max(...puts)).toBeLessThanOrEqual(VOID_PUTS_MAX);
    expect((await read(host, name, 0)).got).toEqual(['X@360..360']);
  });

  it('costs nothing once nothing can land there any more (C2)', async () => {
    for (let i = 0; i < 12; i++) await reserve(1_000);
    await append(host, name, 'X');
    bench.clock.pass(2 * LATE_MAX_MS + 1);
    const before = countCalls('PutItem');
    const result = await read(host, name, 0);
    expect(result.got).toEqual(['X@12000..12000']);
    expect(countCalls('PutItem') - before).toBe(8);
  });
});

describe('`settled`', () => {
  it('is moved by a walk, and nothing below it is voided again (C2)', async () => {
    for (let i = 0; i < 150; i++) await append(host, name, `r${i}`);
    await describePartitions(host.backbone, name);
    expect(await head()).toMatchObject({ settled: 150, logStart: 0 });
    host.faults.calls.length = 0;
    await describePartitions(host.backbone, name);
    expect(countCalls('Query')).toBe(2);
  });

  it('is moved by readers every thousand offsets, beside a later Query', async () => {
    for (let i = 0; i < 3; i++) await append(host, name, `r${i}`, 400);
    await read(host, name, 0);
    expect((await head()).settled).toBe(0);
    host.faults.calls.length = 0;
    await read(host, name, 0);
    expect(host.faults.calls.toSorted()).toEqual(['Query', 'UpdateItem']);
    expect((await head()).settled).toBe(1_200);
  });

  it('is not moved by a reader that began in the middle: what lies before may be in flight (A3)', async () => {
    const slow = await reserve();
    await append(host, name, 'r', 600);
    await append(host, name, 's', 600);
    for (let i = 0; i < 3; i++) await read(host, name, 1);
    expect((await head()).settled).toBe(0);
    expect((await read(host, name, 0)).got).toEqual([]);
    await slow.fill('A');
    expect((await read(host, name, 0)).got[0]).toBe('A@0..0');
  });
});

describe('retention', () => {
  it('does not start a void storm when it is lengthened over deleted records (C12)', async () => {
    await use({ retentionMs: HOUR });
    for (let i = 0; i < 12; i++) await reserve(500);
    bench.clock.pass(HOUR + 1);
    await putTopic(host.backbone, name, { retentionMs: 7 * 24 * HOUR });
    await append(host, name, 'X');
    bench.clock.pass(SETTLE_AFTER_MS + 1);
    const before = countCalls('PutItem');
    expect((await read(host, name, 'earliest')).got).toEqual(['X@6000..6000']);
    expect(countCalls('PutItem') - before).toBe(0);
  });

  it('hides what was expired before it was lengthened', async () => {
    await use({ retentionMs: HOUR });
    await append(host, name, 'old');
    bench.clock.pass(HOUR / 2);
    await append(host, name, 'young');
    bench.clock.pass(HOUR / 2 + 1);
    await putTopic(host.backbone, name, { retentionMs: -1 });
    expect((await read(bench.host(), name, 'earliest')).got).toEqual(['young@1..1']);
  });

  it('hides at once what a shorter one has overtaken', async () => {
    await append(host, name, 'old');
    bench.clock.pass(2 * HOUR);
    await append(host, name, 'young');
    await putTopic(host.backbone, name, { retentionMs: HOUR });
    expect((await read(bench.host(), name, 'earliest')).got).toEqual(['young@1..1']);
    expect(await describePartitions(host.backbone, name)).toEqual([
      { partition: 0, logStartOffset: 1, highWatermark: 2, logEndOffset: 2 },
    ]);
  });

  it('settles a young reservation below an expired one as usual (C8)', async () => {
    await use({ retentionMs: HOUR });
    const young = await reserve();
    const stamped = bench.host(-2 * HOUR).backbone;
    const past = new SlotAppend(stamped, topic, 0);
    await past.reserve(batchOf('past', 3));
    await append(host, name, 'X');
    expect((await read(host, name, 0)).got).toEqual([]);
    await young.fill('A');
    expect((await read(host, name, 0)).got).toEqual(['A@0..0', 'X@4..4']);
  });
});
