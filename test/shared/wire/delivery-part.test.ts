import { describe, expect, it } from 'vitest';
import { compileFilter } from '../../../shared/domain/filter.ts';
import type { BatchSlot } from '../../../shared/domain/slot.ts';
import { decodeKeptRecord } from '../../../shared/wire/dead-letter-record.ts';
import { DeliveryPart } from '../../../shared/wire/delivery-part.ts';
import { encodeRecordBatch } from '../../../shared/wire/record-batch.ts';
import { encodeUploadValue } from '../../../shared/wire/upload-value.ts';

const payload = { size: 5, sha256: 'ab'.repeat(32) };
const UPLOAD = { topicId: '01ARZ3NDEKTSV4RRFFQ69G5FAV', uploadId: '01BX5ZZKBKACTAV9WEVGEMMVRY' };

/** A slot that ends at `last`, of records with these values. */
function slotOf(last: number, values: readonly Uint8Array[], change: Partial<BatchSlot> = {}): BatchSlot {
  const records = values.map((value) => ({ key: Buffer.from('k'), value, headers: [] }));
  const batch = encodeRecordBatch(records, 1_000);
  const count = values.length;
  return {
    kind: 'batch',
    last,
    count,
    at: 1_000,
    previous: [],
    expiresAt: 0,
    append: '',
    batch,
    json: false,
    ...change,
  };
}
const texts = (...values: string[]) => values.map((value) => Buffer.from(value));
const offsets = ({ records }: DeliveryPart) => records.map(({ offset }) => offset);

describe('the records of one call', () => {
  it('are as many as it has room for, whatever the size of the first, and none from the end on', () => {
    const slot = slotOf(3, texts('x'.repeat(100), 'a', 'b', 'c'));
    const small = new DeliveryPart({ records: 10, bytes: 5 });
    expect(small.take(slot, 0)).toBe(1);
    expect(small.isFull()).toBe(true);
    const two = new DeliveryPart({ records: 2, bytes: 1_000 });
    expect([two.take(slot, 1), two.isFull()]).toEqual([3, true]);
    expect(offsets(two)).toEqual([1, 2]);
    const ended = new DeliveryPart({ records: 10, bytes: 1_000, end: 2 });
    expect([ended.take(slot, 0), ended.isFull()]).toEqual([2, true]);
    const atTheEnd = new DeliveryPart({ records: 10, bytes: 1_000, end: 4 });
    expect([atTheEnd.take(slot, 0), atTheEnd.isFull()]).toEqual([4, true]);
  });

  it('are none where all before the end has expired, and what comes first lies behind it', () => {
    const part = new DeliveryPart({ records: 10, bytes: 1_000, end: 2 });
    expect([part.take(slotOf(4, texts('a', 'b')), 3), part.isFull()]).toEqual([3, true]);
    expect(part.records).toEqual([]);
  });

  it('are those that the filter lets through; what it keeps back is passed, and fills a page', () => {
    const filter = compileFilter({ value: [{ prefix: 'yes' }] });
    const part = new DeliveryPart({ records: 10, bytes: 1_000 }, filter);
    expect(part.take(slotOf(2, texts('no', 'yes', 'no')), 0)).toBe(3);
    expect(offsets(part)).toEqual([1]);
    const none = new DeliveryPart({ records: 10, bytes: 1_000 }, filter);
    expect(
      none.take(
        slotOf(
          999,
          Array.from({ length: 1_000 }, () => Buffer.from('no')),
        ),
        0,
      ),
    ).toBe(1_000);
    expect([none.isFull(), none.records]).toEqual([true, []]);
  });

  it('name where an upload is to be had, and end before one that has no link', () => {
    const values = [Buffer.from('a'), encodeUploadValue(UPLOAD.uploadId, payload)];
    const slot = slotOf(1, values, { uploads: new Map([[1, UPLOAD]]) });
    const part = new DeliveryPart({ records: 10, bytes: 1_000 });
    expect(part.uploadsToLink(slot, 0)).toEqual([[1, UPLOAD]]);
    expect(part.take(slot, 0, new Map([[1, 'https://there']]))).toBe(2);
    expect(part.records[1]).toMatchObject({ value: null, link: { ...payload, url: 'https://there' } });
    expect(new DeliveryPart({ records: 10, bytes: 1_000 }).take(slot, 0)).toBe(1);
  });

  it('end before what cannot be read, which is told when it comes first, and kept as such', () => {
    const bad = slotOf(2, texts('b'), { unreadable: 'payload_missing', batch: new Uint8Array() });
    const part = new DeliveryPart({ records: 10, bytes: 1_000 });
    part.take(slotOf(1, texts('a', 'a')), 0);
    expect([part.take(bad, 2), part.isFull(), part.unreadable]).toEqual([2, true, undefined]);
    const first = new DeliveryPart({ records: 10, bytes: 1_000 });
    expect(first.take(bad, 2)).toBe(2);
    expect(first.unreadable).toEqual({ offset: 2, reason: 'payload_missing' });
    expect(decodeKeptRecord(first.keep(2))).toEqual({ form: 'payload_missing' });
    const damaged = new DeliveryPart({ records: 10, bytes: 1_000 });
    damaged.take(slotOf(0, texts('a'), { batch: Buffer.from('nothing of the kind') }), 0);
    expect(damaged.unreadable).toEqual({ offset: 0, reason: 'payload_corrupt' });
    const kept = decodeKeptRecord(part.keep(1));
    expect(kept.form).toBe('bytes');
  });
});
