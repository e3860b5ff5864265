import { gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { INFLATED_BATCH_BYTES_MAX } from '../../../shared/domain/limits.ts';
import type { ProducedRecord } from '../../../shared/domain/record.ts';
import { crc32c } from '../../../shared/wire/crc32c.ts';
import { PayloadCorrupt } from '../../../shared/wire/payload-corrupt.ts';
import { decodeRecordBatch, encodeRecordBatch } from '../../../shared/wire/record-batch.ts';
import { decodeByKafkaJs, decodeByPlatformatic, encodeByKafkaJs, encodeByPlatformatic } from './other-codecs.ts';

const NOW = 1_767_225_600_000;
const utf8 = (text: string) => Buffer.from(text);

/** What kafkajs can say: no null in headers, names not repeated. Timestamps far apart. */
const plain: readonly ProducedRecord[] = [
  { key: utf8('a'), value: utf8('1'), headers: [], timestamp: NOW },
  { key: null, value: null, headers: [], timestamp: NOW - 5_000 },
  {
    key: utf8(''),
    value: utf8(''),
    headers: [{ name: 'ключ', value: utf8('日本') }],
    timestamp: NOW + 86_400_000 * 400,
  },
  { key: utf8('\0'), value: Buffer.alloc(300, 7), headers: [{ name: '', value: utf8('') }], timestamp: 0 },
  { key: null, value: utf8('z'), headers: [], timestamp: Number.MAX_SAFE_INTEGER },
];

/** What @platformatic/kafka can say: timestamps at most 2^31 ms apart, beyond that its varlongs lose bits. */
const rich: readonly ProducedRecord[] = [
  ...plain.map((record, i) => ({ ...record, timestamp: NOW - 2 ** i })),
  {
    key: utf8('k'),
    value: null,
    headers: ['trace=a', 'x=1', 'trace=b', 'Trace=c'].map((text) => ({ name: text.split('=')[0]!, value: utf8(text) })),
    timestamp: NOW + 2 ** 31 - 2,
  },
  { key: null, value: utf8('v'), headers: [{ name: 'n', value: null }], timestamp: NOW },
];

const repetitive = Array.from({ length: 50 }, (_, i) => ({
  key: utf8(`order-${i}`),
  value: utf8(JSON.stringify({ type: 'OrderPlaced', total: i })),
  headers: [{ name: 'traceparent', value: utf8('00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01') }],
  timestamp: NOW + i,
}));

const bytes = (maxLength: number) => fc.uint8Array({ maxLength }).map((array) => Buffer.from(array));
const someRecord: fc.Arbitrary<ProducedRecord> = fc.record({
  key: fc.option(bytes(20)),
  value: fc.option(bytes(200)),
  headers: fc.array(fc.record({ name: fc.string({ unit: 'binary', maxLength: 9 }), value: fc.option(bytes(9)) }), {
    maxLength: 4,
  }),
  timestamp: fc.nat(2 ** 31 - 1).map((ms) => NOW + ms),
});
const someRecords = fc.array(someRecord, { minLength: 1, maxLength: 12 });

/** Compression of a batch taken back, so that encodings compare byte for byte whatever zlib made the gzip. */
function inflated(batch: Uint8Array): Buffer {
  const copy = Buffer.from(batch);
  if ((copy.readInt16BE(21) & 7) === 0) return copy;
  return withRecords(copy, gunzipSync(copy.subarray(61)), copy.readInt16BE(21) & ~7);
}

/** A batch with the header of `batch` and other contents, its length and CRC made right again. */
function withRecords(batch: Uint8Array, records: Uint8Array, attributes = Buffer.from(batch).readInt16BE(21)): Buffer {
  const made = Buffer.concat([batch.subarray(0, 61), records]);
  made.writeInt16BE(attributes, 21);
  made.writeInt32BE(made.length - 12, 8);
  made.writeUInt32BE(crc32c(made, 21), 17);
  return made;
}

const stored = (records: readonly ProducedRecord[], base = 0) =>
  records.map((record, i) => ({
    offset: base + i,
    timestamp: record.timestamp,
    key: record.key,
    value: record.value,
    headers: record.headers,
  }));

describe('encodeRecordBatch', () => {
  it('writes the bytes that kafkajs writes', async () => {
    expect(inflated(encodeRecordBatch(plain, 1))).toEqual(await encodeByKafkaJs(plain));
  });

  it('writes the bytes that @platformatic/kafka writes, with nulls and repeated names', () => {
    expect(inflated(encodeRecordBatch(rich, 1))).toEqual(encodeByPlatformatic(rich));
  });

  it('writes the bytes that @platformatic/kafka writes for any records', () => {
    fc.assert(
      fc.property(someRecords, (records) => {
        expect(inflated(encodeRecordBatch(records, 1))).toEqual(encodeByPlatformatic(records));
      }),
    );
  });

  it('is read by both when it is compressed', async () => {
    const batch = encodeRecordBatch(repetitive, 1);
    expect(Buffer.from(batch).readInt16BE(21)).toBe(1);
    const byKafkaJs = await decodeByKafkaJs(batch);
    expect(byKafkaJs.map((r) => [r.key, r.value, Number(r.timestamp)])).toEqual(
      repetitive.map((r) => [r.key, r.value, r.timestamp]),
    );
    const byPlatformatic = decodeByPlatformatic(batch);
    expect(byPlatformatic.records.map((r) => [r.key, r.value, r.headers])).toEqual(
      repetitive.map((r) => [r.key, r.value, r.headers.map((h) => [utf8(h.name), h.value])]),
    );
  });

  it('compresses only when that makes it smaller', () => {
    const one = encodeRecordBatch(plain.slice(0, 1), 1);
    expect(Buffer.from(one).readInt16BE(21)).toBe(0);
    const noise = Buffer.from(Array.from({ length: 2_000 }, (_, i) => Math.imul(i + 1, 2_654_435_761) >>> 24));
    const incompressible = encodeRecordBatch([{ key: null, value: gzipSync(noise), headers: [] }], NOW);
    expect(Buffer.from(incompressible).readInt16BE(21)).toBe(0);
  });

  it('stamps records that have no timestamp with the time it is given', () => {
    const batch = encodeRecordBatch(
      [
        { key: null, value: null, headers: [] },
        { ...plain[0]!, timestamp: 5 },
      ],
      NOW,
    );
    expect(decodeRecordBatch(batch, 0).map((record) => record.timestamp)).toEqual([NOW, 5]);
  });

  it('gives the same bytes for the same records', () => {
    expect(encodeRecordBatch(repetitive, NOW)).toEqual(encodeRecordBatch(structuredClone(repetitive), NOW));
  });
});

describe('decodeRecordBatch', () => {
  it.each(['none', 'gzip'] as const)('reads what kafkajs wrote (%s)', async (compression) => {
    expect(decodeRecordBatch(await encodeByKafkaJs(plain, compression), 41)).toEqual(stored(plain, 41));
  });

  it.each(['none', 'gzip'] as const)('reads what @platformatic/kafka wrote (%s)', (compression) => {
    expect(decodeRecordBatch(encodeByPlatformatic(rich, compression), 41)).toEqual(stored(rich, 41));
  });

  it('reads any records back as they were', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(someRecord, fc.maxSafeNat()), { minLength: 1 }), fc.nat(), (pairs, base) => {
        const records = pairs.map(([record, timestamp]) => ({ ...record, timestamp }));
        expect(decodeRecordBatch(encodeRecordBatch(records, 1), base)).toEqual(stored(records, base));
      }),
    );
  });

  it('reads a batch of a thousand records', () => {
    const many = Array.from({ length: 1_000 }, (_, i) => ({ ...repetitive[i % 50]!, timestamp: NOW + i }));
    expect(decodeRecordBatch(encodeRecordBatch(many, 1), 7)).toEqual(stored(many, 7));
  });

  it('gives every record the max timestamp when the batch says log append time', () => {
    const batch = encodeByPlatformatic(plain.slice(0, 2));
    const appended = withRecords(batch, batch.subarray(61), 1 << 3);
    expect(decodeRecordBatch(appended, 0).map((record) => record.timestamp)).toEqual([NOW, NOW]);
  });

  it('keeps "no timestamp", −1, as it is', () => {
    const batch = Buffer.from(encodeRecordBatch(plain.slice(0, 1), 1));
    batch.writeBigInt64BE(-1n, 27);
    expect(decodeRecordBatch(withRecords(batch, batch.subarray(61)), 0)[0]!.timestamp).toBe(-1);
  });
});

describe('a damaged batch', () => {
  const small = Buffer.from(encodeRecordBatch(rich.slice(4), 1));
  const packed = Buffer.from(encodeRecordBatch(repetitive, 1));
  const corrupt = (batch: Uint8Array) => expect(() => decodeRecordBatch(batch, 0)).toThrow(PayloadCorrupt);

  it('is refused whichever byte changed, except in the base offset and the leader epoch, which no sum covers', () => {
    for (const batch of [small, packed]) {
      for (let i = 8; i < batch.length; i++) {
        if (i >= 12 && i < 16) continue;
        const damaged = Buffer.from(batch);
        damaged[i]! ^= 1 << (i & 7);
        corrupt(damaged);
      }
    }
  });

  it('is refused wherever it is cut off, and when bytes follow it', () => {
    for (let length = 0; length < small.length; length++) corrupt(small.subarray(0, length));
    corrupt(Buffer.concat([small, Buffer.alloc(1)]));
  });

  it('is refused when its records are damaged though the sum is right, or else yields as many records as it counts', () => {
    const count = small.readInt32BE(57);
    fc.assert(
      fc.property(fc.nat(small.length - 62), fc.nat(255), (at, byte) => {
        const records = Buffer.from(small.subarray(61));
        records[at] = byte;
        try {
          expect(decodeRecordBatch(withRecords(small, records), 0)).toHaveLength(count);
        } catch (error) {
          expect(error).toBeInstanceOf(PayloadCorrupt);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('is refused when any bytes at all stand for its records', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), fc.boolean(), (junk, zipped) => {
        const records = zipped ? gzipSync(junk) : junk;
        try {
          decodeRecordBatch(withRecords(packed, records, zipped ? 1 : 0), 0);
          expect.unreachable('fifty records do not fit');
        } catch (error) {
          expect(error).toBeInstanceOf(PayloadCorrupt);
        }
      }),
    );
  });

  it('is refused when it says gzip and is none, or its gzip is cut off', () => {
    corrupt(withRecords(small, small.subarray(61), 1));
    corrupt(withRecords(packed, packed.subarray(61, -9)));
    corrupt(withRecords(packed, Buffer.alloc(0)));
  });

  it('is refused when it inflates past the bound, whatever size it claims', () => {
    const bomb = gzipSync(Buffer.alloc(INFLATED_BATCH_BYTES_MAX + 1), { level: 1 });
    corrupt(withRecords(packed, bomb));
    bomb.writeUInt32LE(1, bomb.length - 4);
    corrupt(withRecords(packed, bomb));
  });

  it.each([
    ['offset deltas do not count up from 0', '100000020261026200', 'offset delta 1'],
    ['a record is longer than it says', '0e0000000261026200', 'not as long'],
    ['a record is shorter than it says', '120000000261026200' + '00', 'not as long'],
    ['a header name is null', '140000000261026202' + '0101', 'length of -1'],
    ['a key length is below −1', '100000000361026200', 'length of -2'],
    ['a header count is beyond the record', '10000000026102627e', 'length of 63'],
    ['bytes follow the last record', '100000000261026200' + '00', 'follow the last'],
    ['a record is cut off', '1000000002610262', 'length of 8'],
  ])('is refused when %s', (_, hex, why) => {
    const one = encodeRecordBatch([{ key: utf8('a'), value: utf8('b'), headers: [] }], NOW);
    const made = withRecords(one, Buffer.from(hex, 'hex'));
    expect(() => decodeRecordBatch(made, 0)).toThrow(PayloadCorrupt);
    expect(() => decodeRecordBatch(made, 0)).toThrow(why);
  });

  it('is the one fault above: the same record well made is read', () => {
    const one = encodeRecordBatch([{ key: utf8('a'), value: utf8('b'), headers: [] }], NOW);
    expect(decodeRecordBatch(withRecords(one, Buffer.from('100000000261026200', 'hex')), 0)[0]!.key).toEqual(utf8('a'));
  });

  it('is refused when a timestamp is beyond 2^53', () => {
    const one = Buffer.from(encodeRecordBatch([{ ...plain[0]!, timestamp: Number.MAX_SAFE_INTEGER }], NOW));
    one[63] = 0x02; // the timestamp delta: 1
    corrupt(withRecords(one, one.subarray(61)));
  });
});
