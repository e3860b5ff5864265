import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { InvalidRequest } from '../../../shared/domain/errors.ts';
import { readBatchHeader } from '../../../shared/wire/batch-header.ts';
import { crc32c } from '../../../shared/wire/crc32c.ts';
import { checkRawBatch, encodeRecordBatch } from '../../../shared/wire/record-batch.ts';
import { encodeByKafkaJs, encodeByPlatformatic } from './other-codecs.ts';

const NOW = 1_767_225_600_000;
const records = Array.from({ length: 20 }, (_, i) => ({
  key: Buffer.from(`k${i}`),
  value: Buffer.from('{"type":"OrderPlaced"}'),
  headers: [],
  timestamp: NOW + i,
}));
const batch = Buffer.from(encodeRecordBatch(records, NOW));

/** A copy with some fields changed and the sum made right again. */
function changed(change: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(batch);
  change(copy);
  copy.writeUInt32BE(crc32c(copy, 21), 17);
  return copy;
}

describe('readBatchHeader', () => {
  it('tells count, compression and times', () => {
    expect(readBatchHeader(batch)).toEqual({
      count: 20,
      gzip: true,
      logAppendTime: false,
      baseTimestamp: NOW,
      maxTimestamp: NOW + 19,
    });
  });
});

describe('checkRawBatch', () => {
  it('takes what other clients send, plain and compressed, and tells the count', async () => {
    expect(checkRawBatch(await encodeByKafkaJs(records))).toEqual({ count: 20 });
    expect(checkRawBatch(await encodeByKafkaJs(records, 'gzip'))).toEqual({ count: 20 });
    expect(checkRawBatch(encodeByPlatformatic(records, 'gzip'))).toEqual({ count: 20 });
  });

  it('takes any base offset, and the producer ids of an idempotent producer', () => {
    expect(checkRawBatch(changed((copy) => copy.writeBigInt64BE(77n, 0)))).toEqual({ count: 20 });
    const numbered = changed((copy) => {
      copy.writeBigInt64BE(5_000n, 43);
      copy.writeInt16BE(3, 51);
      copy.writeInt32BE(99, 53);
    });
    expect(checkRawBatch(numbered)).toEqual({ count: 20 });
  });

  it('does not look inside: what is compressed is not inflated', () => {
    const hollow = Buffer.concat([batch.subarray(0, 61), gzipSync('not records')]);
    hollow.writeInt32BE(hollow.length - 12, 8);
    hollow.writeUInt32BE(crc32c(hollow, 21), 17);
    expect(checkRawBatch(hollow)).toEqual({ count: 20 });
  });

  it.each<[string, Uint8Array, string]>([
    ['an empty body', Buffer.alloc(0), 'has 0 bytes'],
    ['a header that is cut off', batch.subarray(0, 60), 'has 60 bytes'],
    ['another magic', changed((copy) => copy.writeInt8(1, 16)), 'magic is 1'],
    ['a batch that is cut off', batch.subarray(0, -1), 'length field'],
    ['a batch with bytes behind it', Buffer.concat([batch, Buffer.alloc(1)]), 'length field'],
    ['two batches', Buffer.concat([batch, batch]), 'length field'],
    ['a negative length', changed((copy) => copy.writeInt32BE(-1, 8)), 'length field'],
    ['a wrong sum', Buffer.concat([batch.subarray(0, -1), Buffer.from([batch.at(-1)! ^ 1])]), 'CRC'],
    ['a transaction', changed((copy) => copy.writeInt16BE(1 | 16, 21)), 'transaction'],
    ['a control batch', changed((copy) => copy.writeInt16BE(32, 21)), 'control'],
    ['snappy', changed((copy) => copy.writeInt16BE(2, 21)), 'compression is 2'],
    ['zstd', changed((copy) => copy.writeInt16BE(4, 21)), 'compression is 4'],
    ['attributes without a meaning', changed((copy) => copy.writeInt16BE(1 | 64, 21)), 'attributes 65'],
    ['counts that differ', changed((copy) => copy.writeInt32BE(20, 23)), 'last offset delta is 20'],
    ['no records', changed((copy) => copy.fill(0, 57, 61).writeInt32BE(-1, 23)), 'has 0 records'],
    [
      'too many records',
      changed((copy) => copy.writeInt32BE(1_001, 57) && copy.writeInt32BE(1_000, 23)),
      '1001 records',
    ],
    ['a count below zero', changed((copy) => copy.writeInt32BE(-5, 57) && copy.writeInt32BE(-6, 23)), 'has -5 records'],
    ['a time beyond 2^53', changed((copy) => copy.writeBigInt64BE(2n ** 53n, 35)), 'max timestamp'],
    ['a time before the epoch', changed((copy) => copy.writeBigInt64BE(-2n, 27)), 'base timestamp'],
  ])('refuses %s and says so', (_, bytes, why) => {
    expect(() => checkRawBatch(bytes)).toThrow(InvalidRequest);
    expect(() => checkRawBatch(bytes)).toThrow(why);
  });
});
