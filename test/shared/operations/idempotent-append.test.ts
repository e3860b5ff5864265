import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KEY_RETENTION_MS } from '../../../shared/domain/claim.ts';
import {
  IdempotencyInProgress,
  IdempotencyKeyReused,
  OutcomeUnknown,
  Throttled,
  Unavailable,
} from '../../../shared/domain/errors.ts';
import { FILL_DEADLINE_MS } from '../../../shared/domain/limits.ts';
import { appendBatches } from '../../../shared/operations/append-batches.ts';
import type { AppendResult } from '../../../shared/operations/partition-append.ts';
import { deleteTopic, putTopic } from '../../../shared/operations/topics.ts';
import { encodeClaim } from '../../../shared/store/claim-layout.ts';
import { batchOf, type Host, type LogBench, makeTopic, openLogBench, read } from '../../support/log-bench.ts';

const HOUR = 3_600_000;
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

/** Appends `name` to the given partitions under a key. */
function once(from: Host, key: string, name: string, partitions = [0], count = 1): Promise<AppendResult> {
  const fingerprint = Buffer.from(name.padEnd(32)).toString('hex');
  return appendBatches(from.backbone, {
    topic,
    build: () => new Map(partitions.map((partition) => [partition, batchOf(name, count)])),
    once: { key, fingerprint },
  });
}

const offsetsOf = ({ outcomes }: AppendResult) =>
  outcomes.map((outcome) => ('error' in outcome ? outcome.error.code : outcome.baseOffset));
const stored = async (partition = 0) => (await read(bench.host(), topic, 0, { partition })).got;

describe('a request with a key', () => {
  it('is appended once, and its repeat gets the first answer', async () => {
    const first = await once(host, 'k', 'a', [0], 3);
    expect(first).toMatchObject({ duplicate: false });
    const second = await once(bench.host(), 'k', 'a', [0], 3);
    expect(second).toEqual({ ...first, duplicate: true });
    expect(await stored()).toEqual(['a@0..2']);
  });

  it('takes three calls one after the other, and its repeat at most four', async () => {
    await once(host, 'warm', 'w');
    host.faults.calls.length = 0;
    await once(host, 'k', 'a');
    expect(host.faults.calls).toEqual(['GetItem', 'UpdateItem', 'PutItem', 'PutItem']);
    bench.clock.pass(FILL_DEADLINE_MS + 1);
    host.faults.calls.length = 0;
    await once(host, 'k', 'a');
    // The claim beside the reservation; the slot; the void of the reservation that was not needed.
    expect(host.faults.calls).toEqual(['GetItem', 'UpdateItem', 'GetItem', 'PutItem']);
  });

  it('leaves no gap for readers when it was a duplicate', async () => {
    await once(host, 'k', 'a');
    await once(host, 'k', 'a');
    await once(host, 'l', 'b');
    expect(await stored()).toEqual(['a@0..0', 'b@2..2']);
  });

  it('is refused when the key stands for another request, and nothing is stored (F24)', async () => {
    await once(host, 'k', 'a');
    await expect(once(host, 'k', 'b')).rejects.toBeInstanceOf(IdempotencyKeyReused);
    expect(await stored()).toEqual(['a@0..0']);
  });

  it('is another request in another topic, and in the next incarnation of the same one (C10)', async () => {
    await once(host, 'k', 'a');
    await deleteTopic(host.backbone, topic);
    await makeTopic(host, topic);
    expect(await once(host, 'k', 'b')).toMatchObject({ duplicate: false });
    expect(await stored()).toEqual(['b@0..0']);
  });

  it('is appended once when twenty send it at a time (F24)', async () => {
    const hosts = Array.from({ length: 20 }, () => bench.host());
    const results = await Promise.allSettled(hosts.map((from) => once(from, 'k', 'a')));
    const answered = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(IdempotencyInProgress);
    }
    expect(answered.length).toBeGreaterThan(0);
    expect(new Set(answered.map((result) => offsetsOf(result)[0])).size).toBe(1);
    bench.clock.pass(2_001);
    expect(await stored()).toHaveLength(1);
    expect(await once(bench.host(), 'k', 'a')).toMatchObject({ duplicate: true });
  });

  it('recognises its own claim when the answer was lost', async () => {
    host.faults.next('PutItem', 'lose-answer', 1, '"claim"');
    expect(await once(host, 'k', 'a')).toMatchObject({ duplicate: false });
    expect(await stored()).toEqual(['a@0..0']);
  });

  it('keeps its first answer though partitions were added (F40)', async () => {
    const first = await once(host, 'k', 'a');
    await putTopic(host.backbone, topic, { partitions: 4 });
    expect(await once(bench.host(), 'k', 'a')).toEqual({ ...first, duplicate: true });
  });

  it('claims ten partitions with one write unit', async () => {
    await putTopic(host.backbone, topic, { partitions: 10 });
    await once(host, 'k', 'a', [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const { id } = await host.backbone.topics.get(topic);
    const claim = await host.backbone.claims.read(id, 'k', bench.clock.now());
    expect(claim?.pins).toHaveLength(10);
    // Names, key and expiry of the item take about 130 bytes more.
    expect(encodeClaim(claim!).length).toBeLessThan(1_024 - 200);
  });
});

describe('a writer that died', () => {
  /** A writer that gets as far as `operation`, whose attempt never arrives and is never answered. */
  async function die(operation: string, naming = '', partitions = [0]): Promise<void> {
    const dead = bench.host();
    const { arrived } = dead.faults.hold(operation, 'lose-request', naming);
    void once(dead, 'k', 'a', partitions).catch(() => {});
    await arrived;
  }

  it('between the reservation and the claim leaves nothing: the repeat is the first', async () => {
    await die('PutItem', '"claim"');
    expect(await once(host, 'k', 'a')).toMatchObject({ duplicate: false });
    expect(await stored()).toEqual([]);
    bench.clock.pass(2_001);
    expect(await stored()).toEqual(['a@1..1']);
  });

  it('between the claim and the fill is waited for, then finished by the repeat (F25, F26)', async () => {
    await die('PutItem', '"batch"');
    await expect(once(host, 'k', 'a')).rejects.toBeInstanceOf(IdempotencyInProgress);
    bench.clock.pass(FILL_DEADLINE_MS + 1);
    const finished = await once(host, 'k', 'a');
    expect(finished).toMatchObject({ duplicate: true });
    expect(await once(bench.host(), 'k', 'a')).toEqual(finished);
    bench.clock.pass(2_001);
    expect(await stored()).toHaveLength(1);
  });

  it('after some of its partitions were filled is finished: what is stored stays where it is', async () => {
    await putTopic(host.backbone, topic, { partitions: 3 });
    await die('PutItem', '.2"', [0, 1, 2]);
    bench.clock.pass(FILL_DEADLINE_MS + 1);
    await expect.poll(() => stored(0)).toEqual(['a@0..0']);
    const finished = await once(host, 'k', 'a', [0, 1, 2]);
    expect(offsetsOf(finished).slice(0, 2)).toEqual([0, 0]);
    bench.clock.pass(2_001);
    for (const partition of [0, 1, 2]) expect(await stored(partition)).toHaveLength(1);
  });
});

describe('a second caller', () => {
  it('never fills a slot that is not its own: it voids it, moves the claim, then fills (C3, C5)', async () => {
    const slow = bench.host();
    const held = slow.faults.hold('PutItem', 'none', '"batch"');
    const first = once(slow, 'k', 'a');
    await held.arrived;
    bench.clock.pass(FILL_DEADLINE_MS + 1);
    const second = await once(host, 'k', 'a');
    held.release();
    // The first one's fill, already on its way, meets the void; its claim has moved, so it answers what is there.
    expect(offsetsOf(await first)).toEqual(offsetsOf(second));
    bench.clock.pass(2_001);
    expect(await stored()).toEqual([`a@${offsetsOf(second)[0]}..${offsetsOf(second)[0]}`]);
  });

  it('finds the fill that was faster than its void', async () => {
    const slow = bench.host();
    const held = slow.faults.hold('PutItem', 'none', '"batch"');
    const first = once(slow, 'k', 'a');
    await held.arrived;
    bench.clock.pass(FILL_DEADLINE_MS + 1);
    const voiding = host.faults.hold('PutItem', 'none', '"void"');
    const second = once(host, 'k', 'a');
    await voiding.arrived;
    held.release();
    await first;
    voiding.release();
    expect(await second).toMatchObject({ duplicate: true, outcomes: [{ baseOffset: 0 }] });
    bench.clock.pass(2_001);
    expect(await stored()).toEqual(['a@0..0']);
  });
});

describe('a writer that was fenced', () => {
  it('moves its claim before it fills elsewhere, so a repeat finds it (C4)', async () => {
    const slow = bench.host();
    const held = slow.faults.hold('PutItem', 'none', '"batch"');
    const first = once(slow, 'k', 'a');
    await held.arrived;
    bench.clock.pass(2_001);
    await once(host, 'other', 'b');
    bench.clock.pass(2_001);
    expect(await stored()).toEqual(['b@1..1']);
    held.release();
    expect(await first).toMatchObject({ duplicate: false, outcomes: [{ baseOffset: 2 }] });
    expect(await once(host, 'k', 'a')).toMatchObject({ duplicate: true, outcomes: [{ baseOffset: 2 }] });
  });

  it('stores nothing where it could not move the claim', async () => {
    const slow = bench.host();
    const held = slow.faults.hold('PutItem', 'lose-request', '"batch"');
    slow.faults.next('UpdateItem', 'lose-request', 3, '"claim"');
    slow.faults.next('UpdateItem', 'lose-request', 3, ':from');
    const first = once(slow, 'k', 'a');
    await held.arrived;
    bench.clock.pass(FILL_DEADLINE_MS + 1);
    held.release();
    await expect(first).rejects.toBeInstanceOf(Unavailable);
    expect(await once(host, 'k', 'a')).toMatchObject({ duplicate: true });
    bench.clock.pass(2_001);
    expect(await stored()).toHaveLength(1);
  });
});

describe('a request of which some partitions failed', () => {
  it('is completed by its repeat, and acknowledged offsets do not change', async () => {
    await putTopic(host.backbone, topic, { partitions: 2 });
    const writer = bench.host();
    writer.faults.next('PutItem', 'throttle', 6, '.1"},"last"');
    writer.faults.next('PutItem', 'throttle', 6, '.1"');
    const first = await once(writer, 'k', 'a', [0, 1]);
    expect(offsetsOf(first)).toEqual([0, 'throttled']);
    bench.clock.pass(FILL_DEADLINE_MS + 1);
    const second = await once(host, 'k', 'a', [0, 1]);
    expect(second.duplicate).toBe(true);
    expect(offsetsOf(second)[0]).toBe(0);
    bench.clock.pass(2_001);
    expect(await stored(0)).toHaveLength(1);
    expect(await stored(1)).toHaveLength(1);
  });

  it('claims nothing when one cannot be reserved', async () => {
    await putTopic(host.backbone, topic, { partitions: 2 });
    host.faults.next('UpdateItem', 'throttle', 3, '.1"');
    await expect(once(host, 'k', 'a', [0, 1])).rejects.toBeInstanceOf(Throttled);
    expect(await once(bench.host(), 'k', 'a', [0, 1])).toMatchObject({ duplicate: false });
  });
});

describe('a key', () => {
  it('is forgotten after half the retention, and the request is then a new one (C6)', async () => {
    topic = `${topic}-short`;
    await makeTopic(host, topic, { retentionMs: HOUR });
    await once(host, 'k', 'a');
    bench.clock.pass(HOUR / 2 - 2_000);
    expect(await once(bench.host(), 'k', 'a')).toMatchObject({ duplicate: true });
    bench.clock.pass(2_001);
    expect(await once(bench.host(), 'k', 'a')).toMatchObject({ duplicate: false });
  });

  it('is remembered for a day where records live longer', async () => {
    await once(host, 'k', 'a');
    bench.clock.pass(24 * HOUR - 2_000);
    expect(await once(bench.host(), 'k', 'a')).toMatchObject({ duplicate: true });
    bench.clock.pass(2_001);
    expect(await once(bench.host(), 'k', 'a')).toMatchObject({ duplicate: false });
  });

  it('does not hide an unknown outcome', async () => {
    host.faults.next('PutItem', 'lose-request', 9, '.0"');
    await expect(once(host, 'k', 'a')).rejects.toBeInstanceOf(OutcomeUnknown);
    bench.clock.pass(FILL_DEADLINE_MS + 1);
    expect(await once(bench.host(), 'k', 'a')).toMatchObject({ duplicate: true });
    bench.clock.pass(2_001);
    expect(await stored()).toHaveLength(1);
  });
});

describe('a key that many use at a time', () => {
  it('costs at most four calls one after the other, also for a duplicate that crossed the first', async () => {
    await host.backbone.topics.get(topic);
    host.faults.calls.length = 0;
    const held = host.faults.hold('PutItem', 'none', '"claim"');
    const second = once(host, 'k', 'a');
    await held.arrived;
    await once(bench.host(), 'k', 'a');
    held.release();
    expect(await second).toMatchObject({ duplicate: true });
    expect(host.faults.calls).toEqual(['GetItem', 'UpdateItem', 'PutItem', 'GetItem', 'PutItem']);
  });

  it('is told as throttled when its claim is', async () => {
    host.faults.next('PutItem', 'throttle', 3, '"claim"');
    await expect(once(host, 'k', 'a')).rejects.toBeInstanceOf(Throttled);
  });

  it('does not mix up two claims: one that died while its pin was being moved, and the one made after it', async () => {
    /** Goes to the last partition there is. */
    const last = (from: Host) =>
      appendBatches(from.backbone, {
        topic,
        build: ({ partitions }) => new Map([[partitions - 1, batchOf('a')]]),
        once: { key: 'k', fingerprint: 'ab'.repeat(32) },
      });
    const first = bench.host();
    const dead = first.faults.hold('PutItem', 'lose-request', '"batch"');
    void last(first).catch(() => {});
    await dead.arrived;
    bench.clock.pass(KEY_RETENTION_MS - 1_500);
    const held = host.faults.hold('UpdateItem', 'none', ':from');
    const repeat = last(host);
    await held.arrived;
    bench.clock.pass(3_000);
    const other = bench.host();
    await putTopic(other.backbone, topic, { partitions: 2 });
    expect(await last(other)).toMatchObject({ duplicate: false, outcomes: [{ partition: 1 }] });
    held.release();
    await expect(repeat).rejects.toBeInstanceOf(OutcomeUnknown);
  });
});
