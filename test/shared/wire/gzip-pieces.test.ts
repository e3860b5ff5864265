import { randomBytes } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { ProducedRecord } from '../../../shared/domain/record.ts';
import { readBatchHeader } from '../../../shared/wire/batch-header.ts';
import { GzipPieces, PIECE_BYTES } from '../../../shared/wire/gzip-pieces.ts';
import { decodeRecordBatch, encodeRecordBatch } from '../../../shared/wire/record-batch.ts';
import { decodeByKafkaJs } from './other-codecs.ts';

const NOW = 1_767_225_600_000;

describe('gzip made piece by piece', () => {
  it.each([
    ['nothing', []],
    ['less than a piece', [10, 1, 0, 7]],
    ['a piece exactly, and more', [PIECE_BYTES, PIECE_BYTES + 1, 3 * PIECE_BYTES - 5]],
  ])('is one member, of %s', (_, lengths) => {
    const gzip = new GzipPieces(1_000, 2);
    const taken = lengths.map((length, i) => Buffer.alloc(length, `part ${i} `));
    for (const part of taken) {
      const scratch = Buffer.from(part);
      gzip.add(scratch);
      scratch.fill(0);
    }
    expect(gunzipSync(gzip.finish().subarray(2)).equals(Buffer.concat(taken))).toBe(true);
  });

  it('takes little more memory than it has bytes, and grows where later pieces compress less', () => {
    const even = new GzipPieces(8 * PIECE_BYTES);
    for (let i = 0; i < 8; i++) even.add(Buffer.from(randomBytes(PIECE_BYTES / 2).toString('hex')));
    const whole = even.finish();
    expect(whole.buffer.byteLength).toBeLessThan(1.05 * whole.length);
    const large = new GzipPieces(8 * PIECE_BYTES);
    for (const part of [Buffer.from('small'), Buffer.alloc(8 * PIECE_BYTES, 'large ')]) large.add(part);
    expect(large.finish().buffer.byteLength).toBeLessThan(2 * PIECE_BYTES);
    const uneven = new GzipPieces(4 * PIECE_BYTES);
    const parts = [Buffer.alloc(2 * PIECE_BYTES), randomBytes(PIECE_BYTES), randomBytes(PIECE_BYTES)];
    for (const part of parts) uneven.add(part);
    expect(gunzipSync(uneven.finish()).equals(Buffer.concat(parts))).toBe(true);
  });

  it('is no gzip any more when a byte of it is changed', () => {
    const gzip = new GzipPieces(2 * PIECE_BYTES);
    gzip.add(Buffer.alloc(2 * PIECE_BYTES, 'abc'));
    const whole = gzip.finish();
    whole[whole.length - 6]! ^= 1;
    expect(() => gunzipSync(whole)).toThrow();
  });
});

describe('a batch larger than a piece', () => {
  const record = (value: Uint8Array | null, key: Uint8Array | null = null): ProducedRecord => ({
    key,
    value,
    headers: [{ name: 'trace', value: Buffer.from('00-1') }],
  });
  const text = (bytes: number, word = 'order ') => Buffer.alloc(bytes, word);
  const shapes: [string, ProducedRecord[]][] = [
    ['many small records', Array.from({ length: 1_000 }, (_, i) => record(text(400 + i), Buffer.from(`k${i}`)))],
    [
      'values larger than a piece among small ones',
      [record(text(7)), record(text(3 * PIECE_BYTES + 1)), record(null), record(text(PIECE_BYTES)), record(text(1))],
    ],
    ['keys larger than a piece', [record(text(9), text(2 * PIECE_BYTES)), record(null, text(PIECE_BYTES, 'k'))]],
    ['what does not compress', Array.from({ length: 5 }, () => record(randomBytes(PIECE_BYTES / 2)))],
  ];

  it.each(shapes)('holds %s, for Kafka clients too', async (_, records) => {
    const batch = encodeRecordBatch(records, NOW);
    const plainBytes = records.reduce((sum, { key, value }) => sum + (key?.length ?? 0) + (value?.length ?? 0), 0);
    expect(batch.length).toBeLessThan(plainBytes + 61 + 40 * records.length);
    const decoded = decodeRecordBatch(batch, 0);
    const foreign = await decodeByKafkaJs(batch);
    expect(decoded).toHaveLength(records.length);
    for (const [i, { key, value }] of records.entries()) {
      for (const [sent, got] of [
        [key, decoded[i]!.key],
        [value, decoded[i]!.value],
        [key, foreign[i]!.key],
        [value, foreign[i]!.value],
      ] as const) {
        expect(sent === null ? got === null : got !== null && Buffer.compare(sent, got) === 0).toBe(true);
      }
      expect(decoded[i]!.headers.map(({ name }) => name)).toEqual(['trace']);
    }
  });

  it('is compressed where that makes it smaller, and only there', () => {
    expect(shapes.map(([, records]) => readBatchHeader(encodeRecordBatch(records, NOW)).gzip)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });
});
