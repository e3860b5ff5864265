import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ProducedRecord } from '../../../shared/domain/record.ts';
import type { BatchSlot } from '../../../shared/domain/slot.ts';
import { crc32c } from '../../../shared/wire/crc32c.ts';
import { openFetchAnswer } from '../../../shared/wire/fetch-answer.ts';
import { ANSWER_BODY_BYTES_MAX } from '../../../shared/wire/http-answer.ts';
import { encodeRecordBatch } from '../../../shared/wire/record-batch.ts';
import { writeVarint } from '../../../shared/wire/varint.ts';
import { decodeByKafkaJs } from './other-codecs.ts';

const NOW = 1_767_225_600_012;
const FINDINGS = { topicId: '01J00000000000000000000000', nextOffset: 44, logStartOffset: 0, highWatermark: 44 };
const ALL = {
  topic: 'orders',
  partition: 0,
  as: 'application/json' as const,
  maxRecords: 1_000,
  maxBytes: 1_048_576,
  values: 'json',
} as const;

const bytes = (value: string | Uint8Array | null) => (value === null ? null : Buffer.from(value));
const record = (
  value: string | Uint8Array | null,
  key: string | Uint8Array | null = null,
  headers: [string, string | Uint8Array | null][] = [],
): ProducedRecord => ({
  key: bytes(key),
  value: bytes(value),
  headers: headers.map(([name, header]) => ({ name, value: bytes(header) })),
});

function slotOf(
  records: readonly ProducedRecord[],
  base = 0,
  json = false,
  batch = encodeRecordBatch(records, NOW),
): BatchSlot {
  const last = base + records.length - 1;
  return { kind: 'batch', append: 'a', batch, json, last, count: records.length, at: NOW, previous: [], expiresAt: 0 };
}

interface Shown {
  offset: number;
  timestamp: number;
  key: unknown;
  keyEncoding?: string;
  value: unknown;
  valueEncoding?: string;
  headers: unknown[];
  error?: { code: string };
}

const body = (answer: ReturnType<typeof openFetchAnswer>, findings = FINDINGS) => String(answer.finish(findings).body);

/** The records of an answer to which one slot was given. */
function shown(slot: BatchSlot, options: Partial<Parameters<typeof openFetchAnswer>[0]> = {}): Shown[] {
  const answer = openFetchAnswer({ ...ALL, ...options });
  answer.take(slot, slot.last - slot.count + 1);
  return JSON.parse(body(answer)).records;
}
const one = (produced: ProducedRecord, options = {}, json = false) => shown(slotOf([produced], 0, json), options)[0]!;

describe('a JSON answer', () => {
  it('looks as the API says', () => {
    const answer = openFetchAnswer(ALL);
    const slot = slotOf(
      [record('{"type": "OrderPlaced","total":12.5}', 'order-17', [['traceparent', '00-…']])],
      41,
      true,
    );
    expect(answer.take(slot, 41)).toBe(42);
    expect(answer.finish(FINDINGS)).toEqual({
      status: 200,
      body:
        '{"topicId":"01J00000000000000000000000","records":[{"offset":41,"timestamp":1767225600012,"key":"order-17",' +
        '"value":{"type": "OrderPlaced","total":12.5},"headers":[["traceparent","00-…"]]}],' +
        '"nextOffset":44,"logStartOffset":0,"highWatermark":44}',
    });
  });

  it('tells its room: records, and bytes by how much became of those before', () => {
    const answer = openFetchAnswer({ ...ALL, maxRecords: 3, maxBytes: 10_000 });
    const least = answer.room();
    expect(least).toMatchObject({ records: 3, partly: true });
    expect(least.bytes).toBeGreaterThan(9_800);
    const slot = slotOf([record(JSON.stringify('a'.repeat(4_000))), record('1')], 0, true);
    answer.take(slot, 0);
    expect(answer.room().records).toBe(1);
    const perByte = slot.batch.length / 4_200;
    expect(answer.room().bytes / perByte).toBeGreaterThan(5_000);
    expect(answer.room().bytes / perByte).toBeLessThan(6_500);
  });

  it('tells every timestamp, also those that are the same as the one before', () => {
    const times = [7, 7, 7, 8, 7, 7];
    const records = times.map((timestamp) => ({ ...record('1'), timestamp }));
    expect(shown(slotOf(records, 0, true)).map(({ timestamp }) => timestamp)).toEqual(times);
  });

  it('is well made without records', () => {
    expect(JSON.parse(body(openFetchAnswer(ALL)))).toEqual({ ...FINDINGS, records: [] });
  });

  it('keeps the text of JSON values byte for byte, known to be JSON or found to be', () => {
    const values = ['{"id":12345678901234567890,"v":1.0}', '[ 1 ,\t2\r\n]', '"\\u0041"', '-0', ' {"a" : 1} ', '"😀"'];
    for (const json of [true, false]) {
      for (const value of values) {
        const answer = openFetchAnswer(ALL);
        answer.take(slotOf([record(value)], 0, json), 0);
        expect(body(answer)).toContain(`"value":${value},"headers"`);
      }
    }
  });

  it('shows what is no JSON as text, and what is no text as base64', () => {
    expect(one(record('plain'))).toMatchObject({ value: 'plain', valueEncoding: 'utf8' });
    expect(one(record(''))).toMatchObject({ value: '', valueEncoding: 'utf8' });
    expect(one(record(Buffer.from('ff00fe80', 'hex')))).toMatchObject({ value: '/wD+gA==', valueEncoding: 'base64' });
    expect(one(record('{"a":1}'))).not.toHaveProperty('valueEncoding');
  });

  it('tells a tombstone from no bytes and from the text null', () => {
    expect(one(record(null))).toEqual({ offset: 0, timestamp: NOW, key: null, value: null, headers: [] });
    expect(one(record(''))).toMatchObject({ value: '', valueEncoding: 'utf8' });
    expect(one(record('null'))).toMatchObject({ value: 'null', valueEncoding: 'utf8' });
    expect(one(record(null), {}, true).value).toBeNull();
  });

  it('does not take for JSON what readers of JSON disagree about', () => {
    expect(one(record('"\\ud800"'))).toMatchObject({ value: '"\\ud800"', valueEncoding: 'utf8' });
    expect(one(record('\ufeff1'))).toMatchObject({ value: '\ufeff1', valueEncoding: 'utf8' });
    expect(one(record(Buffer.from('22eda08022', 'hex')))).toMatchObject({ valueEncoding: 'base64' });
  });

  it('gives all values in the encoding that is asked for', () => {
    expect(one(record('{"a":1}'), { values: 'utf8' })).toMatchObject({ value: '{"a":1}', valueEncoding: 'utf8' });
    expect(one(record('{}'), { values: 'base64' }, true)).toMatchObject({ value: 'e30=', valueEncoding: 'base64' });
    expect(one(record(Buffer.from([0xff])), { values: 'utf8' })).toMatchObject({
      value: '/w==',
      valueEncoding: 'base64',
    });
    expect(one(record(null), { values: 'base64' })).not.toHaveProperty('valueEncoding');
  });

  it('shows keys as text, else as base64, and tells an empty one from none', () => {
    expect(one(record('1', 'é"\\\n'))).toMatchObject({ key: 'é"\\\n' });
    expect(one(record('1', 'k'))).not.toHaveProperty('keyEncoding');
    expect(one(record('1', Buffer.from('ff00fe80', 'hex')))).toMatchObject({ key: '/wD+gA==', keyEncoding: 'base64' });
    expect(one(record('1', '')).key).toBe('');
    expect(one(record('1')).key).toBeNull();
  });

  it('gives values and keys as base64 when their text would be longer, whatever is asked for', () => {
    const [longer, equal] = ['"\0', '""""aaaa'];
    expect(one(record(longer, longer), { values: 'utf8' })).toMatchObject({
      key: Buffer.from(longer).toString('base64'),
      keyEncoding: 'base64',
      valueEncoding: 'base64',
    });
    expect(one(record(equal, equal), { values: 'utf8' })).toMatchObject({
      key: equal,
      value: equal,
      valueEncoding: 'utf8',
    });
  });

  it('keeps headers in order, with names that repeat, nulls, and bytes as base64', () => {
    const headers: [string, string | Uint8Array | null][] = [
      ['trace', 'a'],
      ['x', '1'],
      ['trace', 'b'],
      ['Trace', 'c'],
      ['list', 'a,b'],
      ['n', null],
      ['', ''],
    ];
    expect(one(record('1', null, headers)).headers).toEqual(headers);
    expect(
      one(
        record('1', null, [
          ['b', Buffer.from([0xff])],
          ['q', '"""'],
        ]),
      ).headers,
    ).toEqual([
      ['b', { base64: '/w==' }],
      ['q', '"""'],
    ]);
  });

  it('shows a header name that is no text as base64', () => {
    const batch = Buffer.from(encodeRecordBatch([record('1', null, [['aa', 'b']])], NOW));
    const slot = { ...slotOf([record('1')]), batch: resummed(batch, (copy) => void copy.fill(0xff, 70, 72)) };
    expect(shown(slot)[0]!.headers).toEqual([[{ base64: '//8=' }, 'b']]);
  });

  it('says the same as JSON.stringify would of any text', () => {
    const text = fc.string({ unit: 'binary', maxLength: 30 });
    fc.assert(
      fc.property(text, text, fc.maxSafeNat(), (key, header, timestamp) => {
        const produced = { ...record('7', key, [[header, header]]), timestamp };
        const found = one(produced);
        const got = found.keyEncoding === 'base64' ? Buffer.from(String(found.key), 'base64').toString() : found.key;
        expect([got, found.headers, found.timestamp]).toEqual([key, [[header, header]], timestamp]);
      }),
    );
  });

  it('gives back any records: nothing lost, nothing mixed up', () => {
    const some = fc.option(
      fc.oneof(
        fc.uint8Array({ maxLength: 12 }),
        fc.json().map((json) => new Uint8Array(Buffer.from(json))),
      ),
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(some, some), { minLength: 1, maxLength: 8 }),
        fc.constantFrom('json', 'utf8', 'base64'),
        (all, values) => {
          const answer = openFetchAnswer({ ...ALL, values });
          answer.take(slotOf(all.map(([key, value]) => record(value, key))), 0);
          const text = body(answer);
          const { records } = JSON.parse(text) as { records: Shown[] };
          all.forEach(([key, value], i) => {
            const found = records[i]!;
            expect(decoded(found.key, found.keyEncoding ?? 'utf8')).toEqual(key && Buffer.from(key));
            if (found.valueEncoding || value === null)
              expect(decoded(found.value, found.valueEncoding!)).toEqual(value && Buffer.from(value));
            else expect(text).toContain(`"value":${Buffer.from(value)},"headers"`);
          });
        },
      ),
    );
  });
});

const decoded = (text: unknown, encoding: string) =>
  text === null ? null : Buffer.from(String(text), encoding as BufferEncoding);

function varint(value: number): Buffer {
  const bytes = Buffer.alloc(5);
  return bytes.subarray(0, writeVarint(bytes, 0, value));
}

function resummed(batch: Buffer, change: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(batch);
  change(copy);
  copy.writeUInt32BE(crc32c(copy, 21), 17);
  return copy;
}

describe('how much a JSON answer takes', () => {
  const slot = slotOf(
    Array.from({ length: 10 }, (_, i) => record(`{"n":${i},"s":"é"}`, `k${i}`)),
    100,
    true,
  );

  it('begins at the offset that is asked for', () => {
    const answer = openFetchAnswer(ALL);
    expect(answer.take(slot, 107)).toBe(110);
    expect(JSON.parse(body(answer)).records.map((r: Shown) => [r.offset, r.key])).toEqual([
      [107, 'k7'],
      [108, 'k8'],
      [109, 'k9'],
    ]);
  });

  it('ends at the number of records that is asked for, over batches', () => {
    const answer = openFetchAnswer({ ...ALL, maxRecords: 12 });
    expect(answer.take(slot, 100)).toBe(110);
    expect(answer.isFull()).toBe(false);
    expect(answer.take({ ...slot, last: 119 }, 110)).toBe(112);
    expect(answer.isFull()).toBe(true);
    expect(answer.take({ ...slot, last: 119 }, 112)).toBe(112);
    expect(answer.count).toBe(12);
  });

  it('never passes the bytes that are asked for, but with its first record, and wastes less than one record', () => {
    const findings = { ...FINDINGS, nextOffset: 2 ** 53 - 1, logStartOffset: 2 ** 53 - 1, highWatermark: 2 ** 53 - 1 };
    for (let maxBytes = 1; maxBytes < 1_500; maxBytes++) {
      const answer = openFetchAnswer({ ...ALL, maxBytes });
      const next = answer.take(slot, 100);
      const size = Buffer.byteLength(body(answer, findings));
      expect(answer.count).toBe(next - 100);
      expect(answer.count).toBeGreaterThan(0);
      if (answer.count > 1) expect(size).toBeLessThanOrEqual(maxBytes);
      if (answer.count < 10) expect(size + 90).toBeGreaterThan(maxBytes);
    }
  });

  it('goes on where it was full, and reads everything once', () => {
    const seen: number[] = [];
    for (let from = 100; from < 110; ) {
      const answer = openFetchAnswer({ ...ALL, maxBytes: 400 });
      from = answer.take(slot, from);
      seen.push(...JSON.parse(body(answer)).records.map((r: Shown) => r.offset));
    }
    expect(seen).toEqual(Array.from({ length: 10 }, (_, i) => 100 + i));
  });

  it('takes what escaping makes long in base64, so that a full record fits an answer', () => {
    const full = one(record('\x01'.repeat(3_300_000), null), { maxBytes: 1 });
    expect(full.valueEncoding).toBe('base64');
  });

  it('forces base64 when the record fits no other way, and says so when it fits no way at all', () => {
    const quotes = `"${'\\"'.repeat(950_000)}"`;
    const forced = one(record(quotes, Buffer.alloc(2_200_000, 0xff)), {}, true);
    expect(forced).toMatchObject({ valueEncoding: 'base64', keyEncoding: 'base64' });
    expect(Buffer.from(String(forced.value), 'base64').toString()).toBe(quotes);
    const slotOfHuge = slotOf([record('x'.repeat(7_000_000)), record('1')], 7);
    expect(shown(slotOfHuge)).toMatchObject([
      { offset: 7, error: { code: 'record_too_large' } },
      { offset: 8, value: 1 },
    ]);
  });

  it('does not spell out a record of millions of headers to find that it fits no way', () => {
    const headers = 8_000_000;
    const name = Buffer.from([0x00, 0x01]); // '' and null
    const parts = [varint(5 + varint(headers).length + 2 * headers), Buffer.from([0, 0, 0, 1, 1]), varint(headers)];
    const records = gzipSync(Buffer.concat([...parts, Buffer.alloc(2 * headers, name)]), { level: 1 });
    const batch = Buffer.concat([encodeRecordBatch([record('1')], NOW).subarray(0, 61), records]);
    batch.writeInt16BE(1, 21);
    batch.writeInt32BE(batch.length - 12, 8);
    const slot = { ...slotOf([record('1')]), batch: resummed(batch, () => {}) };
    const before = process.memoryUsage().arrayBuffers;
    expect(shown(slot)).toEqual([{ offset: 0, error: { code: 'record_too_large' } }]);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(64 * 1024 * 1024);
  });

  it('never is more than a function can answer', () => {
    const answer = openFetchAnswer({ ...ALL, maxBytes: 5_242_880 });
    const large = slotOf(
      Array.from({ length: 6 }, () => record(`"${'x'.repeat(1_000_000)}"`)),
      0,
      true,
    );
    expect(answer.take(large, 0)).toBe(4);
    expect(Buffer.byteLength(body(answer))).toBeLessThanOrEqual(ANSWER_BODY_BYTES_MAX);
  });
});

describe('a damaged batch in a JSON answer', () => {
  const good = slotOf([record('1'), record('2')], 0, true);
  const damaged = { ...slotOf([record('3'), record('4'), record('5')], 2), batch: Buffer.from('no batch') };

  it('comes as an error at each of its offsets, and the reader goes on behind it', () => {
    const answer = openFetchAnswer(ALL);
    expect(answer.take(good, 0)).toBe(2);
    expect(answer.take(damaged, 3)).toBe(5);
    expect(JSON.parse(body(answer)).records.slice(2)).toEqual([
      { offset: 3, error: { code: 'payload_corrupt' } },
      { offset: 4, error: { code: 'payload_corrupt' } },
    ]);
    const next = openFetchAnswer(ALL);
    expect(next.take({ ...good, last: 6 }, 5)).toBe(7);
  });

  it("is one whose count is not its slot's", () => {
    expect(shown({ ...good, count: 1 })).toEqual([{ offset: 1, error: { code: 'payload_corrupt' } }]);
  });

  it('ends the answer behind it when it may have inflated to the bound before it failed', () => {
    const [small, large] = [openFetchAnswer(ALL), openFetchAnswer(ALL)];
    expect(small.take({ ...damaged, last: 2 }, 0)).toBe(3);
    expect(small.take({ ...good, last: 4 }, 3)).toBe(5);
    expect(large.take({ ...damaged, last: 2, batch: Buffer.alloc(70_000) }, 0)).toBe(3);
    expect(large.take({ ...good, last: 4 }, 3)).toBe(3);
  });
});

describe('a raw answer', () => {
  const slot = (base: number) => slotOf([record('1'), record('2')], base, true);
  const raw = { ...ALL, as: 'application/vnd.kafka.recordbatch' as const };

  it('is the stored batches, one after the other, each at its offset', async () => {
    const answer = openFetchAnswer(raw);
    expect(answer.take(slot(40), 41)).toBe(42);
    expect(answer.take(slot(42), 42)).toBe(44);
    expect(answer.count).toBe(3);
    const { headers, body: found } = answer.finish(FINDINGS);
    expect(headers).toEqual({
      'content-type': 'application/vnd.kafka.recordbatch',
      'vertebra-next-offset': '44',
      'vertebra-high-watermark': '44',
    });
    const size = slot(40).batch.length;
    const batches = [0, size].map((at) => (found as Buffer).subarray(at, at + size));
    const records = await Promise.all(batches.map((batch) => decodeByKafkaJs(batch)));
    expect(records.flat().map((r) => r.offset)).toEqual(['40', '41', '42', '43']);
  });

  it('holds whole batches within what is asked for, and one at least', () => {
    const size = slot(0).batch.length;
    const byBytes = openFetchAnswer({ ...raw, maxBytes: 2 * size - 1 });
    expect([byBytes.take(slot(0), 0), byBytes.take(slot(2), 2)]).toEqual([2, 2]);
    const both = openFetchAnswer({ ...raw, maxBytes: 2 * size });
    expect([both.take(slot(0), 0), both.take(slot(2), 2)]).toEqual([2, 4]);
    const byRecords = openFetchAnswer({ ...raw, maxRecords: 3 });
    expect([byRecords.take(slot(0), 0), byRecords.take(slot(2), 2)]).toEqual([2, 2]);
    expect(byRecords.isFull()).toBe(false);
    const least = openFetchAnswer({ ...raw, maxRecords: 1, maxBytes: 1 });
    expect([least.take(slot(0), 0), least.isFull()]).toEqual([2, true]);
  });

  it('tells its room: records and bytes, of whole batches', () => {
    const answer = openFetchAnswer({ ...raw, maxRecords: 3, maxBytes: 1_000 });
    answer.take(slot(0), 0);
    expect(answer.room()).toEqual({ records: 1, bytes: 1_000 - slot(0).batch.length, partly: false });
  });

  it('is empty when there is nothing', () => {
    expect(openFetchAnswer(raw).finish(FINDINGS).body).toEqual(Buffer.alloc(0));
  });

  it('tells offsets beyond 32 bits, and does not alter what is stored', async () => {
    const stored = slot(2 ** 40 + 3);
    const before = Buffer.from(stored.batch);
    const answer = openFetchAnswer(raw);
    answer.take(stored, 2 ** 40 + 3);
    const [first] = await decodeByKafkaJs(answer.finish(FINDINGS).body as Buffer);
    expect(Number(first?.offset)).toBe(2 ** 40 + 3);
    expect(Buffer.from(stored.batch)).toEqual(before);
  });
});
