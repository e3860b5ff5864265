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
    const gzip = new GzipPieces();
    const taken = lengths.map((length, i) => Buffer.alloc(length, `part ${i} `));
    for (const part of taken) {
      const scratch = Buffer.from(part);
      gzip.add(scratch);
      scratch.fill(0);
    }
    const whole = Buffer.alloc(gzip.length + 3, 0xee);
    gzip.writeTo(whole, 2);
    expect([whole[0], whole[1], whole.at(-1)]).toEqual([0xee, 0xee, 0xee]);
    expect(gunzipSync(whole.subarray(2, -1)).equals(Buffer.concat(taken))).toBe(true);
  });

  it('is no gzip any more when a byte of it is changed', () => {
    const gzip = new GzipPieces();
    gzip.add(Buffer.alloc(2 * PIECE_BYTES, 'abc'));
    const whole = Buffer.alloc(gzip.length);
    gzip.writeTo(whole, 0);
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
