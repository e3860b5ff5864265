import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Fenced } from '../../../shared/domain/group-errors.ts';
import type { ProducedRecord } from '../../../shared/domain/record.ts';
import type { BatchSlot } from '../../../shared/domain/slot.ts';
import { openFetchAnswer } from '../../../shared/wire/fetch-answer.ts';
import { commitsAnswer, PollAnswer, type Wanted } from '../../../shared/wire/group-answers.ts';
import { encodeRecordBatch } from '../../../shared/wire/record-batch.ts';

const NOW = 1_767_225_600_012;
const WANTED: Wanted = {
  topics: ['orders'],
  positions: [],
  commit: [],
  maxRecords: 500,
  maxBytes: 1_048_576,
  values: 'json',
};
const TOLD = { memberId: 'M', assigned: [], revoked: [], commits: [], errors: [] };
const ROOM = { records: 500, bytes: 1_000_000 };
const ORDERS = { topic: 'orders', partition: 3 };

const record = (value: string | null, key: string | null = null): ProducedRecord => ({
  key: key === null ? null : Buffer.from(key),
  value: value === null ? null : Buffer.from(value),
  headers: [{ name: 'h"', value: null }],
});

function slotOf(records: readonly ProducedRecord[], base = 0): BatchSlot {
  const batch = encodeRecordBatch(records, NOW);
  const [last, count] = [base + records.length - 1, records.length];
  return { kind: 'batch', append: 'a', batch, json: false, last, count, at: NOW, previous: [], expiresAt: 0 };
}

const recordsOf = (answer: PollAnswer) =>
  JSON.parse(String(answer.finish(TOLD).body)).records as { topic: string; partition: number; offset: number }[];

describe('the answer to a poll', () => {
  it('shows records as a fetch does, with topic and partition in front', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.json(), fc.constant(null));
    const records = fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(records, fc.constantFrom('json', 'utf8', 'base64'), (pairs, values) => {
        const slot = slotOf(pairs.map(([value, key]) => record(value, key)));
        const fetch = openFetchAnswer({
          topic: 'orders',
          partition: 0,
          as: 'application/json',
          maxRecords: 500,
          maxBytes: 1_000_000,
          values,
        });
        fetch.take(slot, 0);
        const findings = { topicId: 'T', nextOffset: 0, logStartOffset: 0, highWatermark: 0 };
        const fetched = JSON.parse(String(fetch.finish(findings).body)).records as object[];
        const poll = new PollAnswer({ ...WANTED, values });
        poll.open(ORDERS, ROOM).take(slot, 0);
        expect(recordsOf(poll)).toEqual(fetched.map((one) => ({ ...ORDERS, ...one })));
        expect(Object.keys(recordsOf(poll)[0]!).slice(0, 3)).toEqual(['topic', 'partition', 'offset']);
      }),
      { numRuns: 50 },
    );
  });

  it('has its parts by topic, then partition, whatever the order in which they were read', () => {
    const answer = new PollAnswer(WANTED);
    for (const [topic, partition] of [
      ['b', 0],
      ['a', 10],
      ['c', 0],
      ['a', 9],
    ] as const) {
      const part = answer.open({ topic, partition }, ROOM);
      if (topic !== 'c') part.take(slotOf([record('1'), record('2')]), 1);
    }
    expect(recordsOf(answer).map(({ topic, partition, offset }) => [topic, partition, offset])).toEqual([
      ['a', 9, 1],
      ['a', 10, 1],
      ['b', 0, 1],
    ]);
  });

  it('takes what fits its room, counts it, and takes more of the same slot when it gets more', () => {
    const answer = new PollAnswer(WANTED);
    const slot = slotOf(['1', '2', '3', '4'].map((value) => record(value)));
    const part = answer.open(ORDERS, { records: 1, bytes: 1_000 });
    expect(part.take(slot, 0)).toBe(1);
    const each = part.bytes;
    part.widen({ records: 500, bytes: 3 * each - 1 });
    expect(part.take(slot, 1)).toBe(2);
    expect([part.count, part.bytes, part.isFull()]).toEqual([2, 2 * each, false]);
    part.widen({ records: 500, bytes: 3 * each });
    expect(part.take(slot, 2)).toBe(3);
    expect(recordsOf(answer)).toHaveLength(3);
  });

  it('takes no record that is larger than its room, unless it is to be the first', () => {
    const answer = new PollAnswer(WANTED);
    const slot = slotOf([record('x'.repeat(500)), record('2')]);
    const part = answer.open(ORDERS, { records: 500, bytes: 100 });
    expect([part.take(slot, 0), part.count, part.bytes]).toEqual([0, 0, 0]);
    part.widen({ records: 500, bytes: 100 }, true);
    expect([part.take(slot, 0), part.count]).toEqual([1, 1]);
  });

  it('shows the first record in base64, or says that it is too large, rather than more than a function answers', () => {
    const shown = (value: string) => {
      const answer = new PollAnswer(WANTED);
      const part = answer.open(ORDERS, { records: 500, bytes: 1 });
      part.widen({ records: 500, bytes: 1 }, true);
      expect(part.take(slotOf([record(value)]), 0)).toBe(1);
      return JSON.parse(String(answer.finish(TOLD).body)).records[0];
    };
    expect(shown('x'.repeat(4_000_000)).valueEncoding).toBe('utf8');
    expect(shown('\u0001"'.repeat(1_500_000)).valueEncoding).toBe('base64');
    expect(shown('"'.repeat(4_900_000))).toEqual({ ...ORDERS, offset: 0, error: { code: 'record_too_large' } });
  });

  it('shows a damaged batch as errors, each at its offset', () => {
    const answer = new PollAnswer(WANTED);
    const { batch: _, ...slot } = slotOf([record('1'), record('2')], 7);
    expect(answer.open(ORDERS, ROOM).take({ ...slot, batch: Buffer.from('damage') }, 7)).toBe(9);
    expect(recordsOf(answer)).toEqual(
      [7, 8].map((offset) => ({ ...ORDERS, offset, error: { code: 'payload_corrupt' } })),
    );
  });

  it('leaves room for what stands around the records, whoever the member is and whatever it holds', () => {
    const positions = Array.from({ length: 50 }, (_, partition) => ({ topic: 'orders', partition }));
    const held = positions.map((position) => ({ ...position, epoch: 2 ** 53 - 1, offset: 2 ** 53 - 1 }));
    const commits = held.map(({ topic, partition, offset }) => ({ topic, partition, offset }));
    const memberId = `${'\u2028'.repeat(64)}-01J00000000000000000000000`;
    const wanted = { ...WANTED, memberId, positions, commit: positions, maxBytes: 40_000 };
    const answer = new PollAnswer(wanted);
    const part = answer.open(ORDERS, answer.room);
    part.take(slotOf(Array.from({ length: 400 }, () => record('x'.repeat(100)))), 0);
    expect(part.count).toBeGreaterThan(50);
    const body = String(answer.finish({ ...TOLD, memberId, assigned: held, revoked: held, commits, turn: 31 }).body);
    expect(Buffer.byteLength(body)).toBeLessThanOrEqual(40_000);
  });
});

describe('the answer to commits', () => {
  const [good, fenced] = [
    { topic: 'orders', partition: 0, offset: 1 },
    { topic: 'orders', partition: 1, offset: 1, error: new Fenced('orders', 1, 7) },
  ];

  it('is a success when any is no matter of fencing', () => {
    const { commits } = JSON.parse(String(commitsAnswer([good, fenced]).body));
    expect(commits).toMatchObject([{ partition: 0 }, { error: { code: 'fenced', retryable: false } }]);
    expect(Object.keys(commits[1].error)).toEqual(['code', 'detail', 'retryable']);
  });

  it('is a refusal, with what each is told, when all are fenced', () => {
    expect(() => commitsAnswer([fenced])).toThrow(
      expect.objectContaining({ code: 'fenced', data: { commits: [expect.objectContaining({ partition: 1 })] } }),
    );
  });
});
