import { DeleteObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OutcomeUnknown, PayloadUnreadable, Unavailable } from '../../../shared/domain/errors.ts';
import type { BatchSlot } from '../../../shared/domain/slot.ts';
import { readBatches } from '../../../shared/operations/read-batches.ts';
import { batchObjectKey } from '../../../shared/store/keys.ts';
import { RawFetchAnswer } from '../../../shared/wire/raw-fetch-answer.ts';
import { append, type Host, type LogBench, makeTopic, openLogBench, read } from '../../support/log-bench.ts';

/** Batches in these tests are names: one of more than 8 characters goes to S3. */
const LARGE = 'a large batch';
let bench: LogBench;
let host: Host;
let topic: string;
let made = 0;
beforeAll(async () => {
  bench = await openLogBench({ spillAboveBytes: 8 });
});
afterAll(() => bench.close());
beforeEach(async () => {
  host = bench.host();
  topic = `topic-${++made}`;
  await makeTopic(host, topic);
});

async function objectKey(last: number): Promise<string> {
  const { id } = await host.backbone.topics.get(topic);
  return batchObjectKey({ topicId: id, partition: 0 }, last);
}

describe('a batch that is too large for its slot', () => {
  it('goes to S3 under its slot’s key and comes back unchanged, in order with the others', async () => {
    await append(host, topic, 'small');
    expect(await append(host, topic, LARGE, 3)).toBe(1);
    await append(host, topic, 'small');
    expect((await read(host, topic, 0)).got).toEqual(['small@0..0', `${LARGE}@1..3`, 'small@4..4']);
    expect(await bench.objects()).toContain(await objectKey(3));
  });

  it('takes four calls, one after the other, of which three are write units', async () => {
    await append(host, topic, 'warm');
    host.faults.calls.length = 0;
    await append(host, topic, LARGE);
    // reserve, intent, object, slot
    expect(host.faults.calls).toEqual(['UpdateItem', 'PutItem', 'PutObject', 'PutItem']);
  });

  it('is waited for longer by readers than others are: ten seconds', async () => {
    const slow = bench.host();
    const held = slow.faults.hold('PutObject');
    const appended = append(slow, topic, LARGE);
    await held.arrived;
    await append(host, topic, 'after');
    bench.clock.pass(4_900);
    expect((await read(host, topic, 0)).got).toEqual([]);
    held.release();
    expect(await appended).toBe(0);
    expect((await read(host, topic, 0)).got).toEqual([`${LARGE}@0..0`, 'after@1..1']);
  });

  it('moves to another slot when the upload comes too late, and the first object is left to its intent', async () => {
    const slow = bench.host();
    const held = slow.faults.hold('PutObject');
    const appended = append(slow, topic, LARGE);
    await held.arrived;
    bench.clock.pass(5_001);
    held.release();
    expect(await appended).toBe(1);
    expect((await read(host, topic, 0)).got).toEqual([`${LARGE}@1..1`]);
    expect(await bench.objects()).toEqual(expect.arrayContaining([await objectKey(0), await objectKey(1)]));
  });

  it('stores nothing when S3 does not answer, twice', async () => {
    host.faults.next('PutObject', 'lose-request', 6);
    await expect(append(host, topic, LARGE)).rejects.toBeInstanceOf(Unavailable);
    expect((await read(host, topic, 0)).got).toEqual([]);
  });

  it('is stored once when the answers of the upload and of the fill are lost', async () => {
    host.faults.next('PutObject', 'lose-answer');
    host.faults.next('PutItem', 'lose-answer', 1, '"spill"');
    expect(await append(host, topic, LARGE)).toBe(0);
    expect((await read(host, topic, 0)).got).toEqual([`${LARGE}@0..0`]);
  });

  it('is unknown when neither its fill nor its void was answered', async () => {
    host.faults.next('PutItem', 'lose-request', 3, '"spill":{');
    host.faults.next('PutItem', 'lose-request', 3, '"void"');
    await expect(append(host, topic, LARGE)).rejects.toBeInstanceOf(OutcomeUnknown);
  });
});

describe('an object that is not there, or not as it was', () => {
  beforeEach(async () => {
    for (const name of ['small', LARGE, 'small']) await append(host, topic, name);
  });
  const bucket = { Bucket: 'payloads' };
  const statesOf = async (from: Host) => {
    const states: string[] = [];
    const deadline = from.backbone.clock.now() + 20_000;
    const request = { topic, partition: 0, offset: 0, waitMs: 0, slotsMax: 10, deadline };
    const take = (slot: BatchSlot) => {
      states.push(slot.unreadable ?? Buffer.from(slot.batch).toString());
      return slot.last + 1;
    };
    await readBatches(from.backbone, request, { take, isFull: () => false });
    return states;
  };

  it('is told as missing, and the reader goes on (F49)', async () => {
    await bench.tables.s3.send(new DeleteObjectCommand({ ...bucket, Key: await objectKey(1) }));
    expect(await statesOf(host)).toEqual(['small', 'payload_missing', 'small']);
    expect(host.seen.map(({ kind }) => kind)).toContain('payload_missing');
  });

  it('is told as corrupt when other bytes lie there, of the same length or another', async () => {
    for (const Body of ['another batch', 'a large batch, longer']) {
      await bench.tables.s3.send(new PutObjectCommand({ ...bucket, Key: await objectKey(1), Body }));
      expect(await statesOf(host)).toEqual(['small', 'payload_corrupt', 'small']);
    }
  });

  it('is not taken for missing when S3 is out of reach: the read fails, and may be repeated', async () => {
    host.faults.next('GetObject', 'internal-error', 3);
    await expect(statesOf(host)).rejects.toBeInstanceOf(Unavailable);
    expect(await statesOf(host)).toEqual(['small', LARGE, 'small']);
  });

  it('is no error when the slot has gone as well', async () => {
    const { id } = await host.backbone.topics.get(topic);
    const read = host.faults.hold('GetObject');
    const states = statesOf(host);
    await read.arrived;
    await bench.tables.s3.send(new DeleteObjectCommand({ ...bucket, Key: await objectKey(1) }));
    await bench.removeSlot({ topicId: id, partition: 0 }, 1);
    read.release();
    expect(await states).toEqual(['small', 'small']);
  });

  it('is a refusal that names where to go on, when bytes are asked for', () => {
    const answer = new RawFetchAnswer({ maxRecords: 10, maxBytes: 1_000 });
    const slot = {
      kind: 'batch' as const,
      last: 4,
      count: 2,
      at: 0,
      previous: [],
      expiresAt: 0,
      append: '',
      json: false,
    };
    const gone = { ...slot, batch: new Uint8Array(0), unreadable: 'payload_missing' as const };
    expect(() => answer.take(gone, 3)).toThrow(PayloadUnreadable);
    expect(() => answer.take(gone, 3)).toThrow(/goes on at 5/);
  });
});

it('brings a few payloads ahead, and no more than it may', async () => {
  for (let i = 0; i < 12; i++) await append(host, topic, `${LARGE} ${i}`);
  host.faults.calls.length = 0;
  const { got } = await read(host, topic, 0);
  expect(got).toEqual(Array.from({ length: 12 }, (_, i) => `${LARGE} ${i}@${i}..${i}`));
  expect(host.faults.calls.filter((call) => call === 'GetObject')).toHaveLength(12);
});

describe('an answer that has room for some of many spilled batches', () => {
  beforeEach(async () => {
    for (let i = 0; i < 8; i++) await append(host, topic, `${LARGE} ${i}`, 10);
  });
  /** Reads with room for so much. @returns how many slots came, and how many objects were asked for */
  const readWithin = async (records: number, bytes: number, partly: boolean) => {
    const left = { records, bytes };
    let slots = 0;
    const take = (slot: BatchSlot, from: number) => {
      const taken = partly ? Math.min(slot.count, left.records) : slot.count;
      const fits = partly ? left.bytes > 0 : slot.count <= left.records && slot.batch.length <= left.bytes;
      if (slots > 0 && !fits) return from;
      slots += 1;
      left.records -= taken;
      left.bytes -= slot.batch.length;
      return from + taken;
    };
    host.faults.calls.length = 0;
    const deadline = host.backbone.clock.now() + 20_000;
    const request = { topic, partition: 0, offset: 0, waitMs: 0, slotsMax: records, deadline };
    const sink = { take, isFull: () => left.records <= 0, room: () => ({ ...left, partly }) };
    const { nextOffset } = await readBatches(host.backbone, request, sink);
    return { slots, nextOffset, gets: host.faults.calls.filter((call) => call === 'GetObject').length };
  };
  const size = `${LARGE} 0`.length;

  it('fetches those alone, by their records', async () => {
    expect(await readWithin(30, 1_000, true)).toEqual({ slots: 3, nextOffset: 30, gets: 3 });
    expect(await readWithin(25, 1_000, true)).toEqual({ slots: 3, nextOffset: 25, gets: 3 });
    expect(await readWithin(25, 1_000, false)).toEqual({ slots: 2, nextOffset: 20, gets: 2 });
  });

  it('fetches those alone, by their bytes, and the first in any case', async () => {
    expect(await readWithin(100, 3 * size, false)).toEqual({ slots: 3, nextOffset: 30, gets: 3 });
    expect(await readWithin(100, 3 * size - 1, false)).toEqual({ slots: 2, nextOffset: 20, gets: 2 });
    expect(await readWithin(100, 1, false)).toEqual({ slots: 1, nextOffset: 10, gets: 1 });
    expect(await readWithin(100, 2 * size + 1, true)).toEqual({ slots: 3, nextOffset: 30, gets: 3 });
  });
});
